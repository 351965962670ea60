package store

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// enqueue writes rows as a caller would, and returns their ids.
func enqueue(t testing.TB, s *Store, n int) (rows []string) {
	t.Helper()
	for range n {
		rows = append(rows, posthouse.NewID())
		tamper(t, s, "INSERT INTO posthouse_outbox (id, tenant, draft) VALUES (?, 't1', '{}')", rows[len(rows)-1])
	}
	return rows
}

// letters makes what the relay hands in for rows: messages with the rows' ids and one delivery each.
func letters(rows ...string) (list []work.Relay) {
	for _, row := range rows {
		e := entry(1)
		e.Message.ID = row
		d := &e.Deliveries[0]
		d.ID, d.Message = posthouse.DeliveryID(row, 1), row
		d.IdemKey = d.ID
		list = append(list, work.Relay{Row: row, Submission: submit(e)})
	}
	return list
}

// inOutbox lists the rows that are due.
func inOutbox(t testing.TB, s *Store) []work.Enqueued {
	t.Helper()
	list, err := s.Outbox.Outbox(t.Context(), at(), work.Drafts, 1000, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func rowsOf(list []work.Enqueued) (ids []string) {
	for _, row := range list {
		ids = append(ids, row.ID)
	}
	return ids
}

// wantMoved checks which rows have become messages, with everything that belongs to one, and which
// are still rows.
func wantMoved(t *testing.T, s *Store, moved, left []string) {
	t.Helper()
	for _, table := range []string{"posthouse_messages", "posthouse_queue", "posthouse_transitions"} {
		if n := count(t, s, "SELECT COUNT(*) FROM "+table); int(n) != len(moved) {
			t.Errorf("%d rows of %s, want %d", n, table, len(moved))
		}
	}
	for _, id := range moved {
		if _, _, err := s.Messages.Message(t.Context(), "t1", id); err != nil {
			t.Errorf("message %s: %v", id, err)
		}
	}
	if n := count(t, s, "SELECT COUNT(*) FROM posthouse_outbox"); int(n) != len(left) {
		t.Errorf("%d rows of the outbox are left, want %d", n, len(left))
	}
}

func TestRelayMovesRowsInTheOrderTheyWereHandedIn(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		rows := enqueue(t, s, 70)
		got := inOutbox(t, s)
		if diff := cmp.Diff(rows, rowsOf(got)); diff != "" {
			t.Errorf("rows (-want +got):\n%s", diff)
		}
		if since := time.Since(got[0].CreatedAt).Abs(); since > time.Minute || got[0].Tenant != "t1" || got[0].Draft != "{}" {
			t.Errorf("first row %+v was dated %v off", got[0], since)
		}
		if some, err := s.Outbox.Outbox(t.Context(), at(), work.Drafts, 1000, 5); err != nil || len(some) != 3 {
			t.Errorf("5 bytes of drafts are %d rows, %v; want 3", len(some), err)
		}
		out, err := s.Outbox.Relay(t.Context(), at(), letters(rows[:65]...))
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range out {
			if len(o.Accepted) != 1 || o.Accepted[0].ID != rows[i] {
				t.Errorf("row %d: %+v", i, o)
			}
		}
		wantMoved(t, s, rows[:65], rows[65:])
	})
}

// Rows that were written at one moment, one after the other or by one statement, keep their order, whatever their ids are.
func TestRowsOfOneMomentKeepTheirOrder(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		want := []string{"z", "b", "y", "a", "x", "c"}
		for _, id := range want[:3] {
			tamper(t, s, "INSERT INTO posthouse_outbox (id, draft) VALUES (?, '{}')", id)
		}
		tamper(t, s, "INSERT INTO posthouse_outbox (id, draft) VALUES (?, '{}'), (?, '{}'), (?, '{}')", want[3], want[4], want[5])
		tamper(t, s, "UPDATE posthouse_outbox SET created_at = 1")
		if diff := cmp.Diff(want, rowsOf(inOutbox(t, s))); diff != "" {
			t.Errorf("rows (-want +got):\n%s", diff)
		}
	})
}

func TestRelayThatFailsLeavesAllRows(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		rows := enqueue(t, s, 3)
		list := letters(rows...)
		list[2].Submission.Entries[0].Deliveries[0].State = posthouse.Sent // no delivery begins so
		if _, err := s.Outbox.Relay(t.Context(), at(), list); err == nil {
			t.Error("Relay stores what no message begins as")
		}
		wantMoved(t, s, nil, rows)
		killed := errors.New("killed")
		err := s.Queue.change(t.Context(), at(), "relay", func(x *tx) error {
			if _, err := (relaying{x}).relay(letters(rows...)); err != nil {
				return err
			}
			return killed
		})
		if !errors.Is(err, killed) {
			t.Fatal(err)
		}
		wantMoved(t, s, nil, rows)
	})
}

// FLOW-3: the process dies by SIGKILL after the relay's last statement and before
// its commit, or after the commit. A child process does the dying.
func TestProcessThatIsKilledLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	if dsn := os.Getenv("POSTHOUSE_TEST_DIE"); dsn != "" {
		die(t, dsn, os.Getenv("POSTHOUSE_TEST_DIE_AFTER_COMMIT") != "")
	}
	for _, db := range databases {
		for _, after := range []string{"", "yes"} {
			t.Run(db.name+map[string]string{"": " before the commit", "yes": " after the commit"}[after], func(t *testing.T) {
				t.Parallel()
				dsn := db.dsn(t)
				s := openTest(t, dsn)
				rows := enqueue(t, s, 2)
				child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProcessThatIsKilledLosesAndDoublesNothing$")
				child.Env = append(os.Environ(), "POSTHOUSE_TEST_DIE="+dsn, "POSTHOUSE_TEST_DIE_AFTER_COMMIT="+after)
				out, err := child.CombinedOutput()
				var exit *exec.ExitError
				if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
					t.Fatalf("the child ended with %v:\n%s", err, out)
				}
				if after != "" {
					wantMoved(t, s, rows, nil)
				} else {
					wantMoved(t, s, nil, rows)
				}
				if again := relayUntilFree(t, s, rows, after == ""); (len(again[0].Accepted) == 0) != (after != "") {
					t.Errorf("the next relay = %+v", again)
				}
				wantMoved(t, s, rows, nil)
			})
		}
	}
}

// relayUntilFree relays rows; while some are left, it goes on until the server has noticed that the
// dead process holds no locks any more.
func relayUntilFree(t *testing.T, s *Store, rows []string, left bool) []work.Outcome {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(30 * time.Second); ; {
		again, err := s.Outbox.Relay(t.Context(), at(), letters(rows...))
		if err != nil {
			t.Fatal(err)
		}
		if !left || len(again[0].Accepted) > 0 {
			return again
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal("the dead process's locks are never given back")
		}
	}
}

// die relays all rows and kills this process.
func die(t *testing.T, dsn string, committed bool) {
	s := openOnly(t, dsn)
	kill := func() {
		if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		select {}
	}
	err := s.Queue.change(t.Context(), at(), "relay", func(x *tx) error {
		_, err := relaying{x}.relay(letters(rowsOf(inOutbox(t, s))...))
		if err == nil && !committed {
			kill()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	kill()
}

func TestLostAnswerOfTheRelaysCommitDoublesNothing(t *testing.T) {
	t.Parallel()
	for _, db := range databases[1:] {
		t.Run(db.name, func(t *testing.T) {
			t.Parallel()
			dsn := db.dsn(t)
			direct := openTest(t, dsn)
			rows := enqueue(t, direct, 2)
			u, err := url.Parse(dsn)
			if err != nil {
				t.Fatal(err)
			}
			p := newProxy(t, u.Host)
			u.Host = p.listener.Addr().String()
			s := openOnly(t, u.String())
			p.cut.Store(true)
			_, err = s.Outbox.Relay(t.Context(), at(), letters(rows...))
			wantCode(t, err, posthouse.CodeOutcomeUnknown)
			if list := inOutbox(t, direct); len(list) != 0 {
				t.Errorf("the outbox still shows %v", rowsOf(list))
			}
			wantMoved(t, direct, rows, nil)
		})
	}
}

func TestRelaysAtOnceMoveEachRowOnce(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		rows := enqueue(t, s, 100)
		moved := make([]int, 4)
		var wg sync.WaitGroup
		for r := range moved {
			wg.Go(func() {
				for _, part := range [][]string{rows[:50], rows[50:], rows} {
					out, err := s.Outbox.Relay(t.Context(), at(), letters(part...))
					if err != nil {
						t.Error(err)
					}
					for _, o := range out {
						moved[r] += len(o.Accepted)
					}
				}
			})
		}
		wg.Wait()
		total := 0
		for _, n := range moved {
			total += n
		}
		if total != len(rows) {
			t.Errorf("the relays moved %v, want %d in all", moved, len(rows))
		}
		wantMoved(t, s, rows, nil)
	})
}

// A caller's long transaction holds up nobody's committed rows.
func TestRowsOfOpenTransactionsAreNeitherSeenNorWaitedFor(t *testing.T) {
	t.Parallel()
	for _, db := range databases[1:] { // SQLite has one writer at a time
		t.Run(db.name, func(t *testing.T) {
			t.Parallel()
			s := openTest(t, db.dsn(t))
			hidden := func() *sql.Tx {
				caller, err := s.DB.Writer.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := caller.ExecContext(t.Context(), s.DB.Text("INSERT INTO posthouse_outbox (id, tenant, draft) VALUES (?, 't1', '{}')"), posthouse.NewID()); err != nil {
					t.Fatal(err)
				}
				return caller
			}
			before := hidden()
			rows := enqueue(t, s, 5)
			later := hidden()
			if diff := cmp.Diff(rows, rowsOf(inOutbox(t, s))); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
			if _, err := s.Outbox.Relay(t.Context(), at(), letters(rows...)); err != nil {
				t.Fatal(err)
			}
			wantMoved(t, s, rows, nil)
			if err := before.Commit(); err != nil {
				t.Fatal(err)
			}
			if err := later.Rollback(); err != nil {
				t.Fatal(err)
			}
			if list := inOutbox(t, s); len(list) != 1 {
				t.Errorf("after one commit and one rollback the outbox shows %v", rowsOf(list))
			}
		})
	}
}

func TestRejectedRowsWaitBehindNewOnesAndKeepTheirReason(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		rows := enqueue(t, s, 3)
		reject := func(row string, failures int, wait time.Duration) bool {
			t.Helper()
			held, err := s.Outbox.Reject(t.Context(), at(), []work.Rejection{{Row: row, Failures: failures, Error: "there is no channel “x”", Wait: wait}})
			if err != nil {
				t.Fatal(err)
			}
			return slices.Equal(held, []string{row})
		}
		if !reject(rows[0], 0, time.Hour) || !reject(rows[1], 0, -time.Minute) {
			t.Error("a first rejection did not hold")
		}
		if reject(rows[1], 0, time.Hour) {
			t.Error("a rejection of a row as it was before held")
		}
		if !reject(rows[1], 1, -time.Minute) {
			t.Error("a second rejection did not hold")
		}
		list := inOutbox(t, s)
		if diff := cmp.Diff([]string{rows[2], rows[1]}, rowsOf(list)); diff != "" {
			t.Fatalf("due rows (-want +got):\n%s", diff)
		}
		if list[1].Failures != 2 {
			t.Errorf("failures = %d, want 2", list[1].Failures)
		}
		if n := count(t, s, "SELECT COUNT(*) FROM posthouse_outbox WHERE error = 'there is no channel “x”' AND failed_at > created_at"); n != 2 {
			t.Errorf("%d rows say why, want 2", n)
		}
		waiting, rejected, err := s.Outbox.OutboxDepth(t.Context())
		if waiting != 1 || rejected != 2 || err != nil {
			t.Errorf("OutboxDepth = %d, %d, %v; want 1, 2", waiting, rejected, err)
		}
	})
}

// A program in another language needs to name the draft alone.
func TestDatabaseFillsInWhatAPlainInsertLeavesOut(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		for range 2 {
			tamper(t, s, `INSERT INTO posthouse_outbox (draft) VALUES ('{"channel": "c1"}')`)
		}
		list := inOutbox(t, s)
		if len(list) != 2 || list[0].ID == list[1].ID {
			t.Fatalf("rows = %+v, want two", list)
		}
		for _, row := range list {
			if since := time.Since(row.CreatedAt).Abs(); since > time.Minute || row.Tenant != posthouse.DefaultTenant || len(row.ID) < 32 {
				t.Errorf("row %+v, dated %v off", row, since)
			}
		}
	})
}

func TestNewEpochHoldsTheOutbox(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		rows := enqueue(t, s, 2)
		err := s.Queue.change(t.Context(), at(), "enqueue", func(x *tx) (err error) {
			for i := 0; i < sqldb.BulkStep && err == nil; i++ { // more than one transaction holds
				_, err = x.Exec("INSERT INTO posthouse_outbox (id, draft) VALUES (?, '{}')", fmt.Sprint("z", i))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Epochs.BumpEpoch(t.Context(), at()); err != nil {
			t.Fatal(err)
		}
		if list := inOutbox(t, s); len(list) != 0 {
			t.Errorf("rows of a copy are due: %v", rowsOf(list))
		}
		if n := count(t, s, "SELECT COUNT(*) FROM posthouse_outbox WHERE error LIKE 'epoch_hold%'"); n != sqldb.BulkStep+2 {
			t.Errorf("%d rows say why, want %d", n, sqldb.BulkStep+2)
		}
		tamper(t, s, "UPDATE posthouse_outbox SET due_at = 0 WHERE id = ?", rows[1])
		if list := rowsOf(inOutbox(t, s)); !slices.Equal(list, rows[1:2]) {
			t.Errorf("due after a person's word: %v, want %v", list, rows[1:2])
		}
	})
}

// A process that still runs beside a new epoch has rows in hand that it read before they were held.
func TestRowsThatAreHeldMeanwhileAreNeitherMovedNorPutOff(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		rows := enqueue(t, s, 2)
		if _, err := s.Epochs.BumpEpoch(t.Context(), at()); err != nil {
			t.Fatal(err)
		}
		outcomes, err := s.Outbox.Relay(t.Context(), at(), letters(rows[0]))
		if err != nil || len(outcomes[0].Accepted) > 0 {
			t.Errorf("Relay = %+v, %v; want nothing moved", outcomes, err)
		}
		put, err := s.Outbox.Reject(t.Context(), at(), []work.Rejection{{Row: rows[1], Error: "no channel"}})
		if err != nil || len(put) > 0 {
			t.Errorf("Reject = %v, %v; want nothing put off", put, err)
		}
		if n := count(t, s, "SELECT COUNT(*) FROM posthouse_outbox WHERE error LIKE 'epoch_hold%'"); n != 2 {
			t.Errorf("%d rows are held, want 2", n)
		}
	})
}

// What a process moves out of the outbox before it is held must be found in the queue.
func TestTheOutboxIsHeldBeforeTheQueue(t *testing.T) {
	t.Parallel()
	s := openTest(t, dbtest.SQLite(t))
	enqueue(t, s, 1)
	accept(t, s, entry(1))
	tamper(t, s, "CREATE TRIGGER too_early BEFORE UPDATE ON posthouse_queue WHEN EXISTS (SELECT 1 FROM posthouse_outbox WHERE failed_at = 0) BEGIN SELECT RAISE(ABORT, 'the outbox is not held yet'); END")
	if held, err := s.Epochs.BumpEpoch(t.Context(), at()); held != 1 || err != nil {
		t.Errorf("BumpEpoch = %d, %v; want 1 held", held, err)
	}
}

// A process that dies while it holds a large outbox has held a part of it. Nobody sends the rest before another has held that too.
func TestALargeOutboxIsHeldInParts(t *testing.T) {
	t.Parallel()
	s := openTest(t, dbtest.SQLite(t))
	const rows = 2*sqldb.BulkStep + 1
	tamper(t, s, "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?) INSERT INTO posthouse_outbox (id, draft) SELECT CASE WHEN i = 0 THEN '' ELSE printf('%04d', i) END, '{}' FROM n", rows-1)
	tamper(t, s, "CREATE TRIGGER dies BEFORE UPDATE ON posthouse_outbox WHEN NEW.id = '0999' BEGIN SELECT RAISE(ABORT, 'the process died here'); END")
	held := func() int64 {
		t.Helper()
		return count(t, s, "SELECT COUNT(*) FROM posthouse_outbox WHERE error LIKE 'epoch_hold%'")
	}
	if _, err := s.Epochs.BumpEpoch(t.Context(), at()); err == nil || held() != sqldb.BulkStep {
		t.Errorf("%d rows are held, %v; want the first %d, and an error", held(), err, sqldb.BulkStep)
	}
	_, err := s.Epochs.Epoch(t.Context())
	wantCode(t, err, posthouse.CodeUnavailable)
	tamper(t, s, "DROP TRIGGER dies")
	if _, err := s.Epochs.BumpEpoch(t.Context(), at()); err != nil || held() != rows {
		t.Errorf("%d rows are held, %v; want all %d", held(), err, rows)
	}
	if epoch, err := s.Epochs.Epoch(t.Context()); epoch != 2 || err != nil {
		t.Errorf("Epoch = %d, %v; want the 2 that was begun", epoch, err)
	}
}

func TestRelayHonoursDedupKeys(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		rows := enqueue(t, s, 2)
		list := letters(rows...)
		for _, l := range list {
			l.Submission.Entries[0].Message.DedupKey = "d"
		}
		out, err := s.Outbox.Relay(t.Context(), at(), list)
		if err != nil {
			t.Fatal(err)
		}
		if got := out[0].Accepted[0].DuplicateOf + out[1].Accepted[0].DuplicateOf; got != rows[0] && got != rows[1] {
			t.Errorf("outcomes %+v: want one message and its duplicate", out)
		}
		if n := count(t, s, "SELECT COUNT(*) FROM posthouse_messages"); n != 1 {
			t.Errorf("%d messages, want 1", n)
		}
		if list := inOutbox(t, s); len(list) != 0 {
			t.Errorf("left: %v", rowsOf(list))
		}
	})
}

// BenchmarkRelay looks for rows and moves them.
func BenchmarkRelay(b *testing.B) {
	benchEach(b, func(b *testing.B, s *Store, batch int) {
		for b.Loop() {
			b.StopTimer()
			rows := make([][]any, batch)
			for i := range rows {
				rows[i] = []any{posthouse.NewID(), "t1", `{"channel": "c1", "to": [{"user": "u1"}], "content": {"text": "你好"}}`}
			}
			err := s.Queue.change(b.Context(), at(), "enqueue", func(x *tx) error { return x.Insert(sqldb.NewTable("posthouse_outbox", "id", "tenant", "draft"), rows) })
			if err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			for left := batch; left > 0; {
				out, err := s.Outbox.Relay(b.Context(), at(), letters(rowsOf(inOutbox(b, s))...))
				if err != nil {
					b.Fatal(err)
				}
				left -= len(out)
			}
		}
	})
}

// sharing makes a row's message one that others may hand in too, with a key.
func sharing(row, message, key string) work.Relay {
	r := letters(row)[0]
	e := &r.Submission.Entries[0]
	e.Shared, e.DedupWindow = true, time.Hour
	e.Message.ID, e.Message.DedupKey = message, key
	d := &e.Deliveries[0]
	d.ID, d.Message = posthouse.DeliveryID(message, 1), message
	r.Keep = time.Hour
	return r
}

// FLOW-4: rows that several callers wrote for one message become one, in one batch, in several, and in two
// processes at once; an id that lost against another leads to the one that won.
func TestRowsOfOneMessageBecomeOne(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		rows := enqueue(t, s, 8)
		shared, late := posthouse.NewID(), posthouse.NewID()
		relay := func(list ...work.Relay) (told []string) {
			out, err := s.Outbox.Relay(t.Context(), at(), list)
			if err != nil {
				t.Error(err)
			}
			for _, o := range out {
				for _, a := range o.Accepted {
					told = append(told, a.ID)
				}
			}
			return told
		}
		relay(sharing(rows[0], shared, "k"), sharing(rows[1], shared, "k"))
		relay(sharing(rows[2], shared, "k"), sharing(rows[3], late, "k"))
		tamper(t, s, "UPDATE posthouse_dedup SET expires_at = 1 WHERE channel <> ''")
		relay(sharing(rows[4], shared, "k")) // its caller's transaction took long
		var both sync.WaitGroup
		again := posthouse.NewID()
		for _, row := range rows[5:7] {
			both.Go(func() { relay(sharing(row, again, "l")) })
		}
		both.Wait()
		wantMoved(t, s, []string{shared, again}, rows[7:])
		if m, _, err := s.Messages.Message(t.Context(), "t1", late); err != nil || m.ID != shared {
			t.Errorf("the id %s leads to %q, %v; want %s", late, m.ID, err, shared)
		}
		if _, _, err := s.Messages.Message(t.Context(), "t2", late); posthouse.CodeOf(err) != posthouse.CodeNotFound {
			t.Errorf("another tenant reads the message: %v", err)
		}
		if n := count(t, s, "SELECT COUNT(*) FROM posthouse_dedup WHERE channel = '' AND dedup_key = '"+shared+"'"); n != 0 {
			t.Error("an id that is a message's own leads elsewhere")
		}
	})
}

func TestOutboxTellsEventsFromMessages(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		tamper(t, s, `INSERT INTO posthouse_outbox (id, draft) VALUES ('event', '{ "task_event" : {}}')`)
		tamper(t, s, `INSERT INTO posthouse_outbox (id, draft) VALUES ('message', '{"channel": "oa", "content": {"text": "one task_event"}}')`)
		for kind, want := range map[work.Kind]string{work.Drafts: "message", work.TaskEvents: "event"} {
			list, err := s.Outbox.Outbox(t.Context(), at(), kind, 10, 1<<20)
			if err != nil || len(list) != 1 || list[0].ID != want {
				t.Errorf("%s: %+v, %v; want %s", kind, list, err, want)
			}
		}
		if err := s.Outbox.Done(t.Context(), at(), []string{"event", "gone"}); err != nil {
			t.Error(err)
		}
		if n := count(t, s, "SELECT COUNT(*) FROM posthouse_outbox"); n != 1 {
			t.Errorf("%d rows are left, want the message", n)
		}
	})
}

func TestRejectedRowsAreListedTriedAgainAndDropped(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		rows := enqueue(t, s, 4)
		tamper(t, s, "INSERT INTO posthouse_outbox (id, tenant, draft) VALUES ('other', 't2', '{}')")
		var list []work.Rejection
		for _, row := range append(rows[:3:3], "other") {
			list = append(list, work.Rejection{Row: row, Error: "not so", Wait: time.Hour})
		}
		if _, err := s.Outbox.Reject(t.Context(), at(), list); err != nil {
			t.Fatal(err)
		}
		box, next, err := s.Outbox.Box(t.Context(), "t1", "", 2)
		if err != nil || box.Waiting != 1 || box.Rejected != 3 || len(box.Rows) != 2 || next == "" {
			t.Fatalf("Box = %+v, %q, %v; want two of three", box, next, err)
		}
		if r := box.Rows[0]; r.ID != rows[0] || r.Error != "not so" || r.Failures != 1 || r.Draft != "{}" || r.DueAt.Sub(r.FailedAt) != time.Hour {
			t.Errorf("a row is %+v", r)
		}
		if box, next, err = s.Outbox.Box(t.Context(), "t1", next, 2); err != nil || len(box.Rows) != 1 || box.Rows[0].ID != rows[2] || next != "" {
			t.Errorf("the next page is %+v, %q, %v", box.Rows, next, err)
		}
		for _, c := range []struct {
			tenant, row string
			code        posthouse.Code
		}{{"t1", "other", posthouse.CodeNotFound}, {"t1", rows[3], posthouse.CodeNotFound}, {"t2", rows[0], posthouse.CodeNotFound}, {"t1", rows[0], ""}} {
			if err := s.Outbox.RetryRow(t.Context(), at(), c.tenant, c.row); (err != nil || c.code != "") && posthouse.CodeOf(err) != c.code {
				t.Errorf("RetryRow(%s, %s) = %v, want %q", c.tenant, c.row, err, c.code)
			}
			if c.row == rows[0] {
				continue
			}
			if err := s.Outbox.DropRow(t.Context(), at(), c.tenant, c.row); posthouse.CodeOf(err) != c.code {
				t.Errorf("DropRow(%s, %s) = %v, want %q", c.tenant, c.row, err, c.code)
			}
		}
		if err := s.Outbox.DropRow(t.Context(), at(), "t1", rows[1]); err != nil {
			t.Error(err)
		}
		got := rowsOf(inOutbox(t, s))
		slices.Sort(got)
		if diff := cmp.Diff([]string{rows[0], rows[3]}, got); diff != "" {
			t.Errorf("due rows (-want +got):\n%s", diff)
		}
	})
}
