package engine

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/upkeep"
)

// A channel turns from pushed to pulled, or back, when it has nothing open. Who accepts at that moment does not know it yet.
func TestWhatIsAcceptedAsItsChannelTurnsIsSentAllTheSame(t *testing.T) {
	virtual(t, func(r *rig) {
		a := r.phone("a", nil, "sms")
		r.open("sms", posthouse.ChannelSettings{}, state.Opened{})
		r.pause("sms")
		pushed := r.send(text("sms", "u1"))[0]
		r.pull("sms", posthouse.ChannelSettings{})
		r.pass(2 * upkeep.DepthEvery)
		if h := r.one(a); h.Delivery != pushed || r.say(a, h, posthouse.OutcomeSent) != posthouse.ReportDone {
			t.Errorf("got %+v, want %s, and its report to be taken", h, pushed)
		}
		pulled := r.send(text("sms", "u2"))[0]
		r.open("sms", posthouse.ChannelSettings{}, state.Opened{})
		r.pass(2 * upkeep.DepthEvery)
		if got := r.provider.to(); !slices.Equal(got, []string{"u2"}) {
			t.Errorf("the driver was called for %v, want u2", got)
		}
		r.want(pushed, posthouse.Sent, "", 0)
		r.want(pulled, posthouse.Sent, "", 0)
	})
}

// A process that has not heard yet that a channel is pulled now leaves alone what another one has accepted for agents.
func TestWhoHasNotHeardThatAChannelTurnedMovesNothingBack(t *testing.T) {
	virtual(t, func(r *rig) {
		var turned atomic.Pointer[route]
		r.stop()
		r.refresh = func(context.Context) error {
			return r.engine.Routes.SetChannel(turned.Load().Stored, turned.Load().Opened)
		}
		r.restart()
		a := r.phone("a", nil, "sms")
		r.pull("sms", posthouse.ChannelSettings{})
		turned.Store(r.engine.Routes.route(r.tenant, "sms"))
		id := r.send(text("sms", "u1"))[0]
		r.open("sms", posthouse.ChannelSettings{}, state.Opened{})
		r.pass(2 * upkeep.DepthEvery)
		if got := r.provider.to(); len(got) > 0 {
			t.Errorf("the driver was called for %v", got)
		}
		if h := r.one(a); h.Delivery != id {
			t.Errorf("got %+v, want %s", h, id)
		}
	})
}
