package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/state"
)

// pinnedTo is a message that one account is to send.
func pinnedTo(account, user string) posthouse.Draft {
	d := text("c", user)
	d.Account = account
	return d
}

// FLEET-5: what is pinned goes by its account alone, and waits for it where that is refused.
func TestAPinnedMessageGoesByItsAccount(t *testing.T) {
	virtual(t, func(r *rig) {
		a, b := r.twoAccounts(posthouse.ChannelSettings{})
		refuse := true
		a.answer = func(channel.Outgoing) channel.Result {
			if refuse {
				return channel.Result{Class: posthouse.ClassAccount, Code: "48002"}
			}
			return channel.Result{Class: posthouse.ClassOK}
		}
		var toA, toB []string
		for i := range 20 {
			toA = append(toA, r.send(pinnedTo("a", fmt.Sprint("u", i)))...)
			toB = append(toB, r.send(pinnedTo("b", fmt.Sprint("v", i)))...)
		}
		r.pass(10 * time.Second)
		if got := r.sentBy(toB); got["b"] != 20 {
			r.Errorf("what is pinned to b went by %v", got)
		}
		if len(a.sent()) > 32 {
			r.Errorf("the refused account was tried %d times", len(a.sent()))
		}
		d := r.get(toA[0])
		if d.State != posthouse.Pending || !d.Pinned || d.Account != "a" {
			r.Errorf("what is pinned to the refused account is %s, pinned %v to %q", d.State, d.Pinned, d.Account)
		}
		x := r.engine.Explainer.Explain(r.Context(), d)
		if len(x.Waits) == 0 || x.Waits[len(x.Waits)-1].Cause != "account" || x.Waits[len(x.Waits)-1].Until.IsZero() {
			r.Errorf("explained as %+v, want that the account is refused, and until when", x)
		}
		refuse = false
		r.pass(8 * time.Minute)
		if got := r.sentBy(toA); got["a"] != 20 {
			r.Errorf("what is pinned to a went by %v", got)
		}
		for _, out := range b.sent() {
			if out.Account != "b" {
				r.Errorf("b was handed a message for %q", out.Account)
			}
		}
	})
}

// An account with a base of its own goes that fast and no faster; its sibling takes what it cannot.
func TestAnAccountKeepsToItsOwnBase(t *testing.T) {
	hours(t)
	virtual(t, func(r *rig) {
		slow, quick := by("slow", r.provider), by("quick", r.provider)
		slow.BaseRate = 2
		r.open("c", posthouse.ChannelSettings{Accounts: true}, state.Opened{Window: channel.Forever, Driver: r.provider, Accounts: []*state.Account{quick, slow}})
		var pinned, free []string
		for i := range 100 {
			pinned = append(pinned, r.send(pinnedTo("slow", fmt.Sprint("u", i)))...)
		}
		r.pass(20 * time.Second)
		if n := len(r.provider.sent()); n < 30 || n > 42 {
			r.Errorf("%d went by the slow account in 20 seconds, want about 40", n)
		}
		for i := range 100 {
			free = append(free, r.send(text("c", fmt.Sprint("v", i)))...)
		}
		r.pass(5 * time.Second)
		if got := r.sentBy(free); got["quick"] < 88 {
			r.Errorf("what any account may send went by %v, want nearly all by the quick one", got)
		}
		x := r.engine.Explainer.Explain(r.Context(), r.get(pinned[99]))
		if len(x.Waits) == 0 || x.Waits[len(x.Waits)-1].Cause != "rate" {
			r.Errorf("explained as %+v, want the rate", x.Waits)
		}
		r.window(per(2, time.Second), "the slow account", func(out channel.Outgoing) bool { return out.Account == "slow" })
	})
}

func TestAPooledMessageGoesByAnAccountOfItsPool(t *testing.T) {
	virtual(t, func(r *rig) {
		list := []*state.Account{by("a", r.provider), by("b", r.provider), by("c", r.provider)}
		list[0].Pools, list[2].Pools = []string{"vip"}, []string{"vip", "night"}
		r.open("c", posthouse.ChannelSettings{Accounts: true}, state.Opened{Window: channel.Forever, Driver: r.provider, Accounts: list})
		var vip, night []string
		for i := range 10 {
			d := text("c", fmt.Sprint("u", i))
			d.Pool = "vip"
			vip = append(vip, r.send(d)...)
			r.pass(time.Second)
			d.Pool = "night"
			night = append(night, r.send(d)...)
		}
		r.pass(time.Minute)
		if got := r.sentBy(vip); got["b"] > 0 || got["a"] == 0 {
			r.Errorf("the pool vip went by %v", got)
		}
		if got := r.sentBy(night); got["c"] != 10 {
			r.Errorf("the pool night went by %v", got)
		}
	})
}

func TestAConversationStaysOnOneAccount(t *testing.T) {
	virtual(t, func(r *rig) {
		r.twoAccounts(posthouse.ChannelSettings{Sticky: posthouse.StickyConversation})
		by := map[string]map[string]bool{}
		var ids []string
		for range 3 {
			for i := range 16 {
				ids = append(ids, r.send(text("c", fmt.Sprint("u", i)))...)
			}
			r.pass(time.Second)
		}
		r.pass(time.Minute)
		counts := r.sentBy(ids)
		for _, id := range ids {
			d := r.get(id)
			if by[d.User] == nil {
				by[d.User] = map[string]bool{}
			}
			by[d.User][d.Account] = true
		}
		for user, accounts := range by {
			if len(accounts) != 1 {
				r.Errorf("%s was told by %v", user, accounts)
			}
		}
		if counts["a"] == 0 || counts["b"] == 0 {
			r.Errorf("all conversations went by %v", counts)
		}
	})
}

// An account that is removed keeps what is pinned to it, which says so; one that was paused until a time goes on by itself.
func TestAnAccountThatIsGoneOrPausedIsNamed(t *testing.T) {
	hours(t)
	virtual(t, func(r *rig) {
		r.twoAccounts(posthouse.ChannelSettings{})
		paused := by("a", r.provider)
		paused.Paused, paused.PauseReason, paused.PausedUntil, paused.Version = true, "limit of the day", time.Now().Add(time.Hour), 2
		r.open("c", posthouse.ChannelSettings{Accounts: true}, state.Opened{Window: channel.Forever, Driver: r.provider, Accounts: []*state.Account{paused, by("b", r.provider)}})
		a, b := r.send(pinnedTo("a", "u1"))[0], r.send(pinnedTo("b", "u2"))[0]
		r.pass(time.Minute)
		r.want(b, posthouse.Sent, "", 0)
		r.want(a, posthouse.Pending, "", 0)
		if x := r.engine.Explainer.Explain(r.Context(), r.get(a)); len(x.Waits) != 1 || x.Waits[0].Cause != "paused" || !x.Waits[0].Until.Equal(paused.PausedUntil) {
			r.Errorf("explained as %+v", x)
		}
		r.pass(time.Hour)
		r.want(a, posthouse.Sent, "", 0)
		r.pause("c")
		gone := r.send(pinnedTo("a", "u3"))[0]
		r.open("c", posthouse.ChannelSettings{Accounts: true}, state.Opened{Window: channel.Forever, Driver: r.provider, Accounts: []*state.Account{by("b", r.provider)}})
		r.pass(time.Minute)
		r.want(gone, posthouse.Pending, "", 0)
		if x := r.engine.Explainer.Explain(r.Context(), r.get(gone)); len(x.Waits) != 1 || x.Waits[0].Detail != "its account a was removed: set one of its name up again, let the channel fail over, or cancel it" {
			r.Errorf("explained as %+v", x)
		}
	})
}

// FLEET-5: messages of a refused account move to another one where the channel allows it, visibly, and never after an attempt
// that may have arrived.
func TestMessagesFailOverButNotWhatMayHaveArrived(t *testing.T) {
	hours(t)
	virtual(t, func(r *rig) {
		a, b := r.twoAccounts(posthouse.ChannelSettings{Failover: true, OnUnknown: posthouse.Retry, Backoff: []posthouse.Duration{posthouse.Duration(time.Minute)}})
		a.answer = func(out channel.Outgoing) channel.Result {
			if out.Recipient.User == "lost" && out.Attempt == 1 {
				return channel.Result{Class: posthouse.ClassUnknown, Code: "API_TIMEOUT"}
			}
			return channel.Result{Class: posthouse.ClassAuth, Code: "40001"}
		}
		lost := r.send(pinnedTo("a", "lost"))[0]
		r.pass(time.Second)
		var ids []string
		for i := range 300 {
			ids = append(ids, r.send(pinnedTo("a", fmt.Sprint("u", i)))...)
		}
		r.pass(30 * time.Second)
		if got := r.sentBy(ids); got["b"] != 300 {
			r.Errorf("sent by %v, want all by b", got)
		}
		events, err := r.store.History.Events(r.Context(), r.tenant, ids[299])
		if err != nil {
			r.Fatal(err)
		}
		moves := 0
		for _, e := range events {
			if e.Type == posthouse.EventMove {
				moves++
				if e.Account != "b" || e.Reason != state.ReasonFailover || e.Error != "from the account a to b" {
					r.Errorf("the event of the move is %+v", e)
				}
			}
		}
		if moves != 1 {
			r.Errorf("%d moves in %+v, want one", moves, events)
		}
		r.pass(3 * time.Minute)
		if d := r.get(lost); d.State != posthouse.Pending || d.Account != "a" || !d.Pinned {
			r.Errorf("what may have arrived is %s by %s, want that it waits for its account", d.State, d.Account)
		}
		for _, out := range b.sent() {
			if out.Recipient.User == "lost" {
				r.Error("what may have arrived was sent by another account")
			}
		}
	})
}

// FLEET-5: what may have arrived is repeated by the account that it may have arrived by, also where any account could send it: the
// provider of another one would not recognise the repeat.
func TestWhatMayHaveArrivedIsRepeatedByItsAccount(t *testing.T) {
	virtual(t, func(r *rig) {
		settings := posthouse.ChannelSettings{OnUnknown: posthouse.Retry, Backoff: []posthouse.Duration{posthouse.Duration(time.Minute)}}
		a, b := r.twoAccounts(settings)
		lost := map[string]string{} // the account of the first attempt, by delivery
		answer := func(out channel.Outgoing) channel.Result {
			if out.Attempt == 1 {
				lost[out.Delivery] = out.Account
				return channel.Result{Class: posthouse.ClassUnknown, Code: "API_TIMEOUT"}
			}
			return channel.Result{Class: posthouse.ClassOK}
		}
		a.answer, b.answer = answer, answer
		var ids []string
		for i := range 20 {
			ids = append(ids, r.send(text("c", fmt.Sprint("u", i)))...)
			r.pass(time.Second)
		}
		r.pass(5 * time.Minute)
		first := map[string]int{}
		for _, id := range ids {
			d := r.want(id, posthouse.Sent, "", 1)
			if first[lost[id]]++; d.Account != lost[id] {
				r.Errorf("%s may have arrived by %s and was repeated by %s", d.User, lost[id], d.Account)
			}
		}
		if first["a"] == 0 || first["b"] == 0 {
			r.Errorf("the first attempts were by %v", first)
		}
	})
}

// FLEET-5, FLEET-7: what any account may send does not wait for the one that was refused: it goes by another one at once, which its
// history says, and the refusal burns none of its tries. What every account is refused for waits after the last.
func TestWhatAnyAccountMaySendGoesByAnotherAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		refuses string // an account, or all
		class   posthouse.Class
		within  time.Duration
		tries   int
	}{
		"its rate":        {"a", posthouse.ClassRate, time.Second, 0},
		"its secret":      {"a", posthouse.ClassAuth, time.Second, 0},
		"all are refused": {"all", posthouse.ClassRate, 3 * time.Minute, 1},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(r *rig) {
				began := time.Now()
				answer := func(out channel.Outgoing) channel.Result {
					if (out.Account == c.refuses || c.refuses == "all") && time.Since(began) < 50*time.Second {
						return channel.Result{Class: c.class, Code: "45009", After: time.Minute}
					}
					return channel.Result{Class: posthouse.ClassOK}
				}
				a, b := r.twoAccounts(posthouse.ChannelSettings{Profile: "wecom"})
				a.decide(answer)
				b.decide(answer)
				var id string
				for len(a.sent()) == 0 { // whichever has had less goes first
					id = r.send(text("c", "u1"))[0]
					r.pass(100 * time.Millisecond)
				}
				r.pass(c.within)
				r.want(id, posthouse.Sent, "", c.tries)
				calls := len(a.sent()) + len(b.sent())
				if got := r.history(id); c.tries == 0 && got != "accept start retry start sent " {
					r.Errorf("its history is %q, want one refusal", got)
				} else if c.tries > 0 && calls > 4 {
					r.Errorf("%d calls of two accounts that are refused, by what goes elsewhere once", calls)
				}
				events, err := r.store.History.Events(r.Context(), r.tenant, id)
				if err != nil || events[2].Reason != state.ReasonFailover || events[2].Class != c.class || events[2].Account == events[3].Account {
					r.Errorf("the refusal and what follows it: %+v, %v", events[2:4], err)
				}
			})
		})
	}
}

// FLEET-5: a message that one account after the other is refused for goes on to the next open one at once, however many there are.
func TestAMessageTriesOneOpenAccountAfterTheOther(t *testing.T) {
	virtual(t, func(r *rig) {
		refuse := map[string]bool{"a": true, "b": true, "c": true, "d": true, "e": true}
		o := state.Opened{Window: channel.Forever}
		for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
			p := &provider{}
			o.Driver, o.Accounts = p, append(o.Accounts, by(name, p))
			p.decide(func(channel.Outgoing) channel.Result {
				if refuse[name] {
					return channel.Result{Class: posthouse.ClassAuth, Code: "40001"}
				}
				return channel.Result{Class: posthouse.ClassOK}
			})
		}
		r.open("c", posthouse.ChannelSettings{Accounts: true}, o)
		var ids []string
		for i := range 12 {
			ids = append(ids, r.send(text("c", fmt.Sprint("u", i)))...)
		}
		r.pass(2 * time.Second)
		for _, id := range ids {
			if d := r.want(id, posthouse.Sent, "", 0); d.Account != "f" {
				r.Errorf("%s was sent by %s", id, d.Account)
			}
		}
	})
}

// FLEET-10: several accounts under one tight limit send by the weights of the priorities, from the first second on.
func TestPrioritiesOfSeveralAccountsShareATightLimit(t *testing.T) {
	virtual(t, func(r *rig) {
		o := state.Opened{Window: channel.Forever, Driver: r.provider}
		for i := range 4 {
			o.Accounts = append(o.Accounts, by(fmt.Sprint("a", i), r.provider))
		}
		settings := posthouse.ChannelSettings{Accounts: true, Limits: []posthouse.Limit{per(20, time.Second)}}
		r.open("c", settings, o)
		r.pause("c")
		for i := range 150 {
			for _, p := range posthouse.Priorities() {
				d := text("c", fmt.Sprint("u", i))
				d.Priority = p
				r.send(d)
			}
		}
		r.resume("c")
		share := func(after string, want map[posthouse.Priority]int) {
			counts := map[posthouse.Priority]int{}
			for _, out := range r.provider.sent() {
				counts[out.Priority]++
			}
			for p, n := range want {
				if got := counts[p]; got < n*8/10-1 || got > n*12/10+1 {
					r.Errorf("%d of %s were sent after %s, want some %d: %v", got, p, after, n, counts)
				}
			}
		}
		r.pass(900 * time.Millisecond)
		share("a second", map[posthouse.Priority]int{posthouse.High: 12, posthouse.Normal: 6, posthouse.Low: 2})
		r.pass(10 * time.Second)
		share("eleven seconds", map[posthouse.Priority]int{posthouse.High: 120, posthouse.Normal: 60, posthouse.Low: 20})
	})
}
