package campaign

import (
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// Paces remember how many members of campaigns were settled when, for the last minute. Each process looks for itself.
type Paces struct {
	mu sync.Mutex
	by map[string][]look
}

// look is how many members of a campaign were settled at a moment.
type look struct {
	at      time.Time
	settled int64
}

// The window of a rate, and how often it is looked at.
const (
	paceWindow = time.Minute
	paceEvery  = 5 * time.Second
)

// NewPaces remembers nothing.
func NewPaces() *Paces { return &Paces{by: map[string][]look{}} }

// due reports whether it is time to look at a campaign again.
func (p *Paces) due(id string, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.by[id]
	return len(list) == 0 || now.Sub(list[len(list)-1].at) >= paceEvery
}

// saw notes a look.
func (p *Paces) saw(id string, settled int64, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := append(p.by[id], look{now, settled})
	for len(list) > 1 && now.Sub(list[1].at) >= paceWindow { // the one before the window is its beginning
		list = slices.Delete(list, 0, 1)
	}
	p.by[id] = list
}

// keep forgets all campaigns but some.
func (p *Paces) keep(live map[string]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.by {
		if !live[id] {
			delete(p.by, id)
		}
	}
}

// of is how many members a second were settled in the last minute, 0 where that is not known.
func (p *Paces) of(id string, settled int64, now time.Time) float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.by[id] {
		if took := now.Sub(l.at); took >= time.Second {
			return float64(settled-l.settled) / took.Seconds()
		}
	}
	return 0
}

// settledOf is how many members nothing more is sent to.
func settledOf(p *work.Progress) (n int64) {
	for o := Started; o <= HandedOver; o++ {
		if o.Settled() {
			n += p.Members[o]
		}
	}
	return n
}

// Closed says why nothing may be sent on a channel now, and until when where that is known; empty where something may.
type Closed func(tenant, channel string) (why string, until time.Time)

// halts says what stops a campaign that has begun, and until when where that is known: its channel may not send, or it was paused by itself, by
// its brake, its canary or a new epoch. It is empty where nothing does, or a person has paused it.
func halts(c *work.Campaign, closed Closed) (why string, until time.Time) {
	switch c.State {
	case posthouse.CampaignRunning:
		return closed(c.Tenant, c.Channel)
	case posthouse.CampaignPaused:
		return c.Reason, time.Time{} // a person gives none
	}
	return "", time.Time{}
}

// waits says why nobody of a campaign that runs is sent to now: its channel may not, or its members wait for their turn.
func waits(c *work.Campaign, p *work.Progress, closed Closed, now time.Time) (why string, until time.Time) {
	if c.State == posthouse.CampaignScheduled {
		return "it begins by itself", c.StartAt
	}
	if c.State != posthouse.CampaignRunning || c.Planned >= c.Last && p.Segments[work.SegmentFree]+p.Segments[work.SegmentClaimed]+p.Segments[work.SegmentPartly] == 0 {
		return "", time.Time{}
	}
	if why, until := halts(c, closed); why != "" { // also while members are under way: nobody follows them
		return why, until
	}
	if p.Members[Started] > 0 || p.Segments[work.SegmentClaimed] > 0 || c.Planned < goal(c) {
		return "", time.Time{}
	}
	for _, status := range []work.SegmentStatus{work.SegmentFree, work.SegmentPartly} {
		if p.Segments[status] == 0 {
			continue
		}
		due := p.Due[status]
		if !due.After(now) {
			return "", time.Time{}
		}
		if until.IsZero() || due.Before(until) {
			until = due
		}
	}
	switch {
	case until.IsZero():
		return "", until
	case c.Spread > 0 && p.Segments[work.SegmentPartly] == 0:
		return "it is spread: the next members are not due yet", until
	}
	return "members wait for another try: they were refused, or are left alone for now", until
}
