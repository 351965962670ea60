package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/segment"
	"github.com/posthouse/posthouse/internal/store/schema"
	"github.com/posthouse/posthouse/internal/work"
)

// tide remembers outside of the database how far the database has come. A database that was put back to a backup looks whole
// and says that what was sent since is still to be sent; only somebody who saw it later can tell.
type tide struct {
	store schema.Tides
	dir   string
	log   *slog.Logger

	// hold says that after a promotion the start begins a new epoch by itself; newEpoch does so, unless another process has
	// done it to this history already.
	hold     bool
	newEpoch func(ctx context.Context, history string) (held int, begun bool, err error)

	// beats says that it is raised each second, whether or not anything was accepted: a replica is as of the last raise that it has.
	beats bool
	// handed reports whether a promotion follows a switch of places, so that nothing is missing.
	handed func(*schema.WentBack) bool

	moved    atomic.Bool      // something was accepted or started since the last raise
	seen     schema.Watermark // of the goroutine that runs it
	deaf     bool             // the file could not be written, which was said
	accepted recent           // messages, to name those that a promoted standby lacks
	lacks    bool             // the database went back under this process: it may lack some of them
	named    int              // how many of them were looked for
	promoted <-chan struct{}
	pending  bool // a promotion is to be decided about
}

const (
	tideEvery = time.Second // between two raises of a process that works
	tideLook  = 5           // raises after which one that rests looks too
)

// remembered is what this process, or one before it, saw of a history; the zero time for nothing.
func (td *tide) remembered(history string) time.Time {
	at, err := schema.Remembered(td.dir, history)
	if err != nil {
		td.log.Warn("what was seen of the database before cannot be read: that it went back would not be noticed", "error", err)
	}
	return at
}

// remember writes what was seen, by way of another file, so that a kill leaves the old one.
func (td *tide) remember(w schema.Watermark) {
	td.seen = w
	err := replace(schema.MarkFile(td.dir, w.History), schema.Moment(w.At)+"\n")
	if err != nil && !td.deaf {
		td.log.Warn("what is seen of the database cannot be written: that it went back would not be noticed at the next start", "error", err)
	}
	td.deaf = err != nil
}

// replace gives a file another text. Several processes in one folder do so at once, each by a file of its own.
func replace(path, text string) (err error) {
	part, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(part.Name()))
		}
	}()
	if _, err := part.WriteString(text); err != nil {
		return errors.Join(err, part.Close())
	}
	if err := part.Close(); err != nil {
		return err
	}
	return os.Rename(part.Name(), path)
}

// begin refuses a database that went back since it was last seen from here, until a person has decided.
func (td *tide) begin(ctx context.Context, known time.Time) error {
	now, found, err := td.store.Watermark(ctx)
	if err != nil {
		return err
	}
	seen := schema.Watermark{History: now.History, At: td.remembered(now.History)}
	if found && now.At.Before(seen.At) { // a process that starts beside this one may have raised both between the two looks
		if now, found, err = td.store.Watermark(ctx); err != nil {
			return err
		}
	}
	if found && now.At.Before(seen.At) {
		td.seen = seen
	}
	td.promoted = td.store.Promotions()
	err = td.raise(ctx)
	var back *schema.WentBack
	if !errors.As(err, &back) {
		return err
	}
	td.seen = schema.Watermark{}
	switch {
	case td.handed != nil && td.handed(back):
		td.log.Info("the place before this one ended its work before the database was promoted: nothing is missing")
		err = td.store.PassWatermark(ctx, time.Now(), back.Seen)
	case known.Equal(back.Found.At):
		err = td.pass(ctx, back)
	case td.hold && back.Promoted():
		err = td.beginEpoch(ctx, back)
	case back.Found.At.Before(back.Seen.At):
		return fmt.Errorf("%w (%s). It was restored from a backup, copied, or promoted from a replica that lagged: what was sent since would be sent again. "+
			"Run posthouse migrate new-epoch --yes, which holds all that may have been sent; or, if nothing was, start with --accept-older %s",
			back, schema.MarkFile(td.dir, now.History), schema.Moment(back.Found.At))
	default:
		return fmt.Errorf("%w. What was sent since would be sent again. Run posthouse migrate new-epoch --yes, which holds all that may have been sent; or, if it lacks nothing, start with --accept-older %s",
			back, schema.Moment(back.Found.At))
	}
	if err != nil {
		return err
	}
	return td.raise(ctx)
}

// beginEpoch holds what may have been sent, as a setting has decided.
func (td *tide) beginEpoch(ctx context.Context, back *schema.WentBack) error {
	held, begun, err := td.newEpoch(ctx, back.Found.History)
	if err != nil {
		return fmt.Errorf("begin a new epoch after %w: %w", back, err)
	}
	if begun {
		td.log.Warn("a new epoch was begun, since a standby of the database was promoted that may lack the last commits: what may have been sent is held for a person", "held", held, "why", back.Error())
	}
	return nil
}

// pass goes on with a database that went back, as a person has decided.
func (td *tide) pass(ctx context.Context, back *schema.WentBack) error {
	td.log.Warn("a person has decided to go on with a database that went back: what was sent since is sent again", "as_of", schema.Moment(back.Found.At), "was_seen_at", schema.Moment(back.Seen.At))
	return td.store.PassWatermark(ctx, time.Now(), back.Seen)
}

// raise raises the database's watermark and remembers it.
func (td *tide) raise(ctx context.Context) error {
	td.moved.Store(false)
	w, err := td.store.RaiseWatermark(ctx, time.Now(), td.seen)
	if err == nil {
		if w.Stand.Promoted(td.seen.Stand) {
			td.log.Warn("a standby of the database was promoted that commits waited for: nothing is missing, and this process goes on", "timeline", w.Stand.Timeline)
		}
		td.remember(w)
		td.pending = !td.store.Decided(w)
	}
	return err
}

// look finds out whether the database went back, without raising anything.
func (td *tide) look(ctx context.Context) error {
	w, found, err := td.store.Watermark(ctx)
	if err == nil && found && (w.History != td.seen.History || w.At.Before(td.seen.At)) {
		return &schema.WentBack{Seen: td.seen, Found: w}
	}
	return err
}

// run raises the watermark while this process accepts or starts something, and looks now and then where it does not. Where
// the database went back, outlive lets nothing more start. Where that is for a promotion and an epoch is to begin by itself, ended
// is told, and the next start begins it.
func (td *tide) run(ctx context.Context, outlive func() bool, ended func(error)) {
	tick := time.NewTicker(life.Spread(tideEvery))
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-td.promoted:
			td.pending = true
		}
		var err error
		switch {
		case td.moved.Load(), td.pending, td.beats:
			err = td.raise(ctx)
		case n%tideLook == 0:
			err = td.look(ctx)
		}
		var back *schema.WentBack
		switch {
		case !errors.As(err, &back):
		case outlive():
			td.log.Error("the database went back under this process, which starts nothing more: run posthouse migrate new-epoch --yes, and restart it", "error", back.Error())
			td.lacks = true
			td.name(ctx)
			if td.hold && back.Promoted() {
				ended(fmt.Errorf("%w: this process ends, and its next start begins a new epoch", back))
			}
		case td.lacks:
			td.name(ctx) // what was being answered as that was found
		}
		if back != nil && td.pending { // what had passed the look before outlive has been refused by now
			select {
			case <-ctx.Done():
			case <-time.After(tideEvery):
			}
			td.pending = !td.store.Decided(back.Found)
		}
	}
}

// name says which messages of those that this process has accepted of late the database does not have. Each is looked for once.
func (td *tide) name(ctx context.Context) {
	list, named := td.accepted.since(td.named)
	if len(list) == 0 && td.named > 0 {
		return
	}
	missing, err := td.store.Missing(ctx, list)
	if err != nil {
		td.log.Warn("what the database lacks cannot be looked for", "error", err)
		return
	}
	td.named = named
	for part := range slices.Chunk(missing, 50) {
		td.log.Error("accepted, and not in the database any more", "messages", strings.Join(part, " "))
	}
	td.log.Error("of the messages that this process accepted last, some are missing in the database", "missing", len(missing), "of", len(list))
}

// end remembers what came last. The process has done all it does.
func (td *tide) end(ctx context.Context) {
	if td.lacks {
		td.name(ctx)
	}
	if td.moved.Load() {
		_ = td.raise(ctx) // else a kill's second is missing
	}
}

// These move the tide: a queue, the segments of campaigns, a desk and an intake that tell of what they have done.
type (
	movingSegments struct {
		segment.Store
		moved *atomic.Bool
	}
	movingQueue struct {
		engine.Queue
		moved *atomic.Bool
	}
	movingDesk struct {
		counter
		moved *atomic.Bool
	}
	movingIntake struct {
		intake.Store
		tide  *tide
		place *place
	}
)

func (m movingQueue) Claim(ctx context.Context, now time.Time, c work.Claim) ([]work.Item, error) {
	items, err := m.Queue.Claim(ctx, now, c)
	if len(items) > 0 {
		m.moved.Store(true)
	}
	return items, err
}

func (m movingSegments) StartChunk(ctx context.Context, now time.Time, s work.Segment, lease time.Duration) (work.Chunk, error) {
	is, err := m.Store.StartChunk(ctx, now, s, lease)
	if is == work.ChunkStarted {
		m.moved.Store(true)
	}
	return is, err
}

func (m movingDesk) HandOut(ctx context.Context, now time.Time, h work.HandOut) (work.HandedOut, error) {
	m.moved.Store(true) // what it held may be handed out again
	return m.counter.HandOut(ctx, now, h)
}

func (m movingIntake) AcceptAndStart(ctx context.Context, now time.Time, subs []*work.Submission, seats work.Seats) ([]work.Outcome, []work.Start, error) {
	m.tide.moved.Store(true)
	outcomes, starts, err := m.Store.AcceptAndStart(ctx, now, subs, seats)
	if err == nil {
		m.tide.accepted.add(outcomes)
	}
	return outcomes, starts, m.place.directed(err)
}

// recent are the last messages that a process has accepted.
type recent struct {
	mu    sync.Mutex
	ids   []string
	next  int
	total int // how many there ever were
}

// mostRecent is more than a process accepts while a standby lags by some seconds.
const mostRecent = 20_000

func (r *recent) add(outcomes []work.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range outcomes {
		if outcomes[i].Err != nil {
			continue
		}
		told := outcomes[i].Accepted
		for j := range told {
			a := &told[j]
			if len(a.Deliveries) == 0 {
				continue // a plan, or a duplicate: it is no row
			}
			if len(r.ids) < mostRecent {
				r.ids = append(r.ids, a.ID)
			} else {
				r.ids[r.next] = a.ID
			}
			r.next = (r.next + 1) % mostRecent
			r.total++
		}
	}
}

// since are they in the order of their acceptance, without the first n that there ever were, and how many these are with those.
func (r *recent) since(n int) (ids []string, total int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ids = slices.Clone(r.ids)
	if len(ids) == mostRecent {
		ids = append(ids[r.next:], ids[:r.next]...)
	}
	return ids[max(len(ids)-(r.total-n), 0):], r.total
}
