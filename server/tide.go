package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/intake"
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

	moved atomic.Bool      // something was accepted or started since the last raise
	seen  schema.Watermark // of the goroutine that runs it
	deaf  bool             // the file could not be written, which was said
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
		if !known.Equal(now.At) {
			return fmt.Errorf("%w (%s). It was restored from a backup, copied, or promoted from a replica that lagged: what was sent since would be sent again. "+
				"Run posthouse migrate new-epoch --yes, which holds all that may have been sent; or, if nothing was, start with --accept-older %s",
				&schema.WentBack{Seen: seen, Found: now}, schema.MarkFile(td.dir, now.History), schema.Moment(now.At))
		}
		td.log.Warn("a person has decided to go on with a database that went back: what was sent since is sent again", "as_of", schema.Moment(now.At), "was_seen_at", schema.Moment(seen.At))
		if err := td.store.PassWatermark(ctx, time.Now(), seen); err != nil {
			return err
		}
	}
	return td.raise(ctx)
}

// raise raises the database's watermark and remembers it.
func (td *tide) raise(ctx context.Context) error {
	td.moved.Store(false)
	w, err := td.store.RaiseWatermark(ctx, time.Now(), td.seen)
	if err == nil {
		td.remember(w)
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
// the database went back, outlive lets nothing more start.
func (td *tide) run(ctx context.Context, outlive func() bool) {
	tick := time.NewTicker(tideEvery)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var err error
		switch {
		case td.moved.Load():
			err = td.raise(ctx)
		case n%tideLook == 0:
			err = td.look(ctx)
		}
		var back *schema.WentBack
		if errors.As(err, &back) && outlive() {
			td.log.Error("the database went back under this process, which starts nothing more: run posthouse migrate new-epoch --yes, and restart it", "error", back.Error())
		}
	}
}

// end remembers what came last. The process has done all it does.
func (td *tide) end(ctx context.Context) {
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
		moved *atomic.Bool
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
	m.moved.Store(true)
	return m.Store.AcceptAndStart(ctx, now, subs, seats)
}
