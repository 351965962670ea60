package registry

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// Limits keeps the state of limits that processes share.
type Limits struct{ db *sqldb.DB }

var limitTable = sqldb.NewTable("posthouse_limits", "name", "state", "updated_at#")

// UpdateLimits locks the rows of the keys, which are named once each, calls change with the
// database's clock and the rows' texts (empty for a new key), and writes what it returns; a nil
// text leaves its row as it is. An error of change undoes all and is returned. Change is called
// again when the transaction is repeated.
func (s Limits) UpdateLimits(ctx context.Context, keys []string, change func(now time.Time, states [][]byte) ([][]byte, error)) error {
	return s.db.Change(ctx, time.Now(), "update limits", func(t *sqldb.Tx) error {
		states, err := lockLimits(t, keys)
		if err != nil {
			return err
		}
		at, err := t.Now() // after the locks: times of one row never go back
		if err != nil {
			return err
		}
		after, err := change(sqldb.TimeOf(at), states)
		if err != nil {
			return err
		}
		var rows [][]any
		for i, state := range after {
			if state != nil {
				rows = append(rows, []any{keys[i], string(state), at})
			}
		}
		return t.Put(limitTable, 1, rows)
	})
}

// lockLimits locks the rows of keys, in one order for all, and returns their texts. A row that
// is missing is made by an insert that waits for others who do the same, and gives way to them.
func lockLimits(t *sqldb.Tx, keys []string) ([][]byte, error) {
	lock := " ORDER BY name" + t.DB.Dialect.Lock
	found, err := limitTexts(t.Query, keys, lock)
	if err != nil || len(found) == len(keys) {
		return inOrder(keys, found), err
	}
	missing := slices.DeleteFunc(slices.Sorted(slices.Values(keys)), func(key string) bool {
		_, there := found[key]
		return there
	})
	give := t.DB.Dialect.Upsert("posthouse_limits", []string{"name"}, []string{"name"}, false)
	for part := range sqldb.Parts(missing, sqldb.BulkStep) {
		names := make([]any, len(part))
		for i, key := range part {
			names[i] = key
		}
		rows := strings.TrimSuffix(strings.Repeat("(?, '', 0), ", len(part)), ", ")
		if _, err := t.Exec("INSERT INTO posthouse_limits (name, state, updated_at) VALUES "+rows+give, names...); err != nil {
			return nil, err
		}
	}
	found, err = limitTexts(t.Query, keys, lock)
	return inOrder(keys, found), err
}

// limitTexts are the texts of the keys that have a row.
func limitTexts(query sqldb.Lookup, keys []string, suffix string) (map[string]string, error) {
	args := make([]any, len(keys))
	for i, key := range keys {
		args[i] = key
	}
	found := make(map[string]string, len(keys))
	err := query("SELECT name, state FROM posthouse_limits WHERE name IN ("+sqldb.Marks(len(keys))+")"+suffix, args, func(scan sqldb.Scanner) error {
		var name, state string
		err := scan(&name, &state)
		found[name] = state
		return err
	})
	return found, err
}

// inOrder are the texts in the order of the keys, empty where there is none.
func inOrder(keys []string, found map[string]string) [][]byte {
	states := make([][]byte, len(keys))
	for i, key := range keys {
		states[i] = []byte(found[key])
	}
	return states
}

// LookLimits are the texts of keys without a lock, empty where there is none, and the time on
// the clock that they were written by.
func (s Limits) LookLimits(ctx context.Context, keys []string) (states [][]byte, now time.Time, err error) {
	found, err := limitTexts(s.db.Reads(ctx), keys, "")
	if err != nil {
		return nil, now, s.db.Coded(err, "look at limits")
	}
	now, err = s.db.Now(ctx)
	return inOrder(keys, found), now, err
}
