package store

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// Two things happen once: a request with an Idempotency-Key, a message with a dedup key.
// The first three columns are the key, the fourth says whose it is.
var (
	idempotencyTable = sqldb.NewTable("posthouse_idempotency", "tenant", "endpoint", "idem_key", "owner", "body_hash", "answer", "created_at#", "expires_at#")
	dedupTable       = sqldb.NewTable("posthouse_dedup", "tenant", "channel", "dedup_key", "message_id", "created_at#", "expires_at#")
)

// onceKey is what is contended for; scope is the endpoint, or the channel.
type onceKey struct{ tenant, scope, key string }

// holder is who has a key. Only an Idempotency-Key has a hash and an answer.
type holder struct{ owner, hash, answer string }

// contend takes each row's key for it, unless a row that has not expired has the key, and
// returns who has each now. The unique index makes a transaction that wants another's key
// wait here for that one's commit; all go through their keys in one order, so no two wait for
// each other.
func (t accepting) contend(tab *sqldb.Table, rows [][]any) (map[onceKey]holder, error) {
	holders := map[onceKey]holder{}
	if len(rows) == 0 {
		return holders, nil
	}
	slices.SortFunc(rows, func(a, b []any) int {
		return slices.CompareFunc(a[:3], b[:3], func(x, y any) int { return strings.Compare(x.(string), y.(string)) })
	})
	keys := tab.Columns[:3]
	if err := t.Write(tab, rows, t.DB.Dialect.Upsert(tab.Name, keys, tab.Columns[3:], true)); err != nil {
		return nil, err
	}
	columns := strings.Join(keys, ", ") + ", owner, body_hash, answer"
	if tab == dedupTable {
		columns = strings.Join(keys, ", ") + ", message_id, '', ''"
	}
	err := t.ByKeys(tab, columns, rows, func(scan sqldb.Scanner) error {
		var k onceKey
		var h holder
		err := scan(&k.tenant, &k.scope, &k.key, &h.owner, &h.hash, &h.answer)
		holders[k] = h
		return err
	})
	return holders, err
}

// resolveKeys takes the Idempotency-Keys for the submissions that are first, and gives the
// others the first one's answer.
func (t accepting) resolveKeys(now int64, subs []*work.Submission, outcomes []work.Outcome) error {
	var rows [][]any
	seen := map[onceKey]bool{}
	for i, sub := range subs {
		if sub.Key == "" {
			continue
		}
		k := onceKey{sub.Tenant, sub.Endpoint, sub.Key}
		if seen[k] {
			return fmt.Errorf("the key %q stands twice in one transaction", sub.Key)
		}
		seen[k] = true
		answer := ""
		if !hasDedup(sub) { // else it is not known yet
			answer = answerOf(&outcomes[i])
		}
		rows = append(rows, keyRow(now, sub, answer))
	}
	holders, err := t.contend(idempotencyTable, rows)
	if err != nil {
		return err
	}
	for i, sub := range subs {
		if h, ok := holders[onceKey{sub.Tenant, sub.Endpoint, sub.Key}]; ok && sub.Key != "" {
			if err := replay(&outcomes[i], sub, h); err != nil {
				return err
			}
		}
	}
	return nil
}

func hasDedup(sub *work.Submission) bool {
	return slices.ContainsFunc(sub.Entries, func(e work.Entry) bool { return e.Message.DedupKey != "" }) ||
		slices.ContainsFunc(sub.Routed, func(r work.Routed) bool { return r.DedupKey != "" })
}

func answerOf(o *work.Outcome) string {
	b, _ := json.Marshal(o.Accepted) // texts and times: cannot fail
	return string(b)
}

func keyRow(now int64, sub *work.Submission, answer string) []any {
	return []any{sub.Tenant, sub.Endpoint, sub.Key, sub.Name(), sub.Hash, answer, now, now + sub.KeyTTL.Microseconds()}
}

// replay fills in the outcome of a submission whose key another one has.
func replay(o *work.Outcome, sub *work.Submission, h holder) error {
	switch {
	case h.owner == sub.Name():
		return nil // ours: go on
	case h.hash != sub.Hash:
		o.Err = posthouse.Errorf(posthouse.CodeKeyReused, "the Idempotency-Key was used for another request: use a new key for a new request")
		return nil
	}
	o.Replayed, o.Accepted = true, nil
	if err := json.Unmarshal([]byte(h.answer), &o.Accepted); err != nil {
		return fmt.Errorf("read the kept answer of an idempotency key: %w", err)
	}
	return nil
}

// keepAnswers stores what the first callers of keys are told where that was not known when the
// key was taken.
func (t accepting) keepAnswers(now int64, subs []*work.Submission, outcomes []work.Outcome) error {
	var rows [][]any
	for i, sub := range subs {
		if sub.Key != "" && outcomes[i].Err == nil && !outcomes[i].Replayed && hasDedup(sub) {
			rows = append(rows, keyRow(now, sub, answerOf(&outcomes[i])))
		}
	}
	return t.Put(idempotencyTable, 3, rows)
}

// heldLong is how long a dedup key is held where a plan gives it back.
const heldLong = 10 * 366 * 24 * time.Hour

// resolveDedup takes the dedup keys for the messages that are first; the others answer
// duplicate_of.
func (t accepting) resolveDedup(now int64, subs []*work.Submission, outcomes []work.Outcome) error {
	if err := t.resolveShared(now, subs, outcomes); err != nil {
		return err
	}
	var rows [][]any
	seen := map[onceKey]bool{}
	eachDedup(subs, outcomes, func(m deduped) {
		if !seen[m.key] {
			seen[m.key] = true
			rows = append(rows, []any{m.key.tenant, m.key.scope, m.key.key, m.id, now, now + m.window.Microseconds()})
		}
	})
	holders, err := t.contend(dedupTable, rows)
	if err != nil {
		return err
	}
	eachDedup(subs, outcomes, func(m deduped) {
		if owner := holders[m.key].owner; owner != m.id {
			*m.accepted = duplicateOf(owner, now)
		}
	})
	return t.resolveShared(now, subs, outcomes) // a contender may have stored it while this one waited for the key
}

func duplicateOf(message string, now int64) posthouse.Accepted {
	return posthouse.Accepted{ID: message, DuplicateOf: message, CreatedAt: sqldb.TimeOf(now)}
}

// resolveShared lets the messages that are shared and stored already, or stand here a second time, answer
// duplicate_of themselves.
func (t accepting) resolveShared(now int64, subs []*work.Submission, outcomes []work.Outcome) error {
	var ids []string
	eachDedup(subs, outcomes, func(m deduped) {
		if m.shared {
			ids = append(ids, m.id)
		}
	})
	if len(ids) == 0 {
		return nil
	}
	clause, args := t.Among("id", ids)
	stored, err := sqldb.All(t.Query, sqldb.Word, "SELECT id FROM posthouse_messages WHERE "+clause, args...)
	there := map[string]bool{}
	for _, id := range stored {
		there[id] = true
	}
	eachDedup(subs, outcomes, func(m deduped) {
		if m.shared && there[m.id] {
			*m.accepted = duplicateOf(m.id, now)
		}
		there[m.id] = true
	})
	return err
}

// deduped is a message with a dedup key that is still to be stored.
type deduped struct {
	key      onceKey
	id       string
	window   time.Duration
	shared   bool
	accepted *posthouse.Accepted // what its sender is told
}

// eachDedup visits the messages with a dedup key that are still to be stored.
func eachDedup(subs []*work.Submission, outcomes []work.Outcome, visit func(m deduped)) {
	for i, sub := range subs {
		if outcomes[i].Err != nil || outcomes[i].Replayed {
			continue
		}
		told := outcomes[i].Accepted
		for j := range sub.Entries {
			e := &sub.Entries[j]
			if m := &e.Message; m.DedupKey != "" && told[j].DuplicateOf == "" {
				visit(deduped{onceKey{sub.Tenant, m.Channel, m.DedupKey}, m.ID, e.DedupWindow, e.Shared, &told[j]})
			}
		}
		for j := range sub.Routed {
			r, a := &sub.Routed[j], &told[len(sub.Entries)+j]
			if r.DedupKey != "" && a.DuplicateOf == "" {
				visit(deduped{onceKey{sub.Tenant, r.DedupScope, r.DedupKey}, r.ID, max(r.DedupWindow, heldLong), false, a})
			}
		}
	}
}
