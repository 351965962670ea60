package outbox_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/outbox"
)

// keyed is a draft with a dedup key.
func keyed(key string, users ...string) posthouse.Draft {
	d := text(users...)
	d.DedupKey = key
	return d
}

// looking is the house's box as a program makes it that wants to be told of messages there are: on MySQL it
// needs connections of its own for that. Its minutes stand still, so that no test begins in one and ends
// in the next.
func (h *house) looking() *outbox.Box {
	h.Helper()
	o := outbox.Options{Database: h.kind, Log: quiet}
	if h.kind == outbox.MySQL {
		o.Lookup = openBusiness(h, h.dsn)
	}
	b := box(h, o)
	began := time.Now()
	outbox.SetClock(b, func() time.Time { return began })
	outbox.BePatient(b)
	return b
}

// blind is a transaction that cannot look.
type blind struct{ outbox.Execer }

// until waits for something that the relay does.
func (h *house) until(what string, true func() bool) {
	h.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !true() {
		select {
		case <-tick.C:
		case <-h.Context().Done():
			h.Fatal("the test ended before " + what)
		}
	}
}

// relayed waits until the outbox is empty.
func (h *house) relayed() {
	h.Helper()
	h.until("the outbox was empty", func() bool { return h.count("posthouse_outbox") == 0 })
}

// wantMessage checks which message an id leads to.
func (h *house) wantMessage(id, want string) {
	h.Helper()
	if m, _, err := h.store.Messages.Message(h.Context(), posthouse.DefaultTenant, id); err != nil || m.ID != want {
		h.Errorf("the id %s leads to message %q, %v; want %s", id, m.ID, err, want)
	}
}

// levels are the isolation levels of each database, by what the test calls them.
func levels(kind outbox.Database) map[string]sql.IsolationLevel {
	switch kind {
	case outbox.SQLite:
		return map[string]sql.IsolationLevel{"the only one": sql.LevelDefault}
	case outbox.Postgres:
		return map[string]sql.IsolationLevel{"read committed": sql.LevelReadCommitted, "repeatable read": sql.LevelRepeatableRead, "serializable": sql.LevelSerializable}
	}
	return map[string]sql.IsolationLevel{"read uncommitted": sql.LevelReadUncommitted, "read committed": sql.LevelReadCommitted,
		"repeatable read": sql.LevelRepeatableRead, "serializable": sql.LevelSerializable}
}

// FLOW-4: 64 callers with one key, each in a transaction of its own business at every isolation level, are
// told one id, none fails, and one message is sent.
func TestCallersWithOneKeyAreToldOneMessageAtEveryIsolationLevel(t *testing.T) {
	eachDB(t, 0, func(h *house) {
		b := h.looking()
		told := map[string]string{}
		for name, level := range levels(h.kind) {
			told[name] = h.race(b, name, level)
		}
		h.serve()
		h.serve()
		h.relayed()
		got := h.next(len(told))
		for name, id := range told {
			if got[id] != 1 {
				h.Errorf("%s: message %s arrived %d times", name, id, got[id])
			}
			ids, err := b.Enqueue(h.Context(), h.business, keyed(name, "u1"))
			if err != nil || ids[0] != id {
				h.Errorf("%s: after it was sent the key is told as %v, %v; want %s", name, ids, err, id)
			}
		}
		if n := h.count("posthouse_messages"); n != len(told) {
			h.Errorf("%d messages, want %d", n, len(told))
		}
	})
}

// race lets 64 callers hand in one key at once, and returns what they were told. Half of them look around
// in their business first, so that what they see is older than what others do meanwhile.
func (h *house) race(b *outbox.Box, name string, level sql.IsolationLevel) string {
	const callers = 64
	ids := make([]string, callers)
	var begun atomic.Int32
	together := make(chan struct{})
	var done sync.WaitGroup
	for i := range callers {
		done.Go(func() {
			err := h.inTx(level, func(tx *sql.Tx) error {
				if i%2 == 0 {
					var n int
					if err := tx.QueryRowContext(h.Context(), "SELECT COUNT(*) FROM stock").Scan(&n); err != nil {
						return err
					}
				}
				if begun.Add(1) == connections {
					close(together)
				}
				if h.kind != outbox.SQLite { // where nobody begins to write while another does
					<-together
				}
				told, err := b.Enqueue(h.Context(), tx, keyed(name, "u1"))
				if err != nil {
					return err
				}
				ids[i] = told[0]
				_, err = tx.ExecContext(h.Context(), fmt.Sprintf("INSERT INTO orders (id) VALUES ('%s %d')", name, i))
				return err
			})
			if err != nil {
				h.Errorf("%s: caller %d: %v", name, i, err)
			}
		})
	}
	done.Wait()
	if all := slices.Compact(slices.Sorted(slices.Values(ids))); len(all) != 1 {
		h.Errorf("%s: callers were told %v, want one id", name, all)
	}
	return ids[0]
}

// inTx runs the business's part in a transaction and commits it.
func (h *house) inTx(level sql.IsolationLevel, business func(tx *sql.Tx) error) error {
	tx, err := h.business.BeginTx(h.Context(), &sql.TxOptions{Isolation: level})
	if err != nil {
		return err
	}
	defer tx.Rollback() // without effect after a commit
	if err := business(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// tell enqueues with one handle and commits nothing by itself.
func (h *house) tell(b *outbox.Box, tx outbox.Execer, d posthouse.Draft) string {
	h.Helper()
	ids, err := b.Enqueue(h.Context(), tx, d)
	if err != nil {
		h.Fatal(err)
	}
	return ids[0]
}

// FLOW-4: an id that was told leads to the message, also where callers who could not see each other were
// told different ones: because their handles cannot look, or on both sides of a full minute.
func TestEveryIDThatWasToldLeadsToTheMessage(t *testing.T) {
	eachDB(t, 0, func(h *house) {
		b := h.looking()
		told := []string{h.tell(b, h.business, keyed("k", "u1")), h.tell(h.box, blind{h.business}, keyed("k", "u1")), h.tell(h.box, blind{h.business}, keyed("k", "u1"))}
		if told[0] == told[1] || told[1] == told[2] {
			h.Errorf("callers that cannot look were told %v", told)
		}
		h.serve()
		h.relayed()
		var sent string // any of them: rows that SQLite dates to one millisecond have no order
		for id := range h.next(1) {
			sent = id
		}
		if !slices.Contains(told, sent) {
			h.Errorf("arrived %s, want one of %v", sent, told)
		}
		for _, id := range told {
			h.wantMessage(id, sent)
		}
	})
}

// FLOW-4: neither waits for the other's transaction, and the one that commits last finds its message sent.
func TestTransactionsOnBothSidesOfAMinuteMakeOneMessage(t *testing.T) {
	kinds := []outbox.Database{outbox.Postgres, outbox.MySQL} // the transactions of SQLite come one after the other
	eachOf(t, kinds, 1, func(h *house) {
		before, after := h.looking(), h.looking()
		minute := time.Now().Truncate(time.Minute)
		outbox.SetClock(before, func() time.Time { return minute.Add(-time.Millisecond) })
		outbox.SetClock(after, func() time.Time { return minute })
		var early, late, same string
		err := h.inTx(sql.LevelDefault, func(tx *sql.Tx) error {
			early = h.tell(before, tx, keyed("k", "u1"))
			late = h.tell(after, h.business, keyed("k", "u1")) // waits for nobody
			same = h.tell(before, h.business, keyed("l", "u1"))
			h.tell(before, tx, keyed("l", "u1")) // sees it, or comes to the same
			h.relayed()
			return nil
		})
		if err != nil {
			h.Fatal(err)
		}
		h.relayed()
		if early == late {
			h.Errorf("both sides of a minute were told %s", early)
		}
		h.wantMessage(early, late)
		h.wantMessage(same, same)
		if n := h.count("posthouse_messages"); n != 2 {
			h.Errorf("%d messages, want 2", n)
		}
	})
}

func TestKeyThatWaitsInTheOutboxIsToldLongAfter(t *testing.T) {
	eachDB(t, 0, func(h *house) {
		b := h.looking()
		first := h.tell(b, h.business, keyed("k", "u1"))
		outbox.SetClock(b, func() time.Time { return time.Now().Add(time.Hour) })
		if again := h.tell(b, h.business, keyed("k", "u1")); again != first {
			h.Errorf("told %s, want the one that waits, %s", again, first)
		}
		other := keyed("k", "u1")
		other.Channel = "other"
		if id := h.tell(b, h.business, other); id == first {
			h.Error("the key of another channel is told the same message")
		}
		if n := h.count("posthouse_outbox"); n != 2 {
			h.Errorf("%d rows, want 2", n)
		}
	})
}

// FLOW-4, FLOW-16: a key that stands for nothing any more begins anew, within the same minute too.
func TestKeyThatIsFreeAgainMakesAnotherMessage(t *testing.T) {
	eachDB(t, 1, func(h *house) {
		b := h.looking()
		var told []string
		for _, free := range []string{"DELETE FROM posthouse_dedup", "UPDATE posthouse_dedup SET expires_at = 1", "DELETE FROM posthouse_dedup", "DELETE FROM posthouse_dedup", "DELETE FROM posthouse_dedup"} {
			told = append(told, h.tell(b, h.business, keyed("k", "u1")))
			h.relayed()
			h.exec(free)
		}
		got := h.next(len(told))
		for _, id := range told {
			if got[id] != 1 {
				h.Errorf("message %s of %v arrived %d times", id, told, got[id])
			}
		}
	})
}

// FLOW-4: without a key each call makes a message; a key that stands twice in one call makes one.
func TestKeysWithinOneCall(t *testing.T) {
	eachDB(t, 1, func(h *house) {
		ids, err := h.looking().Enqueue(h.Context(), h.business, keyed("k", "u1"), text("u1"), keyed("k", "u2"), text("u1"), keyed("l", "u1"))
		if err != nil {
			h.Fatal(err)
		}
		if ids[0] != ids[2] || len(slices.Compact(slices.Sorted(slices.Values(ids)))) != 4 {
			h.Errorf("told %v, want the same for the first and the third alone", ids)
		}
		h.relayed()
		if got := h.next(4); len(got) != 4 {
			h.Errorf("arrived: %v", got)
		}
	})
}

// A look that fails beside the transaction is the transaction's affair in no way.
func TestLookupThatFailsLeavesTheTransactionAsItWas(t *testing.T) {
	eachDB(t, 1, func(h *house) {
		closed := openBusiness(h, h.dsn)
		closed.Close()
		b := box(h, outbox.Options{Database: h.kind, Lookup: closed, Log: quiet})
		var id string
		err := h.inTx(sql.LevelDefault, func(tx *sql.Tx) error {
			id = h.tell(b, tx, keyed("k", "u1"))
			return nil
		})
		if got := h.next(1); err != nil || got[id] != 1 {
			h.Errorf("%v; arrived %v, want %s", err, got, id)
		}
	})
}

// A transaction of SQLite that begins by reading is refused when it writes later and another wrote
// between: Enqueue must not begin so.
func TestSQLiteTransactionThatBeginsWithEnqueueIsNotRefused(t *testing.T) {
	eachOf(t, []outbox.Database{outbox.SQLite}, 0, func(h *house) {
		b, db := h.looking(), openDeferred(h, h.dsn)
		var callers sync.WaitGroup
		for range 64 {
			callers.Go(func() {
				tx, err := db.BeginTx(h.Context(), nil)
				if err == nil {
					_, err = b.Enqueue(h.Context(), tx, keyed("k", "u1"))
				}
				if err == nil {
					err = tx.Commit()
				}
				if err != nil {
					h.Error(err)
				}
			})
		}
		callers.Wait()
		if n := h.count("posthouse_outbox"); n != 1 {
			h.Errorf("%d rows, want 1", n)
		}
	})
}

// counting is a transaction that counts its statements.
type counting struct {
	*sql.Tx
	n int
}

func (c *counting) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	c.n++
	return c.Tx.ExecContext(ctx, query, args...)
}

func (c *counting) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	c.n++
	return c.Tx.QueryContext(ctx, query, args...)
}

// FLOW-3: a message with 500 recipients costs the caller's transaction at most three statements, with a
// dedup key too.
func TestMessageToFiveHundredIsAtMostThreeStatements(t *testing.T) {
	eachDB(t, 1, func(h *house) {
		users := make([]string, 500)
		for i := range users {
			users[i] = fmt.Sprint("u", i)
		}
		for _, d := range []posthouse.Draft{text(users...), keyed("k", users...)} {
			err := h.inTx(sql.LevelDefault, func(tx *sql.Tx) error {
				c := &counting{Tx: tx}
				h.tell(h.looking(), c, d)
				if c.n < 1 || c.n > 3 {
					h.Errorf("%d statements with the key %q, want at most 3", c.n, d.DedupKey)
				}
				return nil
			})
			if err != nil {
				h.Error(err)
			}
		}
		if got := h.next(1000); len(got) != 2 {
			h.Errorf("%d messages arrived, want 2", len(got))
		}
	})
}
