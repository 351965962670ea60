package campaign

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// countsOf counts how many of so many members stand where.
func countsOf(c *work.Campaign, members int64, p work.Progress) wire.CampaignCounts {
	n := p.Members
	n[Sent] -= p.Heard.Delivered + p.Heard.Undelivered
	n[Delivered], n[Undelivered] = n[Delivered]+p.Heard.Delivered, n[Undelivered]+p.Heard.Undelivered
	out := wire.CampaignCounts{
		Members: members, Started: n[Started], Sent: n[Sent], Delivered: n[Delivered], Undelivered: n[Undelivered], Failed: n[Failed], Unknown: n[Unknown],
		Expired: n[Expired], Suppressed: n[Suppressed], Cancelled: n[Cancelled], HandedOver: n[HandedOver],
	}
	rest := members
	for o := Started; o <= HandedOver; o++ {
		rest -= n[o]
	}
	switch outside(c) {
	case Cancelled:
		out.Cancelled += rest
	case Expired:
		out.Expired += rest
	default:
		out.Unsent = rest
	}
	return out
}

// progressOf says how far a campaign is, at a moment.
func progressOf(c *work.Campaign, a *work.Audience, p work.Progress, paces *Paces, now time.Time) wire.CampaignProgress {
	settled := settledOf(&p)
	out := wire.CampaignProgress{CampaignCounts: countsOf(c, a.Members, p), Reasons: []wire.CampaignReason{}}
	for _, r := range p.Reasons {
		out.Reasons = append(out.Reasons, reasonShown(r))
	}
	switch {
	case c.State == posthouse.CampaignRunning:
		if out.PerSecond = paces.of(c.ID, settled, now); out.PerSecond > 0 {
			out.Left = posthouse.Duration(time.Duration(float64(out.Unsent+out.Started) / out.PerSecond * float64(time.Second)).Round(time.Second))
		}
	case !c.FinishedAt.IsZero() && c.FinishedAt.After(c.StartedAt) && !c.StartedAt.IsZero():
		out.PerSecond = float64(settled) / c.FinishedAt.Sub(c.StartedAt).Seconds()
	}
	return out
}

// leastLeft is how long a campaign takes for those whom nothing was sent yet, at least: as the limits of its channel and its spread let them.
// The rate of the last minute alone promises too much where a window was filled at once, and is 0 where a window is longer than that minute.
func leastLeft(c *work.Campaign, unsent int64, ch *state.Channel, now time.Time) time.Duration {
	if unsent == 0 {
		return 0
	}
	return max(Takes(unsent, ch, c.Template), c.StartedAt.Add(c.Spread.Std()).Sub(now).Round(time.Second), 0)
}

// fastest is how many members a second the limits of a channel and its accounts let through within a minute, at most; +Inf where none of them is as
// short. A rate that is measured over some seconds, at the start or after a restart, shows a window that was filled at once.
func fastest(ch *state.Channel) float64 {
	of := func(limits []posthouse.Limit) float64 {
		most := math.Inf(1)
		for _, l := range limits {
			if l.Max > 0 && l.Per > 0 && l.Per.Std() <= paceWindow {
				most = min(most, float64(l.Max)/l.Per.Std().Seconds())
			}
		}
		return most
	}
	own := of(ch.Settings.Limits)
	if len(ch.Opened.Accounts) == 0 {
		return own
	}
	all := 0.0
	for _, a := range ch.Opened.Accounts {
		all += of(a.Limits)
	}
	return min(own, all)
}

// leastFull is for how long a window must be full to be a reason why nothing moves: shorter ones only make it slower.
const leastFull = 10 * time.Second

// full says that nobody is sent to since a window of the channel is full, or one of each of its accounts, and until when.
func (d *Desk) full(ctx context.Context, c *work.Campaign, p *wire.CampaignProgress, now time.Time) error {
	ch := d.o.Channel(c.Tenant, c.Channel)
	if d.o.Windows == nil || ch == nil {
		return nil
	}
	list, err := d.o.Windows(ctx, c.Tenant, c.Channel)
	if err != nil {
		return err
	}
	var of *wire.Window             // that holds all of the channel
	by := map[string]*wire.Window{} // that holds an account
	for i := range list {
		w := &list[i]
		if w.Left > 0 || w.OpensAt.IsZero() {
			continue
		}
		if w.Account == "" && (of == nil || w.OpensAt.After(of.OpensAt)) {
			of = w
		} else if held := by[w.Account]; w.Account != "" && (held == nil || w.OpensAt.After(held.OpensAt)) {
			by[w.Account] = w
		}
	}
	var first *wire.Window // of the accounts that all wait
	for i, a := range ch.Opened.Accounts {
		w := by[a.Name]
		if w == nil {
			first = nil
			break
		}
		if i == 0 || w.OpensAt.Before(first.OpensAt) {
			first = w
		}
	}
	if first != nil && (of == nil || first.OpensAt.After(of.OpensAt)) {
		of = first
	}
	switch {
	case of == nil || of.OpensAt.Sub(now) < leastFull:
	case p.Waits == "":
		name := "channel"
		if of.Account != "" {
			name = "account " + of.Account
		}
		p.Waits, p.Until = fmt.Sprintf("the window of %d in %s of its %s is full", of.Max, of.Per, name), of.OpensAt
	case of.OpensAt.After(p.Until) && !p.Until.IsZero(): // it was known until when it is asked again, and no more
		p.Until = of.OpensAt
	}
	return nil
}

func reasonShown(r work.SegmentReason) wire.CampaignReason {
	return wire.CampaignReason{Outcome: r.Outcome, Class: r.Class, Code: r.Code, Error: r.Error, Members: r.N}
}
