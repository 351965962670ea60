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

// Forget deletes what is kept for its own time, of all tenants: up to max sealed contents whose time has come, and as
// many ids of agents' claims that nobody can repeat any more. It returns how many went. What is kept of deliveries
// and of logs has no say in it.
func (s *Store) Forget(ctx context.Context, now time.Time, max int) (int, error) {
	total := 0
	for _, old := range []struct{ table, column string }{{"sealed", "forget_at"}, {"agent_claims", "expires_at"}} {
		n, err := s.repeat(ctx, now, "forget rows of "+old.table, max, func(t *tx, step int) (int, error) {
			return t.pruneExpired(old.table, old.column, 0, step)
		})
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}
