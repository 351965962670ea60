package senders

import (
	"database/sql"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/wire"
)

// yard is a server as a process of its own on PostgreSQL, whose commits a test can hold up.
type yard struct {
	*testing.T
	*house.House
	db   *sql.DB
	smtp string // where mail is taken
}

func openYard(t *testing.T) *yard {
	t.Helper()
	dsn := house.Postgres.DSN(t)
	smtp := house.FreeAddr(t)
	h := house.Open(t, house.Options{DSN: dsn, Env: []string{"POSTHOUSE_SMTP_LISTEN=" + smtp}})
	h.PutChannel(t, posthouse.Channel{Name: "out", Driver: "discard"})
	return &yard{T: t, House: h, db: dbtest.SQL(t, dsn), smtp: smtp}
}

func (y *yard) member() *house.Member { return y.Members[0] }

func (y *yard) api() *client.Client { return y.member().Client(y.T, 3) }

func (y *yard) must(err error) {
	y.Helper()
	if err != nil {
		y.Fatal(err)
	}
}

// front makes a front that sends to the channel out.
func (y *yard) front(kind string, change ...func(*wire.PutFront)) wire.NewFront {
	y.Helper()
	in := wire.PutFront{Kind: kind, FrontSettings: posthouse.FrontSettings{Channel: "out", To: []posthouse.Recipient{{User: "u1"}}}}
	for _, c := range change {
		c(&in)
	}
	made, err := y.api().Fronts.Put(y.Context(), kind, in)
	y.must(err)
	return made
}

// frontOf makes a front of a kind as its senders want it: where they name the recipients it has none of its own.
func (y *yard) frontOf(kind string) wire.NewFront {
	y.Helper()
	return y.front(kind, func(in *wire.PutFront) {
		if kind == "smsgate" {
			in.To = nil
		}
	})
}

// full has the tenant have no room for more than one open message, of those that a channel does not send; the end of it makes room.
func (y *yard) full() (end func()) {
	y.Helper()
	_, err := y.api().Channels.Pause(y.Context(), "out", "")
	y.must(err)
	_, err = y.api().Tenants.Put(y.Context(), "default", wire.PutTenant{Quota: posthouse.Quota{Open: 1}})
	y.must(err)
	return func() {
		_, err := y.api().Tenants.Put(y.Context(), "default", wire.PutTenant{})
		y.must(err)
	}
}

// messages are those of a kind whose title or text has a word.
func (y *yard) messages(kind, word string) (list []wire.Message) {
	y.Helper()
	page, err := y.api().Messages.List(y.Context(), client.Filter{Kind: kind})
	y.must(err)
	for _, m := range page.Items {
		if strings.Contains(m.Content.Title+m.Content.Text, word) {
			list = append(list, m)
		}
	}
	return list
}

// outcomes counts the last calls at a front.
func (y *yard) outcomes(front string) map[posthouse.FrontOutcome]int {
	y.Helper()
	calls, err := y.api().Fronts.Calls(y.Context(), front)
	y.must(err)
	out := map[posthouse.FrontOutcome]int{}
	for _, c := range calls {
		out[c.Outcome]++
	}
	return out
}

// holdUp keeps every message from its commit, until it is called off.
func (y *yard) holdUp() (letGo func()) {
	y.Helper()
	tx, err := y.db.BeginTx(y.Context(), nil)
	y.must(err)
	_, err = tx.ExecContext(y.Context(), "LOCK TABLE posthouse_messages, posthouse_plans IN SHARE MODE")
	y.must(err)
	return func() { y.must(tx.Rollback()) }
}

// heldUp waits until the server stands within a transaction that cannot go on.
func (y *yard) heldUp() {
	y.Helper()
	house.Until(y.T, "the server stands before its commit", func() bool {
		var n int
		y.must(y.db.QueryRowContext(y.Context(), "SELECT count(*) FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())").Scan(&n))
		return n > 0
	})
}

// run starts a program that ends with its test.
func run(t *testing.T, program string, args ...string) {
	t.Helper()
	cmd := exec.Command(program, args...)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // its error says that it was killed
		if text, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("%s %s:\n%.20000s", program, strings.Join(args, " "), text)
		}
	})
}

// wire is a way to the server on which answers can be lost.
type lossy struct {
	URL  string
	lose atomic.Int64 // so many answers more
	lost atomic.Int64
}

// lossyWay is a proxy in front of the server.
func lossyWay(y *yard) *lossy {
	w := &lossy{}
	to, err := url.Parse("http://" + y.member().Addr)
	y.must(err)
	s := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		again := in.Clone(in.Context())
		again.RequestURI, again.URL.Scheme, again.URL.Host, again.Host = "", to.Scheme, to.Host, to.Host
		answer, err := http.DefaultTransport.RoundTrip(again)
		if err != nil {
			panic(http.ErrAbortHandler) // the caller sees what it would without us
		}
		defer answer.Body.Close()
		if answer.StatusCode == http.StatusOK && w.lose.Add(-1) >= 0 {
			w.lost.Add(1)
			panic(http.ErrAbortHandler)
		}
		out.WriteHeader(answer.StatusCode)
		_, _ = io.Copy(out, answer.Body) // a caller who left is no error of ours
	}))
	y.Cleanup(s.Close)
	w.URL = s.URL
	return w
}
