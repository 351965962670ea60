package reading

import (
	"context"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// cleanHolders calls each for the rows of clean deliveries that are not as their messages say, and for messages that carry a
// clean delivery which is nowhere.
func (s History) cleanHolders(ctx context.Context, each func(KeyHolder) error) error {
	var list []KeyHolder
	of := " q LEFT JOIN posthouse_messages m ON m.id = " + layout.SoleMessage(s.db.Dialect, "q.id") + " WHERE m.id IS NULL OR m.sole <> 1 OR m.tenant <> q.tenant OR m.channel <> q.channel"
	pinned := " q WHERE q.pin <> '' AND q.pin <> " + s.db.Dialect.Concat("'='", "q.account") + " AND substr(q.pin, 1, 1) NOT IN ('~', '#', '+')"
	for _, q := range []struct{ table, which, wrong string }{
		{"posthouse_messages", " q WHERE q.sole = 1 AND q.recipients <> 1", "it carries a delivery, and was not for one recipient"},
		{"posthouse_sent", of, "it is not as its message says"},
		{"posthouse_due", of + " OR m.priority <> q.priority", "it is not as its message says"},
		{"posthouse_queue", pinned, "its pin is not that of its account"},
		{"posthouse_settled", pinned, "its pin is not that of its account"},
	} {
		found, err := sqldb.All(s.db.Reads(ctx), sqldb.Word, "SELECT q.id FROM "+q.table+q.which+" ORDER BY q.id")
		if err != nil {
			return err
		}
		for _, id := range found {
			list = append(list, KeyHolder{Name: "row of " + q.table + " of " + id, Message: posthouse.MessageID(id), Found: true, Wrong: q.wrong})
		}
	}
	lost, err := s.nowhere(ctx)
	if err != nil {
		return err
	}
	for _, id := range lost {
		list = append(list, KeyHolder{Name: "message " + id, Message: id, Found: true, Wrong: "its delivery neither waits nor is under way nor was sent"})
	}
	floor, err := s.parted.Floor(ctx) // what is before it leaves one table after the other
	for i := range list {
		if err == nil && list[i].Message >= floor {
			err = each(list[i])
		}
	}
	return err
}

// nowhere lists the messages whose clean delivery has no row. What is in no other table is in a flight, until it lands or takes
// another course: so what looks lost is looked at again after the flights.
func (s History) nowhere(ctx context.Context) ([]string, error) {
	lost, err := s.landless(ctx, "m.sole = 1")
	if err != nil || len(lost) == 0 {
		return nil, err
	}
	flights, err := sqldb.All(s.db.Reads(ctx), layout.ReadFlying, "SELECT "+layout.FlyingColumns+" FROM posthouse_flights")
	if err != nil {
		return nil, err
	}
	flying := map[string]bool{}
	for i := range flights {
		for _, id := range flights[i].IDs {
			flying[posthouse.MessageID(id)] = true
		}
	}
	lost = slices.DeleteFunc(lost, func(id string) bool { return flying[id] })
	var still []string
	for part := range sqldb.Parts(lost, sqldb.BulkStep) {
		clause, args := s.db.Dialect.Among("m.id", part)
		again, err := s.landless(ctx, "m.sole = 1 AND "+clause, args...)
		if err != nil {
			return nil, err
		}
		still = append(still, again...)
	}
	return still, nil
}

// landless lists the messages with a clean delivery that neither waits nor was sent.
func (s History) landless(ctx context.Context, where string, args ...any) ([]string, error) {
	id := layout.SoleID(s.db.Dialect)
	return sqldb.All(s.db.Reads(ctx), sqldb.Word, "SELECT m.id FROM posthouse_messages m WHERE "+where+
		" AND NOT EXISTS (SELECT 1 FROM posthouse_sent s WHERE s.id = "+id+")"+
		" AND NOT EXISTS (SELECT 1 FROM posthouse_due q WHERE q.tenant = m.tenant AND q.channel = m.channel AND q.priority = m.priority AND q.due_at = m.due_at AND q.id = "+id+") ORDER BY m.id", args...)
}
