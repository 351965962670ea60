package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// Accept stores submissions in one transaction. A nil error means that every outcome without
// an Err is committed.
func (s *Store) Accept(ctx context.Context, now time.Time, subs []*work.Submission) ([]work.Outcome, error) {
	var outcomes []work.Outcome
	err := s.change(ctx, now, "accept", func(t *tx) (err error) {
		outcomes, err = t.accept(subs)
		return err
	})
	return outcomes, err
}

func (t *tx) accept(subs []*work.Submission) ([]work.Outcome, error) {
	now, err := t.now()
	if err != nil {
		return nil, err
	}
	outcomes := make([]work.Outcome, len(subs))
	if err := t.resolveKeys(now, subs, outcomes); err != nil {
		return nil, err
	}
	if err := t.resolveDedup(now, subs, outcomes); err != nil {
		return nil, err
	}
	var messages, queued, settled, events [][]any
	for i, sub := range subs {
		if outcomes[i].Err != nil || outcomes[i].Replayed {
			continue
		}
		for j := range sub.Entries {
			if outcomes[i].Accepted[j].DuplicateOf != "" {
				continue
			}
			entry := &sub.Entries[j]
			stamp(entry, now)
			outcomes[i].Accepted[j] = acceptedOf(entry)
			messages = append(messages, messageValues(entry))
			for k := range entry.Deliveries {
				d := &entry.Deliveries[k]
				event := acceptEvent(d)
				if !posthouse.Legal("", event.Type, d.State) {
					return nil, fmt.Errorf("a delivery can not begin as %s", d.State)
				}
				events = append(events, eventValues(&event))
				if d.State.Open() {
					queued = append(queued, deliveryValues(d))
				} else {
					settled = append(settled, deliveryValues(d))
				}
			}
		}
	}
	for _, w := range []struct {
		table *table
		rows  [][]any
	}{{messagesTable, messages}, {queueTable, queued}, {settledTable, settled}, {eventsTable, events}} {
		if err := t.insert(w.table, w.rows); err != nil {
			return nil, err
		}
	}
	return outcomes, t.keepAnswers(subs, outcomes)
}

// stamp gives an entry the time of the transaction that stores it.
func stamp(e *work.Entry, now int64) {
	at := timeOf(now)
	e.Message.CreatedAt = at
	for i := range e.Deliveries {
		d := &e.Deliveries[i]
		d.CreatedAt, d.UpdatedAt, d.Version = at, at, 1
		if d.State == posthouse.Pending && d.DueAt.Before(at) {
			d.DueAt = at
		}
	}
}

func acceptedOf(e *work.Entry) posthouse.Accepted {
	r := posthouse.Accepted{ID: e.Message.ID, CreatedAt: e.Message.CreatedAt}
	for i := range e.Deliveries {
		d := &e.Deliveries[i]
		r.Deliveries = append(r.Deliveries, posthouse.AcceptedDelivery{ID: d.ID, User: d.User, State: d.State, Reason: d.Reason})
	}
	return r
}

func acceptEvent(d *posthouse.Delivery) posthouse.Event {
	kind := posthouse.EventAccept
	if d.State == posthouse.Suppressed {
		kind = posthouse.EventSuppress
	}
	return posthouse.Event{
		Delivery: d.ID, Version: d.Version, Tenant: d.Tenant, At: d.CreatedAt, Type: kind, To: d.State,
		Reason: d.Reason, Due: d.DueAt, Epoch: d.Epoch, Account: d.Account,
	}
}

func messageValues(e *work.Entry) []any {
	m := &e.Message
	content, _ := json.Marshal(m.Content) // two strings: can not fail
	return []any{
		m.ID, m.Tenant, m.Channel, m.Kind, m.Ref, priorityNumber(m.Priority), string(content), m.Template, int64(m.Version),
		string(m.Payload), m.Source, m.DedupKey, string(m.OnUnknown), micros(m.NotBefore), micros(m.Deadline),
		int64(len(e.Deliveries)), m.Trace, micros(m.CreatedAt),
	}
}

// claimable is one key that submissions or entries compete for: an Idempotency-Key or a
// dedup key. The row's owner tells who won.
type claimable struct {
	scope, key string // scope is the endpoint, or the channel
	tenant     string
	owner      string
	hash       string
	created    int64
	expires    int64
}

var idempotencyTable = newTable("idempotency", "tenant", "endpoint", "idem_key", "body_hash", "owner", "answer", "created_at#", "expires_at#")

// resolveKeys takes the Idempotency-Keys for the submissions that are first, and gives the
// others the first one's answer. The unique index makes a concurrent second wait here for
// the first one's commit.
func (t *tx) resolveKeys(now int64, subs []*work.Submission, outcomes []work.Outcome) error {
	wanted := map[claimable]int{}
	var keys []claimable
	for i, sub := range subs {
		outcomes[i].Accepted = make([]posthouse.Accepted, len(sub.Entries))
		if sub.Key == "" {
			continue
		}
		id := claimable{tenant: sub.Tenant, scope: sub.Endpoint, key: sub.Key}
		if _, twice := wanted[id]; twice {
			return fmt.Errorf("the key %q stands twice in one transaction", sub.Key)
		}
		wanted[id] = i
		id.owner, id.hash, id.created, id.expires = sub.Entries[0].Message.ID, sub.Hash, now, now+sub.KeyTTL.Microseconds()
		keys = append(keys, id)
	}
	if len(keys) == 0 {
		return nil
	}
	sortClaims(keys)
	upsert := t.store.dialect.upsert("idempotency", []string{"tenant", "endpoint", "idem_key"},
		[]string{"body_hash", "owner", "answer", "created_at", "expires_at"}, true)
	for _, k := range keys {
		if _, err := t.exec("INSERT INTO idempotency ("+idempotencyTable.list+") VALUES ("+marks(8)+")"+upsert,
			k.tenant, k.scope, k.key, k.hash, k.owner, "", k.created, k.expires); err != nil {
			return err
		}
	}
	for _, k := range keys {
		i := wanted[claimable{tenant: k.tenant, scope: k.scope, key: k.key}]
		err := t.query("SELECT owner, body_hash, answer FROM idempotency WHERE tenant = ? AND endpoint = ? AND idem_key = ?",
			[]any{k.tenant, k.scope, k.key}, func(scan func(...any) error) error {
				var owner, hash, answer string
				if err := scan(&owner, &hash, &answer); err != nil {
					return err
				}
				return replay(&outcomes[i], k, owner, hash, answer)
			})
		if err != nil {
			return err
		}
	}
	return nil
}

// replay fills in the outcome of a submission whose key was taken before.
func replay(o *work.Outcome, k claimable, owner, hash, answer string) error {
	switch {
	case owner == k.owner:
		return nil // ours: go on
	case hash != k.hash:
		o.Err = posthouse.Errorf(posthouse.CodeKeyReused, "the Idempotency-Key was used for another request: use a new key for a new request")
		return nil
	}
	o.Replayed = true
	if err := json.Unmarshal([]byte(answer), &o.Accepted); err != nil {
		return fmt.Errorf("read the kept answer of an idempotency key: %w", err)
	}
	return nil
}

// keepAnswers stores what each key's first caller is told.
func (t *tx) keepAnswers(subs []*work.Submission, outcomes []work.Outcome) error {
	for i, sub := range subs {
		if sub.Key == "" || outcomes[i].Err != nil || outcomes[i].Replayed {
			continue
		}
		answer, err := json.Marshal(outcomes[i].Accepted)
		if err != nil {
			return err
		}
		if _, err := t.exec("UPDATE idempotency SET answer = ? WHERE tenant = ? AND endpoint = ? AND idem_key = ? AND owner = ?",
			string(answer), sub.Tenant, sub.Endpoint, sub.Key, sub.Entries[0].Message.ID); err != nil {
			return err
		}
	}
	return nil
}

// resolveDedup takes the dedup keys of the entries that are first; the others answer
// duplicate_of.
func (t *tx) resolveDedup(now int64, subs []*work.Submission, outcomes []work.Outcome) error {
	winners := map[claimable]string{} // → message
	var keys []claimable
	each := func(visit func(r *posthouse.Accepted, id claimable, e *work.Entry)) {
		for i, sub := range subs {
			if outcomes[i].Err != nil || outcomes[i].Replayed {
				continue
			}
			for j := range sub.Entries {
				e := &sub.Entries[j]
				if e.Message.DedupKey != "" {
					visit(&outcomes[i].Accepted[j], claimable{tenant: sub.Tenant, scope: e.Message.Channel, key: e.Message.DedupKey}, e)
				}
			}
		}
	}
	each(func(_ *posthouse.Accepted, id claimable, e *work.Entry) {
		if _, seen := winners[id]; seen {
			return
		}
		winners[id] = e.Message.ID
		id.owner, id.created, id.expires = e.Message.ID, now, now+e.DedupWindow.Microseconds()
		keys = append(keys, id)
	})
	if len(keys) == 0 {
		return nil
	}
	sortClaims(keys)
	upsert := t.store.dialect.upsert("dedup", []string{"tenant", "channel", "dedup_key"},
		[]string{"message_id", "created_at", "expires_at"}, true)
	for _, k := range keys {
		if _, err := t.exec("INSERT INTO dedup (tenant, channel, dedup_key, message_id, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)"+upsert,
			k.tenant, k.scope, k.key, k.owner, k.created, k.expires); err != nil {
			return err
		}
		err := t.query("SELECT message_id FROM dedup WHERE tenant = ? AND channel = ? AND dedup_key = ?",
			[]any{k.tenant, k.scope, k.key}, func(scan func(...any) error) error {
				var owner string
				err := scan(&owner)
				winners[claimable{tenant: k.tenant, scope: k.scope, key: k.key}] = owner
				return err
			})
		if err != nil {
			return err
		}
	}
	each(func(r *posthouse.Accepted, id claimable, e *work.Entry) {
		if owner := winners[id]; owner != e.Message.ID {
			*r = posthouse.Accepted{ID: owner, DuplicateOf: owner, CreatedAt: timeOf(now)}
		}
	})
	return nil
}

// sortClaims puts keys in one order for all processes, so that two transactions never wait
// for each other.
func sortClaims(keys []claimable) {
	slices.SortFunc(keys, func(a, b claimable) int {
		return strings.Compare(a.tenant+"\x00"+a.scope+"\x00"+a.key, b.tenant+"\x00"+b.scope+"\x00"+b.key)
	})
}
