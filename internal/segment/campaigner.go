package segment

import (
	"context"
	"errors"
	"time"

	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/work"
)

// Steward takes campaigns from their start to their end, see campaign.Steward.
type Steward interface {
	Round(ctx context.Context, now time.Time) (live int, more bool, err error)
	Repair(ctx context.Context, now time.Time, terms func(c *work.Campaign) (campaign.Terms, bool)) (map[string]campaign.Repaired, error)
	Brake
}

// Campaigner keeps campaigns going: it has them cut and repaired, says which lanes have segments to claim, and renews the
// leases of those that its process holds.
type Campaigner struct {
	steward Steward
	holder  *Holder
	rouse   func(lane work.Lane, pin work.Pin) // says that a lane may have somebody to send to
	stuck   func() bool                        // are there results that cannot be written?
	every   time.Duration                      // between two looks
	repairs time.Duration                      // between two repairs
	wake    chan struct{}                      // capacity 1: a campaign has changed, or a segment is partly done
}

// NewCampaigner makes the role. Each look is every, and each repair after repairs.
func NewCampaigner(s Steward, h *Holder, rouse func(work.Lane, work.Pin), stuck func() bool, every, repairs time.Duration) *Campaigner {
	c := &Campaigner{s, h, rouse, stuck, every, repairs, make(chan struct{}, 1)}
	h.partly = c.Nudge
	return c
}

// Nudge has the campaigner look at once.
func (c *Campaigner) Nudge() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Repair looks at once for segments that their workers have left, and says what it has issued anew, by campaign.
func (c *Campaigner) Repair(ctx context.Context) (map[string]campaign.Repaired, error) {
	return c.steward.Repair(ctx, c.holder.Life.Now(), c.holder.Terms)
}

// Run looks after campaigns until nothing new may begin.
func (c *Campaigner) Run(ctx context.Context) {
	woken := true
	var repaired time.Time
	var stuck bool
	for {
		c.holder.renew(ctx)
		live, more, err := c.steward.Round(ctx, c.holder.Life.Now())
		// Where we cannot write results, others hardly can: to repair what they hold would be to doubt what is known.
		switch now := time.Now(); {
		case live == 0:
		case c.stuck():
			stuck = true
		case stuck:
			stuck, repaired = false, now // those who wait to write get a turn first
		case woken || now.Sub(repaired) >= c.repairs:
			_, wrong := c.Repair(ctx)
			repaired, err = now, errors.Join(err, wrong)
		}
		if live > 0 {
			err = errors.Join(err, c.mark(ctx))
		}
		if err != nil && ctx.Err() == nil {
			c.holder.Log.Warn("campaigns cannot be looked after for a moment", "error", err)
		}
		if woken = false; more && !c.holder.Life.Stopped() {
			continue
		}
		var on bool
		if woken, on = c.await(); !on {
			return
		}
	}
}

// await waits for a nudge or for the time; it reports which, and whether to go on.
func (c *Campaigner) await() (woken, on bool) {
	timer := time.NewTimer(c.holder.Life.Shared(c.every))
	defer timer.Stop()
	select {
	case <-c.wake:
		return true, !c.holder.Life.Stopped()
	case <-timer.C:
		return false, true
	case <-c.holder.Life.Stopping():
		return false, false
	}
}

// mark wakes the lanes that have a member to send to.
func (c *Campaigner) mark(ctx context.Context) error {
	h := c.holder
	lanes, err := h.Store.DueLanes(ctx, time.Now())
	if err != nil {
		return err
	}
	h.mu.Lock()
	for _, lane := range lanes {
		h.due[lane] = true
	}
	h.mu.Unlock()
	for _, lane := range lanes {
		c.rouse(lane, "")
	}
	now := time.Now()
	for _, st := range h.all() {
		for _, pin := range st.pins(now) {
			c.rouse(st.Lane, pin)
		}
	}
	return nil
}
