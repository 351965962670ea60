package store

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// Failures are those of deliveries so far, by delivery and class, as their history has them. A lease that was lost after its start
// counts as an attempt of which nobody knows the end.
func (s Queue) Failures(ctx context.Context, ids []string) (map[string]work.Failures, error) {
	past := map[string]work.Failures{}
	for part := range sqldb.Parts(ids, sqldb.BulkStep) {
		if err := failures(s.db.Dialect, s.db.Reads(ctx), part, past); err != nil {
			return nil, s.db.Coded(err, "read what failed before")
		}
	}
	return past, nil
}

func failures(d *sqldb.Dialect, query sqldb.Lookup, ids []string, past map[string]work.Failures) error {
	clause, args := d.In("delivery", ids)
	return query("SELECT delivery, class, COUNT(*) FROM posthouse_transitions WHERE "+clause+
		" AND (type = 'retry' AND reason <> 'failover' OR type = 'ambiguous' OR type = 'lease_lost' AND to_state = 'unknown') GROUP BY delivery, class", args,
		func(scan sqldb.Scanner) error {
			var id string
			var class posthouse.Class
			var n int
			err := scan(&id, &class, &n)
			if class == "" {
				class = posthouse.ClassUnknown
			}
			if past[id] == nil {
				past[id] = work.Failures{}
			}
			past[id][class] += n
			return err
		})
}

// failuresOf are those of one delivery, as the transaction sees them.
func (t *tx) failuresOf(id string) (work.Failures, error) {
	past := map[string]work.Failures{id: {}}
	err := failures(t.DB.Dialect, t.Query, []string{id}, past)
	return past[id], err
}
