package server

import (
	"context"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/work"
)

// reports takes what agents say.
type reports interface {
	Report(ctx context.Context, now time.Time, list []work.Report,
		decide func(now time.Time, r *work.Report, known work.Known) *work.Change) ([]work.Report, error)
}

// watched tells of the events that results and reports have committed.
type watched struct {
	store.Queue
	reports store.Reports
	tell    func([]posthouse.Event)
	log     *slog.Logger
}

// Record is the store's.
func (w watched) Record(ctx context.Context, now time.Time, decide func(now time.Time) []work.Change) ([]string, error) {
	var last []work.Change // of the transaction that was committed
	refused, err := w.Queue.Record(ctx, now, func(now time.Time) []work.Change {
		last = decide(now)
		return last
	})
	if err == nil {
		w.told(slices.DeleteFunc(slices.Clone(last), func(c work.Change) bool { return slices.Contains(refused, c.Before.ID) }))
	}
	return refused, err
}

// Revise is the store's.
func (w watched) Revise(ctx context.Context, now time.Time, sel work.Selection,
	decide func(now time.Time, found []posthouse.Delivery) []work.Change,
) ([]posthouse.Delivery, error) {
	var last []work.Change
	after, err := w.Queue.Revise(ctx, now, sel, func(now time.Time, found []posthouse.Delivery) []work.Change {
		last = decide(now, found)
		return last
	})
	if err == nil {
		w.told(last)
	}
	return after, err
}

// reported names a report of an agent.
type reported struct{ tenant, agent, id string }

func nameOf(r *work.Report) reported { return reported{r.Tenant, r.Agent, r.ReportID} }

// Report is the store's. What is repeated was told of with the first one.
func (w watched) Report(ctx context.Context, now time.Time, list []work.Report,
	decide func(now time.Time, r *work.Report, known work.Known) *work.Change,
) ([]work.Report, error) {
	decided := map[reported]work.Change{} // as decided last: a transaction can be repeated
	out, err := w.reports.Report(ctx, now, list, func(now time.Time, r *work.Report, known work.Known) *work.Change {
		c := decide(now, r, known)
		delete(decided, nameOf(r))
		if c != nil {
			decided[nameOf(r)] = numbered(*c, now)
		}
		return c
	})
	var changes []work.Change
	for i := range out {
		if c, ok := decided[nameOf(&out[i])]; ok && !out[i].Repeated {
			changes = append(changes, c)
		}
	}
	if err == nil {
		w.told(changes)
	}
	return out, err
}

// numbered is a change with its own copy of its events, numbered and dated as the store does it: that changes events of
// one delivery in one transaction together, and none of the copies that were decided on.
func numbered(c work.Change, now time.Time) work.Change {
	c.Events = slices.Clone(c.Events)
	state := c.Before.State
	for i := range c.Events {
		e := &c.Events[i]
		e.Delivery, e.Tenant, e.Version, e.At, e.From = c.Before.ID, c.Before.Tenant, c.Before.Version+int64(i)+1, now, state
		state = e.To
	}
	return c
}

// told tells of the events of changes. What the program does with them must not end the engine.
func (w watched) told(changes []work.Change) {
	var events []posthouse.Event
	for i := range changes {
		events = append(events, changes[i].Events...)
	}
	if len(events) == 0 {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			w.log.Error("the program that embeds the server panicked over events", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	w.tell(events)
}
