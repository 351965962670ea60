package admission

import (
	"cmp"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/rate"
	"github.com/posthouse/posthouse/internal/retry"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// gates let nothing begin by an account that its provider refuses. They are the channel's, by account: those of its accounts that are
// gone too.
type gates struct {
	silent
	c *Channel
}

// gate is an account's, as this process knows it.
type gate struct {
	work.Gate
	told time.Time // since when the others can know of it; its end for as long as they cannot; zero where they said so
}

func (s *gates) scope() scope { return ofAccount }

func (s *gates) shut(_ time.Time, a *Account) time.Time { return s.c.gates[a.Name].Until }

func (s *gates) shutBy(a *Account, name string) string {
	g := s.c.gates[a.Name]
	if g.Class == posthouse.ClassBlocked || g.Class == posthouse.ClassLocal { // no provider has refused
		return withReason(state.Refusal(g.Class, name), saidBy(&g.Gate))
	}
	return name + " is refused by the provider: " + saidBy(&g.Gate)
}

func saidBy(g *work.Gate) string { return withReason(cmp.Or(g.Code, string(g.Class)), g.Error) }

func withReason(what, reason string) string {
	if reason == "" {
		return what
	}
	return what + ": " + reason
}

// Free is Stage's.
func (s *gates) Free(now time.Time, of Of) (Room, time.Time) {
	return open(now, s.shut(now, of.Account))
}

// Why is Stage's: the gates of those that may send a delivery, where none of them can.
func (s *gates) Why(now time.Time, q *Question) (out []Wait) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	for _, a := range s.c.crew(q.lane().Pin) {
		if !now.Before(s.c.opens(a, now)) {
			return nil
		}
		if g := s.c.gates[a.Name]; now.Before(g.Until) {
			out = append(out, closedBy(&g.Gate))
		}
	}
	return out
}

// closedBy says why a gate is closed.
func closedBy(g *work.Gate) Wait {
	if g.Class == posthouse.ClassLocal {
		return Wait{"machine", fmt.Sprintf("this process sends nothing for the moment (%s): %s", g.Code, g.Error), g.Until}
	}
	account, cause := "the account", "account"
	if g.Account != "" {
		account += " " + g.Account
	}
	if g.Class == posthouse.ClassBlocked {
		cause = "blocked"
	}
	return Wait{cause, fmt.Sprintf("%s (%s %s): %s", state.Refusal(g.Class, account), g.Class, g.Code, g.Error), g.Until}
}

// probes reports whether an account is tried with one attempt at a time, since its provider refused it for more than its rate. The
// channel is locked.
func (c *Channel) probes(a *Account) bool {
	g, refused := c.gates[a.Name]
	return refused && g.Class != posthouse.ClassRate
}

// Gated reports whether some account has a gate.
func (c *Channel) Gated() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.gates) > 0
}

// Refuse closes an account's gate after a result that is about the account, not the delivery: nothing of it starts until the wait is
// over. A rate refusal then goes on as before; any other is probed with one delivery at a time. jitter is from 0 to 1. It reports
// whether that is news.
func (c *Channel) Refuse(now time.Time, account string, res channel.Result, jitter float64) (work.Gate, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.gates[account]
	if g.Class == res.Class && now.Before(g.Until) && res.After <= g.Until.Sub(now) {
		return g.Gate, false // another attempt of the same moment has said so already
	}
	g.Refusals++
	until := now.Add(c.closes(account, g.Refusals, res, jitter))
	if until.Before(g.Until) {
		until = g.Until
	}
	learned := c.rates.punished(c.account(account), res, now)
	if learned == 0 && remembered(&g.Gate, now) {
		learned = g.Learned
	}
	g = gate{told: until, Gate: work.Gate{
		Tenant: c.Key.Tenant, Channel: c.Key.Channel, Account: account, Until: until,
		Class: res.Class, Code: res.Code, Error: res.Error, Refusals: g.Refusals, Learned: learned, UpdatedAt: now,
	}}
	g.ChannelVersion, g.AccountVersion = c.Versions(account)
	c.gates[account] = g
	return g.Gate, true
}

// unsaid is how long a gate closes after a refusal for going too fast that names no wait, where the account's rate is learned: the
// rate has been lowered already, and a window of a second has room again by then. One that goes on refusing is asked less and less often.
var unsaid = retry.Schedule{Base: 100 * time.Millisecond, Factor: 2, Max: 10 * time.Minute, Jitter: retry.DefaultJitter}

// closes is for how long a gate closes after so many refusals in a row. The provider's own word on a rate limit is exact.
func (c *Channel) closes(account string, refusals int, res channel.Result, jitter float64) time.Duration {
	switch {
	case res.Class == posthouse.ClassBlocked && res.After > 0: // our own rule, which says when it ends
		return res.After
	case res.Class != posthouse.ClassRate:
	case res.After > 0:
		return res.After
	case c.account(account).rate != nil:
		return unsaid.Next(refusals, 0, jitter)
	}
	return c.Settings.Profile.TermsOf(res.Class).Schedule.Next(refusals, res.After, jitter)
}

// Reopen opens an account's gate after a success. It reports whether it was closed.
func (c *Channel) Reopen(now time.Time, account string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	g, closed := c.gates[account]
	if !closed || (g.Class == posthouse.ClassRate && now.Before(g.Until)) {
		return false
	}
	if g.Class == posthouse.ClassRate && remembered(&g.Gate, now) {
		g.Refusals = 0 // those in a row
		c.gates[account] = g
		return false
	}
	delete(c.gates, account)
	c.lanes.gather()
	c.of.Wake()
	return true
}

// OpenAll opens all gates: a person says that the cause is gone.
func (c *Channel) OpenAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gates = map[string]gate{}
	c.lanes.gather()
	c.of.Wake()
}

// remembered reports whether a gate tells of a punishment that is still to be heeded, whether or not it is open.
func remembered(g *work.Gate, now time.Time) bool {
	return g.Learned > 0 && now.Before(g.Until.Add(rate.Hold))
}

// Know takes over gates that were stored when the channel was opened.
func (c *Channel) Know(stored map[string]work.Gate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for account, g := range stored {
		c.gates[account] = gate{Gate: g}
	}
}

// Inherit takes over the gates of the channel that this one replaces, as far as they tell of the same accounts.
func (c *Channel) Inherit(old *Channel) {
	old.mu.Lock()
	gates := old.gates
	old.gates = map[string]gate{}
	old.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, g := range gates {
		if old.Remade(c.Channel, name) || old.Renewed(c.Channel, name) && g.Class != posthouse.ClassRate {
			continue
		}
		g.ChannelVersion, g.AccountVersion = c.Versions(name)
		c.gates[name] = g
	}
}

// Tell notes that the others can know of a gate from now on.
func (c *Channel) Tell(now time.Time, g work.Gate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if mine := c.gates[g.Account]; mine.told.Equal(g.Until) { // else it was closed anew, or opened, meanwhile
		mine.told = now
		c.gates[g.Account] = mine
	}
}

// repeatAfter is when a gate that could not be stored is stored again.
const repeatAfter = 2 * time.Second

// Merge adds the gates that were stored when it was asked, and drops those that were not, but for what nobody else could
// know of then. Who waits for a gate that is gone looks again. Of two ends the later one counts: what was stored last need
// not be what was said last. It returns those of this process that should have been stored by then.
func (c *Channel) Merge(now, asked time.Time, stored map[string]work.Gate) (untold []work.Gate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for account, mine := range c.gates {
		if _, still := stored[account]; !still && !asked.Before(mine.told) {
			delete(c.gates, account)
			c.lanes.gather()
			c.of.Wake()
		}
	}
	for account, g := range stored {
		if mine, ok := c.gates[account]; !ok || g.Until.After(mine.Until) {
			c.gates[account] = gate{Gate: g}
			c.rates.heard(c.account(account), &g, now)
		}
	}
	for _, g := range c.gates {
		if g.Class != posthouse.ClassLocal && g.told.Equal(g.Until) && asked.Before(g.Until) && asked.Sub(g.UpdatedAt) > repeatAfter {
			untold = append(untold, g.Gate)
		}
	}
	return untold
}
