package engine

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/store/storetest"
	"github.com/posthouse/posthouse/internal/work"
)

// What the simulation has found, each as a plain test.

// slowClaims is a database that answers a claim after a while.
type slowClaims struct {
	storetest.Whole
	wait time.Duration
}

func (s slowClaims) Claim(ctx context.Context, now time.Time, c work.Claim) ([]work.Item, error) {
	items, err := s.Whole.Claim(ctx, now, c)
	<-time.After(s.wait)
	return items, err
}

// A run waits for all that it claimed, and Stop for the run. What was claimed after the drain's end
// was put where nobody read it any more, half of the time, and then Stop never returned.
func TestAClaimThatIsAnsweredAfterTheDrainDoesNotHoldUpStop(t *testing.T) {
	virtual(t, func(r *rig) {
		r.open("c", posthouse.ChannelSettings{}, idempotent)
		r.pause("c")
		for n := range 20 {
			d := text("c", fmt.Sprint("u", n))
			d.Priority = posthouse.High // the lane that is claimed first
			r.send(d)
		}
		e, err := New(Options{Stores: parts(slowClaims{storetest.All(r.store), time.Minute}), Rosters: r.store.Rosters, Limiter: limit.SQL{Rows: r.store.Limits}, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			r.Fatal(err)
		}
		every := posthouse.Duration(time.Minute)
		ch := posthouse.Channel{Tenant: r.tenant, Name: "c", Driver: "test", ChannelSettings: posthouse.ChannelSettings{Every: &every}}
		if err := e.Routes.SetChannel(ch, state.Opened{Driver: r.provider}); err != nil {
			r.Fatal(err)
		}
		if err := e.Start(context.Background()); err != nil {
			r.Fatal(err)
		}
		r.pass(time.Second)
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			if err := e.Stop(ctx); err != nil {
				r.Error(err)
			}
		}()
		select {
		case <-stopped:
		case <-time.After(time.Hour):
			r.Fatal("Stop does not return")
		}
	})
}

// A repeat was due while the provider still knew the key, and then the channel was paused: it started
// after the pause, whatever the provider had forgotten meanwhile, and the recipient was told twice.
func TestARepeatThatWasHeldUpForTooLongDoesNotStart(t *testing.T) {
	hours(t)
	for _, c := range []struct {
		name    string
		classes []posthouse.Class // of the attempts before the pause
		history string
	}{
		{"after an unknown outcome", []posthouse.Class{posthouse.ClassUnknown}, "accept start ambiguous resend start release "},
		{"after a refusal of the repeat", []posthouse.Class{posthouse.ClassUnknown, posthouse.ClassTransient},
			"accept start ambiguous resend start retry start release "},
	} {
		t.Run(c.name, func(t *testing.T) {
			virtual(t, func(r *rig) {
				r.provider.answer = func(out channel.Outgoing) channel.Result {
					return channel.Result{Class: c.classes[out.Attempt-1]}
				}
				backoff := []posthouse.Duration{posthouse.Duration(time.Minute)}
				r.open("c", posthouse.ChannelSettings{OnUnknown: posthouse.Retry, Backoff: backoff}, state.Opened{Window: 10 * time.Minute})
				id := r.send(text("c", "u1"))[0]
				r.pass(time.Duration(len(c.classes)-1)*time.Minute + 30*time.Second)
				r.pause("c")
				r.pass(time.Hour)
				r.open("c", posthouse.ChannelSettings{OnUnknown: posthouse.Retry, Backoff: backoff}, state.Opened{Window: 10 * time.Minute})
				r.pass(time.Minute)
				if got := r.history(id); got != c.history {
					r.Errorf("history: got %q, want %q", got, c.history)
				}
				if d := r.want(id, posthouse.Unknown, state.ReasonWindowClosed, len(c.classes)); d.Attempts != len(c.classes) {
					r.Errorf("attempts: got %d, want %d: nothing was sent", d.Attempts, len(c.classes))
				}
			})
		})
	}
}
