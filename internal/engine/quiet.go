package engine

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/quiet"
	"github.com/posthouse/posthouse/internal/segment"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// whomOf says about whom quiet hours are asked of a delivery.
func whomOf(c *state.Channel, item *work.Item) quiet.Whom {
	d, kind := &item.Delivery, ""
	if item.Message != nil {
		kind = item.Message.Kind
	}
	return quiet.Whom{Kind: kind, User: d.User, Address: d.Address, Local: c.Settings.Location, Deadline: d.Deadline}
}

// leaveAlone has go back what was claimed for people in their quiet hours, before every attempt. What is critical goes on.
func (ds *deliveries) leaveAlone(ctx context.Context, w wish, groups []*group) {
	r := w.route
	if !ds.quiet.Any(r.Key.Tenant, r.Settings.Quiet) {
		return
	}
	var people []quiet.Whom
	for _, g := range groups {
		for i := range g.items {
			people = append(people, whomOf(r.Channel, &g.items[i]))
		}
	}
	ctx, cancel := context.WithDeadline(ctx, w.at.Add(w.lease)) // nothing of it may begin after that anyway
	defer cancel()
	now := ds.life.Now()
	ends, err := ds.quiet.Until(ctx, r.Key.Tenant, r.Settings.Quiet, now, people)
	if err != nil {
		ds.log.Warn("quiet hours cannot be looked up: what was claimed goes back", "channel", r.Key.Channel, "error", err)
		for _, g := range groups {
			g.closeAll(done{verdict: verdictRelease, reason: state.ReasonDatabase, result: channel.Result{After: faultPause}})
		}
		return
	}
	first := 0 // the place of a group's first
	for _, g := range groups {
		n := len(g.items)
		held := map[int]done{}
		for i := range min(n, len(ends)-first) {
			if end := ends[first+i]; !end.IsZero() && !critical(&g.items[i]) {
				held[i] = aloneUntil(&g.items[i].Delivery, now, end)
				ds.metrics.HeldBack.WithLabelValues(r.Key.Channel, state.ReasonQuietHours, string(held[i].verdict)).Inc()
			}
		}
		if len(held) > 0 {
			g.putOff(held)
		}
		first += n
	}
}

func critical(item *work.Item) bool { return item.Message != nil && item.Message.Critical }

// aloneUntil is what becomes of a delivery whose recipient is left alone until a time: it waits for that, unless its deadline comes before.
func aloneUntil(d *posthouse.Delivery, now, end time.Time) done {
	if why := state.QuietBeyond(d, end); why != "" {
		return done{verdict: verdictSuppress, reason: state.ReasonQuietHours, result: channel.Result{Error: why}}
	}
	return done{verdict: verdictRelease, reason: state.ReasonQuietHours, result: channel.Result{After: end.Sub(now) + state.PastQuiet}}
}

// alone says until when members of a segment are left alone. Nil leaves nobody alone.
type alone struct {
	keeper *quiet.Keeper
	route  *route
	whom   quiet.Whom // what holds for those who are nobody's users and whom no hours name
	now    time.Time
	until  time.Time // of those, zero for now
	users  map[string][]posthouse.User
	named  map[string]bool
}

// leaveAlone says until when the members of a segment are left alone.
func (s *segments) leaveAlone(ctx context.Context, r *route, st *segment.Stretch) (*alone, error) {
	if !s.quiet.Any(r.Key.Tenant, r.Settings.Quiet) {
		return nil, nil
	}
	a := &alone{
		keeper: s.quiet, route: r, now: s.holder.Life.Now(), named: s.quiet.Named(r.Key.Tenant, r.Settings.Quiet),
		whom: campaign.Whom(st.ID(), st.Campaign.Kind, st.Campaign.Deadline, r.Settings.Location),
	}
	var err error
	if a.users, err = s.users(ctx, r, st); err != nil {
		return nil, fmt.Errorf("look up who of a campaign's members are users: %w", err)
	}
	ends, err := a.ask(ctx, []quiet.Whom{a.whom})
	if err != nil {
		return nil, err
	}
	a.until = ends[0]
	return a, nil
}

// ask is until when people are left alone.
func (a *alone) ask(ctx context.Context, people []quiet.Whom) ([]time.Time, error) {
	ends, err := a.keeper.Until(ctx, a.route.Key.Tenant, a.route.Settings.Quiet, a.now, people)
	if err != nil {
		return nil, fmt.Errorf("ask for the quiet hours of a campaign: %w", err)
	}
	if ends == nil { // there are none any more
		ends = make([]time.Time, len(people))
	}
	return ends, nil
}

// all is until when the whole segment is left alone, zero where that is to be asked of single members.
func (a *alone) all(st *segment.Stretch) time.Time {
	if a == nil || a.until.IsZero() || len(a.users) > 0 || a.beyond(a.until) != "" {
		return time.Time{}
	}
	for i := range st.Members {
		if a.named[st.Members[i].Address] {
			return time.Time{}
		}
	}
	return a.until
}

// beyond says why a member ends who is left alone until a time, empty where it waits for that.
func (a *alone) beyond(until time.Time) string {
	return state.QuietBeyond(&posthouse.Delivery{Deadline: a.whom.Deadline}, until)
}

// of is until when some members are left alone, zero for now: each user by the own zone, and where several have one address, until the last
// of them is not.
func (a *alone) of(ctx context.Context, st *segment.Stretch, places []int) ([]time.Time, error) {
	list := make([]time.Time, len(places))
	var people []quiet.Whom
	var whose []int
	for i, place := range places {
		address := st.Members[place].Address
		list[i] = a.until
		users := a.users[address]
		if len(users) == 0 && !a.named[address] {
			continue
		}
		list[i] = time.Time{}
		one := a.whom
		one.Address, one.Settled = address, true
		for k := range max(len(users), 1) {
			if len(users) > 0 {
				one.User, one.Zone = users[k].ID, zoneOf(&users[k])
			}
			people, whose = append(people, one), append(whose, i)
		}
	}
	if len(people) == 0 {
		return list, nil
	}
	ends, err := a.ask(ctx, people)
	if err != nil {
		return nil, err
	}
	for k, i := range whose {
		if ends[k].After(list[i]) {
			list[i] = ends[k]
		}
	}
	return list, nil
}

// zoneOf is a user's own zone, nil for none.
func zoneOf(u *posthouse.User) *time.Location {
	if u.TimeZone == "" {
		return nil
	}
	zone, err := time.LoadLocation(u.TimeZone)
	if err != nil {
		return nil
	}
	return zone
}

// sift takes those out of members who are left alone: who waits for that, and why those end whose deadline comes before.
func (a *alone) sift(ctx context.Context, st *segment.Stretch, places []int) (may []int, held map[int]time.Time, ends map[int]segment.Bar, err error) {
	if a == nil {
		return places, nil, nil, nil
	}
	until, err := a.of(ctx, st, places)
	if err != nil {
		return nil, nil, nil, err
	}
	held, ends = map[int]time.Time{}, map[int]segment.Bar{}
	for i, place := range places {
		switch why := a.beyond(until[i]); {
		case until[i].IsZero():
			may = append(may, place)
		case why != "":
			ends[place] = segment.Bar{Code: campaign.CodeQuiet, Why: why}
		default:
			held[place] = until[i]
		}
	}
	return may, held, ends, nil
}

// keeperOf is the one that is given, or one that knows of no tenant's.
func keeperOf(k *quiet.Keeper, o *Options) *quiet.Keeper {
	if k != nil {
		return k
	}
	return &quiet.Keeper{Rosters: o.Rosters, Log: slog.Default()}
}
