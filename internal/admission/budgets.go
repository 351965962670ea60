package admission

import (
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/state"
)

// budgets are those of a channel and its accounts. They are counted by the limiter as windows are, in the same call: a reservation asks it
// for them, and notes here what is spent. What is spent stays so until its period ends, or until the next look: permits that come back wake
// nobody. What another process, or the channel as it was before a change, has reserved and does not use is back in a moment: so the first
// looks follow soon, and nothing moves before the last of them.
//
// What is kept for high priority is left out of what everything else may use. A claim that is not of high priority alone asks for no more
// than that rest, so that none of the reserve is ever used by what is below it.
type budgets struct {
	silent
	c     *Channel
	spent []outlay // by account; the place 0 is the channel's
}

// outlay is what is known of a budget in its period.
type outlay struct {
	all, rest holding // what high priority may use, and what the others may
	moves     bool    // what is pinned to the account goes by another one
}

// holding says until when something is spent, and when to ask again.
type holding struct {
	until, look time.Time
	refusals    int // in a row
}

func (h holding) holds(now time.Time) bool { return now.Before(h.look) }

// The looks after a refusal are firstLook apart, then twice as long each, until longestHeld. What was refused sureAfter times in a row is
// spent, and not just reserved by somebody who gives it back.
const (
	firstLook = time.Second
	sureAfter = 3
)

// again is what holds after one more refusal. Those of one moment are one.
func (h holding) again(now, until time.Time) holding {
	switch {
	case !h.until.Equal(until):
		h = holding{until: until}
	case h.holds(now):
		return h
	}
	h.refusals++
	h.look = now.Add(min(firstLook<<min(h.refusals-1, 4), longestHeld))
	if h.look.After(until) {
		h.look = until
	}
	return h
}

// of is what holds a priority: what holds all of them holds what may be of any.
func (o *outlay) of(p posthouse.Priority) holding {
	if p == posthouse.High || p == "" {
		return o.all
	}
	return o.rest
}

func (s *budgets) scope() scope { return ofAccount }

// Free is Stage's.
func (s *budgets) Free(now time.Time, of Of) (Room, time.Time) {
	return open(now, s.spent[of.Account.place].of(of.Lane.Priority).look)
}

func (s *budgets) shut(now time.Time, a *Account) (until time.Time) {
	for _, place := range []int{0, a.place} {
		if h := s.spent[place].all; h.holds(now) && h.until.After(until) {
			until = h.until
		}
	}
	return until
}

func (s *budgets) shutBy(_ *Account, name string) string { return name + " has spent its budget" }

// refused notes that the limiter has nothing left of a budget for a priority, by the key that it named. It reports whether that is the key
// of a budget.
func (s *budgets) refused(now time.Time, asked []state.Tier, a *Account, p posthouse.Priority, key string) bool {
	for i := range asked {
		t := &asked[i]
		if t.Key != key {
			continue
		}
		o := &s.spent[a.place]
		if t.Spends.Whole {
			o = &s.spent[0]
		}
		o.rest = o.rest.again(now, t.Spends.To)
		if p == posthouse.High || t.Spends.Reserved() == 0 {
			o.all = o.all.again(now, t.Spends.To)
		}
		o.moves = t.Spends.WhenSpent == posthouse.SpentNextAccount
		return true
	}
	return false
}

// granted notes that the limiter had something left of the budgets of an account for a priority.
func (s *budgets) granted(a *Account, p posthouse.Priority) {
	for _, place := range []int{0, a.place} {
		o := &s.spent[place]
		if o.all = (holding{}); p != posthouse.High {
			o.rest = holding{}
		}
	}
}

// moved reports whether what is pinned to an account goes by another one, since its budget is spent.
func (s *budgets) moved(now time.Time, a *Account) bool {
	o := &s.spent[a.place]
	return o.moves && o.all.holds(now) && o.all.refusals >= sureAfter
}

// Why is Stage's: the budgets of all accounts that may send a delivery are spent, by the one that begins anew first.
func (s *budgets) Why(now time.Time, q *Question) []Wait {
	c := s.c
	if !c.budgeted {
		return nil
	}
	c.mu.Lock()
	crew := c.crew(q.lane().Pin)
	c.mu.Unlock()
	var first Wait
	for _, a := range crew[:min(len(crew), mostNamed)] {
		w, spent := s.spentBy(now, a, q)
		if !spent {
			return nil
		}
		if first.Cause == "" || w.Until.Before(first.Until) {
			first = w
		}
	}
	if first.Cause == "" {
		return nil
	}
	return []Wait{first}
}

// spentBy is the budget that lets an account send nothing of a delivery's priority, the one that ends last.
func (s *budgets) spentBy(now time.Time, a *Account, q *Question) (w Wait, spent bool) {
	for _, t := range s.c.budgetsOf(now, a, q.Delivery.Priority) {
		g, err := q.Peek([]limit.Bound{t.Bound})
		if err != nil || g.N > 0 || t.Spends.To.Before(w.Until) {
			continue
		}
		of := "channel"
		if !t.Spends.Whole {
			of = "account " + a.Name
		}
		detail := fmt.Sprintf("the budget of its %s is spent: %d a %s", of, t.Spends.Max, t.Spends.Per)
		if kept := t.Spends.Reserved(); kept > 0 && q.Delivery.Priority != posthouse.High {
			detail = fmt.Sprintf("the budget of its %s is spent: of %d a %s, the last %d are for high priority", of, t.Spends.Max, t.Spends.Per, kept)
		}
		w, spent = Wait{"budget", detail, t.Spends.To}, true
	}
	return w, spent
}

// budget shuts a priority for all of a channel, where what the channel's budget has for it is spent.
type budget struct {
	silent
	of *budgets
}

func (s *budget) scope() scope { return ofLane }

// Free is Stage's.
func (s *budget) Free(now time.Time, of Of) (Room, time.Time) {
	return open(now, s.of.spent[0].of(of.Lane.Priority).look)
}

// budgetsOf are the tiers of the budgets that hold for an account: its channel's and its own.
func (c *Channel) budgetsOf(now time.Time, a *Account, p posthouse.Priority) (list []state.Tier) {
	if b := c.Stored.Budget; b != nil {
		t := state.TierOfBudget(now, c.Key.LimitKey(), b, p, c.Settings.Location)
		t.Spends.Whole = true
		list = append(list, t)
	}
	if a.budget != nil {
		list = append(list, state.TierOfBudget(now, c.accountKey(a), a.budget, p, c.Settings.Location))
	}
	return list
}

// Budgets are those of the channel and of its accounts, with all that high priority may use.
func (c *Channel) Budgets(now time.Time) (list []state.Counted) {
	if !c.budgeted || c.Settings.Pulled {
		return nil
	}
	for _, t := range c.Windows(now, nil) {
		if t.Spends != nil {
			list = append(list, t)
		}
	}
	return list
}

// budgets are the tiers of an account's budgets for what is reserved. What is of several priorities has what the lowest may use.
func (r *Reservation) budgets(a *Account) []state.Tier {
	if !r.c.budgeted {
		return nil
	}
	return r.c.budgetsOf(r.at, a, r.priority())
}

// priority is high where nothing else is reserved.
func (r *Reservation) priority() posthouse.Priority {
	for i := range r.lanes {
		if p := r.lanes[i].Priority; p != posthouse.High {
			return p
		}
	}
	return posthouse.High
}
