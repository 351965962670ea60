package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/state"
)

func per(most int, per time.Duration) posthouse.Limit {
	return posthouse.Limit{Max: most, Per: posthouse.Duration(per)}
}

// window fails the test where more sends that match lie in a span of a window than it allows.
func (r *rig) window(w posthouse.Limit, of string, match func(out channel.Outgoing) bool) {
	r.Helper()
	r.provider.mu.Lock()
	defer r.provider.mu.Unlock()
	var at []time.Time
	for i, out := range r.provider.sends {
		if match(out) {
			at = append(at, r.provider.at[i])
		}
	}
	if len(at) <= w.Max {
		r.Errorf("%d sends of %s prove nothing of a window of %d", len(at), of, w.Max)
	}
	for i := w.Max; i < len(at); i++ {
		if span := at[i].Sub(at[i-w.Max]); span < w.Per.Std() {
			r.Fatalf("%d sends of %s within %s, want at most %d each %s", w.Max+1, of, span, w.Max, w.Per)
		}
	}
}

// FLEET-9: channel, account, account and content type, recipient, template and tenant hold at once.
func TestEveryTierHolds(t *testing.T) {
	hours(t)
	virtual(t, func(r *rig) {
		r.engine.Routes.tenantLimits = map[string][]posthouse.Limit{"*": {per(30, time.Minute)}}
		r.open("fleet", posthouse.ChannelSettings{
			Accounts:        true,
			Limits:          []posthouse.Limit{per(25, time.Minute)},
			AccountLimits:   []posthouse.Limit{per(14, time.Minute)},
			TypeLimits:      map[posthouse.ContentType][]posthouse.Limit{posthouse.MarkdownContent: {per(3, time.Minute), per(30, time.Hour)}},
			RecipientLimits: []posthouse.Limit{per(2, time.Minute)},
		}, state.Opened{Content: func(posthouse.Content) []posthouse.Problem { return nil }, Accounts: []*state.Account{
			by("a", r.provider), by("b", r.provider, per(6, time.Minute)),
		}})
		r.open("other", posthouse.ChannelSettings{}, state.Opened{})
		for i := range 40 {
			r.send(text("fleet", "often", fmt.Sprint("u", i), fmt.Sprint("v", i)))
			m := text("fleet", fmt.Sprint("m", i))
			m.Content.Type = posthouse.MarkdownContent
			r.send(m)
			r.send(text("other", "someone"))
		}
		r.pass(45 * time.Minute)
		all := func(channel.Outgoing) bool { return true }
		r.window(per(30, time.Minute), "the tenant", all)
		r.window(per(25, time.Minute), "the channel", func(o channel.Outgoing) bool { return o.Channel == "fleet" })
		r.window(per(14, time.Minute), "account a", func(o channel.Outgoing) bool { return o.Account == "a" })
		r.window(per(6, time.Minute), "account b", func(o channel.Outgoing) bool { return o.Account == "b" })
		r.window(per(2, time.Minute), "one recipient", func(o channel.Outgoing) bool { return o.Recipient.User == "often" })
		for _, account := range []string{"a", "b"} {
			r.window(per(3, time.Minute), "markdown by "+account, func(o channel.Outgoing) bool {
				return o.Account == account && o.Content.Kind() == posthouse.MarkdownContent
			})
		}
		if got, want := len(r.provider.sent()), 40*5; got != want {
			t.Errorf("%d were sent, want %d: what waits for a window goes when that has room", got, want)
		}
	})
}

func TestAWaitForARecipientsWindowIsExplainedAndCostsNobodyElse(t *testing.T) {
	virtual(t, func(r *rig) {
		r.open("chat", posthouse.ChannelSettings{
			Limits: []posthouse.Limit{per(4, time.Hour)}, RecipientLimits: []posthouse.Limit{per(1, time.Minute)},
		}, state.Opened{})
		r.send(text("chat", "ann"))
		r.pass(time.Second)
		second, third := r.send(text("chat", "ann"))[0], r.send(text("chat", "ann"))[0]
		r.pass(time.Second)
		d := r.want(second, posthouse.Pending, state.ReasonLimitRecipient, 0)
		if d.Attempts != 0 {
			t.Errorf("it counts %d attempts, want none: nothing was sent", d.Attempts)
		}
		x := r.engine.Explainer.Explain(context.Background(), d)
		if len(x.Waits) == 0 || x.Waits[0].Cause != "limit" || !strings.Contains(x.Waits[0].Detail, "recipient") || x.Waits[0].Until.IsZero() {
			t.Errorf("the explanation is %+v, want a wait for the recipient's windows", x.Waits)
		}
		if gap := r.get(third).DueAt.Sub(d.DueAt); gap < time.Minute {
			t.Errorf("the third is due %s after the second, want a whole window", gap)
		}
		g, err := r.engine.dispatcher.limiter.Peek(context.Background(), []limit.Bound{{Key: "default/chat", Windows: []posthouse.Limit{per(4, time.Hour)}}})
		if err != nil || g.N != 3 {
			t.Errorf("%d of 4 permits of the channel are left (%v), want 3: who was refused gave his back", g.N, err)
		}
		r.pass(10 * time.Minute) // who comes a moment early waits for a window more
		r.want(second, posthouse.Sent, "", 0)
		r.want(third, posthouse.Sent, "", 0)
	})
}

func TestABatchGoesWithoutThoseWhoseWindowIsFull(t *testing.T) {
	virtual(t, func(r *rig) {
		batch := &batching{provider: r.provider}
		r.open("chat", posthouse.ChannelSettings{RecipientLimits: []posthouse.Limit{per(1, time.Minute)}}, state.Opened{Driver: batch, MaxBatch: 10})
		r.send(text("chat", "ann"))
		r.pass(time.Second)
		ids := r.send(text("chat", "ann", "bob", "cat"))
		r.pass(time.Second)
		r.want(ids[0], posthouse.Pending, state.ReasonLimitRecipient, 0)
		r.want(ids[1], posthouse.Sent, "", 0)
		r.want(ids[2], posthouse.Sent, "", 0)
		r.pass(2 * time.Minute)
		r.want(ids[0], posthouse.Sent, "", 0)
	})
}

// dumb is a limiter whose Each fails.
type dumb struct {
	Limiter
	away atomic.Bool
}

func (m *dumb) Each(ctx context.Context, asks []limit.Ask) ([]limit.Grant, error) {
	if m.away.Load() {
		return nil, errors.New("away")
	}
	return m.Limiter.Each(ctx, asks)
}

func TestNothingIsSentPastALimiterThatDoesNotAnswer(t *testing.T) {
	virtual(t, func(r *rig) {
		limiter := &dumb{Limiter: r.engine.permits.limiter}
		limiter.away.Store(true)
		r.engine.permits.limiter = limiter
		r.open("chat", posthouse.ChannelSettings{RecipientLimits: []posthouse.Limit{per(1, time.Minute)}}, state.Opened{})
		id := r.send(text("chat", "ann"))[0]
		r.pass(30 * time.Second)
		r.want(id, posthouse.Pending, state.ReasonLimiter, 0)
		if n := len(r.provider.sent()); n > 0 {
			t.Errorf("%d were sent", n)
		}
		limiter.away.Store(false)
		r.pass(10 * time.Second)
		r.want(id, posthouse.Sent, "", 0)
	})
}
