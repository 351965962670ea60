package segment

import (
	"context"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/receipts"
	"github.com/posthouse/posthouse/internal/work"
)

// Settle writes down how members were sent to: one write for all the segments of a list. insist repeats it until the database
// takes it; its error is that of the end of the drain.
func (h *Holder) Settle(ctx context.Context, ended []Ended, insist func(results int, write func(began time.Time) (stored bool, err error)) error) error {
	var list []*Stretch
	n := 0
	for i := range ended {
		e := &ended[i]
		e.apply(h.terms(e.Of))
		n += e.Size
		if !slices.Contains(list, e.Of) {
			list = append(list, e.Of)
		}
	}
	for _, st := range list {
		st.mu.Lock()
		st.conclude(h.terms(st), h.Life.Now())
		st.mu.Unlock()
	}
	var held []bool
	refs := refsOf(ended, h.Life.Now())
	err := insist(n, func(began time.Time) (stored bool, err error) {
		if held, err = h.save(ctx, began, list, refs); err == nil {
			h.Metrics.Wrote("record", began)
		}
		return slices.Contains(held, true), err
	})
	if err != nil {
		return err
	}
	for i, st := range list {
		h.settled(ctx, st, held[i], ended)
	}
	h.release(list)
	return nil
}

// release lets those segments go on that rest until something is known of their campaigns.
func (h *Holder) release(list []*Stretch) {
	for _, st := range h.all() {
		if slices.ContainsFunc(list, func(news *Stretch) bool { return news.Campaign.ID == st.Campaign.ID }) {
			st.mu.Lock()
			st.rests = time.Time{}
			st.mu.Unlock()
		}
	}
}

// awaited is how long receipts of members are waited for.
const awaited = 24 * time.Hour

// refsOf are what the provider calls the messages of those who were sent to, where it tells by itself what became of them.
func refsOf(ended []Ended, now time.Time) (blocks []work.RefBlock) {
	type of struct{ tenant, channel string }
	by := map[of][]receipts.Ref{}
	for i := range ended {
		e := &ended[i]
		for k, r := range e.Results {
			if e.Hears && r.Class == posthouse.ClassOK && !r.Delivered && r.Await > 0 && r.Ref != "" {
				whose := of{e.Of.Lane.Tenant, e.Of.Lane.Channel}
				by[whose] = append(by[whose], receipts.Ref{Ref: r.Ref, Campaign: e.Of.Campaign.ID, Seq: e.Of.Members[e.Places[k]].Seq})
			}
		}
	}
	for whose, list := range by {
		blocks = append(blocks, receipts.Block(whose.tenant, whose.channel, list, now.Add(awaited)))
	}
	return blocks
}

// terms are by which a stretch's members are tried. Where its channel is gone, nobody is tried again.
func (h *Holder) terms(st *Stretch) campaign.Terms {
	t, _ := h.Terms(&st.Campaign)
	return t
}

// save writes segments as they are now.
func (h *Holder) save(ctx context.Context, began time.Time, list []*Stretch, refs []work.RefBlock) ([]bool, error) {
	rows := make([]work.Segment, len(list))
	var lease time.Duration
	for i, st := range list {
		st.mu.Lock()
		defer st.mu.Unlock()
		rows[i], lease = st.seg, max(lease, st.lease)
	}
	held, err := h.Store.SaveSegments(ctx, began, rows, refs, lease)
	if err != nil {
		return nil, err
	}
	for _, st := range list {
		st.leaseEnd = began.Add(lease)
	}
	return held, nil
}

// settled follows a write of a segment: it is still ours, or has ended, or was lost.
func (h *Holder) settled(ctx context.Context, st *Stretch, held bool, ended []Ended) {
	st.mu.Lock()
	over, status := st.over, st.seg.Status
	if !held {
		st.over, st.leaving = true, true
	}
	st.mu.Unlock()
	if !held || over {
		h.drop(st)
	}
	if !held {
		h.late(ctx, st, ended)
	} else if status == work.SegmentPartly {
		h.partly()
	}
}

// late tells what is known of members whose segment was taken from us: who had been named unknown was reached, or was refused
// for good. Whoever has the others now decides on them.
func (h *Holder) late(ctx context.Context, st *Stretch, ended []Ended) {
	h.Metrics.LeaseLosses.Inc()
	h.Log.Warn("results of a campaign came late: the lease of their segment was lost", "segment", st.seg.ID, "campaign", st.seg.Campaign)
	err := h.Store.ReviseSegment(ctx, time.Now(), st.seg.ID, func(now work.Segment) (work.Segment, bool) {
		changed := false
		for i := range ended {
			if ended[i].Of == st {
				after, news := ended[i].witness(now)
				now, changed = after, changed || news
			}
		}
		return now, changed
	})
	if err != nil {
		h.Log.Warn("late results of a campaign could not be kept: their members stay unknown", "segment", st.seg.ID, "error", err)
	}
}

// renew writes the segments that are held before their leases end. One whose campaign does not run any more goes back.
func (h *Holder) renew(ctx context.Context) {
	for _, st := range h.all() {
		if err := h.renewOne(ctx, st); err != nil && ctx.Err() == nil {
			h.Log.Warn("the lease of a segment could not be renewed", "segment", st.seg.ID, "error", err)
		}
	}
}

func (h *Holder) renewOne(ctx context.Context, st *Stretch) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.over || time.Until(st.leaseEnd) > st.lease/2 {
		return nil
	}
	campaign.Count(&st.seg)
	at := time.Now()
	is, err := h.Store.StartChunk(ctx, at, st.seg, st.lease)
	if err != nil {
		return err
	}
	if is == work.ChunkStarted {
		st.leaseEnd = at.Add(st.lease)
		return nil
	}
	if is == work.ChunkHalted && st.flying > 0 { // its results are written, and it goes back with the last of them
		st.leaving, st.leaseEnd = true, at.Add(st.lease)
		_, err := h.Store.SaveSegments(ctx, at, []work.Segment{st.seg}, nil, st.lease)
		return err
	}
	h.halt(ctx, st, h.terms(st), is)
	return nil
}

// Release gives back what is held when nothing more is sent, as far as all results are here. What is not is in doubt, and its
// lease runs out.
func (h *Holder) Release(ctx context.Context) {
	for _, st := range h.all() {
		st.mu.Lock()
		if err := h.letGo(ctx, st, h.terms(st)); err != nil {
			h.Log.Warn("a segment could not be given back: it is when its lease ends", "segment", st.seg.ID, "error", err)
		}
		st.mu.Unlock()
	}
}
