package campaign

import (
	"time"

	"github.com/posthouse/posthouse"
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

func reasonShown(r work.SegmentReason) wire.CampaignReason {
	return wire.CampaignReason{Outcome: r.Outcome, Class: r.Class, Code: r.Code, Error: r.Error, Members: r.N}
}
