package engine

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse"
)

// A channel that is paused until a time says so, and goes on by itself.
func TestAPauseEndsByItself(t *testing.T) {
	hours(t)
	virtual(t, func(r *rig) {
		r.open("c", posthouse.ChannelSettings{}, idempotent)
		old := r.engine.Routes.route(r.tenant, "c")
		ch := old.Stored
		ch.Paused, ch.PauseReason, ch.PausedUntil = true, "they move house", time.Now().Add(30*time.Minute)
		if err := r.engine.Routes.SetChannel(ch, old.Opened); err != nil {
			r.Fatal(err)
		}
		id := r.send(text("c", "u1"))[0]
		r.pass(29 * time.Minute)
		x := r.engine.Explainer.Explain(r.Context(), r.want(id, posthouse.Pending, "", 0))
		if len(x.Waits) != 1 || x.Waits[0] != (Wait{Cause: "paused", Detail: "the channel is paused: they move house", Until: ch.PausedUntil}) {
			r.Errorf("it waits for %+v", x.Waits)
		}
		r.pass(61 * time.Second)
		r.want(id, posthouse.Sent, "", 0)
	})
}
