package segment

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/metrics"
	"github.com/posthouse/posthouse/internal/work"
)

// Store has the segments of campaigns, as their owners write them.
type Store interface {
	ClaimSegment(ctx context.Context, now time.Time, c work.SegmentClaim) (s work.Segment, found bool, err error)
	StartChunk(ctx context.Context, now time.Time, s work.Segment, lease time.Duration) (work.Chunk, error)
	SaveSegments(ctx context.Context, now time.Time, list []work.Segment, refs []work.RefBlock, lease time.Duration) (held []bool, err error)
	ReviseSegment(ctx context.Context, now time.Time, id string, decide func(work.Segment) (work.Segment, bool)) error
	DueLanes(ctx context.Context, now time.Time) ([]work.Lane, error)
}

// Legs reads what sending to the members of a segment needs.
type Legs interface {
	Leg(ctx context.Context, s *work.Segment) (*campaign.Leg, error)
}

// Options makes a holder. All are required.
type Options struct {
	Store   Store
	Legs    Legs
	Life    *life.Life
	Log     *slog.Logger
	Metrics *metrics.Metrics
	Owner   string
	Brake   Brake
	// Terms are by which the members of a campaign are tried; false says that its channel is not open here.
	Terms func(c *work.Campaign) (campaign.Terms, bool)
}

// Holder has the segments that this process has claimed. A segment is claimed for its lease, and then some of its members after
// the other are started, as many as there are slots and permits: what a crash can leave in doubt is what is under way.
type Holder struct {
	Options

	partly func() // is told that a segment is partly done

	mu   sync.Mutex
	due  map[work.Lane]bool // lanes that may have a segment to claim
	held map[work.Lane][]*Stretch
	busy map[Slots]int

	brakes *brakes
}

// Slots are those of an account of a channel.
type Slots struct{ Tenant, Channel, Account string }

// NewHolder makes a holder of nothing.
func NewHolder(o Options) *Holder {
	return &Holder{Options: o, partly: func() {}, due: map[work.Lane]bool{}, held: map[work.Lane][]*Stretch{}, busy: map[Slots]int{}, brakes: newBrakes(o.Brake)}
}

// spare is the share of a channel's slots that campaigns leave to single messages: one in so many.
const spare = 4

// Share is how many more of so many slots campaigns may take.
func (h *Holder) Share(of Slots, slots int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if slots > 1 {
		slots -= max(1, slots/spare)
	}
	return slots - h.busy[of]
}

// Occupy takes slots, or gives them back where n is less than 0.
func (h *Holder) Occupy(of Slots, n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.busy[of] += n; h.busy[of] == 0 {
		delete(h.busy, of)
	}
}

// Next is a segment of a lane with somebody who may be sent to by an account: one that is held, or else one that is claimed now. nil
// says that there is none. Under the pin of an account that is somebody whom it alone may send to.
func (h *Holder) Next(ctx context.Context, lane work.Lane, pin work.Pin, account string, at time.Time, lease time.Duration) (*Stretch, error) {
	if pin != "" {
		return h.doubted(lane, account), nil
	}
	now := time.Now()
	h.mu.Lock()
	list, due := slices.Clone(h.held[lane]), h.due[lane]
	h.mu.Unlock()
	for _, st := range list {
		if st.ready(now, account) {
			return st, nil
		}
	}
	if slices.ContainsFunc(list, func(st *Stretch) bool { return st.resting(now) }) {
		return nil, nil // the next one is most likely of the same campaign, and would rest too
	}
	if !due {
		return nil, nil // nearly always: a channel without a campaign costs no query
	}
	seg, found, err := h.Store.ClaimSegment(ctx, at, work.SegmentClaim{Lane: lane, Owner: h.Owner, Lease: lease, Epoch: h.Life.Epoch()})
	if err == nil && !found {
		h.mu.Lock()
		delete(h.due, lane)
		h.mu.Unlock()
	}
	if err != nil || !found {
		return nil, err
	}
	campaign.UnmarkQuiet(&seg)
	leg, err := h.Legs.Leg(ctx, &seg)
	if err != nil {
		return nil, h.putBack(ctx, seg, err)
	}
	st := &Stretch{
		Leg: leg, Lane: lane, Pass: seg.Pass, doubted: !seg.DoubtedAt.IsZero(), log: h.Log, mu: newLock(), seg: seg, again: map[int]bool{}, later: map[int]time.Time{}, lease: lease, leaseEnd: at.Add(lease),
	}
	h.mu.Lock()
	h.held[lane] = append(h.held[lane], st)
	h.mu.Unlock()
	return st, nil
}

// doubted is a segment that is held with somebody whom an account alone may send to, since it may have reached them; nil for none.
func (h *Holder) doubted(lane work.Lane, account string) *Stretch {
	now := time.Now()
	h.mu.Lock()
	list := slices.Clone(h.held[lane])
	h.mu.Unlock()
	for _, st := range list {
		if st.doubted && st.ready(now, account) {
			return st
		}
	}
	return nil
}

// unreadAfter is the wait before somebody tries again to read what sending to a segment needs.
const unreadAfter = time.Minute

// putBack gives a segment back whose members cannot be read. The others are tried meanwhile.
func (h *Holder) putBack(ctx context.Context, seg work.Segment, why error) error {
	h.Log.Error("what a segment of a campaign needs cannot be read: it waits", "segment", seg.ID, "campaign", seg.Campaign, "error", why)
	seg.Status, seg.DueAt = work.SegmentFree, h.Life.Now().Add(unreadAfter)
	_, err := h.Store.SaveSegments(ctx, time.Now(), []work.Segment{seg}, nil, 0)
	return err
}

// drop forgets a segment that is not ours any more.
func (h *Holder) drop(st *Stretch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held[st.Lane] = slices.DeleteFunc(h.held[st.Lane], func(other *Stretch) bool { return other == st })
	if len(h.held[st.Lane]) == 0 {
		delete(h.held, st.Lane)
	}
	if !slices.ContainsFunc(h.held[st.Lane], func(other *Stretch) bool { return other.Campaign.ID == st.Campaign.ID }) {
		h.brakes.forget(st.Campaign.ID)
	}
}

// all are the segments that are held.
func (h *Holder) all() (list []*Stretch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, some := range h.held {
		list = append(list, some...)
	}
	return list
}

// Sifted says which members may start now, and of the others when they are looked at again: by this owner, or, of those who are left alone, by
// whoever has their segment then.
type Sifted struct {
	May         []int
	Later, Held map[int]time.Time
}

// Sift sifts members.
type Sift func(places []int) (Sifted, error)

// Begin starts up to max members who may be sent to by an account: it stores that they are started. Nobody is to be sent to before that
// is stored. It returns their places.
func (h *Holder) Begin(ctx context.Context, st *Stretch, account string, terms campaign.Terms, max int, lease time.Duration, sift Sift) (places []int, err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !terms.MayBegin(&st.seg, h.Life.Now()) {
		return nil, h.giveUp(ctx, st, terms)
	}
	may, err := h.brakes.take(ctx, st.Campaign.ID, max)
	if err != nil {
		return nil, err
	}
	defer func() { h.brakes.back(st.Campaign.ID, may-len(places)) }()
	if may == 0 {
		st.rests = time.Now().Add(braked)
		h.partly() // it may be time to pause
		return nil, nil
	}
	places = st.pick(time.Now(), account, may)
	if len(places) > 0 {
		var s Sifted
		if s, err = sift(places); err != nil {
			return nil, err
		}
		places = s.May
		for place, at := range s.Later {
			st.later[place] = at
		}
		st.hold(s.Held)
	}
	if len(places) == 0 {
		if st.flying == 0 && len(st.held) > 0 && !st.waits() {
			return nil, h.letGo(ctx, st, terms) // all whom it has left are left alone
		}
		return nil, nil
	}
	before := st.seg.BeganAt
	if before.IsZero() {
		st.seg.BeganAt = h.Life.Now()
	}
	for _, i := range places {
		st.move(i, campaign.Started)
	}
	campaign.By(&st.seg, places, account)
	campaign.Count(&st.seg)
	at := time.Now() // before the write is sent: the lease can only end later than we think
	is, err := h.Store.StartChunk(ctx, at, st.seg, lease)
	if err == nil && is == work.ChunkStarted {
		h.Metrics.Wrote("claim", at)
		st.flying, st.lease, st.leaseEnd = st.flying+len(places), lease, at.Add(lease)
		return places, nil
	}
	st.unstart(places)
	st.seg.BeganAt = before
	if err == nil {
		h.halt(ctx, st, terms, is)
	}
	return nil, err
}

// PutOff gives a segment back of which nobody starts before a time. What is under way is waited for: it goes back without a time then,
// and is put off when it is claimed again.
func (h *Holder) PutOff(ctx context.Context, st *Stretch, terms campaign.Terms, until time.Time) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.flying == 0 {
		st.seg.DueAt = until
		campaign.MarkQuiet(&st.seg)
	}
	return h.letGo(ctx, st, terms)
}

// halt ends the work on a segment that is lost, or whose campaign does not run. The stretch is locked.
func (h *Holder) halt(ctx context.Context, st *Stretch, terms campaign.Terms, is work.Chunk) {
	if is == work.ChunkLost {
		st.leaving, st.over = true, true
		h.drop(st)
		h.Metrics.LeaseLosses.Inc()
		h.Log.Warn("a segment of a campaign was lost to another worker", "segment", st.seg.ID, "campaign", st.seg.Campaign)
		return
	}
	if err := h.letGo(ctx, st, terms); err != nil {
		h.Log.Warn("a segment could not be given back: it is when its lease ends", "segment", st.seg.ID, "error", err)
	}
}

// letGo gives a segment back, once all results are here. The stretch is locked.
func (h *Holder) letGo(ctx context.Context, st *Stretch, terms campaign.Terms) error {
	st.leaving = true
	if st.conclude(terms, h.Life.Now()); !st.over {
		return nil
	}
	h.drop(st)
	_, err := h.Store.SaveSegments(ctx, time.Now(), []work.Segment{st.seg}, nil, st.lease)
	return err
}

// giveUp names those of a segment as unknown who may have been reached before, when it is too late to repeat that. The
// stretch is locked.
func (h *Holder) giveUp(ctx context.Context, st *Stretch, terms campaign.Terms) error {
	st.rests = time.Time{}
	for _, i := range st.pick(time.Now(), anyAccount, campaign.Len(&st.seg)) {
		st.move(i, campaign.Started, campaign.Unknown)
		st.note(i, campaign.Unknown, channel.Result{Code: "WINDOW_CLOSED", Error: "it may have been reached, and the provider may not know the key of a repeat any more"})
	}
	return h.letGo(ctx, st, terms)
}
