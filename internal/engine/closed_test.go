package engine

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/state"
)

// A gate that no provider closed is not put down to the provider.
func TestWhatStopsAChannelHereIsNotTheProviders(t *testing.T) {
	for class, want := range map[posthouse.Class]string{
		posthouse.ClassLocal:   "this process sends nothing for the moment for the account: TOO_MANY_WRONG_SECRETS",
		posthouse.ClassBlocked: "this server does not let the account send: TOO_MANY_WRONG_SECRETS",
	} {
		t.Run(string(class), func(t *testing.T) {
			virtual(t, func(r *rig) {
				r.open("c", posthouse.ChannelSettings{}, state.Opened{})
				r.provider.decide(func(channel.Outgoing) channel.Result {
					return channel.Result{Class: class, Code: "TOO_MANY_WRONG_SECRETS", After: time.Minute}
				})
				r.send(text("c", "u"))
				r.pass(time.Millisecond)
				if why, until := r.engine.Routes.Closed(r.tenant, "c"); why != want || until.IsZero() {
					r.Errorf("it says %q until %s, want %q and a time", why, until, want)
				}
			})
		})
	}
}
