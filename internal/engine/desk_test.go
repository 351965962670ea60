package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/pull"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/store/storetest"
	"github.com/posthouse/posthouse/internal/work"
)

// late is what a waiting agent was handed, and when.
type late struct {
	pull.Claimed
	err  error
	took time.Duration
}

// await has an agent wait for something, and returns where it says what it got.
func (r *rig) await(ctx context.Context, c pull.Claim) <-chan late {
	out := make(chan late, 1)
	start := time.Now()
	go func() {
		got, err := r.engine.Pull.HandOut(ctx, c)
		out <- late{got, err, time.Since(start)}
	}()
	synctest.Wait()
	return out
}

// PULL-14: an idle phone hears of work within a second.
func TestAWaitingAgentIsWokenByAnAccept(t *testing.T) {
	virtual(t, func(r *rig) {
		r.pull("sms", posthouse.ChannelSettings{})
		a, b := r.phone("a", nil, "sms"), r.phone("b", nil, "sms")
		first := r.await(context.Background(), pull.Claim{Agent: a, Max: 1, Wait: time.Minute})
		second := r.await(context.Background(), pull.Claim{Agent: b, Max: 1, Wait: time.Minute})
		time.Sleep(10*time.Second + time.Millisecond)
		r.send(text("sms", "u1", "u2")) // one wake-up: who got something wakes the next
		synctest.Wait()
		for _, who := range []<-chan late{first, second} {
			select {
			case got := <-who:
				if len(got.Handouts) != 1 || got.err != nil {
					t.Errorf("got %d hand-outs, %v; want one", len(got.Handouts), got.err)
				}
			default:
				t.Error("it still waits, want it to be woken at once")
			}
		}
	})
}

func TestAWaitingAgentHearsOfWhatComesDueAndOfWhatOthersAccept(t *testing.T) {
	virtual(t, func(r *rig) {
		r.pull("sms", posthouse.ChannelSettings{})
		a := r.phone("a", nil, "sms")
		draft := text("sms", "u1")
		draft.NotBefore = time.Now().Add(20 * time.Second)
		r.send(draft)
		got := <-r.await(context.Background(), pull.Claim{Agent: a, Max: 1, Wait: time.Minute})
		if len(got.Handouts) != 1 || got.took < 20*time.Second || got.took > 23*time.Second {
			t.Errorf("got %d hand-outs after %s, want one at 20s and a poll", len(got.Handouts), got.took)
		}
	})
}

func TestAWaitEnds(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(r *rig, cancel context.CancelFunc)
		err  error
		took time.Duration
	}{
		"at its time":                  {func(*rig, context.CancelFunc) {}, nil, 30 * time.Second},
		"when the agent leaves":        {func(_ *rig, cancel context.CancelFunc) { cancel() }, context.Canceled, 5 * time.Second},
		"when the server stops":        {func(r *rig, _ context.CancelFunc) { r.stop() }, life.ErrStopping, 5 * time.Second},
		"when one channel is paused":   {func(r *rig, _ context.CancelFunc) { r.pause("sms") }, nil, 30 * time.Second},
		"when both channels are":       {func(r *rig, _ context.CancelFunc) { r.pause("sms"); synctest.Wait(); r.pause("mms") }, nil, 5 * time.Second},
		"when one channel was resumed": {func(r *rig, _ context.CancelFunc) { r.pause("sms"); synctest.Wait(); r.resume("sms") }, nil, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(r *rig) {
				r.pull("sms", posthouse.ChannelSettings{})
				r.pull("mms", posthouse.ChannelSettings{})
				a := r.phone("a", nil, "sms", "mms") // with two it waits on while one is paused
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				out := r.await(ctx, pull.Claim{Agent: a, Max: 1, Wait: 30 * time.Second})
				time.Sleep(5 * time.Second)
				c.end(r, cancel)
				got := <-out
				if len(got.Handouts) > 0 || !errors.Is(got.err, c.err) || got.took != c.took {
					t.Errorf("got %d hand-outs, %v after %s; want none, %v after %s", len(got.Handouts), got.err, got.took, c.err, c.took)
				}
				if n := r.engine.Pull.Waiting(); n != 0 {
					t.Errorf("%d agents are still at the desk, want none", n)
				}
			})
		})
	}
}

// A phone that is paused gets nothing more at once, also while it waits.
func TestAnAgentThatIsPausedWhileItWaitsIsHandedNothing(t *testing.T) {
	virtual(t, func(r *rig) {
		r.pull("sms", posthouse.ChannelSettings{})
		a := r.phone("a", nil, "sms")
		out := r.await(context.Background(), pull.Claim{Agent: a, Max: 1, Wait: time.Minute})
		if err := r.store.Agents.SetAgentState(context.Background(), time.Now(), r.tenant, "a", posthouse.AgentPaused, "holiday"); err != nil {
			t.Fatal(err)
		}
		r.send(text("sms", "u1"))
		if got := <-out; len(got.Handouts) > 0 || got.Reason != pull.IdlePaused {
			t.Errorf("got %d hand-outs, reason %q; want none: it is paused", len(got.Handouts), got.Reason)
		}
	})
}

// An agent whose key is revoked while it waits is handed nothing more.
func TestAnAgentThatMayNotWaitAnyLongerIsHandedNothing(t *testing.T) {
	virtual(t, func(r *rig) {
		r.pull("sms", posthouse.ChannelSettings{})
		revoked := errors.New("the key is revoked")
		done := make(chan error, 1)
		a := r.phone("a", nil, "sms")
		go func() {
			_, err := r.engine.Pull.HandOut(context.Background(), pull.Claim{Agent: a, Max: 1, Wait: time.Minute, Still: func() error { return revoked }})
			done <- err
		}()
		synctest.Wait()
		id := r.send(text("sms", "u1"))[0]
		if err := <-done; !errors.Is(err, revoked) {
			t.Errorf("got the error %v, want the one of Still", err)
		}
		r.want(id, posthouse.Pending, "", 0)
	})
}

func TestWhyAnAgentIsHandedNothing(t *testing.T) {
	for name, c := range map[string]struct {
		needs  map[string]string
		paused bool
		state  posthouse.AgentState
		can    map[string]string
		want   string
	}{
		"nothing is due is no cause": {},
		"agent paused":               {state: posthouse.AgentPaused, want: pull.IdlePaused},
		"agent draining":             {state: posthouse.AgentDraining, want: pull.IdleDraining},
		"channel paused":             {paused: true, want: pull.IdleChannel},
		"it lacks a capability":      {needs: map[string]string{"operator": "cmcc"}, can: map[string]string{"operator": "cucc"}, want: pull.IdleLacks},
		"it has the capability":      {needs: map[string]string{"operator": "cmcc"}, can: map[string]string{"operator": "cmcc"}},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(r *rig) {
				r.pull("sms", posthouse.ChannelSettings{Needs: c.needs})
				if c.want != "" {
					r.send(text("sms", "u1"))
				}
				if c.paused {
					r.pause("sms")
				}
				a := r.phone("a", nil, "sms")
				a.State, a.Capabilities = either(c.state, a.State), c.can
				got := r.fetch(pull.Claim{Agent: a, Max: 1, Wait: time.Second})
				if len(got.Handouts) > 0 || got.Reason != c.want || (got.After > 0) != (c.want != "") {
					t.Errorf("got %d hand-outs, reason %q, again after %s; want the reason %q", len(got.Handouts), got.Reason, got.After, c.want)
				}
			})
		})
	}
}

func TestAnAgentWithoutAnOpenChannelIsToldToAskLater(t *testing.T) {
	virtual(t, func(r *rig) {
		if got := r.fetch(pull.Claim{Agent: r.phone("a", nil, "gone"), Max: 1, Wait: time.Minute}); got.After <= 0 {
			t.Errorf("got %+v, want a time to ask again: it would ask without a pause", got)
		}
	})
}

// PULL-14: a phone that sends faster is blocked by its operator.
func TestAnAgentIsHandedNoMoreThanItsLimits(t *testing.T) {
	virtual(t, func(r *rig) {
		r.pull("sms", posthouse.ChannelSettings{})
		a := r.phone("a", []posthouse.Limit{{Max: 1, Per: posthouse.Duration(4 * time.Second)}, {Max: 5, Per: posthouse.Duration(time.Minute)}}, "sms")
		var users []string
		for i := range 20 {
			users = append(users, fmt.Sprint("u", i))
		}
		r.send(text("sms", users...))
		handed, start := 0, time.Now()
		for time.Since(start) < 2*time.Minute {
			got := r.fetch(pull.Claim{Agent: a, Max: 10, Wait: 10 * time.Second})
			if handed += len(got.Handouts); len(got.Handouts) > 1 {
				t.Fatalf("got %d at once, want one in four seconds", len(got.Handouts))
			}
			if len(got.Handouts) == 0 {
				if got.Reason != pull.IdleLimited || got.After <= 10*time.Second {
					t.Fatalf("got reason %q, again after %s; want that it is limited for longer than it waits", got.Reason, got.After)
				}
				time.Sleep(got.After)
			}
		}
		if handed != 10 {
			t.Errorf("%d were handed out in two minutes, want 10", handed)
		}
	})
}

func TestAPermitComesBackWithWhatWasNotSent(t *testing.T) {
	virtual(t, func(r *rig) {
		r.pull("sms", posthouse.ChannelSettings{})
		a := r.phone("a", []posthouse.Limit{{Max: 2, Per: posthouse.Duration(time.Hour)}}, "sms")
		r.send(text("sms", "u1"))
		back := r.one(a) // asked for ten: what was not used is free again
		if _, err := r.engine.Pull.GiveBack(context.Background(), r.tenant, a.ID, holdsOf(back), ""); err != nil {
			t.Fatal(err)
		}
		r.send(text("sms", "u2", "u3"))
		if got := r.fetch(pull.Claim{Agent: a, Max: 10}); len(got.Handouts) != 2 {
			t.Errorf("got %d hand-outs, want both that the limit allows", len(got.Handouts))
		}
		if got := r.fetch(pull.Claim{Agent: a, Max: 10}); got.Reason != pull.IdleLimited {
			t.Errorf("got reason %q, want limited", got.Reason)
		}
	})
}

// L10: a lost answer is asked for again by the claim's id, also where the limits are used up.
func TestARepeatedClaimFindsWhatIsStillHeld(t *testing.T) {
	virtual(t, func(r *rig) {
		r.pull("sms", posthouse.ChannelSettings{})
		a := r.phone("a", []posthouse.Limit{{Max: 2, Per: posthouse.Duration(time.Hour)}}, "sms")
		r.send(text("sms", "u1", "u2", "u3"))
		claim := pull.Claim{Agent: a, ClaimID: "c1", Max: 10}
		first := r.fetch(claim)
		time.Sleep(time.Second)
		again := r.fetch(claim)
		if len(first.Handouts) != 2 || first.Repeated || len(again.Handouts) != 2 || !again.Repeated {
			t.Fatalf("got %d and then %d hand-outs, repeated %v; want the same two", len(first.Handouts), len(again.Handouts), again.Repeated)
		}
		for i, h := range again.Handouts {
			if old := first.Handouts[i]; h.Delivery != old.Delivery || h.Token != old.Token || h.LeaseMillis != old.LeaseMillis-1000 {
				t.Errorf("got %s by %d for %d ms, want %s by %d and a second less than %d", h.Delivery, h.Token, h.LeaseMillis, old.Delivery, old.Token, old.LeaseMillis)
			}
		}
		r.say(a, again.Handouts[0], posthouse.OutcomeSent)
		if left := r.fetch(claim); len(left.Handouts) != 1 {
			t.Errorf("got %d hand-outs after a report, want the other one", len(left.Handouts))
		}
	})
}

// handLost is a store that fails hand-outs: after their commit, or with nothing done.
type handLost struct {
	storetest.Whole
	code posthouse.Code // "" while it works
	done bool
}

func (s *handLost) HandOut(ctx context.Context, now time.Time, h work.HandOut) (handed work.HandedOut, err error) {
	if s.code == "" || s.done {
		handed, err = s.Whole.HandOut(ctx, now, h)
	}
	if s.code != "" {
		return work.HandedOut{}, posthouse.Errorf(s.code, "the hand-out failed")
	}
	return handed, err
}

// What may have been handed out has its permit: the phone repeats its claim, and sends what it is handed then.
func TestAHandOutWhoseAnswerWasLostKeepsItsPermits(t *testing.T) {
	for name, c := range map[string]struct {
		code posthouse.Code
		done bool
	}{
		"lost answer": {posthouse.CodeUnavailable, true},
		"no room":     {posthouse.CodeStorageFull, false},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(r *rig) {
				st := &handLost{Whole: storetest.All(r.store)}
				r.between(st)
				r.pull("sms", posthouse.ChannelSettings{})
				a := r.phone("a", []posthouse.Limit{{Max: 2, Per: posthouse.Duration(time.Hour)}}, "sms")
				r.send(text("sms", "u1", "u2", "u3", "u4"))
				claim := pull.Claim{Agent: a, ClaimID: "c1", Max: 2}
				st.code, st.done = c.code, c.done
				if _, err := r.engine.Pull.HandOut(context.Background(), claim); posthouse.CodeOf(err) != c.code {
					t.Fatalf("got %v, want an error of code %s", err, c.code)
				}
				st.code = ""
				if got := r.fetch(claim); len(got.Handouts) != 2 || got.Repeated != c.done {
					t.Errorf("got %d hand-outs, repeated %v; want 2", len(got.Handouts), got.Repeated)
				}
				if got := r.fetch(pull.Claim{Agent: a, ClaimID: "c2", Max: 2}); len(got.Handouts) != 0 {
					t.Errorf("got %d hand-outs more, want none: both permits are used", len(got.Handouts))
				}
			})
		})
	}
}

// A weighted turn keeps low priorities alive.
func TestNoPriorityStarvesAmongAgents(t *testing.T) {
	virtual(t, func(r *rig) {
		r.pull("sms", posthouse.ChannelSettings{})
		a := r.phone("a", nil, "sms")
		for _, p := range posthouse.Priorities() {
			for range 20 {
				draft := text("sms", "u1")
				draft.Priority = p
				r.send(draft)
			}
		}
		got := map[posthouse.Priority]int{}
		for range 20 {
			got[r.fetch(pull.Claim{Agent: a, Max: 1}).Handouts[0].Priority]++
		}
		if got[posthouse.High] != 12 || got[posthouse.Normal] != 6 || got[posthouse.Low] != 2 {
			t.Errorf("got %v of twenty, want 12, 6 and 2", got)
		}
	})
}

// A caller that left saw nothing: what it would have been handed is nobody's.
func TestWhatAnAgentThatLeftWasHandedComesBack(t *testing.T) {
	virtual(t, func(r *rig) {
		r.pull("sms", posthouse.ChannelSettings{})
		a := r.phone("a", nil, "sms")
		id := r.send(text("sms", "u1"))[0]
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := r.engine.Pull.HandOut(ctx, pull.Claim{Agent: a, Max: 1, Started: true}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want that its context has ended", err)
		}
		if d := r.want(id, posthouse.Pending, state.ReasonCallerLeft, 0); d.Attempts != 0 {
			t.Errorf("got %d attempts, want none", d.Attempts)
		}
	})
}

func TestWhenAnAgentWasLastHeardOfIsWrittenNowAndThen(t *testing.T) {
	virtual(t, func(r *rig) {
		r.pull("sms", posthouse.ChannelSettings{})
		a := r.phone("a", nil, "sms")
		r.fetch(pull.Claim{Agent: a, Max: 1})
		r.engine.Pull.Saw(r.tenant, "a", "sms-app/2.1")
		seen := time.Now()
		r.pass(10 * time.Second)
		got, err := r.store.Agents.Agent(context.Background(), r.tenant, "a")
		if err != nil || !got.LastSeenAt.Equal(seen.UTC().Truncate(time.Microsecond)) || got.App != "sms-app/2.1" {
			t.Errorf("got seen at %s as %q, %v; want %s", got.LastSeenAt, got.App, err, seen)
		}
	})
}
