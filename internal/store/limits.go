package store

import (
	"context"
	"time"
)

// UpdateLimit locks a key's row, calls change with the database's clock and the row's text
// (empty for a new key), and writes what it returns; a nil text leaves the row as it is. An
// error of change undoes all and is returned. Change is called again when the transaction is
// repeated.
func (s *Store) UpdateLimit(ctx context.Context, key string, change func(now time.Time, state []byte) ([]byte, error)) error {
	return s.change(ctx, time.Now(), "update a limit", func(t *tx) error {
		state, err := t.lockLimit(key)
		if err != nil {
			return err
		}
		at, err := t.now() // after the lock: times of one row never go back
		if err != nil {
			return err
		}
		after, err := change(timeOf(at), []byte(state))
		if err != nil || after == nil {
			return err
		}
		_, err = t.exec("UPDATE limits SET state = ?, updated_at = ? WHERE name = ?", string(after), at, key)
		return err
	})
}

// lockLimit locks a key's row. Where there is none it is made by an insert that waits for
// others who do the same, and gives way to them.
func (t *tx) lockLimit(key string) (string, error) {
	query := "SELECT state FROM limits WHERE name = ?" + t.store.dialect.lock
	state, found, err := first(t.query, word, query, key)
	if err != nil || found {
		return state, err
	}
	if _, err := t.exec("INSERT INTO limits (name, state, updated_at) VALUES (?, '', 0)"+
		t.store.dialect.upsert("limits", []string{"name"}, []string{"name"}, false), key); err != nil {
		return "", err
	}
	state, _, err = first(t.query, word, query, key)
	return state, err
}

// LookLimit is a key's text without a lock, empty where there is none, and the time on the
// clock that it was written by.
func (s *Store) LookLimit(ctx context.Context, key string) (state []byte, now time.Time, err error) {
	text, _, err := first(s.reads(ctx), word, "SELECT state FROM limits WHERE name = ?", key)
	if err != nil {
		return nil, now, s.toError(err, "look at a limit")
	}
	now, err = s.Now(ctx)
	return []byte(text), now, err
}

// instant is the present within a statement, by the clock that counts, and its argument if it has one.
func (s *Store) instant(now time.Time) (text string, args []any) {
	if !s.SharedClock() {
		return "?", []any{micros(now)}
	}
	return "(" + s.dialect.instant + ")", nil
}

// Now is the time on the clock that leases and limits go by.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	if !s.SharedClock() {
		return time.Now().UTC(), nil
	}
	us, _, err := first(s.reads(ctx), number, s.dialect.clock)
	return timeOf(us), s.toError(err, "read the database's clock")
}
