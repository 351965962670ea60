package campaign

import (
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// progressOf counts members, at a moment.
func progressOf(c *work.Campaign, a *work.Audience, p work.Progress, now time.Time) wire.CampaignProgress {
	n := p.Members
	n[Sent] -= p.Heard.Delivered + p.Heard.Undelivered
	n[Delivered], n[Undelivered] = n[Delivered]+p.Heard.Delivered, n[Undelivered]+p.Heard.Undelivered
	out := wire.CampaignProgress{
		Members: a.Members, Started: n[Started], Sent: n[Sent], Delivered: n[Delivered], Undelivered: n[Undelivered], Failed: n[Failed], Unknown: n[Unknown],
		Expired: n[Expired], Suppressed: n[Suppressed], Cancelled: n[Cancelled], HandedOver: n[HandedOver], Reasons: []wire.CampaignReason{},
	}
	rest, settled := a.Members, int64(0)
	for o := Started; o <= HandedOver; o++ {
		rest -= n[o]
		if o.Settled() {
			settled += n[o]
		}
	}
	switch outside(c) {
	case Cancelled:
		out.Cancelled += rest
	case Expired:
		out.Expired += rest
	default:
		out.Unsent = rest
	}
	for _, r := range p.Reasons {
		out.Reasons = append(out.Reasons, reasonShown(r))
	}
	if !c.FinishedAt.IsZero() {
		now = c.FinishedAt
	}
	if took := now.Sub(c.StartedAt); !c.StartedAt.IsZero() && took > 0 && settled > 0 {
		out.PerSecond = float64(settled) / took.Seconds()
		if c.State == posthouse.CampaignRunning {
			out.Left = posthouse.Duration(time.Duration(float64(rest+n[Started]) / out.PerSecond * float64(time.Second)).Round(time.Second))
		}
	}
	return out
}

func reasonShown(r work.SegmentReason) wire.CampaignReason {
	return wire.CampaignReason{Outcome: r.Outcome, Class: r.Class, Code: r.Code, Error: r.Error, Members: r.N}
}
