package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// Subscriptions are those who are told of what happens.
type Subscriptions struct{ db *sqldb.DB }

var (
	subscriptionsTable = sqldb.NewTable("posthouse_subscriptions", "id", "tenant", "doc", "secrets", "state", "reason?", "pos#", "place#", "failures#", "next_at#",
		"last_error", "told_at#", "told#", "dead#", "lease_owner?", "lease_until#", "version#", "created_at#", "updated_at#")
	deadLettersTable = sqldb.NewTable("posthouse_dead_letters", "subscription", "pos#", "place#", "tenant", "at#", "tries#", "error")
)

// AddSubscription stores a new one. From then on all processes write the feed.
func (s Subscriptions) AddSubscription(ctx context.Context, now time.Time, sub work.Subscription) (work.Subscription, error) {
	doc, _ := json.Marshal(sub.Target) // texts and a number: cannot fail
	err := s.db.Change(ctx, now, "store a subscription", func(t *sqldb.Tx) error {
		at, err := t.Now()
		if err != nil {
			return err
		}
		sub.Version, sub.CreatedAt, sub.UpdatedAt = 1, sqldb.TimeOf(at), sqldb.TimeOf(at)
		return t.Insert(subscriptionsTable, [][]any{{
			sub.ID, sub.Tenant, string(doc), sub.Secrets, sub.State, sub.Reason, sub.At.Row, int64(sub.At.Index), int64(0), int64(0),
			"", int64(0), int64(0), int64(0), "", int64(0), int64(1), at, at,
		}})
	})
	return sub, err
}

// Subscriptions lists those of a tenant, or of all for an empty one.
func (s Subscriptions) Subscriptions(ctx context.Context, tenant string) ([]work.Subscription, error) {
	list, err := sqldb.All(s.db.Reads(ctx), readSubscription, "SELECT "+subscriptionsTable.List+" FROM posthouse_subscriptions WHERE ? = '' OR tenant = ? ORDER BY id", tenant, tenant)
	return list, s.db.Coded(err, "list the subscriptions")
}

func readSubscription(scan sqldb.Scanner) (work.Subscription, error) {
	var s work.Subscription
	var doc string
	var next, told, lease, created, updated int64
	err := scan(&s.ID, &s.Tenant, &doc, &s.Secrets, &s.State, &s.Reason, &s.At.Row, &s.At.Index, &s.Failures, &next,
		&s.LastError, &told, &s.Told, &s.Dead, &s.LeaseOwner, &lease, &s.Version, &created, &updated)
	if err != nil {
		return s, err
	}
	s.NextAt, s.ToldAt, s.LeaseUntil, s.CreatedAt, s.UpdatedAt = sqldb.TimeOf(next), sqldb.TimeOf(told), sqldb.TimeOf(lease), sqldb.TimeOf(created), sqldb.TimeOf(updated)
	if err := json.Unmarshal([]byte(doc), &s.Target); err != nil {
		return s, fmt.Errorf("read subscription %s: %w", s.ID, err)
	}
	return s, nil
}

// EditSubscription changes one while nobody else does. Whoever serves it finds that its lease is over, and begins anew with what
// was changed.
func (s Subscriptions) EditSubscription(ctx context.Context, now time.Time, tenant, id string, edit func(*work.Subscription) error) (sub work.Subscription, err error) {
	err = s.db.Change(ctx, now, "change a subscription", func(t *sqldb.Tx) error {
		found, there, err := sqldb.First(t.Query, readSubscription, "SELECT "+subscriptionsTable.List+" FROM posthouse_subscriptions WHERE id = ? AND tenant = ?"+t.DB.Dialect.Lock, id, tenant)
		if err == nil && !there {
			err = noSubscription(id)
		}
		if err != nil {
			return err
		}
		if err := edit(&found); err != nil {
			return err
		}
		at, err := t.Now()
		if err != nil {
			return err
		}
		doc, _ := json.Marshal(found.Target) // as above
		found.Version, found.UpdatedAt, found.LeaseOwner, found.LeaseUntil = found.Version+1, sqldb.TimeOf(at), "", time.Time{}
		sub = found
		_, err = t.Exec("UPDATE posthouse_subscriptions SET doc = ?, secrets = ?, state = ?, reason = ?, pos = ?, place = ?, failures = ?, next_at = ?, lease_owner = '', lease_until = 0, version = ?, updated_at = ? WHERE id = ?",
			string(doc), found.Secrets, found.State, found.Reason, found.At.Row, found.At.Index, found.Failures, sqldb.Micros(found.NextAt), found.Version, at, id)
		return err
	})
	return sub, err
}

// SealedSecrets lists the signing keys of all subscriptions.
func (s Subscriptions) SealedSecrets(ctx context.Context) ([]work.SealedSecrets, error) {
	list, err := sqldb.All(s.db.Reads(ctx), func(scan sqldb.Scanner) (v work.SealedSecrets, err error) {
		return v, scan(&v.Subscription, &v.Secrets)
	}, "SELECT id, secrets FROM posthouse_subscriptions WHERE secrets <> '' ORDER BY id")
	return list, s.db.Coded(err, "look for the signing keys of subscriptions")
}

// ResealSecrets replaces the signing keys of a subscription by the same sealed anew, unless they were replaced meanwhile. Its version stays,
// since nothing has changed that whoever serves it would have to know.
func (s Subscriptions) ResealSecrets(ctx context.Context, now time.Time, old work.SealedSecrets, secrets string) error {
	return s.db.Change(ctx, now, "seal signing keys anew", func(t *sqldb.Tx) error {
		_, err := t.Exec("UPDATE posthouse_subscriptions SET secrets = ? WHERE id = ? AND secrets = ?", secrets, old.Subscription, old.Secrets)
		return err
	})
}

func noSubscription(id string) error {
	return posthouse.Errorf(posthouse.CodeNotFound, "there is no subscription %.80q", id)
}

// DeleteSubscription removes one with its dead letters.
func (s Subscriptions) DeleteSubscription(ctx context.Context, now time.Time, tenant, id string) error {
	return s.db.Change(ctx, now, "delete a subscription", func(t *sqldb.Tx) error {
		n, err := t.Exec("DELETE FROM posthouse_subscriptions WHERE id = ? AND tenant = ?", id, tenant)
		if err == nil && n == 0 {
			err = noSubscription(id)
		}
		if err == nil {
			_, err = t.Exec("DELETE FROM posthouse_dead_letters WHERE subscription = ?", id)
		}
		return err
	})
}

// TakeSubscription leases one, as it was read, to one process at a time.
func (s Subscriptions) TakeSubscription(ctx context.Context, now time.Time, sub *work.Subscription, owner string, lease time.Duration) (taken bool, err error) {
	err = s.db.Change(ctx, now, "serve a subscription", func(t *sqldb.Tx) error {
		at, err := t.Now()
		if err != nil {
			return err
		}
		n, err := t.Exec("UPDATE posthouse_subscriptions SET lease_owner = ?, lease_until = ? WHERE id = ? AND version = ? AND state = 'active' AND lease_until < ? AND pos = ? AND place = ?",
			owner, at+lease.Microseconds(), sub.ID, sub.Version, at, sub.At.Row, sub.At.Index)
		taken = n > 0
		return err
	})
	return taken, err
}

// NoteSubscription writes how far one has come, with what was given up, and renews the lease; none ends it. It is not held any more
// where somebody has changed it, or where the lease was over and another has it.
func (s Subscriptions) NoteSubscription(ctx context.Context, now time.Time, sub *work.Subscription, owner string, lease time.Duration, dead []work.DeadLetter) (held bool, err error) {
	err = s.db.Change(ctx, now, "note how far a subscription has come", func(t *sqldb.Tx) error {
		at, err := t.Now()
		if err != nil {
			return err
		}
		until := at + lease.Microseconds()
		if lease == 0 {
			until = 0
		}
		n, err := t.Exec("UPDATE posthouse_subscriptions SET pos = ?, place = ?, failures = ?, next_at = ?, last_error = ?, told_at = ?, told = ?, dead = ?, lease_until = ? WHERE id = ? AND version = ? AND lease_owner = ?",
			sub.At.Row, sub.At.Index, sub.Failures, sqldb.Micros(sub.NextAt), sub.LastError, sqldb.Micros(sub.ToldAt), sub.Told, sub.Dead, until, sub.ID, sub.Version, owner)
		if held = n > 0; err != nil || !held || len(dead) == 0 {
			return err
		}
		rows := make([][]any, len(dead))
		for i, d := range dead {
			rows[i] = []any{sub.ID, d.At.Row, int64(d.At.Index), sub.Tenant, at, int64(d.Tries), d.Error}
		}
		return t.Put(deadLettersTable, 3, rows)
	})
	return held, err
}

// DeadLetters lists what a subscriber did not take, the newest first.
func (s Subscriptions) DeadLetters(ctx context.Context, tenant, id string, max int) ([]work.DeadLetter, error) {
	list, err := sqldb.All(s.db.Reads(ctx), func(scan sqldb.Scanner) (d work.DeadLetter, err error) {
		var at int64
		err = scan(&d.Subscription, &d.At.Row, &d.At.Index, &d.Tenant, &at, &d.Tries, &d.Error)
		d.GivenUpAt = sqldb.TimeOf(at)
		return d, err
	}, "SELECT "+deadLettersTable.List+" FROM posthouse_dead_letters WHERE subscription = ? AND tenant = ? ORDER BY pos DESC, place DESC LIMIT ?", id, tenant, max)
	return list, s.db.Coded(err, "list dead letters")
}
