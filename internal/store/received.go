package store

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// AddReceived writes lines of the log of requests. A line without an ID or a time gets one.
func (s Logs) AddReceived(ctx context.Context, now time.Time, lines []work.Line) error {
	return s.change(ctx, now, "write the log of requests", func(t *tx) error {
		at, err := t.Now()
		if err != nil {
			return err
		}
		rows := make([][]any, len(lines))
		for i, l := range lines {
			if l.ID == "" {
				l.ID = posthouse.NewID()
			}
			if l.At.IsZero() {
				l.At = sqldb.TimeOf(at)
			}
			rows[i] = layout.ReceiveValues(&l)
		}
		return t.Insert(layout.ReceiveLog, rows)
	})
}

// PruneLogs deletes up to max lines of each log that are older than keep, and returns how many.
func (s Logs) PruneLogs(ctx context.Context, now time.Time, keep time.Duration, max int) (int, error) {
	total := 0
	for _, log := range []*sqldb.Table{layout.ReceiveLog, layout.SendLog, layout.ReportLog} {
		n, err := s.repeat(ctx, now, "prune a log", max, func(t *tx, step int) (int, error) {
			return pruning{t}.pruneExpired(log.Name, "at", keep, step)
		})
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}
