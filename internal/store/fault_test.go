package store

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// Two transactions that wait for each other both succeed.
func TestDeadlockIsRepeatedAndNotTold(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		tamper(t, s, "INSERT INTO posthouse_limits (name, state, updated_at) VALUES ('a', '', 0)")
		tamper(t, s, "INSERT INTO posthouse_limits (name, state, updated_at) VALUES ('b', '', 0)")
		var wg sync.WaitGroup
		var met sync.WaitGroup // both hold their first row before they want the second
		if !s.DB.Dialect.OneWriter {
			met.Add(2)
		}
		var runs atomic.Int32
		for _, order := range [][]string{{"a", "b"}, {"b", "a"}} {
			wg.Go(func() {
				firstRun := !s.DB.Dialect.OneWriter
				err := s.Queue.change(t.Context(), at(), "cross", func(x *tx) error {
					runs.Add(1)
					for i, name := range order {
						if _, err := x.Exec("UPDATE posthouse_limits SET updated_at = updated_at + 1 WHERE name = ?", name); err != nil {
							return err
						}
						if i == 0 && firstRun {
							firstRun = false
							met.Done()
							met.Wait()
						}
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := count(t, s, "SELECT COUNT(*) FROM posthouse_limits WHERE updated_at = 2"); n != 2 {
			t.Errorf("%d of 2 rows were changed by both", n)
		}
		if !s.DB.Dialect.OneWriter && runs.Load() < 3 {
			t.Error("there was no deadlock to repeat")
		}
	})
}

// The answer of COMMIT is lost on its way.
func TestLostAnswerOfACommitIsSaidAndARepeatFindsTheMessage(t *testing.T) {
	t.Parallel()
	for _, db := range databases[1:] {
		t.Run(db.name, func(t *testing.T) {
			t.Parallel()
			dsn := db.dsn(t)
			openTest(t, dsn)
			u, err := url.Parse(dsn)
			if err != nil {
				t.Fatal(err)
			}
			p := newProxy(t, u.Host)
			u.Host = p.listener.Addr().String()
			s := openOnly(t, u.String())
			sub := func() []*work.Submission {
				one := submit(entry(1))
				one.Key, one.Hash = "k", "h"
				return []*work.Submission{one}
			}
			p.cut.Store(true)
			_, err = s.Submissions.Accept(t.Context(), at(), sub())
			wantCode(t, err, posthouse.CodeOutcomeUnknown)
			p.cut.Store(false)
			out, err := s.Submissions.Accept(t.Context(), at(), sub())
			if err != nil || !out[0].Replayed {
				t.Errorf("the repeat = %+v, %v; want the first one's answer", out, err)
			}
			if n := count(t, s, "SELECT COUNT(*) FROM posthouse_messages"); n != 1 {
				t.Errorf("%d messages, want 1", n)
			}
		})
	}
}

// proxy passes a database's connections on. While cut is set it ends a connection that sends
// COMMIT after the server has answered, and keeps the answer.
type proxy struct {
	listener net.Listener
	target   string
	cut      atomic.Bool
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, target: target}
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() { l.Close(); conns.Wait() })
	return p
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer server.Close()
	var committed atomic.Bool
	var answers sync.WaitGroup
	answers.Go(func() {
		defer client.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := server.Read(buf)
			if err != nil || committed.Load() {
				return
			}
			client.Write(buf[:n])
		}
	})
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			break
		}
		if p.cut.Load() && bytes.Contains(bytes.ToLower(buf[:n]), []byte("commit")) {
			committed.Store(true)
		}
		server.Write(buf[:n])
	}
	server.Close()
	answers.Wait()
}

// A disk is full in the middle of a write.
func TestFullDiskIsNamedAndNothingIsHalfStored(t *testing.T) {
	t.Parallel()
	s := openTest(t, dbtest.SQLite(t))
	stored := len(accept(t, s, entry(10)))
	limit := func(pages int64) {
		t.Helper()
		err := s.Queue.change(t.Context(), at(), "limit", func(x *tx) error {
			return x.Query(fmt.Sprintf("PRAGMA max_page_count = %d", pages), nil, func(scan sqldb.Scanner) error { _, err := sqldb.Number(scan); return err })
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	limit(count(t, s, "PRAGMA page_count") + 3)
	big := entry(1, func(e *work.Entry) { e.Message.Content.Text = strings.Repeat("x", 1<<20) })
	_, err := s.Submissions.Accept(t.Context(), at(), []*work.Submission{submit(big)})
	wantCode(t, err, posthouse.CodeStorageFull)
	if now := time.Now(); !s.DB.Full(now) || s.DB.Full(now.Add(time.Minute)) {
		t.Error("a refused write does not say for half a minute that there is no room")
	}
	if n := count(t, s, "SELECT COUNT(*) FROM posthouse_queue"); int(n) != stored {
		t.Errorf("%d deliveries are stored, want %d", n, stored)
	}
	limit(1 << 30)
	accept(t, s, big)
}

func TestCallerThatLeavesIsToldThatTheOutcomeIsUnknown(t *testing.T) {
	t.Parallel()
	s := openTest(t, dbtest.SQLite(t))
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Queue.change(ctx, at(), "write", func(x *tx) error {
		cancel()
		<-ctx.Done()
		_, err := x.Exec("INSERT INTO posthouse_meta (name, value) VALUES ('late', '')")
		return err
	})
	if err != nil && posthouse.CodeOf(err) != posthouse.CodeOutcomeUnknown {
		t.Errorf("error = %v", err)
	}
}

func TestDoctorNamesWhatIsUnsafe(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		found, err := s.DB.Doctor(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var settings []string
		for _, f := range found {
			settings = append(settings, f.Setting)
			if f.Why == "" || f.Value == "" {
				t.Errorf("finding %+v", f)
			}
		}
		// dbtest's servers are fast, not durable; a file of ours is safe.
		want := map[string]string{"sqlite": "", "postgres": "fsync", "mysql": "innodb_flush_log_at_trx_commit"}[s.DB.Database()]
		if got := strings.Join(settings, " "); !strings.Contains(got, want) || (want == "" && got != "") {
			t.Errorf("findings %q, want %q", got, want)
		}
		room, err := s.DB.Room(t.Context())
		file := s.DB.Database() == "sqlite"
		if err != nil || file != (room == sqldb.Room{}) || !file && (room.Used < 1 || room.Own < 9 || room.Most < room.Used || room.Tight()) {
			t.Errorf("connections: got %+v, %v; want room for another process, and of a file nothing", room, err)
		}
	})
}
