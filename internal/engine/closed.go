package engine

import (
	"cmp"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
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
	name := "the account"
	if first.Name != "" {
		name += " " + first.Name
	}
	why = r.shutBy(first, name, now)
	if len(accounts) > 1 {
		why = fmt.Sprintf("none of %d accounts may send; the first that may again is %s, and %s", len(accounts), first.Name, why)
	}
	if until.Equal(never) {
		until = time.Time{}
	}
	return why, until
}

// shutBy says why an account may not send, by what it is called. The route is locked.
func (r *route) shutBy(a *account, name string, now time.Time) string {
	g, refused := r.gates[a.Name]
	switch {
	case a.is != nil && a.is.Err != nil:
		return name + " cannot be opened: " + a.is.Err.Error()
	case a.is != nil && a.is.PausedAt(now):
		return withReason(name+" is paused", a.is.PauseReason)
	case refused && now.Before(g.Until) && (g.Class == posthouse.ClassBlocked || g.Class == posthouse.ClassLocal): // no provider has refused
		return withReason(state.Refusal(g.Class, name), saidBy(g.Gate))
	case refused && now.Before(g.Until):
		return name + " is refused by the provider: " + saidBy(g.Gate)
	}
	return name + " has used up its limits"
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
