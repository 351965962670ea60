package store

import (
	"context"
	"time"

	"github.com/posthouse/posthouse/internal/work"
)

var sealedTable = newTable("posthouse_sealed", "message", "tenant", "body", "forget_at#")

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
		err := s.look(ctx, "SELECT message, body FROM posthouse_sealed WHERE "+clause+" AND tenant = ?", append(args, tenant), func(scan scanner) error {
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

// mostForgotten bounds how many ids of claims go at once: agents make more of them in ten seconds than a few hundred.
const mostForgotten = 20_000

// Forget deletes what is kept for its own time, of all tenants: up to max sealed contents whose time has come, and
// returns how many; and ids of agents' claims that nobody can repeat any more. What is kept of deliveries and of
// logs has no say in it.
func (s *Store) Forget(ctx context.Context, now time.Time, max int) (int, error) {
	n, err := s.repeat(ctx, now, "forget sealed contents", max, func(t *tx, step int) (int, error) {
		return t.pruneExpired("posthouse_sealed", "forget_at", 0, step)
	})
	if err != nil {
		return n, err
	}
	_, err = s.repeat(ctx, now, "forget claims", mostForgotten, func(t *tx, step int) (int, error) {
		return t.pruneExpired("posthouse_agent_claims", "expires_at", 0, step)
	})
	return n, err
}
