package engine

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/posthouse/posthouse/internal/state"
)

// eventTimeout bounds what follows from one event: it may ask others who handles a node.
const eventTimeout = 15 * time.Second

// applyEvents hands the events among letters over and deletes their rows. Those of one task go one after
// the other, so that one that hangs holds up no other task. An event may be handed over twice, as a process can die before the row is
// deleted: applying it twice changes nothing.
func (e *Engine) applyEvents(ctx context.Context, letters []letter) (applied int, err error) {
	type task struct{ tenant, id string }
	tasks := map[task][]*letter{}
	for i := range letters {
		if l := &letters[i]; l.event != nil && l.problem == "" {
			k := task{l.row.Tenant, l.event.Task}
			tasks[k] = append(tasks[k], l)
		}
	}
	var all sync.WaitGroup
	for _, list := range tasks {
		all.Go(func() {
			for _, l := range list {
				l.problem = e.applyEvent(ctx, l)
			}
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	var rows []string
	for i := range letters {
		if l := &letters[i]; l.event != nil && l.problem == "" {
			rows = append(rows, l.row.ID)
		}
	}
	if len(rows) == 0 {
		return 0, nil
	}
	return len(rows), e.o.Store.Done(ctx, time.Now(), rows)
}

// applyEvent hands one event over and returns its problem. One that does not say when it happened
// happened when its row was written: a repeat has the same time.
func (e *Engine) applyEvent(ctx context.Context, l *letter) (problem string) {
	if e.o.TaskEvents == nil {
		return "this server takes no task events"
	}
	defer func() {
		if p := recover(); p != nil {
			problem = state.Plain(fmt.Sprintf("the event makes the server panic: %v", p), maxRejection)
			e.log.Error("an event of the outbox made the server panic", "row", l.row.ID, "tenant", l.row.Tenant, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, eventTimeout)
	defer cancel()
	event := *l.event
	if event.At.IsZero() {
		event.At = l.row.CreatedAt
	}
	if err := e.o.TaskEvents(ctx, l.row.Tenant, event); err != nil {
		return cmp.Or(err.Error(), "the event can not be applied")
	}
	return ""
}
