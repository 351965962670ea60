package intake

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/wire"
)

// eventTimeout bounds what follows from one event: it may ask others who handles a node.
const eventTimeout = 15 * time.Second

// applyEvents hands the events and jobs among letters over and deletes their rows. Those of one task go one after
// the other, so that one that hangs holds up no other task. One may be handed over twice, as a process can die before the
// row is deleted: taking it twice changes nothing.
func (r *Relay) applyEvents(ctx context.Context, letters []letter) (applied int, err error) {
	var all sync.WaitGroup
	turns := make(chan struct{}, eventBatch)
	for _, list := range apart(letters) {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			for _, l := range list {
				r.applyEvent(ctx, l)
			}
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	var rows []string
	for i := range letters {
		if l := &letters[i]; !l.isDraft() && l.problem == "" {
			rows = append(rows, l.row.ID)
		}
	}
	if len(rows) == 0 {
		return 0, nil
	}
	return len(rows), r.Store.Done(ctx, time.Now(), rows)
}

// apart are the events of each task, and the jobs that may be one and the same: of those the first counts.
func apart(letters []letter) [][]*letter {
	type matter struct{ tenant, task, job string }
	var out [][]*letter
	place := map[matter]int{}
	for i := range letters {
		l := &letters[i]
		if l.problem != "" || l.isDraft() {
			continue
		}
		k := matter{tenant: l.row.Tenant}
		if l.job != nil {
			k.job = sameJob(l.job)
		} else {
			k.task = l.event.Task.Text()
		}
		if l.job != nil && k.job == "" {
			out = append(out, []*letter{l})
			continue
		}
		at, known := place[k]
		if !known {
			at = len(out)
			place[k], out = at, append(out, nil)
		}
		out[at] = append(out[at], l)
	}
	return out
}

// sameJob is what makes a second job the first one: its dedup key, else its number. It is "" where each job is a new one.
func sameJob(job json.RawMessage) string {
	var keys struct {
		DedupKey string     `json:"dedupKey"`
		Number   wire.Ident `json:"number"`
	}
	if err := json.Unmarshal(job, &keys); err != nil {
		return "" // it is refused where it is read whole
	}
	if keys.DedupKey == "" && keys.Number.Text() != "0" { // 0 asks for a new one
		return keys.Number.Text()
	}
	return keys.DedupKey
}

// applyEvent hands one event or job over and notes its problem.
func (r *Relay) applyEvent(ctx context.Context, l *letter) {
	if l.event != nil && r.TaskEvents == nil || l.job != nil && r.Jobs == nil {
		l.problem = "this server takes no task events and jobs"
		return
	}
	defer func() {
		if p := recover(); p != nil {
			l.problem = state.Plain(fmt.Sprintf("the row makes the server panic: %v", p), maxRejection)
			r.Log.Error("an event or job of the outbox made the server panic", "row", l.row.ID, "tenant", l.row.Tenant, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, eventTimeout)
	defer cancel()
	var err error
	if l.job != nil {
		err = r.Jobs(ctx, l.row, l.job)
	} else {
		err = r.TaskEvents(ctx, l.row, l.event)
	}
	if err != nil {
		l.refuse(err)
	}
}
