package registry

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// Tokens are those that providers have issued.
type Tokens struct{ db *sqldb.DB }

// The bounds of a refresh. A holder that died keeps the others waiting for the rest of its lease, if
// there is no old token that still lasts.
const (
	tokenLease = 30 * time.Second
	tokenFetch = tokenLease - 5*time.Second // so that nobody fetches beyond its lease
	tokenPoll  = 100 * time.Millisecond
	tokenEarly = 5 * time.Minute // before its end a token is replaced
	tokenStays = 30 * 24 * time.Hour
)

// sharedToken is a row of the table tokens; times are in microseconds.
type sharedToken struct {
	value                     string
	expires, updated, heldFor int64
}

// TokenFetch gets a new token from its provider and says how long it lasts.
type TokenFetch = func(ctx context.Context) (value string, lasts time.Duration, err error)

// Token answers the token of a name that all processes share, and how long it lasts yet. A kept one is
// taken if fits says so. Else one caller at a time, over all processes, fetches another; the others wait
// for it, or use the old one while it lasts and fits. Values are texts of the caller's, sealed. What goes
// wrong with a fetch is answered to its caller and kept nowhere.
func (s Tokens) Token(ctx context.Context, name string, fits func(value string) bool, fetch TokenFetch) (value string, lasts time.Duration, err error) {
	holder := posthouse.NewID()
	for {
		value, lasts, mine, err := s.lookForToken(ctx, name, holder, fits)
		switch {
		case err != nil || value != "":
			return value, lasts, err
		case mine:
			return s.fetchToken(ctx, name, holder, fetch)
		}
		pause := time.NewTimer(tokenPoll/2 + rand.N(tokenPoll))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return "", 0, ctx.Err()
		}
	}
}

// lookForToken finds a token that will do, or takes the lease to fetch one. With neither, another has it.
func (s Tokens) lookForToken(ctx context.Context, name, holder string, fits func(string) bool) (value string, lasts time.Duration, mine bool, err error) {
	kept, now, err := s.keptToken(ctx, name)
	if err != nil {
		return "", 0, false, err
	}
	if value, lasts = kept.use(now, fits); value != "" || kept.heldFor > now {
		return value, lasts, false, nil
	}
	err = s.db.Change(ctx, time.Now(), "refresh a token", func(t *sqldb.Tx) error {
		kept, err := lockToken(t, name)
		if err != nil {
			return err
		}
		now, err := t.Now() // after the lock
		if err != nil {
			return err
		}
		value, lasts = kept.use(now, fits)
		if mine = value == "" && kept.heldFor <= now; !mine {
			return nil
		}
		_, err = t.Exec("UPDATE posthouse_tokens SET holder = ?, held_until = ? WHERE name = ?", holder, now+tokenLease.Microseconds(), name)
		return err
	})
	return value, lasts, mine, err
}

// use is the token's value if it will do: it fits, and lasts beyond the time to replace it, or somebody
// is about to do that.
func (k sharedToken) use(now int64, fits func(string) bool) (string, time.Duration) {
	left := k.expires - now
	early := min(tokenEarly.Microseconds(), (k.expires-k.updated)/5)
	if k.value == "" || left <= 0 || left <= early && k.heldFor <= now || !fits(k.value) {
		return "", 0
	}
	return k.value, time.Duration(left) * time.Microsecond
}

const sharedRow = "SELECT value, expires_at, updated_at, held_until FROM posthouse_tokens WHERE name = ?"

func readToken(scan sqldb.Scanner) (k sharedToken, err error) {
	return k, scan(&k.value, &k.expires, &k.updated, &k.heldFor)
}

func (s Tokens) keptToken(ctx context.Context, name string) (k sharedToken, now int64, err error) {
	k, found, err := sqldb.First(s.db.Reads(ctx), readToken, sharedRow, name)
	if err != nil || !found {
		return k, 0, s.db.Coded(err, "look for a token")
	}
	at, err := s.db.Now(ctx)
	return k, sqldb.Micros(at), err
}

// lockToken locks a token's row. Where there is none it is made by an insert that waits for others who
// do the same, and gives way to them.
func lockToken(t *sqldb.Tx, name string) (sharedToken, error) {
	query := sharedRow + t.DB.Dialect.Lock
	k, found, err := sqldb.First(t.Query, readToken, query, name)
	if err != nil || found {
		return k, err
	}
	if _, err := t.Exec("INSERT INTO posthouse_tokens (name, updated_at) VALUES (?, 0)"+
		t.DB.Dialect.Upsert("posthouse_tokens", []string{"name"}, []string{"name"}, false), name); err != nil {
		return k, err
	}
	k, _, err = sqldb.First(t.Query, readToken, query, name)
	return k, err
}

// fetchToken fetches as the holder of the lease and keeps what it gets. A token that cannot be kept is
// good all the same.
func (s Tokens) fetchToken(ctx context.Context, name, holder string, fetch TokenFetch) (value string, lasts time.Duration, err error) {
	kept := false
	defer func() {
		if !kept {
			s.releaseToken(ctx, name, holder)
		}
	}()
	bounded, cancel := context.WithTimeout(ctx, tokenFetch)
	defer cancel()
	if value, lasts, err = fetch(bounded); err != nil {
		return "", 0, err
	}
	if err := s.keepToken(ctx, name, holder, value, lasts); err != nil {
		s.db.Log.Warn("a new token could not be stored: other processes will fetch one of their own", "token", name, "error", err)
		return value, lasts, nil
	}
	kept = true
	return value, lasts, nil
}

// keepToken stores a fetched token, unless the lease has gone to another meanwhile. Tokens of long ago,
// whose channels are gone, are forgotten then.
func (s Tokens) keepToken(ctx context.Context, name, holder, value string, lasts time.Duration) error {
	return s.db.Change(context.WithoutCancel(ctx), time.Now(), "keep a token", func(t *sqldb.Tx) error {
		now, err := t.Now()
		if err != nil {
			return err
		}
		if _, err := t.Exec("UPDATE posthouse_tokens SET value = ?, generation = generation + 1, expires_at = ?, updated_at = ?, holder = '', held_until = 0 WHERE name = ? AND holder = ?",
			value, now+lasts.Microseconds(), now, name, holder); err != nil {
			return err
		}
		long := now - tokenStays.Microseconds()
		_, err = t.Exec("DELETE FROM posthouse_tokens WHERE expires_at < ? AND held_until < ?", long, long)
		return err
	})
}

// releaseToken lets others fetch at once after a fetch has failed.
func (s Tokens) releaseToken(ctx context.Context, name, holder string) {
	err := s.db.Change(context.WithoutCancel(ctx), time.Now(), "give a token's lease back", func(t *sqldb.Tx) error {
		_, err := t.Exec("UPDATE posthouse_tokens SET holder = '', held_until = 0 WHERE name = ? AND holder = ?", name, holder)
		return err
	})
	if err != nil {
		s.db.Log.Warn("a token's lease could not be given back: it ends by itself", "token", name, "within", tokenLease, "error", err)
	}
}
