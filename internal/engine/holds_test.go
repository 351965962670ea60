package engine

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/pull"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

func TestAStartIsMarkedOnceAndOnlyByWhoHolds(t *testing.T) {
	virtual(t, func(r *rig) {
		r.pull("sms", posthouse.ChannelSettings{})
		a, b := r.phone("a", nil, "sms"), r.phone("b", nil, "sms")
		id := r.send(text("sms", "u1"))[0]
		h := r.one(a)
		wrong, gone := h, h
		wrong.Token, gone.Delivery = 9, posthouse.DeliveryID(posthouse.NewID(), 1)
		for name, c := range map[string]struct {
			agent posthouse.Agent
			hold  posthouse.Handout
			want  string
		}{
			"another agent": {b, h, pull.HoldStale}, "another token": {a, wrong, pull.HoldStale}, "no such delivery": {a, gone, pull.HoldMissing},
		} {
			if got := r.begin(c.agent, c.hold); got != c.want {
				t.Errorf("the start of %s: got %q, want %q", name, got, c.want)
			}
		}
		for range 2 { // its answer may be lost
			if why := r.begin(a, h); why != "" {
				t.Errorf("the start was refused: %s", why)
			}
		}
		if d := r.get(id); d.Attempts != 1 || d.StartedAt.IsZero() {
			t.Errorf("got %d attempts, started at %s; want one start", d.Attempts, d.StartedAt)
		}
	})
}

func TestNothingStartsThatIsNotToBeSentAnyMore(t *testing.T) {
	virtual(t, func(r *rig) {
		r.pull("sms", posthouse.ChannelSettings{})
		a := r.phone("a", nil, "sms")
		cancelled := r.send(text("sms", "u1"))[0]
		h := r.one(a)
		if _, err := r.engine.Operator.Cancel(context.Background(), r.tenant, []string{cancelled}); err != nil {
			t.Fatal(err)
		}
		if got := r.begin(a, h); got != pull.HoldCancelled {
			t.Errorf("the start of what was cancelled: got %q, want %q", got, pull.HoldCancelled)
		}
		draft := text("sms", "u2")
		draft.Deadline = time.Now().Add(time.Second)
		late := r.send(draft)[0]
		h = r.one(a)
		r.pass(time.Second)
		if got := r.begin(a, h); got != pull.HoldExpired {
			t.Errorf("the start after the deadline: got %q, want %q", got, pull.HoldExpired)
		}
		r.want(late, posthouse.Expired, state.ReasonDeadline, 0)
	})
}

// PULL-14, T6: what was not started costs nothing when its lease is lost, however often a phone goes silent; it is
// set aside at last.
func TestALeaseLostWithoutAStartBurnsNothing(t *testing.T) {
	virtual(t, func(r *rig) {
		r.pull("sms", posthouse.ChannelSettings{Tries: 1, Timeout: posthouse.Duration(10 * time.Second)})
		a := r.phone("a", nil, "sms")
		id := r.send(text("sms", "u1"))[0]
		for range state.MaxPulledLosses {
			r.one(a)
			r.pass(20 * time.Second)
			r.want(id, posthouse.Pending, state.ReasonLeaseLost, 0)
		}
		h := r.one(a)
		r.pass(20 * time.Second)
		if d := r.want(id, posthouse.Quarantined, state.ReasonPoison, 0); d.Attempts != 0 {
			t.Errorf("got %d attempts, want none", d.Attempts)
		}
		if got := r.begin(a, h); got != pull.HoldStale {
			t.Errorf("a start after the lease: got %q, want %q", got, pull.HoldStale)
		}
	})
}

// PULL-8, T13: after a start nobody knows whether it left, and the policy decides.
func TestALeaseLostAfterAStartIsUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		settings posthouse.ChannelSettings
		state    posthouse.State
		reason   string
		wait     time.Duration
	}{
		"held by default": {posthouse.ChannelSettings{}, posthouse.Unknown, state.ReasonLeaseLost, 0},
		"tried again": {
			posthouse.ChannelSettings{OnUnknown: posthouse.Retry, Backoff: []posthouse.Duration{posthouse.Duration(5 * time.Minute)}},
			posthouse.Pending, "unknown", 5 * time.Minute,
		},
		"the last try": {posthouse.ChannelSettings{OnUnknown: posthouse.Retry, Tries: 1}, posthouse.Failed, state.ReasonTriesUsedUp, 0},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(r *rig) {
				r.pull("sms", c.settings)
				a := r.phone("a", nil, "sms")
				id := r.send(text("sms", "u1"))[0]
				r.fetch(pull.Claim{Agent: a, Max: 1, Started: true})
				r.pass(5*time.Minute + 7*time.Second)
				d := r.want(id, c.state, c.reason, 1)
				if c.wait > 0 && d.DueAt.Sub(d.UpdatedAt) != c.wait {
					t.Errorf("it is due after %s, want %s", d.DueAt.Sub(d.UpdatedAt), c.wait)
				}
				if want := "the agent a did not report before its lease ended"; d.Error != want {
					t.Errorf("got the error %q, want %q", d.Error, want)
				}
			})
		})
	}
}

// FLEET-7: a lost lease goes on the ladder of unknown ends, and not where other failures stood.
func TestALostLeaseHasTheLadderOfItsClass(t *testing.T) {
	virtual(t, func(r *rig) {
		jitter := 0.0
		r.pull("sms", posthouse.ChannelSettings{Profile: "wecom", OnUnknown: posthouse.Retry, Jitter: &jitter, Timeout: posthouse.Duration(10 * time.Second)})
		a := r.phone("a", nil, "sms")
		id := r.send(text("sms", "u1"))[0]
		for range 2 {
			h := r.one(a)
			r.say(a, h, posthouse.OutcomeNotSent)
			r.pass(time.Minute)
		}
		r.fetch(pull.Claim{Agent: a, Max: 1, Started: true})
		r.pass(17 * time.Second)
		d := r.want(id, posthouse.Pending, "unknown", 3)
		if got := d.DueAt.Sub(d.UpdatedAt); got != 2*time.Second {
			t.Errorf("it is due %s after its first unknown end, want 2s", got)
		}
	})
}

// PULL-8: a person need not wait for the rescuer.
func TestRescueNowCountsWhatItFinds(t *testing.T) {
	virtual(t, func(r *rig) {
		r.pull("sms", posthouse.ChannelSettings{OnUnknown: posthouse.Retry, Timeout: posthouse.Duration(time.Second)})
		a := r.phone("a", nil, "sms")
		r.send(text("sms", "u1", "u2", "u3"))
		r.fetch(pull.Claim{Agent: a, Max: 2, Started: true})
		r.pass(1001 * time.Millisecond)
		for _, want := range []int{2, 0} {
			if n, err := r.engine.Rescuer.RescueNow(context.Background()); n != want || err != nil {
				t.Errorf("got %d found, %v; want %d", n, err, want)
			}
		}
	})
}

func TestARenewedLeaseLasts(t *testing.T) {
	virtual(t, func(r *rig) {
		r.pull("sms", posthouse.ChannelSettings{})
		r.pull("slow", posthouse.ChannelSettings{Timeout: posthouse.Duration(time.Hour)})
		a := r.phone("a", nil, "sms", "slow")
		r.send(text("sms", "u1"))
		r.send(text("slow", "u1"))
		list := holdsOf(r.fetch(pull.Claim{Agent: a, Max: 10}).Handouts...)
		if len(list) != 2 {
			t.Fatalf("got %d hand-outs, want one of each channel", len(list))
		}
		r.pass(4 * time.Minute)
		list = append(list, work.Hold{Delivery: list[0].Delivery, Token: 9}, work.Hold{Delivery: "nothing", Token: 1})
		answers, err := r.engine.Pull.RenewHandouts(context.Background(), r.tenant, a.ID, list)
		if err != nil {
			t.Fatal(err)
		}
		left := map[time.Duration]bool{}
		for _, answer := range answers[:2] {
			left[time.Until(answer.LeaseUntil)] = answer.OK
		}
		if !left[5*time.Minute] || !left[time.Hour] {
			t.Errorf("got the leases %v, want five minutes and an hour from now", left)
		}
		if answers[2].OK || answers[2].Reason != pull.HoldStale || answers[3].OK || answers[3].Reason != pull.HoldMissing {
			t.Errorf("got %+v, want that another token is stale and another delivery missing", answers[2:])
		}
		r.pass(4 * time.Minute)
		if got := r.begin(a, posthouse.Handout{Delivery: list[0].Delivery, Token: list[0].Token}); got != "" {
			t.Errorf("a start within the renewed lease was refused: %s", got)
		}
	})
}

func TestWhatIsGivenBackGoesToTheNext(t *testing.T) {
	virtual(t, func(r *rig) {
		r.pull("sms", posthouse.ChannelSettings{})
		a, b := r.phone("a", nil, "sms"), r.phone("b", nil, "sms")
		id := r.send(text("sms", "u1"))[0]
		for _, started := range []bool{false, true} {
			h := r.one(a)
			if started {
				r.begin(a, h)
			}
			answers, err := r.engine.Pull.GiveBack(context.Background(), r.tenant, a.ID, holdsOf(h), "no SIM")
			if err != nil || !answers[0].OK {
				t.Fatalf("got %+v, %v; want it taken back", answers, err)
			}
			if d := r.want(id, posthouse.Pending, state.ReasonGivenBack, 0); d.Attempts != 0 {
				t.Errorf("got %d attempts, want none", d.Attempts)
			}
		}
		r.one(b)
		answers, err := r.engine.Pull.GiveBack(context.Background(), r.tenant, a.ID, []work.Hold{{Delivery: id, Token: 2}}, "")
		if err != nil || answers[0].OK || answers[0].Reason != pull.HoldStale {
			t.Errorf("got %+v, %v; want that who lost it cannot give it back", answers, err)
		}
	})
}

func TestReassignTakesAllFromADeadPhone(t *testing.T) {
	virtual(t, func(r *rig) {
		r.pull("sms", posthouse.ChannelSettings{})
		a, b := r.phone("a", nil, "sms"), r.phone("b", nil, "sms")
		ids := r.send(text("sms", "u1", "u2", "u3"))
		var mine []posthouse.Handout
		mine = append(mine, r.fetch(pull.Claim{Agent: a, Max: 2}).Handouts...)
		r.begin(a, mine[0])
		r.one(b)
		got, err := r.engine.Pull.Reassign(context.Background(), r.tenant, a.ID, "lost in a taxi")
		if want := (pull.Reassigned{Released: 1, Unknown: 1}); err != nil || got != want {
			t.Fatalf("got %+v, %v; want %+v", got, err, want)
		}
		if d := r.want(ids[0], posthouse.Unknown, state.ReasonReassigned, 1); d.Error != "taken from agent a: lost in a taxi" {
			t.Errorf("got the error %q, want who it was taken from and why", d.Error)
		}
		r.want(ids[1], posthouse.Pending, state.ReasonReassigned, 0)
		r.want(ids[2], posthouse.Sending, "", 0)
		if got := r.say(a, mine[1], posthouse.OutcomeNotSent); got != posthouse.ReportStale {
			t.Errorf("a failure reported after that was answered %q, want stale", got)
		}
		if got := r.say(a, mine[0], posthouse.OutcomeSent); got != posthouse.ReportEvidence {
			t.Errorf("a success reported after that was answered %q, want evidence", got)
		}
		if h := r.one(b); h.Delivery != ids[1] {
			t.Errorf("the other phone was handed %s, want %s", h.Delivery, ids[1])
		}
	})
}

func TestExplainSaysWhoHoldsIt(t *testing.T) {
	virtual(t, func(r *rig) {
		r.pull("sms", posthouse.ChannelSettings{})
		a := r.phone("a", nil, "sms")
		id := r.send(text("sms", "u1"))[0]
		var got []string
		explain := func() { got = append(got, r.engine.Explainer.Explain(context.Background(), r.get(id)).Summary) }
		explain()
		h := r.one(a)
		explain()
		r.begin(a, h)
		explain()
		want := []string{
			"It is due: the next agent that asks and may have it is handed it.",
			"The agent a was handed it and has not started.",
			"Attempt 1 is under way at the agent a.",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("explanations (-want +got):\n%s", diff)
		}
	})
}
