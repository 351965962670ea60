package state

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/retry"
	"github.com/posthouse/posthouse/internal/transition"
	"github.com/posthouse/posthouse/internal/work"
)

// A cancel that comes while a claimed delivery waits to be given back was told "too late": no further
// try starts. The release used to forget that.
func TestAReleaseOfACancelledDeliveryCancelsIt(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	d := posthouse.Delivery{State: posthouse.Sending, StartedAt: now, FirstStartAt: now, Attempts: 1, LeaseOwner: "vm-1-a"}
	d.CancelRequested = true
	c := AfterRelease(d, now, ReasonShutdown)
	var got []posthouse.EventType
	for _, e := range c.Events {
		got = append(got, e.Type)
	}
	if diff := cmp.Diff([]posthouse.EventType{posthouse.EventRelease, posthouse.EventCancel}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if c.After.State != posthouse.Cancelled || c.After.Attempts != 0 {
		t.Errorf("it is %s after %d attempts, want it cancelled after none", c.After.State, c.After.Attempts)
	}
}

// What began too late for its step is withdrawn as what had not begun: its start is taken back. A repeat stays in doubt.
func TestWhatBeganTooLateForItsStepIsWithdrawn(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	d := posthouse.Delivery{State: posthouse.Sending, StartedAt: now, FirstStartAt: now, Attempts: 1, LeaseOwner: "vm-1-a"}
	c := AfterNotSent(&Settings{}, d, ReasonStepOver, "over", now)
	var got []posthouse.EventType
	for _, e := range c.Events {
		got = append(got, e.Type)
	}
	if diff := cmp.Diff([]posthouse.EventType{posthouse.EventRelease, posthouse.EventCancel}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if a := c.After; a.State != posthouse.Cancelled || a.Reason != ReasonStepOver || a.Attempts != 0 || a.Error != "" {
		t.Errorf("it is %s (%s, %q) after %d attempts", a.State, a.Reason, a.Error, a.Attempts)
	}
	d.Reason, d.Attempts = string(posthouse.ClassUnknown), 2
	if a := AfterNotSent(&Settings{}, d, ReasonStepOver, "over", now).After; a.State != posthouse.Unknown || a.Attempts != 1 {
		t.Errorf("a repeat is %s after %d attempts: it may have been reached before", a.State, a.Attempts)
	}
}

// What is late proof of one attempt ends no other that has not begun.
func TestEvidenceEndsOnlyAnAttemptThatRuns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		d    posthouse.Delivery
		want int
	}{
		"unknown":                   {posthouse.Delivery{State: posthouse.Unknown, Attempts: 2}, 2},
		"an attempt runs":           {posthouse.Delivery{State: posthouse.Sending, Attempts: 2, StartedAt: time.Now()}, 2},
		"handed out, and not begun": {posthouse.Delivery{State: posthouse.Sending, Attempts: 2}, 0},
	} {
		change, ok := AfterEvidence(c.d, channel.Result{Class: posthouse.ClassOK})
		if !ok || change.Events[0].Attempt != c.want || change.After.State != posthouse.Sent {
			t.Errorf("%s: got %v, %+v; want attempt %d", name, ok, change.Events, c.want)
		}
	}
}

// With the profile wecom a rate limit waits a minute; too many calls at once wait for another one to end.
func TestTooManyCallsAtOnceWaitForAMoment(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 26, 8, 0, 0, 0, time.UTC)
	profile, _ := retry.Named("wecom")
	for scope, most := range map[channel.Scope]time.Duration{"": 72 * time.Second, channel.OfChannel: 3 * time.Second} {
		item := &work.Item{Delivery: posthouse.Delivery{State: posthouse.Sending, StartedAt: now, FirstStartAt: now, Attempts: 1}}
		c := AfterResult(&Settings{Profile: profile}, item, channel.Result{Class: posthouse.ClassRate, After: 2 * time.Second, AtOnce: scope}, now)
		if wait := c.After.DueAt.Sub(now); c.After.State != posthouse.Pending || wait < 2*time.Second || wait > most || scope == "" && wait < time.Minute {
			t.Errorf("%q: it is %s and waits %s, want at most %s", scope, c.After.State, wait, most)
		}
	}
}

// What a person let go again is taken back until it begins, and then waits for a person whatever its policy; nothing else is.
func TestARetryIsTakenBackUntilItBegins(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 26, 8, 0, 0, 0, time.UTC)
	let := func(d posthouse.Delivery) posthouse.Delivery {
		c, ok := AfterResolve(d, false, true, ReasonRetry, now)
		if !ok {
			t.Fatalf("%s cannot be tried again", d.State)
		}
		return c.After
	}
	unknown := let(posthouse.Delivery{State: posthouse.Unknown, Attempts: 1, OnUnknown: posthouse.Retry})
	c, ok := AfterUndo(unknown)
	if d := c.After; !ok || d.State != posthouse.Unknown || d.OnUnknown != posthouse.Hold || d.Reason != ReasonUndo || !d.DueAt.IsZero() || !transition.Legal(posthouse.Pending, c.Events[0].Type, d.State) {
		t.Errorf("an unknown is taken back as %+v, %v", c, ok)
	}
	c, ok = AfterUndo(let(posthouse.Delivery{State: posthouse.Quarantined, OnUnknown: posthouse.Retry}))
	if d := c.After; !ok || d.State != posthouse.Quarantined || d.Reason != ReasonUndo || !transition.Legal(posthouse.Pending, c.Events[0].Type, d.State) {
		t.Errorf("a quarantined one is taken back as %+v, %v", c, ok)
	}
	begun, tried := unknown, unknown
	begun.State, tried.Reason = posthouse.Sending, string(posthouse.ClassTransient)
	for _, d := range []posthouse.Delivery{begun, tried, {State: posthouse.Pending}, {State: posthouse.Sent, Reason: ReasonRetry}} {
		if c, ok := AfterUndo(d); ok {
			t.Errorf("what is %s by %q is taken back as %+v", d.State, d.Reason, c.After)
		}
	}
}
