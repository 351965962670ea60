package api

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/rule"
	"github.com/posthouse/posthouse/wire"
)

var overrideBody = web.BodyOf[wire.Override]()

// maxOverrides bounds the dates of one request.
const maxOverrides = 366

// overrideTries is how often a change of dates is made anew because the roster was changed meanwhile.
const overrideTries = 5

func (r rosters) overrideRoutes() []web.Route {
	return web.Tagged("rosters", web.Post("/v1/rosters/{name}/override", admin,
		"Change who is on duty on single dates from today on, or have two users swap, and say who is on duty then. The rest of the roster stays.", overrideBody, r.override).Guarded())
}

// override changes dates of a roster as it is now, also while others change it.
func (r rosters) override(c *web.Call, in wire.Override) (wire.Overridden, error) {
	if n := len(in.Dates) + len(in.Clear); n > maxOverrides {
		c.Refuse("dates", "and clear name %d dates: at most %d are allowed", n, maxOverrides)
	} else if n == 0 && in.Swap == nil {
		c.Refuse("dates", "or clear or swap is required: there is nothing to change")
	}
	if err := c.Wrong(); err != nil {
		return wire.Overridden{}, err
	}
	var out wire.Overridden
	for try := 1; ; try++ {
		before, at, err := r.now(c)
		if err == nil {
			err = work.OnlyOf(c.Context()).Check("roster", before.Name, before.Tag())
		}
		if err != nil {
			return out, err
		}
		next, err := overridden(c, before, at, in)
		if err != nil {
			return out, err
		}
		if out, err = overriddenOf(before, next, at); err != nil {
			return out, err
		}
		if out.DryRun = in.DryRun; in.DryRun {
			c.Unchanged()
			return out, nil
		}
		over := work.WithOnly(c.Context(), work.Only{Tags: []string{before.Tag()}})
		stored, err := r.store.PutRoster(over, time.Now(), next)
		if posthouse.CodeOf(err) == posthouse.CodeChanged && try < overrideTries {
			continue
		}
		c.Asked(in, len(out.Changed))
		c.Changed(before, stored)
		out.Tag = stored.Tag()
		return out, err
	}
}

// overridden is a roster as the request wants it. What is over stays as it was: it says who was told.
func overridden(c *web.Call, before posthouse.Roster, at time.Time, in wire.Override) (posthouse.Roster, error) {
	shift, err := rule.ShiftAt(before, at)
	if err != nil {
		return before, err
	}
	over := func(path, date string) {
		if _, err := time.Parse(time.DateOnly, date); err == nil && date < shift.Date {
			c.Refuse(path, "is %s, which is over: today is %s", date, shift.Date)
		}
	}
	for _, date := range slices.Sorted(maps.Keys(in.Dates)) {
		over("dates."+date, date)
	}
	for i, date := range in.Clear {
		over(fmt.Sprintf("clear[%d]", i), date)
		if _, there := before.Overrides[date]; !there {
			c.RefuseNew(fmt.Sprintf("clear[%d]", i), "is %.40q, which has no users of its own", date)
		}
	}
	next := rule.Override(before, in.Dates, in.Clear)
	if in.Swap != nil {
		over("swap.date", in.Swap.Date)
		over("swap.with_date", in.Swap.WithDate)
		var problems []posthouse.Problem
		next, problems = rule.Swap(next, rule.Turn{User: in.Swap.User, Date: in.Swap.Date}, rule.Turn{User: in.Swap.With, Date: in.Swap.WithDate})
		for _, p := range problems {
			c.RefuseNew("swap."+p.Path, "%s", p.Message)
		}
	}
	for _, p := range rule.Validate(next) {
		c.RefuseNew(p.Path, "%s", p.Message)
	}
	return next, c.Wrong()
}

// overriddenOf says what changes between two states of a roster, and who is on duty by the second.
func overriddenOf(before, next posthouse.Roster, at time.Time) (wire.Overridden, error) {
	out := wire.Overridden{Roster: next.Name, Changed: []wire.DutyChange{}, Tag: before.Tag()}
	dates := maps.Clone(next.Overrides)
	for date, users := range before.Overrides {
		dates[date] = users
	}
	for _, date := range slices.Sorted(maps.Keys(dates)) {
		was, err := rule.UsersOn(before, date)
		if err != nil {
			return out, err
		}
		will, err := rule.UsersOn(next, date)
		if err != nil {
			return out, err
		}
		if !slices.Equal(was, will) {
			out.Changed = append(out.Changed, wire.DutyChange{Date: date, Before: listed(was), After: listed(will)})
		}
	}
	now, then, err := rule.NowAndNext(next, at)
	out.Now, out.Next = turnOf(now), turnOf(then)
	return out, err
}

func turnOf(d rule.Day) wire.DutyTurn {
	return wire.DutyTurn{Date: d.Date, From: d.From, Until: d.Until, Users: listed(d.Users)}
}
