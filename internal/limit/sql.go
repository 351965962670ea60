package limit

import (
	"context"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
)

// Rows keeps one small text for each key, in a table that all processes share.
type Rows interface {
	// UpdateLimit locks the key's row, calls change with the database's clock and
	// the row's text (empty for a key without a row), writes what change returns,
	// and commits. A nil text leaves the row as it is; an error of change rolls
	// back and is returned. Change may be called again if the transaction is.
	UpdateLimit(ctx context.Context, key string, change func(now time.Time, state []byte) ([]byte, error)) error
}

// Looker is what Rows may be besides: it reads a key's text without a lock, empty
// for a key without a row, and then the database's clock. Peek uses it where it is there.
type Looker interface {
	LookLimit(ctx context.Context, key string) (state []byte, now time.Time, err error)
}

// SQL keeps the states in rows of a database: the limiter of several processes
// without Redis, one short transaction a call. A call that is granted nothing
// writes nothing. A row whose State is Idle may be deleted at any time.
//
// Where the answer of a commit is lost, Take returns the error: its permits may
// be taken and are then lost, but never granted twice.
type SQL struct{ Rows Rows }

// Take is as Limiter says.
func (q SQL) Take(ctx context.Context, key string, windows []posthouse.Limit, want int) (g Grant, err error) {
	if err := check(key, windows); err != nil {
		return Grant{}, err
	}
	if len(windows) == 0 {
		return Grant{N: max(0, want)}, nil
	}
	err = q.update(ctx, "take", key, func(now time.Time, s *State) bool {
		g = s.Take(now, windows, want)
		return g.N > 0
	})
	if err != nil {
		return Grant{}, err
	}
	return g, nil
}

// Refund is as Limiter says.
func (q SQL) Refund(ctx context.Context, key string, g Grant, n int) error {
	if n = min(n, g.N); n <= 0 || g.At.IsZero() {
		return nil
	}
	return q.update(ctx, "refund", key, func(_ time.Time, s *State) bool {
		s.Refund(g.At, n)
		return true
	})
}

// Peek is as Limiter says.
func (q SQL) Peek(ctx context.Context, key string, windows []posthouse.Limit) (g Grant, err error) {
	if err := check(key, windows); err != nil {
		return Grant{}, err
	}
	peek := func(now time.Time, s *State) bool {
		g = s.Peek(now, windows)
		return false
	}
	looker, ok := q.Rows.(Looker)
	if !ok {
		err = q.update(ctx, "peek", key, peek)
		return g, err
	}
	text, now, err := looker.LookLimit(ctx, key)
	if err == nil {
		_, err = changed(now, text, peek)
	}
	return g, failed("peek", key, err)
}

// update reads the key's state, lets change look at it, and writes it back where
// change says that it changed.
func (q SQL) update(ctx context.Context, verb, key string, change func(now time.Time, s *State) bool) error {
	return failed(verb, key, q.Rows.UpdateLimit(ctx, key, func(now time.Time, text []byte) ([]byte, error) {
		return changed(now, text, change)
	}))
}

// changed is the text after a change, nil where there was none.
func changed(now time.Time, text []byte, change func(now time.Time, s *State) bool) ([]byte, error) {
	var s State
	if err := s.UnmarshalText(text); err != nil {
		return nil, err
	}
	if !change(now, &s) {
		return nil, nil
	}
	return s.MarshalText()
}

func failed(verb, key string, err error) error {
	if err != nil {
		return fmt.Errorf("%s permits of %q: %w", verb, key, err)
	}
	return nil
}
