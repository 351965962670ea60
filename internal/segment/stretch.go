package segment

import (
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// Stretch is a segment that this process has claimed: where its members stand, as stored or about to be.
//
// Its lock is held during each write, so that writes come in the order of what they say. A member is started in the map
// before the write that says so, and is sent to after it; a write that fails takes the starts back. So the database never
// says less than what has left.
type Stretch struct {
	*campaign.Leg
	Lane work.Lane
	// Pass is how often its members were refused before.
	Pass int
	// doubted says that they may have been reached before: each is sent to by its own account alone.
	doubted bool

	log      *slog.Logger
	mu       lock
	seg      work.Segment
	from     int               // nobody before it is to be sent to in this pass
	again    map[int]bool      // those whose turn comes with the next pass
	later    map[int]time.Time // those whose turn comes in this pass, but not yet
	held     map[int]time.Time // those who are left alone until a time, after this pass
	rests    time.Time         // until when nobody starts, since the campaign's brake lets nobody
	wait     time.Duration     // before the next pass
	flying   int               // members who were started and have no result here
	lease    time.Duration
	leaseEnd time.Time // by our monotonic clock
	leaving  bool      // nothing more is started: it goes back when all results are here
	over     bool      // it is not ours any more
}

// lock is a mutex that is held while the database writes. It is a channel, which a test in virtual time can wait for too.
type lock chan struct{}

func newLock() lock { return make(lock, 1) }

// Lock waits until it is free, and takes it.
func (l lock) Lock() { l <- struct{}{} }

// Unlock gives it back.
func (l lock) Unlock() { <-l }

func (st *Stretch) outcomes() campaign.Map { return campaign.Map(st.seg.Outcomes) }

// anyAccount stands for the name of whichever account: none is called so.
const anyAccount = "*"

// pick finds up to max members who may be sent to now by an account. The stretch is locked.
func (st *Stretch) pick(now time.Time, by string, max int) []int {
	if st.leaving || st.over || now.Before(st.rests) {
		return nil
	}
	var places []int
	m, n, first := st.outcomes(), campaign.Len(&st.seg), -1
	i := st.from
	for ; i < n && len(places) < max; i++ {
		if m.At(i) != campaign.Unsent || st.again[i] || st.holds(i) {
			continue
		}
		if first < 0 {
			first = i
		}
		if at, waits := st.later[i]; waits && now.Before(at) || by != anyAccount && !campaign.MaySend(&st.seg, i, by) {
			continue
		}
		places = append(places, i)
	}
	if st.from = i; first >= 0 {
		st.from = first
	}
	return places
}

// ready reports whether an account may send to a member now.
func (st *Stretch) ready(now time.Time, by string) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return len(st.pick(now, by, 1)) > 0
}

// resting reports whether the campaign's brake holds all starts.
func (st *Stretch) resting(now time.Time) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return now.Before(st.rests) && !st.over
}

// pins are by which accounts somebody may be sent to now.
func (st *Stretch) pins(now time.Time) (list []work.Pin) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.doubted {
		if len(st.pick(now, anyAccount, 1)) > 0 {
			list = append(list, "")
		}
		return list
	}
	for _, place := range st.pick(now, anyAccount, campaign.Len(&st.seg)) {
		if pin := campaign.PinOf(&st.seg, place); !slices.Contains(list, pin) {
			list = append(list, pin)
		}
	}
	return list
}

// waits reports whether this pass has a member left to send to. The stretch is locked.
func (st *Stretch) waits() bool {
	m := st.outcomes()
	for i := st.from; i < campaign.Len(&st.seg); i++ {
		if m.At(i) == campaign.Unsent && !st.again[i] && !st.holds(i) {
			return true
		}
	}
	return false
}

// holds reports whether a member is left alone, and no more looked at by this owner. The stretch is locked.
func (st *Stretch) holds(place int) bool {
	_, is := st.held[place]
	return is
}

// hold has members wait who are left alone until a time each. The stretch is locked.
func (st *Stretch) hold(held map[int]time.Time) {
	for place, until := range held {
		if st.held == nil {
			st.held = map[int]time.Time{}
		}
		st.held[place] = until
		campaign.Hold(&st.seg, place)
	}
}

// wakes is when the first of those is to be looked at again who are left alone. The stretch is locked.
func (st *Stretch) wakes() (at time.Time) {
	for _, until := range st.held {
		if at.IsZero() || until.Before(at) {
			at = until
		}
	}
	return at
}

// move takes steps of one member. The stretch is locked.
func (st *Stretch) move(place int, to ...campaign.Outcome) {
	for _, o := range to {
		if err := st.outcomes().Step(place, o); err != nil {
			st.log.Error("a member of a campaign takes a step that none may take", "segment", st.seg.ID, "member", st.seg.First+int64(place), "error", err)
		}
	}
}

// unstart takes starts back that were not stored, or of whom no byte has left. The stretch is locked.
func (st *Stretch) unstart(places []int) {
	for _, i := range places {
		st.move(i, campaign.Unsent)
		st.from = min(st.from, i)
	}
}

// follow writes into the map what follows a result of an account's. The stretch is locked.
func (st *Stretch) follow(terms campaign.Terms, place int, r channel.Result, e *Ended) {
	if e.Spares && state.GoesElsewhere(r.Class) && !st.doubted { // it is the account that was refused: another one sends it at once
		campaign.Note(&st.seg, place, campaign.MovedFrom(e.Account, r))
		st.unstart([]int{place})
		return
	}
	next := terms.After(st.Pass, r, rand.Float64())
	switch next.Outcome {
	case campaign.Unsent:
		st.unstart([]int{place})
		campaign.Unnote(&st.seg, place)
		if next.Later {
			st.again[place], st.wait = true, max(st.wait, next.Wait)
		} else {
			st.later[place] = time.Now().Add(next.Wait)
		}
	case campaign.Delivered:
		st.move(place, campaign.Sent, campaign.Delivered)
	case campaign.Sent:
		st.move(place, campaign.Sent)
	default:
		st.move(place, next.Outcome)
		st.note(place, next.Outcome, r)
	}
}

// note says why a member failed or is unknown. The stretch is locked.
func (st *Stretch) note(place int, o campaign.Outcome, r channel.Result) {
	campaign.Note(&st.seg, place, reason(o, r))
}

func reason(o campaign.Outcome, r channel.Result) work.SegmentReason {
	if !r.Class.Valid() {
		r.Class = posthouse.ClassUnknown
	}
	return work.SegmentReason{Outcome: o.String(), Class: r.Class, Code: r.Code, Error: r.Error}
}

// conclude decides, when all results are here, whether the segment is done, goes on in another pass, or goes back. The stretch
// is locked.
func (st *Stretch) conclude(terms campaign.Terms, now time.Time) {
	campaign.Count(&st.seg)
	switch {
	case st.flying > 0 || st.over:
	case st.leaving && st.waits():
		st.seg.Status, st.over = work.SegmentFree, true
	case len(st.held) > 0 && !st.waits() && campaign.Rest(&st.seg, terms, now, st.wakes()):
		st.over = true
	case st.leaving || !st.waits():
		campaign.Conclude(&st.seg, terms, now, st.wait, rand.Float64())
		st.over = true
	}
}

// Bar is why a member is suppressed.
type Bar struct{ Code, Why string }

// ID is the segment's.
func (st *Stretch) ID() string { return st.seg.ID }

// Ended is how the attempt of some members of a stretch ended.
type Ended struct {
	Of     *Stretch
	Size   int   // members who were started
	Places []int // those who were sent to, or were to be
	// Results has one for each of Places; nil where no byte has left.
	Results []channel.Result
	// Bad says of the others why they got nothing.
	Bad map[int]string
	// Barred says of those who are suppressed why.
	Barred map[int]Bar
	// After is how long those wait who were not sent to.
	After time.Duration
	// Account is by which they were sent to, and Spares says that another one could send to them now.
	Account string
	Spares  bool
	// Hears says that the driver reads what the provider tells of them by itself.
	Hears bool
}

// apply writes what an attempt says into the map.
func (e *Ended) apply(terms campaign.Terms) {
	st := e.Of
	st.mu.Lock()
	defer st.mu.Unlock()
	st.flying -= e.Size
	for place, why := range e.Bad {
		st.move(place, campaign.Failed)
		st.note(place, campaign.Failed, channel.Result{Class: posthouse.ClassContent, Code: "TEMPLATE", Error: why})
	}
	for place, why := range e.Barred {
		to := campaign.Suppressed
		if st.doubted {
			to = campaign.Unknown
		}
		st.move(place, to)
		st.note(place, to, channel.Result{Class: posthouse.ClassRecipient, Code: why.Code, Error: why.Why})
	}
	if e.Results == nil {
		st.unstart(e.Places)
		for _, place := range e.Places {
			if e.After > 0 {
				st.later[place] = time.Now().Add(e.After)
			}
		}
		return
	}
	for i, place := range e.Places {
		st.follow(terms, place, e.Results[i], e)
	}
}

// witness is a segment with what late results prove.
func (e *Ended) witness(seg work.Segment) (_ work.Segment, changed bool) {
	for i := range e.Results {
		to, r := campaign.Sent, e.Results[i]
		switch {
		case r.Class == posthouse.ClassOK:
		case r.Class.Final():
			to = campaign.Failed
		default:
			continue
		}
		if after, news := campaign.Witness(seg, e.Places[i], to, reason(to, r)); news {
			seg, changed = after, true
		}
	}
	return seg, changed
}
