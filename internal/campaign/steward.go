package campaign

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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
}

// Steward takes campaigns from their start to their end: it cuts segments, repairs those that were left, and writes what became
// of everybody when a campaign ends. Each process has one; whatever two do at once, one does.
type Steward struct {
	Campaigns Live
	Segments  Remains
	Counts    Counts
	Lists     Lists
	Importer  *Importer
	// Paces are told how far campaigns are. Defaults to nobody.
	Paces *Paces
}

// Bounds of what one step of a steward writes.
const (
	cutAtOnce   = 200 // segments
	sweepAtOnce = 50
)

// Round does the next step for each campaign, by the database's clock. more says that there is another one to do at once, and
// live how many campaigns go on.
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
		again, err := s.step(ctx, now, c)
		if posthouse.CodeOf(err) == posthouse.CodeConflict { // another process was first
			again, err = false, nil
		}
		if err != nil { // it keeps the others waiting for nothing
			wrong = append(wrong, fmt.Errorf("look after the campaign %s: %w", c.Name, err))
		}
		more = more || again
	}
	return len(list), more && len(wrong) == 0, errors.Join(wrong...)
}

// look notes how far the campaigns are that run, now and then.
func (s *Steward) look(ctx context.Context, list []work.Campaign) error {
	if s.Paces == nil {
		return nil
	}
	live, now := map[string]bool{}, time.Now()
	for i := range list {
		c := &list[i]
		if c.State != posthouse.CampaignRunning {
			continue // a pause is no part of a rate
		}
		live[c.ID] = true
		if !s.Paces.due(c.ID, now) {
			continue
		}
		p, err := s.Counts.Progress(ctx, c.ID)
		if err != nil {
			return fmt.Errorf("look how far the campaign %s is: %w", c.Name, err)
		}
		s.Paces.saw(c.ID, settledOf(&p), now)
	}
	s.Paces.keep(live)
	return nil
}

func (s *Steward) step(ctx context.Context, now time.Time, c work.Campaign) (more bool, err error) {
	switch {
	case c.State.Final():
		return s.sweep(ctx, now, c)
	case !c.Deadline.IsZero() && !now.Before(c.Deadline):
		c.State, c.Reason = posthouse.CampaignExpired, "deadline"
		_, err = s.Campaigns.StepCampaign(ctx, now, c, nil)
		return true, err
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

// Repair issues anew what was left of segments: of those that are partly done, and of those whose worker is gone. terms are by
// which a campaign's members are tried; false says that its channel is not open here. It returns how many it repaired.
func (s *Steward) Repair(ctx context.Context, now time.Time, terms func(c *work.Campaign) (Terms, bool)) (n int, err error) {
	list, err := s.Segments.LeftSegments(ctx, now, sweepAtOnce)
	if err != nil {
		return 0, err
	}
	known := map[string]work.Campaign{}
	for _, seg := range list {
		c, is := known[seg.Campaign]
		if !is {
			if c, _, err = s.Campaigns.CampaignOf(ctx, seg.Campaign); err != nil {
				return n, err
			}
			known[seg.Campaign] = c
		}
		t, open := terms(&c)
		if !open || c.State.Final() { // a sweep ends it
			continue
		}
		void, issued := Repair(seg, t, now, rand.Float64())
		done, err := s.Segments.ReplaceSegment(ctx, now, seg, void, issued)
		if err != nil {
			return n, err
		}
		if done {
			n++
		}
	}
	return n, nil
}
