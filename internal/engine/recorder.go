package engine

import (
	"context"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limit"
)

// codeDatabase marks the log lines of a database that failed during a run or a write (DUTY-9).
const codeDatabase = "DATABASE_ERROR"

// recorder has the ends of attempts written: whatever queued up during the last write goes into the
// next, so a result waits for at most two writes, and for courtesy while callers come. What is not
// recorded when a process dies stays unknown: the batch is bounded.
type recorder struct {
	log    *slog.Logger
	busy   func() bool // reports whether callers come
	refund func(grant *limit.Grant, n int)
	in     chan unit
	last   chan struct{} // closed when nothing will be added any more
	idle   chan struct{} // closed when the last result is written, or given up
	giveUp chan struct{}

	database atomic.Int32 // takesResults, takesNone or mayTake

	mu      sync.Mutex
	waiting map[unit]struct{} // their results are here, not yet written
}

// The known states of the database's taking results. Nothing may start whose result could not be kept.
const (
	takesResults int32 = iota
	takesNone          // the last write failed, and is tried again
	mayTake            // the results that were tried again belong to nobody here any more: one send a channel will tell
)

// maxRecord bounds one write.
const maxRecord = 512

func newRecorder(log *slog.Logger, busy func() bool, refund func(*limit.Grant, int)) *recorder {
	return &recorder{
		log: log, busy: busy, refund: refund, in: make(chan unit, maxRecord), last: make(chan struct{}), idle: make(chan struct{}), giveUp: make(chan struct{}),
		waiting: map[unit]struct{}{},
	}
}

// Has reports whether a delivery's result is here and about to be written: nobody is lost then, however
// long the database takes.
func (rec *recorder) Has(d posthouse.Delivery) bool {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	for u := range rec.waiting {
		if u.holds(d.ID, d.Token) {
			return true
		}
	}
	return false
}

// add hands over a unit that has ended. One that comes after the drain has ended is dropped: its lease runs out.
func (rec *recorder) add(u unit) {
	rec.mu.Lock()
	rec.waiting[u] = struct{}{}
	rec.mu.Unlock()
	select {
	case rec.in <- u:
	case <-rec.idle:
		rec.free([]unit{u})
		return
	}
	select {
	case <-rec.idle:
		rec.drop() // it was put where nobody reads any more
	default:
	}
}

// drop frees the slots of what nobody will write. A slot that is never freed would keep a run, and
// with it Stop, waiting for ever.
func (rec *recorder) drop() {
	for {
		select {
		case u := <-rec.in:
			rec.free([]unit{u})
		default:
			return
		}
	}
}

// finish waits for the last results; nothing may be added any more. Past the context's end what is
// unwritten is given up: its leases run out and the rescuer finds it.
func (rec *recorder) finish(ctx context.Context) {
	close(rec.last)
	select {
	case <-rec.idle:
	case <-ctx.Done():
		select {
		case <-rec.idle: // both: done is done
		case <-time.After(time.Second):
			close(rec.giveUp)
			<-rec.idle
		}
	}
}

func (rec *recorder) run(ctx context.Context) {
	defer rec.drop() // what came between the last look and the close
	defer close(rec.idle)
	for {
		select {
		case u := <-rec.in:
			rec.write(ctx, rec.gather(u))
		case <-rec.last:
			for {
				select {
				case u := <-rec.in:
					rec.write(ctx, rec.gather(u))
				default:
					return
				}
			}
		}
	}
}

// gather takes what has queued up behind first. Drivers that have come back hand over their results
// before.
func (rec *recorder) gather(first unit) []unit {
	runtime.Gosched()
	batch, size := append(make([]unit, 0, 1+len(rec.in)), first), first.about().size
	for size < maxRecord {
		select {
		case u := <-rec.in:
			batch, size = append(batch, u), size+u.about().size
			continue
		default:
		}
		if size < worthwhile && rec.busy() && first.about().route.crowded() {
			return rec.await(batch, size)
		}
		return batch
	}
	return batch
}

// A batch waits for courtesy at most, until it is worthwhile.
const (
	courtesy   = 5 * time.Millisecond
	worthwhile = 64
)

// await waits a moment for more results. Few writes that are worth their commit leave callers more of the
// database, and of the machine, than many small ones: with a herd under way, accepts were half as slow again.
func (rec *recorder) await(batch []unit, size int) []unit {
	timer := time.NewTimer(courtesy)
	defer timer.Stop()
	for size < worthwhile {
		select {
		case u := <-rec.in:
			batch, size = append(batch, u), size+u.about().size
		case <-timer.C:
			return batch
		case <-rec.last:
			return batch
		}
	}
	return batch
}

// write has a batch written, by kind.
func (rec *recorder) write(ctx context.Context, batch []unit) {
	defer rec.free(batch)
	for left := batch; len(left) > 0; {
		k := left[0].about().kind
		alike := func(u unit) bool { return u.about().kind == k }
		of, others := left, []unit(nil)
		if slices.ContainsFunc(left, func(u unit) bool { return !alike(u) }) { // nearly never
			of = slices.DeleteFunc(slices.Clone(left), func(u unit) bool { return !alike(u) })
			others = slices.DeleteFunc(slices.Clone(left), alike)
		}
		if err := k.settle(ctx, of, rec.insist); err != nil {
			return
		}
		left = others
	}
}

// insist repeats a write of results for as long as the database takes to answer again: they exist only here. Nothing
// new is claimed meanwhile. The error is that of the end of the drain.
func (rec *recorder) insist(results int, write func(began time.Time) (stored bool, err error)) error {
	pause := 50 * time.Millisecond
	for {
		stored, err := write(time.Now())
		rec.judge(err, stored)
		if err == nil {
			return nil
		}
		rec.log.Error("results could not be recorded: trying again", "code", codeDatabase, "results", results, "error", err)
		select {
		case <-time.After(pause):
			pause = min(2*pause, time.Second)
		case <-rec.giveUp:
			rec.log.Error("results are given up at the end of the drain: their outcome will be unknown", "results", results)
			return err
		}
	}
}

// judge draws its conclusion from a write: a database without room may well take one that changes nothing.
func (rec *recorder) judge(err error, stored bool) {
	switch {
	case err != nil:
		rec.database.Store(takesNone)
	case stored:
		rec.database.Store(takesResults)
	default:
		rec.database.CompareAndSwap(takesNone, mayTake)
	}
}

// Stuck reports whether results are here that cannot be written.
func (rec *recorder) Stuck() bool { return rec.database.Load() == takesNone }

// unsure reports whether it has to be found out that results can be written again.
func (rec *recorder) unsure() bool { return rec.database.Load() == mayTake }

// free gives the slots back, and the permits of what was not sent.
func (rec *recorder) free(batch []unit) {
	rec.mu.Lock()
	for _, u := range batch {
		delete(rec.waiting, u)
	}
	rec.mu.Unlock()
	for _, u := range batch {
		unsent, unseen := u.done()
		rec.refund(u.seat().Budgets(unseen))
		rec.refund(u.seat().End(time.Now(), unsent))
	}
}
