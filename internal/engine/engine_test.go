package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/admission"
	"github.com/posthouse/posthouse/internal/decide"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// idempotent is a provider that never forgets a key.
var idempotent = state.Opened{Window: channel.Forever}

func fail(class posthouse.Class) func(channel.Outgoing) channel.Result {
	return func(channel.Outgoing) channel.Result {
		return channel.Result{Class: class, Code: "E1", Error: "no"}
	}
}

func TestAMessageReachesEachRecipientOnce(t *testing.T) {
	virtual(t, func(r *rig) {
		r.open("c", posthouse.ChannelSettings{}, idempotent)
		ids := r.send(text("c", "u1", "u2", "u1"))
		r.pass(time.Second)
		if got, want := len(ids), 2; got != want {
			r.Errorf("deliveries: got %d, want %d: a recipient named twice is told once", got, want)
		}
		for _, id := range ids {
			d := r.want(id, posthouse.Sent, "", 0)
			if d.ProviderRef != "ref-"+id || d.Attempts != 1 {
				r.Errorf("got ref %q and %d attempts", d.ProviderRef, d.Attempts)
			}
			if got, want := r.history(id), "accept start sent "; got != want {
				r.Errorf("history: got %q, want %q", got, want)
			}
		}
		users := r.provider.to()
		slices.Sort(users)
		if diff := cmp.Diff([]string{"u1", "u2"}, users); diff != "" {
			r.Error(diff)
		}
	})
}

func TestTransientFailuresFollowTheBackoffAndEnd(t *testing.T) {
	hours(t)
	virtual(t, func(r *rig) {
		r.provider.answer = fail(posthouse.ClassTransient)
		r.open("c", posthouse.ChannelSettings{}, idempotent)
		id := r.send(text("c", "u1"))[0]
		r.pass(30 * time.Second)
		r.want(id, posthouse.Pending, "transient", 1)
		r.pass(5 * time.Hour) // the tries take 4 h 49 min
		d := r.want(id, posthouse.Failed, state.ReasonTriesUsedUp, 8)
		if d.Error != "no" {
			r.Errorf("the last error is %q", d.Error)
		}
		var got []time.Duration
		for _, g := range r.provider.gaps() {
			got = append(got, g.Round(time.Minute))
		}
		m := time.Minute
		if diff := cmp.Diff([]time.Duration{m, 3 * m, 5 * m, 10 * m, 30 * m, 60 * m, 180 * m}, got); diff != "" {
			r.Error(diff)
		}
		keys := map[string]bool{}
		for _, out := range r.provider.sends {
			keys[out.IdemKey] = true
		}
		if len(keys) != 1 {
			r.Errorf("the idempotency key changed between attempts: %v", keys)
		}
	})
}

func TestFinalRefusalsEndAtOnce(t *testing.T) {
	hours(t)
	for _, class := range []posthouse.Class{posthouse.ClassRecipient, posthouse.ClassContent, posthouse.ClassRequest} {
		t.Run(string(class), func(t *testing.T) {
			virtual(t, func(r *rig) {
				r.provider.answer = fail(class)
				r.open("c", posthouse.ChannelSettings{}, idempotent)
				id := r.send(text("c", "u1"))[0]
				r.pass(time.Hour)
				r.want(id, posthouse.Failed, string(class), 1)
				if n := len(r.provider.sends); n != 1 {
					r.Errorf("%d sends", n)
				}
			})
		})
	}
}

func TestUnknownFollowsThePolicy(t *testing.T) {
	hours(t)
	once := func(out channel.Outgoing) channel.Result {
		if out.Attempt == 1 {
			return channel.Result{Class: posthouse.ClassUnknown, Code: "API_TIMEOUT", Error: "timed out"}
		}
		return channel.Result{Class: posthouse.ClassOK}
	}
	for _, c := range []struct {
		policy       posthouse.Policy
		opened       state.Opened
		state        posthouse.State
		reason       string
		tries, sends int
		history      string
	}{
		{posthouse.Retry, idempotent, posthouse.Sent, "", 1, 2, "accept start ambiguous resend start sent "},
		{posthouse.Hold, idempotent, posthouse.Unknown, "API_TIMEOUT", 1, 1, "accept start ambiguous "},
		{posthouse.AssumeSent, idempotent, posthouse.Sent, "unconfirmed", 1, 1, "accept start ambiguous assume_sent "},
		{"", idempotent, posthouse.Sent, "", 1, 2, "accept start ambiguous resend start sent "},
		{"", state.Opened{}, posthouse.Unknown, "API_TIMEOUT", 1, 1, "accept start ambiguous "},
		{posthouse.Retry, state.Opened{Window: 30 * time.Second}, posthouse.Unknown, state.ReasonWindowClosed, 1, 1, "accept start ambiguous "},
	} {
		t.Run(fmt.Sprintf("%s within %v", c.policy, c.opened.Window), func(t *testing.T) {
			virtual(t, func(r *rig) {
				r.provider.answer = once
				r.open("c", posthouse.ChannelSettings{OnUnknown: c.policy}, c.opened)
				id := r.send(text("c", "u1"))[0]
				r.pass(time.Hour)
				r.want(id, c.state, c.reason, c.tries)
				if got := len(r.provider.sends); got != c.sends {
					r.Errorf("sends: got %d, want %d", got, c.sends)
				}
				if got := r.history(id); got != c.history {
					r.Errorf("history: got %q, want %q", got, c.history)
				}
			})
		})
	}
}

func TestAMessageOverridesThePolicy(t *testing.T) {
	hours(t)
	virtual(t, func(r *rig) {
		r.provider.answer = fail(posthouse.ClassUnknown)
		r.open("c", posthouse.ChannelSettings{OnUnknown: posthouse.Retry}, idempotent)
		d := text("c", "u1")
		d.OnUnknown = posthouse.Hold
		id := r.send(d)[0]
		r.pass(time.Hour)
		r.want(id, posthouse.Unknown, "E1", 1)
	})
}

func TestAHeldUnknownEndsWithItsTimer(t *testing.T) {
	hours(t)
	virtual(t, func(r *rig) {
		r.provider.answer = fail(posthouse.ClassUnknown)
		r.open("c", posthouse.ChannelSettings{OnUnknown: posthouse.Hold, HoldTimeout: posthouse.Duration(time.Hour)}, idempotent)
		id := r.send(text("c", "u1"))[0]
		r.pass(59 * time.Minute)
		r.want(id, posthouse.Unknown, "E1", 1)
		r.pass(2 * time.Minute)
		r.want(id, posthouse.Failed, state.ReasonUnknownTimeout, 1)
	})
}

// asking is a provider that can be asked.
type asking struct {
	*provider
	findings []channel.Finding
}

func (a *asking) Query(context.Context, channel.Outgoing) (channel.Finding, channel.Result) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.findings[0]
	a.findings = a.findings[1:]
	return f, channel.Result{Class: posthouse.ClassOK, Ref: "asked"}
}

func TestAnUnknownIsAskedAbout(t *testing.T) {
	hours(t)
	for _, c := range []struct {
		name     string
		findings []channel.Finding
		state    posthouse.State
		history  string
	}{
		{"found", []channel.Finding{channel.Found}, posthouse.Sent, "accept start ambiguous resolve "},
		{"absent, then sent again", []channel.Finding{channel.Absent}, posthouse.Sent, "accept start ambiguous resolve start sent "},
		{"no answer, then found", []channel.Finding{channel.NoAnswer, channel.Found}, posthouse.Sent, "accept start ambiguous resolve resolve "},
	} {
		t.Run(c.name, func(t *testing.T) {
			virtual(t, func(r *rig) {
				r.provider.answer = func(out channel.Outgoing) channel.Result {
					if out.Attempt == 1 {
						return channel.Result{Class: posthouse.ClassUnknown}
					}
					return channel.Result{Class: posthouse.ClassOK}
				}
				o := idempotent
				o.Driver = &asking{r.provider, c.findings}
				r.open("c", posthouse.ChannelSettings{OnUnknown: posthouse.Query}, o)
				id := r.send(text("c", "u1"))[0]
				r.pass(time.Hour)
				if got := r.history(id); got != c.history {
					r.Errorf("history: got %q, want %q", got, c.history)
				}
				if d := r.get(id); d.State != c.state {
					r.Errorf("state: got %s, want %s", d.State, c.state)
				}
			})
		})
	}
}

func TestAccountRefusalsBurnNothingAndParkTheChannel(t *testing.T) {
	hours(t)
	virtual(t, func(r *rig) {
		broken := true
		r.provider.answer = func(channel.Outgoing) channel.Result {
			if broken {
				return channel.Result{Class: posthouse.ClassAccount, Code: "quota", Error: "quota used up"}
			}
			return channel.Result{Class: posthouse.ClassOK}
		}
		r.open("c", posthouse.ChannelSettings{MaxInflight: 1}, idempotent)
		var ids []string
		for i := range 20 {
			ids = append(ids, r.send(text("c", fmt.Sprintf("u%d", i)))...)
		}
		r.pass(4 * time.Minute)
		if n := len(r.provider.sends); n != 1 {
			r.Errorf("%d sends to an account that refused the first", n)
		}
		x := r.engine.Explainer.Explain(r.Context(), r.get(ids[5]))
		if len(x.Waits) == 0 || x.Waits[0].Cause != "account" || !strings.Contains(x.Waits[0].Detail, "quota used up") {
			r.Errorf("explain says %+v", x)
		}
		r.pass(12 * time.Minute) // probes after 5 and 10 more minutes
		if n := len(r.provider.sends); n < 2 || n > 3 {
			r.Errorf("%d sends with probes", n)
		}
		broken = false
		r.pass(time.Hour)
		for _, id := range ids {
			r.want(id, posthouse.Sent, "", 0)
		}
	})
}

func TestResumeOpensAParkedAccount(t *testing.T) {
	for name, c := range map[string]struct {
		resume func(r *rig) error
		within time.Duration
	}{
		"at once here":                 {func(r *rig) error { return r.engine.Gates.Resume(r.Context(), r.tenant, "c") }, 2 * time.Second},
		"and soon where others say so": {func(r *rig) error { return r.store.Gates.ClearGate(r.Context(), r.tenant, "c", "*") }, 12 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(r *rig) {
				r.provider.answer = fail(posthouse.ClassAuth)
				r.open("c", posthouse.ChannelSettings{}, idempotent)
				id := r.send(text("c", "u1"))[0]
				r.pass(time.Minute)
				r.provider.mu.Lock()
				r.provider.answer = nil
				r.provider.mu.Unlock()
				if err := c.resume(r); err != nil {
					r.Fatal(err)
				}
				r.pass(c.within)
				r.want(id, posthouse.Sent, "", 0)
			})
		})
	}
}

func TestARateLimitWaitsAsLongAsTheProviderSays(t *testing.T) {
	virtual(t, func(r *rig) {
		r.provider.answer = func(out channel.Outgoing) channel.Result {
			if out.Attempt == 1 {
				return channel.Result{Class: posthouse.ClassRate, Code: "429", After: 90 * time.Second}
			}
			return channel.Result{Class: posthouse.ClassOK}
		}
		r.open("c", posthouse.ChannelSettings{}, idempotent)
		id := r.send(text("c", "u1"))[0]
		r.pass(89 * time.Second)
		r.want(id, posthouse.Pending, "rate", 0)
		r.pass(5 * time.Second)
		r.want(id, posthouse.Sent, "", 0)
	})
}

func TestNotBeforeAndDeadline(t *testing.T) {
	hours(t)
	virtual(t, func(r *rig) {
		r.open("c", posthouse.ChannelSettings{}, idempotent)
		r.open("paused", posthouse.ChannelSettings{}, idempotent)
		later := text("c", "later")
		later.NotBefore = time.Now().Add(time.Hour)
		a := r.send(later)[0]
		r.pause("paused")
		short := text("paused", "short")
		short.Deadline = time.Now().Add(time.Minute)
		b := r.send(short)[0]
		r.pass(59 * time.Minute)
		r.want(a, posthouse.Pending, "", 0)
		r.want(b, posthouse.Expired, state.ReasonDeadline, 0)
		r.pass(2 * time.Minute)
		r.want(a, posthouse.Sent, "", 0)
	})
}

func TestNothingStartsAFractionOfAMicrosecondEarly(t *testing.T) {
	virtual(t, func(r *rig) {
		r.open("oa", posthouse.ChannelSettings{}, state.Opened{})
		for _, fraction := range []time.Duration{0, 1, 500, 999, 1000} {
			d := text("oa", "u1")
			d.NotBefore = time.Now().Truncate(time.Second).Add(time.Hour + fraction)
			got := r.get(r.send(d)[0])
			if early := d.NotBefore.Sub(got.DueAt); early > 0 || early <= -time.Microsecond || !got.NotBefore.Equal(got.DueAt) {
				r.Errorf("not before %s: due at %s", d.NotBefore, got.DueAt)
			}
		}
	})
}

func TestARetryPastTheDeadlineExpires(t *testing.T) {
	hours(t)
	virtual(t, func(r *rig) {
		r.provider.answer = fail(posthouse.ClassTransient)
		r.open("c", posthouse.ChannelSettings{}, idempotent)
		d := text("c", "u1")
		d.Deadline = time.Now().Add(2 * time.Minute)
		id := r.send(d)[0]
		r.pass(time.Hour)
		r.want(id, posthouse.Expired, state.ReasonDeadlineBefore, 2)
	})
}

func TestCancel(t *testing.T) {
	hours(t)
	virtual(t, func(r *rig) {
		r.provider.answer = func(out channel.Outgoing) channel.Result {
			time.Sleep(5 * time.Second) // under way, in virtual time
			return channel.Result{Class: posthouse.ClassTransient, Error: "busy"}
		}
		r.open("c", posthouse.ChannelSettings{}, idempotent)
		waiting := text("c", "waiting")
		waiting.NotBefore = time.Now().Add(time.Hour)
		a := r.send(waiting)[0]
		b := r.send(text("c", "under way"))[0]
		r.pass(time.Second)
		got, err := r.engine.Operator.Cancel(r.Context(), r.tenant, []string{a, b})
		if err != nil {
			r.Fatal(err)
		}
		results := map[string]string{}
		for _, c := range got {
			results[c.User] = c.Result
		}
		if diff := cmp.Diff(map[string]string{"waiting": decide.CancelDone, "under way": decide.CancelLate}, results); diff != "" {
			r.Error(diff)
		}
		r.pass(2 * time.Hour)
		r.want(a, posthouse.Cancelled, state.ReasonCancelled, 0)
		r.want(b, posthouse.Cancelled, state.ReasonCancelled, 1) // no further try after the one under way
		if again, _ := r.engine.Operator.Cancel(r.Context(), r.tenant, []string{a}); again[0].Result != decide.CancelFinal {
			r.Errorf("a second cancel: %+v", again)
		}
		if other, _ := r.engine.Operator.Cancel(r.Context(), "other", []string{a}); len(other) != 0 {
			r.Errorf("another tenant cancels: %+v", other)
		}
	})
}

func TestALostLeaseIsUnknownAndThenFollowsThePolicy(t *testing.T) {
	virtual(t, func(r *rig) {
		r.stop() // nobody is home
		r.restart()
		r.open("c", posthouse.ChannelSettings{OnUnknown: posthouse.Hold}, idempotent)
		r.pause("c")
		id := r.send(text("c", "u1"))[0]
		dead, err := r.store.Queue.Claim(r.Context(), time.Now(), work.Claim{
			Lane: work.Lane{Tenant: r.tenant, Channel: "c", Priority: posthouse.Normal}, Max: 1, Owner: "dead", Lease: time.Minute, Epoch: 1,
		})
		if err != nil || len(dead) != 1 {
			r.Fatal(dead, err)
		}
		r.pass(59 * time.Second)
		r.want(id, posthouse.Sending, "", 0)
		r.pass(10 * time.Second)
		d := r.want(id, posthouse.Unknown, state.ReasonLeaseLost, 1)
		if d.ClaimLosses != 1 {
			r.Errorf("claim losses: %d", d.ClaimLosses)
		}
		// The dead worker was only slow: its success is evidence.
		r.late(dead[0], channel.Result{Class: posthouse.ClassOK, Ref: "late"})
		r.pass(time.Second)
		d = r.want(id, posthouse.Sent, "late_result", 1)
		if d.ProviderRef != "late" {
			r.Errorf("ref: %q", d.ProviderRef)
		}
	})
}

func TestADeliveryThatKeepsTakingItsWorkerDownIsQuarantined(t *testing.T) {
	virtual(t, func(r *rig) {
		r.open("c", posthouse.ChannelSettings{Tries: 100, Backoff: []posthouse.Duration{posthouse.Duration(time.Second)}}, idempotent)
		r.pause("c")
		id := r.send(text("c", "u1"))[0]
		for range 40 {
			_, err := r.store.Queue.Claim(r.Context(), time.Now(), work.Claim{
				Lane: work.Lane{Tenant: r.tenant, Channel: "c", Priority: posthouse.Normal}, Max: 1, Owner: "dies", Lease: time.Second, Epoch: 1,
			})
			if err != nil {
				r.Fatal(err)
			}
			r.pass(20 * time.Second)
		}
		d := r.want(id, posthouse.Quarantined, state.ReasonPoison, 5)
		if d.Attempts != state.MaxClaimLosses+1 {
			r.Errorf("attempts: %d", d.Attempts)
		}
		if _, err := r.engine.Operator.Resolve(r.Context(), r.tenant, id, decide.ResolveFail); err != nil {
			r.Error(err)
		}
		r.want(id, posthouse.Failed, "operator_not_sent", 5)
	})
}

func TestAPanickingDriverQuarantinesItsDeliveryOnly(t *testing.T) {
	virtual(t, func(r *rig) {
		r.provider.answer = func(out channel.Outgoing) channel.Result {
			if out.Recipient.User == "bad" {
				panic("boom")
			}
			return channel.Result{Class: posthouse.ClassOK}
		}
		r.open("c", posthouse.ChannelSettings{}, idempotent)
		bad, good := r.send(text("c", "bad"))[0], r.send(text("c", "good"))[0]
		r.pass(time.Second)
		r.want(bad, posthouse.Quarantined, state.ReasonPanic, 0)
		r.want(good, posthouse.Sent, "", 0)
	})
}

func TestLimitsHold(t *testing.T) {
	virtual(t, func(r *rig) {
		r.open("c", posthouse.ChannelSettings{Limits: []posthouse.Limit{{Max: 5, Per: posthouse.Duration(time.Second)}, {Max: 20, Per: posthouse.Duration(time.Minute)}}}, idempotent)
		for i := range 50 {
			r.send(text("c", fmt.Sprint(i)))
		}
		r.pass(30 * time.Second)
		if got, want := len(r.provider.to()), 20; got != want {
			r.Errorf("in the first minute: %d sends, want %d", got, want)
		}
		r.pass(5 * time.Minute)
		if got := len(r.provider.to()); got != 50 {
			r.Errorf("in the end: %d sends", got)
		}
		for i := range r.provider.at {
			n := 0
			for _, at := range r.provider.at[i:] {
				if at.Sub(r.provider.at[i]) < time.Second {
					n++
				}
			}
			if n > 5 {
				r.Errorf("%d sends in the second after send %d", n, i)
			}
		}
	})
}

func TestASlowChannelDoesNotDelayAnother(t *testing.T) {
	virtual(t, func(r *rig) {
		hang := &provider{answer: func(channel.Outgoing) channel.Result {
			time.Sleep(9 * time.Second) // in virtual time
			return channel.Result{Class: posthouse.ClassUnknown}
		}}
		r.open("slow", posthouse.ChannelSettings{}, state.Opened{Driver: hang})
		r.open("fast", posthouse.ChannelSettings{}, idempotent)
		for i := range 100 {
			r.send(text("slow", fmt.Sprint(i)))
		}
		id := r.send(text("fast", "u"))[0]
		r.pass(time.Second)
		r.want(id, posthouse.Sent, "", 0)
	})
}

// FLEET-3: high, normal and low are queues of their own, each in its order.
func TestPrioritiesShareByWeightAndLowNeverStarves(t *testing.T) {
	virtual(t, func(r *rig) {
		r.open("c", posthouse.ChannelSettings{MaxInflight: 10, Limits: []posthouse.Limit{{Max: 10, Per: posthouse.Duration(time.Second)}}}, idempotent)
		r.pause("c")
		r.pass(time.Second)
		for i := range 60 {
			for _, p := range posthouse.Priorities() {
				d := text("c", fmt.Sprintf("%s-%d", p, i))
				d.Priority = p
				r.send(d)
			}
		}
		r.open("c", posthouse.ChannelSettings{MaxInflight: 10, Limits: []posthouse.Limit{{Max: 10, Per: posthouse.Duration(time.Second)}}}, idempotent)
		r.pass(5500 * time.Millisecond)
		counts := map[string]int{}
		for _, u := range r.provider.to() {
			p, _, _ := strings.Cut(u, "-")
			counts[p]++
		}
		if counts["high"] < 30 || counts["normal"] < 13 || counts["low"] < 4 {
			r.Errorf("shares of the first 60: %v, want about 36, 18 and 6", counts)
		}
	})
}

func TestAPeriodicChannelSendsInRuns(t *testing.T) {
	virtual(t, func(r *rig) {
		every := posthouse.Duration(time.Minute)
		r.provider.answer = func(out channel.Outgoing) channel.Result {
			if out.Recipient.User == "down" {
				return channel.Result{Class: posthouse.ClassTransient, Error: "down"}
			}
			return channel.Result{Class: posthouse.ClassOK}
		}
		r.open("tianyuan", posthouse.ChannelSettings{Profile: "duty", Every: &every}, state.Opened{})
		r.pass(time.Second) // the first, empty run
		good, bad := r.send(text("tianyuan", "up"))[0], r.send(text("tianyuan", "down"))[0]
		r.pass(50 * time.Second)
		r.want(good, posthouse.Pending, "", 0)
		r.pass(10 * time.Second)
		r.want(good, posthouse.Sent, "", 0)
		r.want(bad, posthouse.Pending, "transient", 1) // once a run
		r.pass(time.Minute)
		r.want(bad, posthouse.Pending, "transient", 2)
		r.pass(time.Minute)
		r.want(bad, posthouse.Failed, state.ReasonTriesUsedUp, 3)
	})
}

func TestAShutdownBurnsNothing(t *testing.T) {
	virtual(t, func(r *rig) {
		r.provider.answer = func(channel.Outgoing) channel.Result {
			time.Sleep(3 * time.Second) // in virtual time
			return channel.Result{Class: posthouse.ClassOK}
		}
		r.open("c", posthouse.ChannelSettings{MaxInflight: 2}, idempotent)
		var ids []string
		for i := range 6 {
			ids = append(ids, r.send(text("c", fmt.Sprint(i)))...)
		}
		r.pass(time.Second)
		r.stop()
		states := map[posthouse.State]int{}
		for _, id := range ids {
			d := r.get(id)
			states[d.State]++
			if d.State == posthouse.Pending && (d.Attempts != 0 || d.Tries != 0) {
				r.Errorf("a delivery that never started has %d attempts and %d tries", d.Attempts, d.Tries)
			}
		}
		if diff := cmp.Diff(map[posthouse.State]int{posthouse.Sent: 2, posthouse.Pending: 4}, states); diff != "" {
			r.Error(diff)
		}
		r.restart()
		r.open("c", posthouse.ChannelSettings{}, idempotent)
		r.pass(time.Minute)
		for _, id := range ids {
			r.want(id, posthouse.Sent, "", 0)
		}
	})
}

// batching counts the calls of a provider that takes many recipients at once.
type batching struct {
	*provider
	calls [][]channel.Outgoing
	short bool            // leaves the last recipient out of its answer
	class posthouse.Class // of its answers; ok by default
}

func (b *batching) SendBatch(ctx context.Context, outs []channel.Outgoing) []channel.Result {
	b.mu.Lock()
	b.calls = append(b.calls, outs)
	b.mu.Unlock()
	var results []channel.Result
	for range outs {
		results = append(results, channel.Result{Class: either(b.class, posthouse.ClassOK)})
	}
	if b.short {
		results = results[:len(results)-1]
	}
	return results
}

func TestOneCallForManyRecipientsOfOneMessage(t *testing.T) {
	virtual(t, func(r *rig) {
		b := &batching{provider: r.provider}
		r.open("c", posthouse.ChannelSettings{}, state.Opened{Driver: b, MaxBatch: 50, Window: channel.Forever})
		var users []string
		for i := range 120 {
			users = append(users, fmt.Sprint(i))
		}
		r.send(text("c", users...))
		r.pass(time.Second)
		total := 0
		for _, c := range b.calls {
			total += len(c)
		}
		if total != 120 || len(b.calls) != 3 {
			r.Errorf("%d recipients in %d calls, want 120 in 3", total, len(b.calls))
		}
	})
}

// FLOW-11: each job is one call, also behind others, and again one call when it is tried again.
func TestAJobStaysOneCallBehindOthersAndWhenRetried(t *testing.T) {
	hours(t)
	virtual(t, func(r *rig) {
		b := &batching{provider: r.provider, class: posthouse.ClassTransient}
		r.open("c", posthouse.ChannelSettings{Tries: 2}, state.Opened{Driver: b, MaxBatch: 500})
		r.pass(500 * time.Millisecond) // results of one call that are recorded some milliseconds apart come due in one second
		jobs := map[string]int{}
		for n := range 8 {
			var users []string
			for i := range 60 + 60*n {
				users = append(users, fmt.Sprint(i))
			}
			jobs[posthouse.MessageID(r.send(text("c", users...))[0])] = len(users)
		}
		r.pass(time.Hour)
		calls := map[string][]int{}
		for _, c := range b.calls {
			calls[c[0].Message] = append(calls[c[0].Message], len(c))
		}
		for job, n := range jobs {
			if diff := cmp.Diff([]int{n, n}, calls[job]); diff != "" {
				r.Errorf("calls of a job of %d that is tried twice (-want +got):\n%s", n, diff)
			}
		}
	})
}

// Room is not split between priorities where a call wants all of it.
func TestAJobStaysOneCallBesideOtherPriorities(t *testing.T) {
	hours(t)
	virtual(t, func(r *rig) {
		b := &batching{provider: r.provider}
		r.open("c", posthouse.ChannelSettings{}, state.Opened{Driver: b, MaxBatch: 500})
		r.pause("c")
		var users []string
		for i := range 420 {
			users = append(users, fmt.Sprint(i))
		}
		for _, p := range posthouse.Priorities() {
			d := text("c", users...)
			d.Priority = p
			r.send(d)
		}
		r.resume("c")
		r.pass(time.Minute)
		var calls []int
		for _, c := range b.calls {
			calls = append(calls, len(c))
		}
		if diff := cmp.Diff([]int{420, 420, 420}, calls); diff != "" {
			r.Error(diff)
		}
	})
}

// Slots that come free between the count of the room and the claim are no reason to cut: the next look has them.
func TestAJobIsCutOnlyWhereNothingWasUnderWay(t *testing.T) {
	virtual(t, func(r *rig) {
		b := &batching{provider: r.provider}
		r.open("c", posthouse.ChannelSettings{}, state.Opened{Driver: b, MaxBatch: 500})
		r.pause("c") // the test itself claims
		var users []string
		for i := range 120 {
			users = append(users, fmt.Sprint(i))
		}
		r.send(text("c", users...))
		paused := r.engine.Routes.route(r.tenant, "c")
		open := *paused.Channel
		open.Stored.Paused = false
		own := admission.New(&open, admission.Options{})
		normal := admission.Lane{Priority: posthouse.Normal}
		for _, c := range []struct {
			idle bool
			want int
		}{{false, 0}, {true, 80}} {
			var other *admission.Reservation
			if !c.idle {
				other = own.ReserveIn(time.Now(), normal, 1)
			}
			got := 0
			if _, err := r.engine.dispatcher.start(paused, own.ReserveIn(time.Now(), normal, 80), answer{}, time.Time{}, func(found claimed) { got = found.n }); err != nil || got != c.want {
				r.Errorf("%d of 120 were claimed into 80 slots, %v; want %d where idle is %t", got, err, c.want, c.idle)
			}
			synctest.Wait()
			if other != nil {
				other.Close()
			}
		}
	})
}

func TestARecipientTheAnswerDoesNotMentionIsUnknown(t *testing.T) {
	virtual(t, func(r *rig) {
		b := &batching{provider: r.provider, short: true}
		r.open("c", posthouse.ChannelSettings{}, state.Opened{Driver: b, MaxBatch: 10})
		ids := r.send(text("c", "a", "b"))
		r.pass(time.Second)
		r.want(ids[0], posthouse.Sent, "", 0)
		r.want(ids[1], posthouse.Unknown, "NO_RESULT", 1)
	})
}

func TestIdempotencyAndDedup(t *testing.T) {
	virtual(t, func(r *rig) {
		r.open("c", posthouse.ChannelSettings{DedupWindow: posthouse.Duration(10 * time.Minute)}, idempotent)
		d := text("c", "u1")
		req := intake.Request{Caller: work.Program(), Tenant: r.tenant, Endpoint: "e", Key: "k", Hash: "h", Drafts: []posthouse.Draft{d}}
		first, err := r.engine.Intake.Accept(r.Context(), req)
		if err != nil {
			r.Fatal(err)
		}
		again, err := r.engine.Intake.Accept(r.Context(), req)
		if err != nil || !again.Replayed {
			r.Fatal(again, err)
		}
		if diff := cmp.Diff(first.Accepted, again.Accepted); diff != "" {
			r.Error(diff)
		}
		req.Hash = "other"
		if _, err := r.engine.Intake.Accept(r.Context(), req); posthouse.CodeOf(err) != posthouse.CodeKeyReused {
			r.Errorf("another body: %v", err)
		}
		d.DedupKey = "business"
		one, _ := r.engine.Intake.Accept(r.Context(), intake.Request{Caller: work.Program(), Tenant: r.tenant, Drafts: []posthouse.Draft{d}})
		two, _ := r.engine.Intake.Accept(r.Context(), intake.Request{Caller: work.Program(), Tenant: r.tenant, Drafts: []posthouse.Draft{d}})
		if got, want := two.Accepted[0].DuplicateOf, one.Accepted[0].ID; got != want {
			r.Errorf("duplicate of %q, want %q", got, want)
		}
		r.pass(11 * time.Minute) // the window closes
		three, _ := r.engine.Intake.Accept(r.Context(), intake.Request{Caller: work.Program(), Tenant: r.tenant, Drafts: []posthouse.Draft{d}})
		if three.Accepted[0].DuplicateOf != "" {
			r.Error("the dedup window never closes")
		}
		synctest.Wait()
	})
}

func TestEveryProblemIsReportedAtOnce(t *testing.T) {
	virtual(t, func(r *rig) {
		r.open("c", posthouse.ChannelSettings{}, idempotent)
		if _, err := r.store.Templates.PutTemplate(r.Context(), time.Now(), posthouse.Template{Tenant: r.tenant, Name: "t", Text: "${name} owes ${sum}"}); err != nil {
			r.Fatal(err)
		}
		_, err := r.engine.Intake.Accept(r.Context(), intake.Request{Caller: work.Program(), Tenant: r.tenant, Drafts: []posthouse.Draft{
			text("c", "fine"),
			{Channel: "nowhere", Priority: "urgent", Content: &posthouse.Content{Text: "x\x00"}, To: []posthouse.Recipient{{}}},
			{Channel: "c", Template: "t", Payload: payload(map[string]any{"name": "Li"}), To: []posthouse.Recipient{{User: "u"}}},
			{Channel: "c", Template: "none", To: []posthouse.Recipient{{User: "u"}}, Deadline: time.Now().Add(-time.Hour)},
		}})
		var paths []string
		var e *posthouse.Error
		if errors.As(err, &e) {
			for _, p := range e.Problems {
				paths = append(paths, p.Path)
			}
		}
		want := []string{
			"messages[1].priority", "messages[1].to[0]", "messages[1].content.text", "messages[1].channel",
			"messages[2].payload.sum", "messages[3].deadline", "messages[3].template",
		}
		if diff := cmp.Diff(want, paths); diff != "" {
			r.Error(diff, err)
		}
		list, _, _ := r.store.Messages.Messages(r.Context(), work.Filter{Sight: work.SeeAll(), Tenant: r.tenant})
		if len(list) != 0 {
			r.Errorf("%d messages were stored", len(list))
		}
	})
}

func TestATemplateIsRenderedOnceAndValuesAreNotExpanded(t *testing.T) {
	virtual(t, func(r *rig) {
		r.open("c", posthouse.ChannelSettings{}, idempotent)
		if _, err := r.store.Templates.PutTemplate(r.Context(), time.Now(), posthouse.Template{Tenant: r.tenant, Name: "t", Title: "To ${name}", Text: "Dear {name}, pay ${sum}"}); err != nil {
			r.Fatal(err)
		}
		r.send(posthouse.Draft{Channel: "c", Template: "t", Payload: payload(map[string]any{"name": "${sum}", "sum": 12}), To: []posthouse.Recipient{{User: "u"}}})
		r.pass(time.Second)
		want := posthouse.Content{Title: "To ${sum}", Text: "Dear ${sum}, pay 12"}
		if diff := cmp.Diff(want, r.provider.sends[0].Content); diff != "" {
			r.Error(diff)
		}
	})
}

func TestARestoredDatabaseSendsNothingAgainByItself(t *testing.T) {
	hours(t)
	virtual(t, func(r *rig) {
		r.open("c", posthouse.ChannelSettings{}, idempotent)
		r.pause("c")
		old := r.send(text("c", "may have been sent"))[0]
		r.pass(time.Second)
		if _, err := r.store.Epochs.BumpEpoch(r.Context(), time.Now()); err != nil {
			r.Fatal(err)
		}
		r.pass(10 * time.Second)
		if !r.engine.Stale() {
			r.Error("the process from before the restore goes on")
		}
		r.stop()
		r.restart()
		r.open("c", posthouse.ChannelSettings{}, idempotent)
		fresh := r.send(text("c", "new"))[0]
		r.pass(time.Hour)
		if d := r.get(old); d.State != posthouse.Unknown {
			r.Errorf("held: got %s", d.State)
		}
		r.want(fresh, posthouse.Sent, "", 0)
		if diff := cmp.Diff([]string{"new"}, r.provider.to()); diff != "" {
			r.Error(diff)
		}
	})
}

func TestOneRequestHasABoundOnItsRecipients(t *testing.T) {
	virtual(t, func(r *rig) {
		r.open("c", posthouse.ChannelSettings{}, idempotent)
		var users []string
		for i := range 1000 {
			users = append(users, fmt.Sprint(i))
		}
		var drafts []posthouse.Draft
		for range 11 {
			drafts = append(drafts, text("c", users...))
		}
		_, err := r.engine.Intake.Accept(r.Context(), intake.Request{Caller: work.Program(), Tenant: r.tenant, Drafts: drafts})
		if posthouse.CodeOf(err) != posthouse.CodeInvalid || !strings.Contains(err.Error(), "messages: have 11000 recipients") {
			r.Errorf("got %v", err)
		}
	})
}
