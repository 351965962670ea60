package engine

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
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

// leaveAlone is until when nobody of a segment is sent to, zero for now: quiet hours of some people alone do not hold a campaign, which knows
// people by their addresses, as a whole.
func (s *segments) leaveAlone(ctx context.Context, r *route, st *segment.Stretch) (time.Time, error) {
	if !s.quiet.Any(r.Key.Tenant, r.Settings.Quiet) {
		return time.Time{}, nil
	}
	// The segment stands for its members: each of the campaign's has a moment of its own.
	whom := quiet.Whom{Kind: st.Campaign.Kind, Address: st.ID(), Local: r.Settings.Location}
	ends, err := s.quiet.Until(ctx, r.Key.Tenant, r.Settings.Quiet, s.holder.Life.Now(), []quiet.Whom{whom})
	if err != nil {
		return time.Time{}, fmt.Errorf("ask for the quiet hours of a campaign: %w", err)
	}
	if len(ends) == 0 {
		return time.Time{}, nil
	}
	return ends[0], nil
}

// keeperOf is the one that is given, or one that knows of no tenant's.
func keeperOf(k *quiet.Keeper, o *Options) *quiet.Keeper {
	if k != nil {
		return k
	}
	return &quiet.Keeper{Rosters: o.Rosters, Log: slog.Default()}
}
