package engine

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse"
)

// While a server's last requests finish, its engine accepts what they bring and leaves it to others: also of a channel
// that an operator sets just then.
func TestAnEngineThatRestsAcceptsAndSendsNothing(t *testing.T) {
	virtual(t, func(r *rig) {
		r.open("c", posthouse.ChannelSettings{}, idempotent)
		r.engine.Rest()
		first := r.send(text("c", "u1"))[0]
		r.open("c", posthouse.ChannelSettings{Tries: 3}, idempotent)
		second := r.send(text("c", "u2"))[0]
		r.pass(time.Minute)
		r.want(first, posthouse.Pending, "", 0)
		r.want(second, posthouse.Pending, "", 0)
		r.stop()
		r.restart()
		r.open("c", posthouse.ChannelSettings{}, idempotent)
		r.pass(time.Second)
		r.want(first, posthouse.Sent, "", 0)
		r.want(second, posthouse.Sent, "", 0)
	})
}
