package campaign

import (
	"context"
	"time"

	"github.com/posthouse/posthouse/internal/work"
)

// How far back a provider's word may reach that names an address and a message which nobody knows: the campaigns, and those of their
// segments that are open or ended lately. What providers told is kept for ten minutes.
const (
	evidenceCampaigns = 24 * time.Hour
	evidenceSegments  = 15 * time.Minute
)

// Evidence takes what a provider told of an address, by a name of the message that nobody knows, as proof for a member of whom nobody
// knows whether it was reached: its worker was lost before it could keep the name. Where several campaigns have such a member it proves
// nothing. rest are those that prove nothing.
func (d *Desk) Evidence(ctx context.Context, now time.Time, list []work.Heard) (rest []work.Heard, news work.NewsOfMembers, err error) {
	type of struct{ tenant, channel string }
	doubtful := map[of][]work.Campaign{}
	for _, h := range list {
		o := of{h.Tenant, h.Channel}
		campaigns, known := doubtful[o]
		if !known && h.Address != "" {
			if campaigns, err = d.doubtful(ctx, h.Tenant, h.Channel, now); err != nil {
				return list, news, err
			}
			doubtful[o] = campaigns
		}
		proved, err := d.prove(ctx, now, campaigns, h, &news)
		if err != nil {
			return list, news, err
		}
		if !proved {
			rest = append(rest, h)
		}
	}
	return rest, news, nil
}

// doubtful are the campaigns of a channel that have members of whom nobody knows whether they were reached.
func (d *Desk) doubtful(ctx context.Context, tenant, channel string, now time.Time) (some []work.Campaign, err error) {
	list, err := d.o.History.CampaignsSince(ctx, tenant, channel, now.Add(-evidenceCampaigns))
	for i := range list {
		p, err := d.o.Segments.Progress(ctx, list[i].ID)
		if err != nil {
			return nil, err
		}
		if p.Members[Unknown] > 0 {
			some = append(some, list[i])
		}
	}
	return some, err
}

// InDoubt reports whether nobody knows of a member with the address of which a provider told whether it was reached.
func (d *Desk) InDoubt(ctx context.Context, now time.Time, h work.Heard) (bool, error) {
	campaigns, err := d.doubtful(ctx, h.Tenant, h.Channel, now)
	for i := 0; err == nil && i < len(campaigns); i++ {
		var s *work.Segment
		if s, _, err = d.inDoubt(ctx, now, &campaigns[i], h.Address); s != nil {
			return true, err
		}
	}
	return false, err
}

// prove writes what was told of an address, where it means one member.
func (d *Desk) prove(ctx context.Context, now time.Time, campaigns []work.Campaign, h work.Heard, news *work.NewsOfMembers) (proved bool, err error) {
	if h.Address == "" {
		return false, nil
	}
	var meant *work.Segment
	var place int
	for i := range campaigns {
		s, at, err := d.inDoubt(ctx, now, &campaigns[i], h.Address)
		if err != nil {
			return false, err
		}
		if s != nil && meant != nil {
			return false, nil
		}
		if s != nil {
			meant, place = s, at
		}
	}
	if meant == nil {
		return false, nil
	}
	to, why := Delivered, work.SegmentReason{}
	if !h.Delivered {
		to, why = Undelivered, work.SegmentReason{Outcome: Undelivered.String(), Code: h.Code, Error: h.Error}
	}
	err = d.o.Segments.ReviseSegment(ctx, now, meant.ID, func(s work.Segment) (work.Segment, bool) {
		s, proved = Witness(s, place, to, why)
		return s, proved
	})
	switch {
	case err != nil || !proved:
	case h.Delivered:
		news.Delivered++
	default:
		news.Undelivered++
		news.Missed = append(news.Missed, work.Undelivered{Campaign: meant.Campaign, Seq: meant.First + int64(place), Account: AccountOf(meant, place), Code: h.Code, Tenant: h.Tenant, Channel: h.Channel})
	}
	return proved, err
}

// inDoubt is the segment of a campaign in which nobody knows of the member with an address whether it was reached, nil for none.
func (d *Desk) inDoubt(ctx context.Context, now time.Time, c *work.Campaign, address string) (s *work.Segment, place int, err error) {
	a, err := d.audienceOf(ctx, c)
	if err != nil {
		return nil, 0, err
	}
	m, found, err := d.o.Importer.Find(ctx, a, address)
	if err != nil || !found {
		return nil, 0, err
	}
	segments, err := d.o.Segments.SegmentsIn(ctx, c.ID, m.Seq, m.Seq, MaxSegment)
	for i := range segments {
		s, place := &segments[i], int(m.Seq-segments[i].First)
		if m.Seq <= s.Last && place >= 0 && At(s, place) == Unknown && (s.FinishedAt.IsZero() || s.FinishedAt.After(now.Add(-evidenceSegments))) {
			return s, place, nil
		}
	}
	return nil, 0, err
}
