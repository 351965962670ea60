package store

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// answerKept is how long the answer to an Idempotency-Key is kept that belongs to no single submission.
const answerKept = 7 * 24 * time.Hour

// Answer is what was kept for an Idempotency-Key; false says that nothing is. A key that stands for another
// body is an error of code key_reused.
func (s Answers) Answer(ctx context.Context, tenant, endpoint, key, hash string) ([]byte, bool, error) {
	type kept struct{ hash, answer string }
	k, found, err := sqldb.First(s.db.Reads(ctx), func(scan sqldb.Scanner) (k kept, err error) { return k, scan(&k.hash, &k.answer) },
		"SELECT body_hash, answer FROM posthouse_idempotency WHERE tenant = ? AND endpoint = ? AND idem_key = ? AND expires_at > ?",
		tenant, endpoint, key, sqldb.Micros(time.Now()))
	if err != nil || !found {
		return nil, false, s.db.Coded(err, "look up an idempotency key")
	}
	if k.hash != hash {
		return nil, false, posthouse.Errorf(posthouse.CodeKeyReused, "the Idempotency-Key was used for another request: use a new key for a new request")
	}
	return []byte(k.answer), true, s.confirm(ctx, tenant, endpoint, key)
}

// confirm makes sure that a key which was read is on the standbys too, where commits wait for them: what was committed on a primary
// that died or was cut off meanwhile is there to be read, and is lost with it. A lock of its row waits as each commit does.
func (s Answers) confirm(ctx context.Context, tenant, endpoint, key string) error {
	if !s.db.Dialect.AtOnce {
		return nil
	}
	return s.change(ctx, time.Now(), "confirm an idempotency key", func(t *tx) error {
		_, _, err := sqldb.First(t.Query, sqldb.Word, "SELECT owner FROM posthouse_idempotency WHERE tenant = ? AND endpoint = ? AND idem_key = ?"+t.DB.Dialect.Lock,
			tenant, endpoint, key)
		return err
	})
}

// KeepAnswer keeps what the first caller of an Idempotency-Key is told, and returns what is kept: that, or what
// somebody else with the key was told who was faster.
func (s Answers) KeepAnswer(ctx context.Context, tenant, endpoint, key, hash string, answer []byte) ([]byte, error) {
	me := posthouse.NewID()
	var held holder
	err := s.change(ctx, time.Now(), "keep an answer", func(t *tx) error {
		now, err := t.Now()
		if err != nil {
			return err
		}
		holders, err := accepting{t}.contend(idempotencyTable, [][]any{{tenant, endpoint, key, me, hash, string(answer), now, now + answerKept.Microseconds()}})
		held = holders[onceKey{tenant, endpoint, key}]
		return err
	})
	if err != nil {
		return nil, err
	}
	if held.hash != hash {
		return nil, posthouse.Errorf(posthouse.CodeKeyReused, "the Idempotency-Key was used for another request: use a new key for a new request")
	}
	return []byte(held.answer), nil
}

// ForgetAnswer lets an Idempotency-Key be used anew.
func (s Answers) ForgetAnswer(ctx context.Context, tenant, endpoint, key string) error {
	return s.change(ctx, time.Now(), "forget an answer", func(t *tx) error {
		_, err := t.Exec("DELETE FROM posthouse_idempotency WHERE tenant = ? AND endpoint = ? AND idem_key = ?", tenant, endpoint, key)
		return err
	})
}
