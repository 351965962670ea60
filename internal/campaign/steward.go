package campaign

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// Live are the campaigns that something is to be done for.
type Live interface {
	CampaignOf(ctx context.Context, id string) (c work.Campaign, found bool, err error)
	StepCampaign(ctx context.Context, now time.Time, c work.Campaign, cut []work.Segment) (work.Campaign, error)
	LiveCampaigns(ctx context.Context) ([]work.Campaign, error)
}

// Remains are segments that nobody works on.
type Remains interface {
	LeftSegments(ctx context.Context, now time.Time, max int) ([]work.Segment, error)
	OpenSegments(ctx context.Context, now time.Time, campaign string, max int) ([]work.Segment, error)
	ReplaceSegment(ctx context.Context, now time.Time, old, ended work.Segment, issued []work.Segment) (done bool, err error)
	Unsettled(ctx context.Context, campaign string) (bool, error)
	Segments(ctx context.Context, campaign string, behind work.SegmentPlace, max int) ([]work.Segment, error)
}

// Gauges show where the members of live campaigns stand.
type Gauges interface {
	Stand(tenant, campaign string, counts map[string]int64)
	Forget(tenant, campaign string)
}

// Steward takes campaigns from their start to their end: it cuts segments, repairs those that were left, and writes what became
// of everybody when a campaign ends. Each process has one; whatever two do at once, one does.
type Steward struct {
	Campaigns Live
	History   History // for campaigns that begin at a time
	Segments  Remains
	Counts    Counts
	Lists     Lists
	Importer  *Importer
	// Paces are told how far campaigns are. Defaults to nobody.
	Paces *Paces
	// Gauges show where the members of live campaigns stand. Defaults to none.
	Gauges Gauges

	shown   map[string]work.Campaign // of Gauges, by id
	shownAt map[string]time.Time     // when they were shown last
}

// Bounds of what one step of a steward writes.
const (
	cutAtOnce   = 200 // segments
	sweepAtOnce = 50
)

// Round does the next step for each campaign, by the database's clock. more says that there is another one to do at once, and
// live how many campaigns have begun and go on.
func (s *Steward) Round(ctx context.Context, now time.Time) (live int, more bool, err error) {
	list, err := s.Campaigns.LiveCampaigns(ctx)
	if err != nil {
		return 0, false, err
	}
	var wrong []error
	if err := s.look(ctx, list); err != nil {
		wrong = append(wrong, err)
	}
	for _, c := range list {
		if c.State != posthouse.CampaignScheduled {
			live++
		}
		again, err := s.step(ctx, now, c)
		if posthouse.CodeOf(err) == posthouse.CodeConflict { // another process was first
			again, err = false, nil
		}
		if err != nil { // it keeps the others waiting for nothing
			wrong = append(wrong, fmt.Errorf("look after the campaign %s: %w", c.Name, err))
		}
		more = more || again
	}
	return live, more && len(wrong) == 0, errors.Join(wrong...)
}

// look notes how far the campaigns are that run or are paused, now and then.
func (s *Steward) look(ctx context.Context, list []work.Campaign) error {
	if s.Paces == nil {
		return nil
	}
	live, now := map[string]bool{}, time.Now()
	for i := range list {
		c := &list[i]
		switch c.State {
		case posthouse.CampaignRunning:
			if live[c.ID] = true; !s.Paces.due(c.ID, now) {
				continue
			}
		case posthouse.CampaignPaused: // a pause is no part of a rate, but what is under way ends in it
			if now.Sub(s.shownAt[c.ID]) < paceEvery {
				continue
			}
		default:
			continue
		}
		p, err := s.Counts.Progress(ctx, c.ID)
		if err != nil {
			return fmt.Errorf("look how far the campaign %s is: %w", c.Name, err)
		}
		if live[c.ID] {
			s.Paces.saw(c.ID, settledOf(&p), now)
		}
		if err := s.show(ctx, c, p); err != nil {
			return err
		}
	}
	s.Paces.keep(live)
	s.forget(list)
	return nil
}

// show shows where the members of a campaign stand.
func (s *Steward) show(ctx context.Context, c *work.Campaign, p work.Progress) error {
	if s.Gauges == nil {
		return nil
	}
	a, err := audienceOf(ctx, s.Lists, c)
	if err != nil {
		return fmt.Errorf("look how far the campaign %s is: %w", c.Name, err)
	}
	n := countsOf(c, a.Members, p)
	s.Gauges.Stand(c.Tenant, c.Name, map[string]int64{
		Unsent.String(): n.Unsent, Started.String(): n.Started, Sent.String(): n.Sent, Delivered.String(): n.Delivered, Undelivered.String(): n.Undelivered, Failed.String(): n.Failed,
		Unknown.String(): n.Unknown, Expired.String(): n.Expired, Suppressed.String(): n.Suppressed, Cancelled.String(): n.Cancelled, HandedOver.String(): n.HandedOver,
	})
	if s.shown == nil {
		s.shown, s.shownAt = map[string]work.Campaign{}, map[string]time.Time{}
	}
	s.shown[c.ID], s.shownAt[c.ID] = *c, time.Now()
	return nil
}

// forget ends what is shown of campaigns that have ended.
func (s *Steward) forget(live []work.Campaign) {
	for id, c := range s.shown {
		if !slices.ContainsFunc(live, func(l work.Campaign) bool { return l.ID == id && !l.State.Final() }) {
			s.Gauges.Forget(c.Tenant, c.Name)
			delete(s.shown, id)
			delete(s.shownAt, id)
		}
	}
}

func (s *Steward) step(ctx context.Context, now time.Time, c work.Campaign) (more bool, err error) {
	switch {
	case c.State.Final():
		return s.sweep(ctx, now, c)
	case !c.Deadline.IsZero() && !now.Before(c.Deadline):
		c.State, c.Reason = posthouse.CampaignExpired, "deadline"
		_, err = s.Campaigns.StepCampaign(ctx, now, c, nil)
		return true, err
	case c.State == posthouse.CampaignScheduled:
		return s.begin(ctx, now, c)
	case c.Planned < goal(&c):
		if c.State == posthouse.CampaignPaused {
			return false, nil
		}
		return s.cut(ctx, now, c)
	}
	open, err := s.Segments.Unsettled(ctx, c.ID)
	if err == nil && open {
		err = s.brake(ctx, now, c)
	}
	if err != nil || open {
		return false, err
	}
	if c.Planned < c.Last {
		return s.judgeCanary(ctx, now, c)
	}
	c.State, c.Reason, c.FinishedAt = posthouse.CampaignDone, "", now
	_, err = s.Campaigns.StepCampaign(ctx, now, c, nil)
	return false, err
}

// begin starts a campaign whose time has come.
func (s *Steward) begin(ctx context.Context, now time.Time, c work.Campaign) (more bool, err error) {
	if now.Before(c.StartAt) {
		return false, nil
	}
	c.State, c.Reason, c.StartedAt = posthouse.CampaignRunning, "", now
	if c.NotToldWithin > 0 {
		_, err = recall{s.History, s.Segments, s.Lists, s.Importer}.begin(ctx, c)
	} else {
		_, err = s.Campaigns.StepCampaign(ctx, now, c, nil)
	}
	return err == nil, err
}

// cut makes the next segments.
func (s *Steward) cut(ctx context.Context, now time.Time, c work.Campaign) (more bool, err error) {
	a, found, err := s.Lists.AudienceOf(ctx, c.Tenant, c.AudienceID)
	if err == nil && !found {
		err = fmt.Errorf("its audience is gone")
	}
	if err != nil {
		return false, err
	}
	twice := s.Importer.Repeated(ctx, a)
	var wrong error
	first := c.Planned + 1
	c.SegmentSize = sizeOf(&c)
	c.Planned = min(c.Planned+cutAtOnce*int64(c.SegmentSize), goal(&c))
	list := Cut(&c, first, c.Planned, func(seq int64) bool {
		again, err := twice(seq)
		if err != nil {
			wrong = err
		}
		return again
	})
	if wrong == nil {
		wrong = s.leaveOut(ctx, &c, list)
	}
	if wrong != nil {
		return false, wrong
	}
	for i := range list {
		list[i].DueAt = dueAt(&c, list[i].First)
	}
	_, err = s.Campaigns.StepCampaign(ctx, now, c, list)
	return c.Planned < goal(&c), err
}

// Allowed is how many more members of a campaign may be started now, see the function of this name.
func (s *Steward) Allowed(ctx context.Context, id string) (n int64, free bool, err error) {
	c, found, err := s.Campaigns.CampaignOf(ctx, id)
	if err != nil || !found {
		return 0, false, err
	}
	if !braked(&c) {
		return 0, true, nil
	}
	p, err := s.Counts.Progress(ctx, id)
	if err != nil {
		return 0, false, fmt.Errorf("ask what the brake of the campaign %s allows: %w", c.Name, err)
	}
	n, free = Allowed(&c, &p)
	return n, free, nil
}

// sweep writes the end of those who were left when a campaign ended.
func (s *Steward) sweep(ctx context.Context, now time.Time, c work.Campaign) (more bool, err error) {
	list, err := s.Segments.OpenSegments(ctx, now, c.ID, sweepAtOnce)
	if err != nil {
		return false, err
	}
	for _, seg := range list {
		if _, err := s.Segments.ReplaceSegment(ctx, now, seg, Sweep(seg, outside(&c)), nil); err != nil {
			return false, err
		}
	}
	if len(list) > 0 {
		return true, nil
	}
	open, err := s.Segments.Unsettled(ctx, c.ID)
	if err != nil || open { // its owner gives it back
		return false, err
	}
	c.FinishedAt = now
	_, err = s.Campaigns.StepCampaign(ctx, now, c, nil)
	return false, err
}

// Repaired is what a repair has issued anew of a campaign: so many segments, with so many members left.
type Repaired struct{ Segments, Members int64 }

// Repair issues anew what was left of segments: of those that are partly done, and of those whose worker is gone. terms are by
// which a campaign's members are tried; false says that its channel is not open here. It returns what it has issued, by campaign.
func (s *Steward) Repair(ctx context.Context, now time.Time, terms func(c *work.Campaign) (Terms, bool)) (done map[string]Repaired, err error) {
	list, err := s.Segments.LeftSegments(ctx, now, sweepAtOnce)
	if err != nil {
		return nil, err
	}
	done = map[string]Repaired{}
	known := map[string]work.Campaign{}
	for _, seg := range list {
		c, is := known[seg.Campaign]
		if !is {
			if c, _, err = s.Campaigns.CampaignOf(ctx, seg.Campaign); err != nil {
				return done, err
			}
			known[seg.Campaign] = c
		}
		t, open := terms(&c)
		if !open || c.State.Final() { // a sweep ends it
			continue
		}
		void, issued := Repair(seg, t, now, rand.Float64())
		replaced, err := s.Segments.ReplaceSegment(ctx, now, seg, void, issued)
		if err != nil {
			return done, err
		}
		if replaced {
			r := done[c.ID]
			r.Segments++
			for i := range issued {
				r.Members += issued[i].Counts[Unsent]
			}
			done[c.ID] = r
		}
	}
	return done, nil
}
