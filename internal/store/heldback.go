package store

import (
	"context"
	"time"

	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// HeldBack lists pending deliveries of all tenants that wait for one reason until a time that is to come, by their ids behind one, at most max.
// No index has them: it walks over the queue, which is not for what is asked often.
func (s Queue) HeldBack(ctx context.Context, now time.Time, reason, behind string, max int) ([]work.HeldBack, error) {
	later, at := s.db.Instant(now)
	args := append([]any{behind, reason}, at...)
	list, err := sqldb.All(s.db.Reads(ctx), func(scan sqldb.Scanner) (work.HeldBack, error) {
		d, err := layout.ScanDelivery(scan)
		if err != nil {
			return work.HeldBack{}, err
		}
		return work.HeldBack{Delivery: *d}, nil
	}, "SELECT "+layout.Queue.List+" FROM posthouse_queue"+s.db.Dialect.By(sqldb.Primary)+" WHERE id > ? AND state = 'pending' AND reason = ? AND due_at > "+later+" ORDER BY id LIMIT ?",
		append(args, max)...)
	if err == nil {
		err = s.kindsOf(ctx, list)
	}
	return list, s.db.Coded(err, "look for what is held back")
}

// kindsOf sets the kinds of their messages.
func (s Queue) kindsOf(ctx context.Context, list []work.HeldBack) error {
	messages := make([]string, len(list))
	for i := range list {
		messages[i] = list[i].Delivery.Message
	}
	kinds := map[string]string{}
	for part := range sqldb.Parts(messages, sqldb.BulkStep) {
		clause, args := s.db.Dialect.In("id", part)
		err := s.db.Reads(ctx)("SELECT id, kind FROM posthouse_messages WHERE "+clause, args, func(scan sqldb.Scanner) error {
			var id, kind string
			err := scan(&id, &kind)
			kinds[id] = kind
			return err
		})
		if err != nil {
			return err
		}
	}
	for i := range list {
		list[i].Kind = kinds[list[i].Delivery.Message]
	}
	return nil
}
