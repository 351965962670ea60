package engine

import (
	"cmp"
	"fmt"
	"time"

	"github.com/posthouse/posthouse/internal/work"
)

// Closed says why nothing may be sent on a channel now, and until when where that is known; empty where something may.
func (rs *Routes) Closed(tenant, channel string) (why string, until time.Time) {
	r := rs.route(tenant, channel)
	if r == nil {
		return "the channel " + channel + " is not open here", time.Time{}
	}
	now := time.Now()
	if r.Stored.PausedAt(now) {
		return withReason("the channel "+channel+" is paused", r.Stored.PauseReason), r.Stored.PausedUntil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	accounts := []*account{r.only}
	if r.fleet != nil {
		accounts = r.crew("")
	}
	var first *account
	for _, a := range accounts {
		at := r.opens(a, now)
		if !now.Before(at) {
			return "", time.Time{}
		}
		if first == nil || at.Before(until) {
			first, until = a, at
		}
	}
	if first == nil {
		return "the channel " + channel + " has no account", time.Time{}
	}
	why = "the account"
	if first.Name != "" {
		why += " " + first.Name
	}
	if len(accounts) > 1 {
		why = fmt.Sprintf("none of %d accounts may send; the first that may again is %s, and %s", len(accounts), first.Name, why)
	}
	if until.Equal(never) {
		until = time.Time{}
	}
	return why + r.shutBy(first, now), until
}

// shutBy says why an account may not send. The route is locked.
func (r *route) shutBy(a *account, now time.Time) string {
	g, refused := r.gates[a.Name]
	switch {
	case a.is != nil && a.is.Err != nil:
		return " cannot be opened: " + a.is.Err.Error()
	case a.is != nil && a.is.PausedAt(now):
		return withReason(" is paused", a.is.PauseReason)
	case refused && now.Before(g.Until):
		return " is refused by the provider: " + saidBy(g.Gate)
	}
	return " has used up its limits"
}

func saidBy(g work.Gate) string {
	return withReason(cmp.Or(g.Code, string(g.Class)), g.Error)
}

func withReason(what, reason string) string {
	if reason == "" {
		return what
	}
	return what + ": " + reason
}
