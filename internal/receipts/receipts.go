package receipts

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/work"
)

// Store has the refs of members, and the segments where they stand.
type Store interface {
	AnyRefs(ctx context.Context) (bool, error)
	// Runs are those of a channel's page, and Refs its blocks of these runs.
	Runs(ctx context.Context, tenant, channel string, page int64) ([]string, error)
	Refs(ctx context.Context, tenant, channel string, page int64, runs []string) ([]work.RefBlock, error)
	// HearOf lets decide write what was told of members of segments, in one transaction.
	HearOf(ctx context.Context, now time.Time, segments []string, decide func(work.Segment) (work.Segment, bool)) error
}

// Segments reads segments by their members.
type Segments interface {
	SegmentsIn(ctx context.Context, campaign string, first, last int64, size int) ([]work.Segment, error)
}

// Order keeps the refs in order.
type Order interface {
	RefLoads(ctx context.Context, page int64) ([]work.RefLoad, error)
	ReplaceRefs(ctx context.Context, now time.Time, old, fresh []work.RefBlock) (done bool, err error)
	PruneRefs(ctx context.Context, now time.Time, max int) (int, error)
}

// Members writes receipts of members of campaigns.
type Members struct {
	store    Store
	segments Segments
	order    Order

	mu    sync.Mutex
	fresh map[channelOf]map[string]block // by run: a block never changes
}

// New makes one that knows no member yet.
func New(s Store, segments Segments, order Order) *Members {
	return &Members{store: s, segments: segments, order: order, fresh: map[channelOf]map[string]block{}}
}

// told is the member that a receipt is about.
type told struct {
	campaign string
	seq      int64
	of       *work.Heard
}

// Hear writes what providers have told of members. rest are those that mean no member. What is told again
// changes nothing, and is news of who was not reached all the same.
func (m *Members) Hear(ctx context.Context, now time.Time, list []work.Heard) (rest []work.Heard, news work.NewsOfMembers, err error) {
	some, err := m.store.AnyRefs(ctx)
	if err != nil || !some {
		return list, news, err
	}
	found, err := m.find(ctx, list)
	if err != nil || len(found) == 0 {
		return list, news, err
	}
	by, err := m.bySegment(ctx, found)
	if err != nil {
		return list, news, err
	}
	rest = without(list, by)
	said := map[string]work.NewsOfMembers{} // by segment: the same when the transaction is repeated
	err = m.store.HearOf(ctx, now, slices.Collect(maps.Keys(by)), func(s work.Segment) (work.Segment, bool) {
		var changed bool
		s, said[s.ID], changed = tell(s, by[s.ID])
		return s, changed
	})
	if err != nil {
		return rest, news, err
	}
	for _, of := range said {
		news.Missed = append(news.Missed, of.Missed...)
		news.Delivered, news.Undelivered = news.Delivered+of.Delivered, news.Undelivered+of.Undelivered
	}
	return rest, news, nil
}

// tell is a segment with what was told of members of it, and what of that is news.
func tell(s work.Segment, here []told) (after work.Segment, news work.NewsOfMembers, changed bool) {
	before := s.Heard
	for _, t := range here {
		place := int(t.seq - s.First)
		next, is := campaign.Tell(s, place, t.of.Delivered, t.of.Code, t.of.Error)
		s, changed = next, changed || is
		if !t.of.Delivered && campaign.At(&s, place) == campaign.Undelivered {
			news.Missed = append(news.Missed, work.Undelivered{Campaign: t.campaign, Seq: t.seq, Account: campaign.AccountOf(&s, place), Code: t.of.Code, Tenant: t.of.Tenant, Channel: t.of.Channel})
		}
	}
	news.HeardMembers = work.HeardMembers{Delivered: s.Heard.Delivered - before.Delivered, Undelivered: s.Heard.Undelivered - before.Undelivered}
	return s, news, changed
}

// channelOf is whose refs a receipt is about.
type channelOf struct{ tenant, channel string }

// find looks for the members that are meant.
func (m *Members) find(ctx context.Context, list []work.Heard) (found []told, err error) {
	groups := map[channelOf][]*work.Heard{}
	for i := range list {
		h := &list[i]
		groups[channelOf{h.Tenant, h.Channel}] = append(groups[channelOf{h.Tenant, h.Channel}], h)
	}
	for of, group := range groups {
		some, err := m.findIn(ctx, of, group)
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	return found, nil
}

// without are those of a list that mean nobody who was found.
func without(list []work.Heard, by map[string][]told) (rest []work.Heard) {
	known := map[*work.Heard]bool{}
	for _, here := range by {
		for _, t := range here {
			known[t.of] = true
		}
	}
	for i := range list {
		if !known[&list[i]] {
			rest = append(rest, list[i])
		}
	}
	return rest
}

// findIn looks in the refs of one channel: among the fresh ones, and then each on its page.
func (m *Members) findIn(ctx context.Context, of channelOf, group []*work.Heard) (found []told, err error) {
	want := map[uint64][]*work.Heard{}
	for _, h := range group {
		hash := hashOf(h.Ref)
		want[hash] = append(want[hash], h)
	}
	look := func(b block) {
		for hash := range want {
			b.find(hash, func(e entry) {
				for _, h := range want[hash] {
					found = append(found, told{e.campaign, e.seq, h})
				}
			})
		}
	}
	fresh, err := m.freshOf(ctx, of)
	if err != nil {
		return nil, fmt.Errorf("look for the member of a receipt: %w", err)
	}
	for _, b := range fresh {
		look(b)
	}
	for _, t := range found {
		delete(want, hashOf(t.of.Ref))
	}
	pages := map[int64]bool{}
	for hash := range want {
		pages[pageOf(hash)] = true
	}
	for page := range pages {
		blocks, err := m.store.Refs(ctx, of.tenant, of.channel, page, nil)
		for i := 0; err == nil && i < len(blocks); i++ {
			var b block
			if b, err = unpack(blocks[i].Bytes); err == nil {
				look(b)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("look for the member of a receipt: %w", err)
		}
	}
	return found, nil
}

// freshOf are a channel's refs that have no page yet. What was read before is not read again.
func (m *Members) freshOf(ctx context.Context, of channelOf) (map[string]block, error) {
	runs, err := m.store.Runs(ctx, of.tenant, of.channel, freshPage)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	known := m.fresh[of]
	m.mu.Unlock()
	now := make(map[string]block, len(runs))
	var unread []string
	for _, run := range runs {
		if b, is := known[run]; is {
			now[run] = b
		} else {
			unread = append(unread, run)
		}
	}
	if len(unread) > 0 {
		blocks, err := m.store.Refs(ctx, of.tenant, of.channel, freshPage, unread)
		if err != nil {
			return nil, err
		}
		for i := range blocks {
			if now[blocks[i].Run], err = unpack(blocks[i].Bytes); err != nil {
				return nil, err
			}
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fresh[of] = now; len(now) == 0 {
		delete(m.fresh, of)
	}
	return now, nil
}

// bySegment are those who are told of by the segments in which they were sent to.
func (m *Members) bySegment(ctx context.Context, found []told) (map[string][]told, error) {
	out := map[string][]told{}
	known := map[string][]work.Segment{} // those of a campaign that were read
	for _, t := range found {
		id := sentIn(known[t.campaign], t.seq)
		if id == "" {
			list, err := m.segments.SegmentsIn(ctx, t.campaign, t.seq, t.seq, campaign.MaxSegment)
			if err != nil {
				return nil, err
			}
			known[t.campaign] = append(known[t.campaign], list...)
			id = sentIn(list, t.seq)
		}
		if id != "" {
			out[id] = append(out[id], t)
		}
	}
	return out, nil
}

// sentIn is the segment in which a member was sent to, empty for none.
func sentIn(list []work.Segment, seq int64) string {
	for i := range list {
		s := &list[i]
		if seq >= s.First && seq <= s.Last && campaign.Map(s.Outcomes).At(int(seq-s.First)) == campaign.Sent {
			return s.ID
		}
	}
	return ""
}

// When refs are put in order: foldRefs of a channel go into pages, and manyBlocks small ones into one.
const (
	foldRefs   = 1 << (pageBits + 4)
	manyBlocks = 64
	smallBlock = foldRefs / 8
	pruneMost  = 500
)

// Tend puts refs in order and forgets those whose receipts have had their time. Of several processes that do it at once, one does.
func (m *Members) Tend(ctx context.Context, now time.Time) error {
	for {
		loads, err := m.order.RefLoads(ctx, freshPage)
		if err != nil {
			return err
		}
		more := false
		for _, l := range loads {
			if l.Refs >= foldRefs || l.Rows >= manyBlocks {
				did, err := m.tend(ctx, now, l)
				if err != nil {
					return err
				}
				more = more || did
			}
		}
		if !more {
			break
		}
	}
	for {
		if n, err := m.order.PruneRefs(ctx, now, pruneMost); err != nil || n < pruneMost {
			return err
		}
	}
}

// tend puts the fresh refs of a channel in order. did says that there may be more to do.
func (m *Members) tend(ctx context.Context, now time.Time, l work.RefLoad) (did bool, err error) {
	fresh, err := m.store.Refs(ctx, l.Tenant, l.Channel, freshPage, nil)
	if err != nil {
		return false, err
	}
	var small []work.RefBlock
	total := 0
	for _, b := range fresh {
		if total += b.N; b.N < smallBlock {
			small = append(small, b)
		}
	}
	switch {
	case total >= foldRefs:
		pages, err := folded(fresh)
		if err != nil {
			return false, err
		}
		return m.order.ReplaceRefs(ctx, now, fresh, pages)
	case len(small) >= manyBlocks:
		one, _, err := merged(small)
		if err != nil {
			return false, err
		}
		return m.order.ReplaceRefs(ctx, now, small, []work.RefBlock{one})
	}
	return false, nil
}
