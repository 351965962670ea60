package campaign

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/render"
	"github.com/posthouse/posthouse/internal/work"
)

// Counts says how many members stand where.
type Counts interface {
	Progress(ctx context.Context, campaign string) (work.Progress, error)
}

// Bounds of rules.
const (
	maxSpread        = 90 * 24 * time.Hour
	maxNotToldWithin = 366 * 24 * time.Hour
	// spreadSteps is into how many segments a campaign is cut at least that is spread: they begin evenly.
	spreadSteps = 200
)

// reasonCanary begins the reason of a campaign that its canary has paused.
const reasonCanary = "canary: "

func checkRules(r *posthouse.CampaignRules, p *draft.Problems) {
	if s := r.Spread.Std(); s < 0 || s > maxSpread {
		p.Add("spread", "is %s: want 0s to %s", s, maxSpread)
	}
	if t := r.NotToldWithin.Std(); t < 0 || t > maxNotToldWithin {
		p.Add("not_told_within", "is %s: want 0s to %s", t, maxNotToldWithin)
	}
	checkParameters(r.Parameters, p)
	share := func(path string, v float64) {
		if !(v >= 0 && v < 1) { // not a number is neither
			p.Add(path, "is %g: want a share from 0 to below 1", v)
		}
	}
	if c := r.Canary; c != nil {
		if c.Members < 1 {
			p.Add("canary.members", "is %d: want at least 1", c.Members)
		}
		share("canary.max_failures", c.MaxFailures)
	}
	if b := r.Brake; b != nil {
		share("brake.above", b.Above)
		if b.After < 1 {
			p.Add("brake.after", "is %d: want at least 1", b.After)
		}
		for i, c := range b.Classes {
			if !c.Valid() || c == posthouse.ClassOK {
				p.Add(fmt.Sprintf("brake.classes[%d]", i), "is %q: want a class of failures", c)
			}
		}
	}
}

// maxParameters bounds how many parameters a template of a provider's is filled with, as those that a template has itself.
const maxParameters = 100

func checkParameters(parameters map[string]string, p *draft.Problems) {
	if n := len(parameters); n > maxParameters {
		p.Add("parameters", "has %d: the most is %d", n, maxParameters)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		path := "parameters." + name
		if name == "" {
			p.Add("parameters", "has one without a name")
		}
		p.Word(path, name, draft.MaxWord)
		p.Text(path, parameters[name], draft.MaxText)
		if _, err := render.Parse(parameters[name]); err != nil {
			p.Add(path, "%s", err)
		}
	}
}

// goal is the number of the last member who may be cut into a segment now: the last of the canary, until it is judged.
func goal(c *work.Campaign) int64 {
	if c.Canary == nil || c.Marks.CanaryDone {
		return c.Last
	}
	return min(c.Canary.Members, c.Last)
}

// sizeOf is how many members a segment has: fewer than the campaign says where it is spread, so that it begins in many steps.
func sizeOf(c *work.Campaign) int {
	if c.Spread <= 0 {
		return c.SegmentSize
	}
	return int(max(1, min(int64(c.SegmentSize), c.Last/spreadSteps)))
}

// segmentsOf is into how many segments so many members are cut.
func segmentsOf(c *work.Campaign, last int64) int64 {
	planned := *c
	planned.Last = last
	size := int64(sizeOf(&planned))
	return (last + size - 1) / size
}

// dueAt is when the segment that begins with a member may be claimed.
func dueAt(c *work.Campaign, first int64) time.Time {
	if c.Spread <= 0 || c.Last < 1 {
		return time.Time{}
	}
	return c.StartedAt.Add(time.Duration(float64(c.Spread) * float64(first-1) / float64(c.Last)))
}

// tallied is how many members were answered for, and how many of these have failed in one of the classes, or in any for none. Who
// is unknown counts as failed.
func tallied(p *work.Progress, classes []posthouse.Class) (answered, failed int64) {
	n := p.Members
	answered = n[Sent] + n[Delivered] + n[Undelivered] + n[Failed] + n[Unknown]
	if len(classes) == 0 {
		return answered, n[Undelivered] + n[Failed] + n[Unknown] + p.Heard.Undelivered
	}
	for _, r := range p.Reasons {
		if (r.Outcome == Failed.String() || r.Outcome == Unknown.String()) && slices.Contains(classes, r.Class) {
			failed += r.N
		}
	}
	return answered, failed
}

// tooMany reports whether so many failures are more than a share of all.
func tooMany(failed, of int64, share float64) bool { return float64(failed) > share*float64(of) }

// hopeless is how many people have failed, and nobody else was answered for, when a campaign without a brake of its own is paused: its
// template is wrong, or what it says.
const hopeless = 100

// brake pauses a campaign of which too many have failed since it was started or resumed.
func (s *Steward) brake(ctx context.Context, now time.Time, c work.Campaign) error {
	if !braked(&c) || c.State != posthouse.CampaignRunning {
		return nil
	}
	p, err := s.Counts.Progress(ctx, c.ID)
	if err != nil {
		return err
	}
	answered, failed := tallied(&p, classesOf(&c))
	answered, failed = answered-c.Marks.Answered, failed-c.Marks.Failed
	switch {
	case c.Brake == nil && failed < answered:
		c.Marks.Reached = true
		_, err := s.Campaigns.StepCampaign(ctx, now, c, nil)
		return err
	case c.Brake == nil && answered < hopeless, c.Brake != nil && (answered < c.Brake.After || !tooMany(failed, answered, c.Brake.Above)):
		return nil
	}
	return s.halt(ctx, now, c, fmt.Sprintf("brake: %d of %d have failed", failed, answered))
}

// slack is by which share of those who were answered for a brake may be missed: so few may be under way in any case, so that a brake
// at a very small share does not send to one after the other.
const slack = 0.01

// Allowed is how many more members of a campaign may be started now, so that its brake holds although nobody knows yet what becomes of
// those who are under way: they count as failed. free says that its brake bounds nothing any more.
func Allowed(c *work.Campaign, p *work.Progress) (n int64, free bool) {
	if !braked(c) {
		return 0, true
	}
	answered, failed := tallied(p, classesOf(c))
	answered, failed = answered-c.Marks.Answered, failed-c.Marks.Failed
	flying := p.Members[Started]
	if c.Brake == nil {
		return max(0, hopeless-answered-flying), failed < answered
	}
	first := c.Brake.After - answered - flying // so many it says nothing about
	above := c.Brake.Above
	rest := int64((above*float64(answered+flying) - float64(failed+flying)) / (1 - above))
	n = max(first, rest, int64(slack*float64(answered))-flying, 0)
	if n == 0 && flying == 0 && !tooMany(failed, answered, above) {
		n = 1 // the one that decides
	}
	return n, false
}

// braked reports whether a campaign is paused by itself: by its brake, or for as long as it has reached nobody.
func braked(c *work.Campaign) bool { return c.Brake != nil || !c.Marks.Reached }

func classesOf(c *work.Campaign) []posthouse.Class {
	if c.Brake == nil {
		return nil
	}
	return c.Brake.Classes
}

// judgeCanary lets the others follow the canary, all of whom are answered for, or pauses the campaign.
func (s *Steward) judgeCanary(ctx context.Context, now time.Time, c work.Campaign) (more bool, err error) {
	if c.State == posthouse.CampaignPaused {
		return false, nil
	}
	p, err := s.Counts.Progress(ctx, c.ID)
	if err != nil {
		return false, err
	}
	if answered, failed := tallied(&p, nil); tooMany(failed, answered, c.Canary.MaxFailures) {
		return false, s.halt(ctx, now, c, fmt.Sprintf("canary: %d of the first %d have failed", failed, answered))
	}
	c.Marks.CanaryDone = true
	_, err = s.Campaigns.StepCampaign(ctx, now, c, nil)
	return true, err
}

func (s *Steward) halt(ctx context.Context, now time.Time, c work.Campaign, why string) error {
	c.State, c.Reason = posthouse.CampaignPaused, why
	_, err := s.Campaigns.StepCampaign(ctx, now, c, nil)
	return err
}
