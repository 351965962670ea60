package engine

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// recorder writes the ends of attempts: whatever queued up during the last write goes into the
// next, so a result waits for at most two writes, and for courtesy while callers come. What is not
// recorded when a process dies stays unknown: the batch is bounded.
type recorder struct {
	engine *Engine
	in     chan done
	last   chan struct{} // closed when nothing will be added any more
	idle   chan struct{} // closed when the last result is written, or given up
	giveUp chan struct{}

	database atomic.Int32 // takesResults, takesNone or mayTake

	mu      sync.Mutex
	waiting map[string]int64 // delivery → token: their results are here, not yet written
}

// What is known of the database's taking results. Nothing may start whose result could not be kept.
const (
	takesResults int32 = iota
	takesNone          // the last write failed, and is tried again
	mayTake            // the results that were tried again belong to nobody here any more: one send a channel will tell
)

// maxRecord bounds one write.
const maxRecord = 512

func newRecorder(e *Engine) *recorder {
	return &recorder{engine: e, in: make(chan done, maxRecord), last: make(chan struct{}), idle: make(chan struct{}), giveUp: make(chan struct{}), waiting: map[string]int64{}}
}

// has reports whether a delivery's result is here and about to be written: nobody is lost then, however
// long the database takes.
func (rec *recorder) has(d posthouse.Delivery) bool {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	token, ok := rec.waiting[d.ID]
	return ok && token == d.Token
}

// add hands a result over. One that comes after the drain has ended is dropped: its lease runs out.
func (rec *recorder) add(d done) {
	rec.mu.Lock()
	rec.waiting[d.item.Delivery.ID] = d.item.Delivery.Token
	rec.mu.Unlock()
	select {
	case rec.in <- d:
	case <-rec.idle:
		rec.free([]done{d})
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
		case d := <-rec.in:
			rec.free([]done{d})
		default:
			return
		}
	}
}

// finish waits for the last results; nothing may be added any more. Past the context's end what is
// unwritten is given up: its leases run out and the rescuer finds it.
func (rec *recorder) finish(ctx context.Context) {
	if rec.engine.o.AcceptOnly {
		return
	}
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
		case d := <-rec.in:
			rec.write(ctx, rec.gather(d))
		case <-rec.last:
			for {
				select {
				case d := <-rec.in:
					rec.write(ctx, rec.gather(d))
				default:
					return
				}
			}
		}
	}
}

// gather takes what has queued up behind first. Drivers that have come back hand over their results
// before.
func (rec *recorder) gather(first done) []done {
	runtime.Gosched()
	batch := append(make([]done, 0, 1+len(rec.in)), first)
	for len(batch) < maxRecord {
		select {
		case d := <-rec.in:
			batch = append(batch, d)
			continue
		default:
		}
		if len(batch) < worthwhile && rec.engine.accepter.busy() && first.route.crowded() {
			return rec.await(batch)
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
func (rec *recorder) await(batch []done) []done {
	timer := time.NewTimer(courtesy)
	defer timer.Stop()
	for len(batch) < worthwhile {
		select {
		case d := <-rec.in:
			batch = append(batch, d)
		case <-timer.C:
			return batch
		case <-rec.last:
			return batch
		}
	}
	return batch
}

// write records a batch.
func (rec *recorder) write(ctx context.Context, batch []done) {
	e := rec.engine
	changes := make([]work.Change, len(batch))
	decide := func(now time.Time) []work.Change {
		for i := range batch {
			changes[i] = batch[i].change(now)
		}
		return changes
	}
	var refused []string
	// An answer lost at the commit is repeated safely too: the guard refuses what was written.
	err := rec.insist(len(batch), func(began time.Time) (stored bool, err error) {
		if refused, err = e.o.Store.Record(ctx, began, decide); err == nil {
			e.metrics.wrote("record", began)
		}
		return len(refused) < len(batch), err
	})
	if err != nil {
		rec.free(batch)
		return
	}
	rec.recorded(ctx, batch, changes, refused)
}

// insist repeats a write of results for as long as the database takes to answer again: they exist only here. Nothing
// new is claimed meanwhile. write says whether it has stored anything. The error is that of the end of the drain.
func (rec *recorder) insist(results int, write func(began time.Time) (stored bool, err error)) error {
	log := rec.engine.log
	pause := 50 * time.Millisecond
	for {
		stored, err := write(time.Now())
		rec.judge(err, stored)
		if err == nil {
			return nil
		}
		log.Error("results could not be recorded: trying again", "code", codeDatabase, "results", results, "error", err)
		select {
		case <-time.After(pause):
			pause = min(2*pause, time.Second)
		case <-rec.giveUp:
			log.Error("results are given up at the end of the drain: their outcome will be unknown", "results", results)
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

// stuck reports whether results are here that can not be written.
func (rec *recorder) stuck() bool { return rec.database.Load() == takesNone }

// unsure reports whether it has to be found out that results can be written again.
func (rec *recorder) unsure() bool { return rec.database.Load() == mayTake }

// change is what follows an attempt's end.
func (d *done) change(now time.Time) work.Change {
	switch d.verdict {
	case verdictRelease:
		return state.AfterRelease(d.item.Delivery, now.Add(d.result.After), d.reason)
	case verdictWindow:
		return state.AfterWindow(&d.route.Settings, d.item.Delivery, now)
	case verdictQuarantine:
		return state.AfterQuarantine(d.item.Delivery, d.reason, d.result.Error)
	}
	c := state.AfterResult(&d.route.Settings, d.item.Delivery, d.result, now)
	state.Await(d.route.Channel, &c, d.result, now)
	return c
}

func (rec *recorder) recorded(ctx context.Context, batch []done, changes []work.Change, refused []string) {
	if len(refused) > 0 {
		rec.reconsider(ctx, batch, refused)
	}
	late := map[string]bool{}
	for _, id := range refused {
		late[id] = true
	}
	for i := range batch {
		if !late[batch[i].item.Delivery.ID] {
			rec.engine.report(&batch[i], &changes[i])
		}
	}
	rec.free(batch)
}

// free gives the slots back, once a route.
func (rec *recorder) free(batch []done) {
	rec.mu.Lock()
	for i := range batch {
		delete(rec.waiting, batch[i].item.Delivery.ID)
	}
	rec.mu.Unlock()
	rec.engine.cleared(batch)
	counts := map[*route]int{}
	for i := range batch {
		counts[batch[i].route]++
	}
	for r, n := range counts {
		r.vacate(n)
	}
}

// reconsider looks again at deliveries that moved on while they were being sent. One that is still
// ours (somebody asked to cancel it meanwhile) takes its result; one that was taken from us takes
// a success as evidence, and nothing else. A repeat finds those that are written already moved on.
func (rec *recorder) reconsider(ctx context.Context, batch []done, refused []string) {
	e := rec.engine
	byID := map[string]*done{}
	for i := range batch {
		byID[batch[i].item.Delivery.ID] = &batch[i]
	}
	err := rec.insist(len(refused), func(began time.Time) (stored bool, err error) {
		_, err = e.o.Store.Revise(ctx, began, work.Selection{IDs: refused}, func(now time.Time, found []posthouse.Delivery) []work.Change {
			return afterLate(byID, found, now)
		})
		return false, err // what little this wrote says nothing of room for the results of many sends
	})
	e.metrics.leaseLosses.Add(float64(len(refused)))
	e.log.Warn("results came late: their leases were lost, or they were cancelled meanwhile", "deliveries", len(refused), "error", err)
}

// afterLate is what follows results of deliveries that have moved on, by how those stand now.
func afterLate(byID map[string]*done, found []posthouse.Delivery, now time.Time) []work.Change {
	var changes []work.Change
	for _, current := range found {
		d := byID[current.ID]
		if current.State == posthouse.Sending && current.Token == d.item.Delivery.Token {
			again := *d
			again.item.Delivery = current
			changes = append(changes, again.change(now))
		} else if d.result.Class == posthouse.ClassOK {
			if change, ok := state.AfterEvidence(current, d.result); ok {
				change.Events[0].Owner = d.item.Delivery.LeaseOwner // another may hold it
				state.Await(d.route.Channel, &change, d.result, now)
				changes = append(changes, change)
			}
		}
	}
	return changes
}

// report says in the log and the metrics how an attempt ended.
func (e *Engine) report(d *done, c *work.Change) {
	r, after := d.route, &c.After
	outcome := string(d.result.Class)
	if d.verdict != verdictResult {
		outcome = string(d.verdict)
	}
	e.metrics.sends.WithLabelValues(r.Key.Channel, outcome).Inc()
	ok := d.result.Class == posthouse.ClassOK && d.verdict == verdictResult
	if r.Settings.Every > 0 {
		r.mu.Lock()
		if ok {
			r.ran.ok++
		} else {
			r.ran.failed++
		}
		r.mu.Unlock()
	}
	level := slog.LevelInfo
	if ok && r.Settings.Every == 0 {
		level = slog.LevelDebug // a busy channel would log nothing else
	}
	ctx := context.Background()
	if !e.log.Enabled(ctx, level) {
		return
	}
	e.log.Log(ctx, level, "attempt ended", "job", r.Settings.Job, "tenant", after.Tenant, "channel", after.Channel,
		"message", after.Message, "delivery", after.ID, "attempt", d.item.Delivery.Attempts, "outcome", outcome,
		"code", d.result.Code, "error", d.result.Error, "tries", after.Tries, "from", c.Before.State, "to", after.State,
		"request", d.result.Request, "response", d.result.Response, "due", after.DueAt, "took", d.took)
}
