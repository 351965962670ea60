package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/posthouse/posthouse/bench/trial"
	"github.com/posthouse/posthouse/internal/work"
)

// pruning measures what retention costs beside what the same deliveries cost to come, be claimed and be sent: row by row, and
// by partition where there are any. The work beside it is that of the store alone, with calls of a thousand, so a whole flow, whose
// messages cost more, pays a smaller share.
func (h *house) pruning(ctx context.Context) (out []finding, err error) {
	n := 100_000
	if h.o.quick {
		n = 20_000
	}
	for _, backend := range h.ownDatabases() {
		for _, whole := range []bool{false, true} {
			if whole && backend == "sqlite" {
				continue
			}
			f, err := h.pruned(ctx, backend, n, whole)
			if err != nil {
				return out, fmt.Errorf("%s: %w", backend, err)
			}
			out = append(out, f)
		}
	}
	return out, nil
}

// soon is a retention by which the partition of now is over; all of it is older than any row.
const soon = -40 * time.Hour

func (h *house) pruned(ctx context.Context, backend string, n int, whole bool) (f finding, err error) {
	l, err := h.openLine(ctx, backend)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	pid := 0
	if backend != "sqlite" {
		s, err := h.server(backend)
		if err != nil {
			return f, err
		}
		pid = s.PID()
	}
	if err := l.store.Upkeep.Partition(ctx, work.KeepAll(time.Hour)); err != nil {
		return f, err
	}
	came, err := trial.Cost(pid, func() error { return l.pass(ctx, n) })
	if err != nil {
		return f, err
	}
	what, prune := "deleted row by row", l.pruneRows
	if whole {
		what, prune = "dropped with their partition", l.dropPartition
	}
	went, err := trial.Cost(pid, func() error { return prune(ctx, n) })
	f = finding{What: thousands(n) + " settled deliveries " + what, Database: backend, Value: went.Seconds() / came.Seconds(), Bound: "at most 3 %"}
	f.Text = fmt.Sprintf("%.1f %%", 100*f.Value)
	f.Note = fmt.Sprintf("%.1f µs of processor each, of %.1f; %s in all", went.Seconds()*1e6/float64(n), came.Seconds()*1e6/float64(n), short(went))
	return f.atMost(0.03), err
}

func (l *line) pruneRows(ctx context.Context, n int) error {
	for left := n; left > 0; {
		gone, err := l.store.Upkeep.Prune(ctx, time.Now(), work.KeepAll(-time.Minute), 1000)
		if err != nil {
			return err
		}
		if gone == 0 {
			return fmt.Errorf("%d of %d are left", left, n)
		}
		left -= gone
	}
	return nil
}

func (l *line) dropPartition(ctx context.Context, n int) error {
	if err := l.store.Upkeep.Partition(ctx, work.KeepAll(soon)); err != nil {
		return err
	}
	var left int
	if err := l.raw.QueryRowContext(ctx, "SELECT COUNT(*) FROM posthouse_sent").Scan(&left); err != nil || left > 0 {
		return errors.Join(err, fmt.Errorf("%d of %d are left", left, n))
	}
	return nil
}
