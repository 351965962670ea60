package engine

import (
	"context"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/rescue"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// odd is a driver that never knows what became of a send, and misbehaves when it is asked.
type odd struct {
	sends
	ask func(ctx context.Context) channel.Finding
}

func (o odd) Query(ctx context.Context, _ channel.Outgoing) (channel.Finding, channel.Result) {
	return o.ask(ctx), channel.Result{Ref: "a\x00b"}
}

func nobodyKnows(context.Context, channel.Outgoing) channel.Result {
	return channel.Result{Class: posthouse.ClassUnknown}
}

// A process that asks about an unknown must outlive the driver it asks, or it and the next ones die of
// the same delivery again and again.
func TestADriverThatMisbehavesWhenAskedGivesNoAnswer(t *testing.T) {
	for name, ask := range map[string]func(ctx context.Context) channel.Finding{
		"panics": func(context.Context) channel.Finding { panic("boom") },
		"hangs":  func(ctx context.Context) channel.Finding { <-ctx.Done(); return channel.NoAnswer },
		"babble": func(context.Context) channel.Finding { return "perhaps" },
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(r *rig) {
				r.open("c", posthouse.ChannelSettings{OnUnknown: posthouse.Query}, state.Opened{Driver: odd{nobodyKnows, ask}})
				id := r.send(text("c", "u1"))[0]
				r.pass(time.Minute)
				if d := r.want(id, posthouse.Unknown, "query_no_answer", 1); d.DueAt.IsZero() {
					t.Error("is never asked about again")
				}
			})
		})
	}
}

// A provider that takes its time to say what it has must not keep others' leases.
func TestASlowQueryKeepsNobodysLease(t *testing.T) {
	hours(t)
	virtual(t, func(r *rig) {
		slow := odd{nobodyKnows, func(ctx context.Context) channel.Finding { <-ctx.Done(); return channel.NoAnswer }}
		r.open("slow", posthouse.ChannelSettings{OnUnknown: posthouse.Query}, state.Opened{Driver: slow, Timeout: time.Hour})
		r.open("c", posthouse.ChannelSettings{OnUnknown: posthouse.Hold}, idempotent)
		r.pause("c")
		r.send(text("slow", "u1", "u2", "u3"))
		id := r.send(text("c", "u1"))[0]
		_, err := r.store.Queue.Claim(r.Context(), time.Now(), work.Claim{
			Lane: work.Lane{Tenant: r.tenant, Channel: "c", Priority: posthouse.Normal}, Max: 1, Owner: "dead", Lease: time.Minute, Epoch: 1,
		})
		if err != nil {
			r.Fatal(err)
		}
		r.pass(2 * time.Minute)
		r.want(id, posthouse.Unknown, state.ReasonLeaseLost, 1)
		r.pass(2 * time.Hour)
	})
}

// However many unknowns wait for an answer of their provider, those of others end in time.
func TestUnknownsThatAreAskedAboutHoldUpNoOthers(t *testing.T) {
	for name, apart := range map[string]time.Duration{"at once": 0, "one after another": time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(r *rig) {
				hangs := odd{nobodyKnows, func(ctx context.Context) channel.Finding { <-ctx.Done(); return channel.NoAnswer }}
				r.open("hangs", posthouse.ChannelSettings{OnUnknown: posthouse.Query}, state.Opened{Driver: hangs, Timeout: time.Hour})
				for range 2*rescue.Batch + rescue.Batch/2 {
					r.send(text("hangs", "u1"))
					r.pass(apart)
				}
				r.pass(time.Second)
				r.open("c", posthouse.ChannelSettings{OnUnknown: posthouse.Hold, HoldTimeout: posthouse.Duration(time.Minute)}, state.Opened{Driver: sends(nobodyKnows)})
				id := r.send(text("c", "u1"))[0]
				r.pass(2 * time.Minute)
				r.want(id, posthouse.Failed, state.ReasonUnknownTimeout, 1)
			})
		})
	}
}
