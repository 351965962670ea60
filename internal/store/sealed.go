package store

import (
	"context"
	"time"

	"github.com/posthouse/posthouse/internal/work"
)

var sealedTable = newTable("sealed", "message", "tenant", "body", "forget_at#")

func sealedValues(s *work.Sealed) []any {
	return []any{s.Message, s.Tenant, s.Body, micros(s.ForgetAt)}
}

// Sealed reads the sealed contents of messages, those that are not forgotten.
func (s *Store) Sealed(ctx context.Context, tenant string, messages []string) (map[string]string, error) {
	bodies := map[string]string{}
	for part := range parts(messages, bulkStep) {
		ids := make([]string, len(part))
		for i, id := range part {
			ids[i] = idOnly(id)
		}
		clause, args := s.in("message", ids)
		err := s.look(ctx, "SELECT message, body FROM sealed WHERE "+clause+" AND tenant = ?", append(args, tenant), func(scan scanner) error {
			var message, body string
			err := scan(&message, &body)
			bodies[message] = body
			return err
		})
		if err != nil {
			return nil, s.toError(err, "read sealed contents")
		}
	}
	return bodies, nil
}

// Forget deletes up to max sealed contents of all tenants whose time has come, and returns how many.
func (s *Store) Forget(ctx context.Context, now time.Time, max int) (int, error) {
	return s.repeat(ctx, now, "forget sealed contents", max, func(t *tx, step int) (int, error) {
		return t.pruneExpired("sealed", "forget_at", 0, step)
	})
}
