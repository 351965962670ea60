package store

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
)

// reasonEpochHold says that a delivery may have been sent by the database's other copy.
const reasonEpochHold = "epoch_hold"

// Epoch is the number of times that this database was restored, promoted or cloned. Claims
// name it, so a process from before claims nothing. While a bump is under way, or was
// interrupted, there is none: an error of code unavailable.
func (s *Store) Epoch(ctx context.Context) (int64, error) {
	n, err := readEpoch(s.reads(ctx))
	if err != nil {
		return 0, s.toError(err, "read the epoch")
	}
	if n < 0 {
		return 0, posthouse.Errorf(posthouse.CodeUnavailable, "the epoch is being raised: if no other process does, raise it again")
	}
	return n, nil
}

func readEpoch(from lookup) (int64, error) {
	text, _, err := first(from, word, "SELECT value FROM meta WHERE name = 'epoch'")
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the epoch %q in the database is not a number", text)
	}
	return n, nil
}

// BumpEpoch is for a database that is a copy: restored, promoted or cloned. Whatever may have
// been sent since the copy was taken is held as unknown, so that nothing leaves twice: what
// was tried before, and what was due. It returns how many deliveries it held. What was in the
// outbox waits there for a person. The rest stays as it is.
//
// While it works the epoch is negative, which no process has: nobody claims. An interrupted
// bump is finished by the next.
func (s *Store) BumpEpoch(ctx context.Context, now time.Time) (held int, err error) {
	var next, began int64
	err = s.change(ctx, now, "begin an epoch", func(t *tx) error {
		old, err := t.lockEpoch()
		if err != nil {
			return err
		}
		if began, err = t.now(); err != nil {
			return err
		}
		next = -old
		if old > 0 {
			next = old + 1
		}
		return t.setEpoch(-next)
	})
	if err != nil {
		return 0, err
	}
	held, err = s.repeat(ctx, now, "hold what may have been sent", math.MaxInt, func(t *tx, step int) (int, error) {
		return t.holdEpoch(next, began, step)
	})
	if err != nil {
		return held, err
	}
	if _, err := s.repeat(ctx, now, "hold what is unknown", math.MaxInt, (*tx).freezeUnknown); err != nil {
		return held, err
	}
	if err := s.holdOutbox(ctx, now); err != nil {
		return held, err
	}
	return held, s.change(ctx, now, "end an epoch", func(t *tx) error { return t.setEpoch(next) })
}

// lockEpoch reads the epoch and keeps others from raising it.
func (t *tx) lockEpoch() (int64, error) {
	if err := t.serialize(); err != nil {
		return 0, err
	}
	return readEpoch(t.query)
}

func (t *tx) setEpoch(n int64) error {
	_, err := t.exec("UPDATE meta SET value = ? WHERE name = 'epoch'", strconv.FormatInt(n, 10))
	return err
}

// holdEpoch holds the next deliveries that may have been sent (T28).
func (t *tx) holdEpoch(epoch, began int64, step int) (int, error) {
	list, err := all(t.query, readDelivery, "SELECT "+queueTable.list+` FROM queue WHERE state IN ('pending', 'sending')
		AND (attempts > 0 OR state = 'sending' OR (due_at <= ? AND created_at <= ?)) ORDER BY id LIMIT ?`+t.store.dialect.lock,
		began, began, step)
	if err != nil || len(list) == 0 {
		return 0, err
	}
	at, err := t.now()
	if err != nil {
		return 0, err
	}
	ids := make([]string, len(list))
	events := make([][]any, len(list))
	tally := counting{}
	for i := range list {
		d := &list[i]
		after := *d
		after.State = posthouse.Unknown
		tally.move(d, &after)
		ids[i] = d.ID
		events[i] = eventValues(&posthouse.Event{
			Delivery: d.ID, Version: d.Version + 1, Tenant: d.Tenant, At: timeOf(at), Type: posthouse.EventEpochHold,
			From: d.State, To: posthouse.Unknown, Token: d.Token, Reason: reasonEpochHold, Epoch: epoch,
			Account: d.Account, Tries: d.Tries,
		})
	}
	clause, args := t.in("id", ids)
	if _, err := t.exec(`UPDATE queue SET state = 'unknown', on_unknown = 'hold', reason = ?, version = version + 1, epoch = ?,
		due_at = 0, lease_until = 0, lease_owner = '', updated_at = ? WHERE `+clause, append([]any{reasonEpochHold, epoch, at}, args...)...); err != nil {
		return 0, err
	}
	if err := t.insert(eventsTable, events); err != nil {
		return 0, err
	}
	return len(list), t.count(tally)
}

// freezeUnknown leaves what was unknown before to a person too: no policy sends it again. Its
// state does not change, so there is no event.
func (t *tx) freezeUnknown(step int) (int, error) {
	ids, err := all(t.query, word, "SELECT id FROM queue WHERE state = 'unknown' AND (on_unknown <> 'hold' OR due_at > 0) ORDER BY id LIMIT ?"+t.store.dialect.lock, step)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	clause, args := t.in("id", ids)
	_, err = t.exec("UPDATE queue SET on_unknown = 'hold', due_at = 0 WHERE "+clause, args...)
	return len(ids), err
}
