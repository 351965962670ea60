package limit

import (
	"context"
	"fmt"
	"time"
)

// Rows keeps one small text for each key, in a table that all processes share.
type Rows interface {
	// UpdateLimits locks the rows of the keys, calls change with the database's clock and
	// their texts (empty for a key without a row), writes what change returns, and
	// commits. A nil text leaves its row as it is; an error of change rolls back and is
	// returned. Change may be called again if the transaction is.
	UpdateLimits(ctx context.Context, keys []string, change func(now time.Time, states [][]byte) ([][]byte, error)) error
}

// Looker is what Rows may be besides: it reads the texts of keys without a lock, empty
// for a key without a row, and then the database's clock. Peek uses it where it is there.
type Looker interface {
	LookLimits(ctx context.Context, keys []string) (states [][]byte, now time.Time, err error)
}

// SQL keeps the states in rows of a database: the limiter of several processes
// without Redis, one short transaction a call. A call that is granted nothing
// writes nothing. A row whose State is Idle may be deleted at any time.
//
// Where the answer of a commit is lost, Take returns the error: its permits may
// be taken and are then lost, but never granted twice.
type SQL struct{ Rows Rows }

// Take is as Limiter says.
func (q SQL) Take(ctx context.Context, bounds []Bound, want int) (g Grant, err error) {
	if bounds, err = kept(bounds); err != nil {
		return Grant{}, err
	}
	if len(bounds) == 0 {
		return Grant{N: max(0, want)}, nil
	}
	err = q.update(ctx, "take", keysOf(bounds), func(now time.Time, states []*State) { g = take(now, bounds, states, want) })
	if err != nil {
		return Grant{}, err
	}
	return g, nil
}

// Refund is as Limiter says.
func (q SQL) Refund(ctx context.Context, g Grant, n int) error {
	n, some := g.back(n)
	if !some {
		return nil
	}
	return q.update(ctx, "refund", g.keys(), func(_ time.Time, states []*State) {
		for i, s := range states {
			s.Refund(g.Stamps[i].At, n)
		}
	})
}

// Peek is as Limiter says.
func (q SQL) Peek(ctx context.Context, bounds []Bound) (g Grant, err error) {
	if bounds, err = kept(bounds); err != nil {
		return Grant{}, err
	}
	if len(bounds) == 0 {
		return Grant{N: maxMax}, nil
	}
	keys, look := keysOf(bounds), func(now time.Time, states []*State) { g = peek(now, bounds, states) }
	looker, ok := q.Rows.(Looker)
	if !ok {
		err = q.update(ctx, "peek", keys, look)
		return g, err
	}
	texts, now, err := looker.LookLimits(ctx, keys)
	if err == nil {
		_, err = changed(now, keys, texts, look)
	}
	return g, failed("peek", keys, err)
}

// update reads the states of the keys, lets change look at them, and writes back those that it changed. The others stay as they
// are to the byte: a row may be another process's lease, which knows it by its text, and what that had reserved would be lost.
func (q SQL) update(ctx context.Context, verb string, keys []string, change func(now time.Time, states []*State)) error {
	return failed(verb, keys, q.Rows.UpdateLimits(ctx, keys, func(now time.Time, texts [][]byte) ([][]byte, error) {
		return changed(now, keys, texts, change)
	}))
}

// changed are the texts after a change, nil where there was none.
func changed(now time.Time, keys []string, texts [][]byte, change func(now time.Time, states []*State)) ([][]byte, error) {
	states := make([]*State, len(texts))
	for i, text := range texts {
		states[i] = new(State)
		if err := states[i].UnmarshalText(text); err != nil {
			return nil, fmt.Errorf("the row of %q: %w", keys[i], err)
		}
	}
	change(now, states)
	after := make([][]byte, len(texts))
	for i, s := range states {
		if !s.touched {
			continue
		}
		text, err := s.MarshalText()
		if err != nil {
			return nil, err
		}
		after[i] = text
	}
	return after, nil
}

func failed(verb string, keys []string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s permits of %s: %w", verb, list(keys), err)
}
