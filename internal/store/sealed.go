package store

import (
	"context"
	"fmt"
	"time"

	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

var sealedTable = sqldb.NewTable("posthouse_sealed", "message", "tenant", "body", "forget_at#")

func sealedValues(s *work.Sealed) []any {
	return []any{s.Message, s.Tenant, s.Body, sqldb.Micros(s.ForgetAt)}
}

// Sealed reads the sealed contents of messages, those that are not forgotten.
func (s Contents) Sealed(ctx context.Context, tenant string, messages []string) (map[string]string, error) {
	bodies := map[string]string{}
	for part := range sqldb.Parts(messages, sqldb.BulkStep) {
		ids := make([]string, len(part))
		for i, id := range part {
			ids[i] = layout.IDOnly(id)
		}
		clause, args := s.db.In("message", ids)
		err := s.db.Look(ctx, "SELECT message, body FROM posthouse_sealed WHERE "+clause+" AND tenant = ?", append(args, tenant), func(scan sqldb.Scanner) error {
			var message, body string
			err := scan(&message, &body)
			bodies[message] = body
			return err
		})
		if err != nil {
			return nil, s.db.Coded(err, "read sealed contents")
		}
	}
	return bodies, nil
}

// Languages are what users of a tenant read, as far as the directory says it, and what the tenant's people read in general.
func (s Contents) Languages(ctx context.Context, tenant string, users []string) (own map[string]string, general string, err error) {
	own = map[string]string{}
	for part := range sqldb.Parts(users, 500) {
		clause, args := s.db.In("id", part)
		err := s.db.Look(ctx, "SELECT id, language FROM posthouse_users WHERE "+clause+" AND tenant = ?", append(args, tenant), func(scan sqldb.Scanner) error {
			var id, language string
			err := scan(&id, &language)
			own[id] = language
			return err
		})
		if err != nil {
			return nil, "", s.db.Coded(err, "look up languages")
		}
	}
	general, _, err = sqldb.First(s.db.Reads(ctx), sqldb.Word, "SELECT language FROM posthouse_tenants WHERE name = ?", tenant)
	return own, general, s.db.Coded(err, "look up the tenant's language")
}

// mostForgotten bounds how many ids of claims go at once: agents make more of them in ten seconds than a few hundred.
const mostForgotten = 20_000

// Forget deletes what is kept for its own time, of all tenants: up to max sealed contents whose time has come, and
// returns how many; and ids of agents' claims that nobody can repeat any more. What is kept of deliveries and of
// logs has no say in it.
func (s Contents) Forget(ctx context.Context, now time.Time, max int) (int, error) {
	n, err := s.repeat(ctx, now, "forget sealed contents", max, func(t *tx, step int) (int, error) {
		return pruning{t}.pruneExpired("posthouse_sealed", "forget_at", 0, step)
	})
	if err != nil {
		return n, err
	}
	_, err = s.repeat(ctx, now, "forget claims", mostForgotten, func(t *tx, step int) (int, error) {
		return pruning{t}.pruneExpired("posthouse_agent_claims", "expires_at", 0, step)
	})
	return n, err
}

// sealedStart is as much of a sealed text as names its key: the form, an id of up to 32 characters and a colon.
const sealedStart = 48

// SealedStarts lists the first characters of all sealed contents, which name their keys.
func (s Contents) SealedStarts(ctx context.Context) ([]string, error) {
	list, err := sqldb.All(s.db.Reads(ctx), sqldb.Word, fmt.Sprintf("SELECT SUBSTR(body, 1, %d) FROM posthouse_sealed", sealedStart))
	return list, s.db.Coded(err, "look for the keys of sealed contents")
}

// SealedOtherwise lists sealed contents that do not begin with a text, those that follow a message's id.
func (s Contents) SealedOtherwise(ctx context.Context, start, after string, max int) ([]work.Sealed, error) {
	list, err := sqldb.All(s.db.Reads(ctx), func(scan sqldb.Scanner) (v work.Sealed, err error) { return v, scan(&v.Message, &v.Tenant, &v.Body) },
		fmt.Sprintf("SELECT message, tenant, body FROM posthouse_sealed WHERE message > ? AND SUBSTR(body, 1, %d) <> ? ORDER BY message LIMIT %d", len(start), max), after, start)
	return list, s.db.Coded(err, "look for contents sealed with an old key")
}

// Reseal replaces the body of a sealed content by the same sealed anew, unless it is gone or was replaced meanwhile.
func (s Contents) Reseal(ctx context.Context, now time.Time, old work.Sealed, body string) error {
	return s.change(ctx, now, "seal a content anew", func(t *tx) error {
		_, err := t.Exec("UPDATE posthouse_sealed SET body = ? WHERE message = ? AND body = ?", body, old.Message, old.Body)
		return err
	})
}
