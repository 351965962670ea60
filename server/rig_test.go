package server_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/store/sqltest"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/wire"
)

// house is a whole server on a real database, with the simulator as its providers and a client
// that talks to it over HTTP.
type house struct {
	*testing.T
	url, key string
	dsn      string
	smsURL   string // of the SMS front door's own address, empty without
	stop     func(context.Context) error
	api      *client.Client
	program  *server.Server // for what a Go program calls
	sim      *simulator.Simulator
	log      *logbook
	db       *sql.DB // the same database, read and broken by the test itself
}

// keyring is one key, the same for all houses.
var keyring = "test:" + base64.StdEncoding.EncodeToString([]byte("the 32 bytes of a key for tests."))

// databases are the three that the server works on.
var databases = []struct {
	name string
	dsn  func(testing.TB) string
}{{"sqlite", sqltest.Ready.SQLite}, {"postgres", sqltest.Ready.Postgres}, {"mariadb", sqltest.Ready.MariaDB}}

// onEachDatabase runs a test in a house of its own on each database.
func onEachDatabase(t *testing.T, test func(h *house)) {
	t.Parallel()
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			test(open(t, d.dsn(t)))
		})
	}
}

// open starts a house, which ends with its test: the simulator first, so that nothing hangs.
func open(t *testing.T, dsn string, with ...func(*server.Options)) *house {
	t.Helper()
	h := &house{T: t, dsn: dsn, key: secret.FormatKey(secret.NewKey()), log: &logbook{}, sim: simulator.New(simulator.Options{})}
	o := server.Options{
		DSN: dsn, Addr: "127.0.0.1:0", AdminKey: h.key, Keyring: keyring, AllowPrivate: true, StateDir: t.TempDir(),
		Poll: 50 * time.Millisecond, RescueEvery: 100 * time.Millisecond,
		Log: slog.New(slog.NewJSONHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug})), Output: io.Discard,
	}
	for _, change := range with {
		change(&o)
	}
	s, err := server.New(t.Context(), o)
	h.must(err)
	h.end(s.Stop)
	h.must(s.Start(t.Context()))
	h.must(h.sim.Start(t.Context(), ""))
	h.end(h.sim.Stop)
	h.url, h.smsURL, h.stop = s.URL(), s.SMSURL(), s.Stop
	h.program = s
	h.api, err = client.New(client.Options{URL: h.url, Key: h.key})
	h.must(err)
	h.db = dbtest.SQL(t, dsn)
	return h
}

// end stops something when the test ends.
func (h *house) end(stop func(context.Context) error) {
	h.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(h.Context()), time.Minute)
		defer cancel()
		if err := stop(ctx); err != nil {
			h.Errorf("stop: %v", err)
		}
	})
}

func (h *house) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// eventually waits until something holds, and says what did not.
func (h *house) eventually(what string, holds func() bool) {
	h.Helper()
	ctx, cancel := context.WithTimeout(h.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			h.Fatalf("still not so after 30s: %s; the log:\n%s", what, h.log.tail(20))
		case <-tick.C:
		}
	}
}

// call makes a raw request; the answer is whatever JSON it holds.
func (h *house) call(method, path, kind, body string) (status int, answer map[string]any) {
	h.Helper()
	req, err := http.NewRequestWithContext(h.Context(), method, h.url+path, strings.NewReader(body))
	h.must(err)
	req.Header.Set("Authorization", "Bearer "+h.key)
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	res, err := http.DefaultClient.Do(req)
	h.must(err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	h.must(err)
	if len(text) > 0 {
		if err := json.Unmarshal(text, &answer); err != nil {
			h.Fatalf("%s %s answered %s", method, path, text)
		}
	}
	return res.StatusCode, answer
}

// post posts a notice as JSON text.
func (h *house) post(body string) (status int, answer map[string]any) {
	h.Helper()
	return h.call(http.MethodPost, "/v1/notices", "application/json", body)
}

// notify hands in a notice and returns what was answered.
func (h *house) notify(user, kind, platform, content string) wire.NoticeSent {
	h.Helper()
	sent, err := h.api.Notices.Send(h.Context(), wire.NewNotice{UserID: user, UserType: kind, Platform: platform, Content: content})
	h.must(err)
	return sent
}

// branch hands in a notice for a branch user, which no roster can hold back.
func (h *house) branch(user, platform string) string {
	h.Helper()
	return h.notify(user, "branch", platform, "to "+user).ID
}

// put configures a channel.
func (h *house) put(ch posthouse.Channel) posthouse.Channel {
	h.Helper()
	stored, _, err := h.api.Channels.Put(h.Context(), ch)
	h.must(err)
	return stored
}

// roster stores a roster.
func (h *house) roster(r posthouse.Roster) {
	h.Helper()
	_, err := h.api.Rosters.Put(h.Context(), r)
	h.must(err)
}

func (h *house) notice(id string) wire.Notice {
	h.Helper()
	n, err := h.api.Notices.Get(h.Context(), id)
	h.must(err)
	return n
}

func (h *house) delivery(id string) posthouse.Delivery {
	h.Helper()
	d, err := h.api.Deliveries.Get(h.Context(), id)
	h.must(err)
	return d
}

func (h *house) attempts(id string) []posthouse.Attempt {
	h.Helper()
	list, err := h.api.Deliveries.Attempts(h.Context(), id)
	h.must(err)
	return list
}

// reaches waits until a notice has a status with so many counted failures.
func (h *house) reaches(id, status string, retries int) wire.Notice {
	h.Helper()
	var n wire.Notice
	h.eventually(fmt.Sprintf("notice %s is %s after %d failures", id, status, retries), func() bool {
		n = h.notice(id)
		return n.Status == status && n.RetryCount == retries
	})
	return n
}

// behave makes a provider fail.
func (h *house) behave(provider string, faults ...simulator.Fault) {
	h.Helper()
	h.must(h.sim.Behave(provider, simulator.Behaviour{Faults: faults}))
}

// arrivals are what reached a provider for a user.
func (h *house) arrivals(provider, user string) []simulator.Arrival {
	return h.sim.Arrivals(simulator.Filter{Provider: provider, User: user})
}

// metric is the value of one line of /metrics, such as posthouse_runs_total{job="X"}; 0 without it.
func (h *house) metric(line string) float64 {
	h.Helper()
	res, err := http.Get(h.url + "/metrics")
	h.must(err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	h.must(err)
	for l := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(l, line+" "); ok {
			value, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			h.must(err)
			return value
		}
	}
	return 0
}

// columns are the names of a view's columns, in order.
func (h *house) columns(view string) []string {
	h.Helper()
	rows, err := h.db.QueryContext(h.Context(), "SELECT * FROM "+view)
	h.must(err)
	defer rows.Close()
	names, err := rows.Columns()
	h.must(err)
	h.must(rows.Err())
	return names
}

// number reads one number from the database.
func (h *house) number(query string) int {
	h.Helper()
	var n int
	h.must(h.db.QueryRowContext(h.Context(), query).Scan(&n))
	return n
}

// logbook keeps the server's log, a line of JSON each.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// line is one line of the log.
type line map[string]any

// with are the lines that have these fields, in order.
func (l *logbook) with(fields line) []line {
	l.mu.Lock()
	text := l.text.String()
	l.mu.Unlock()
	var out []line
	for raw := range strings.Lines(text) {
		var got line
		if json.Unmarshal([]byte(raw), &got) == nil && got.has(fields) {
			out = append(out, got)
		}
	}
	return out
}

func (l line) has(fields line) bool {
	for name, want := range fields {
		if l[name] != want {
			return false
		}
	}
	return true
}

// tail is the end of the log without our own requests, for a test that failed.
func (l *logbook) tail(n int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.DeleteFunc(slices.Collect(strings.Lines(l.text.String())), func(raw string) bool {
		return strings.Contains(raw, `"msg":"request"`)
	})
	return strings.Join(all[max(0, len(all)-n):], "")
}

// runs makes a channel send in runs, one each period.
func runs(period time.Duration) posthouse.ChannelSettings {
	every := posthouse.Duration(period)
	return posthouse.ChannelSettings{Every: &every}
}

// atOnce makes a channel send at once and wait so long after each failure.
func atOnce(wait time.Duration) posthouse.ChannelSettings {
	s, none := runs(0), 0.0
	s.Backoff, s.Jitter = []posthouse.Duration{posthouse.Duration(wait)}, &none
	return s
}

// weekdays are days of the week with the same users, "1" for Monday.
func weekdays(users []string, days ...int) map[string][]string {
	out := map[string][]string{}
	for _, day := range days {
		out[strconv.Itoa(day)] = users
	}
	return out
}

// days splits the week by today in a zone: today and tomorrow, so that a test may begin before
// midnight and end after it, and the days that are surely others.
func days(t testing.TB, zone string) (near, others []int) {
	t.Helper()
	place, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	today := int(time.Now().In(place).Weekday()+6)%7 + 1
	for i := range 7 {
		day := (today-1+i)%7 + 1
		if i < 2 {
			near = append(near, day)
		} else {
			others = append(others, day)
		}
	}
	return near, others
}

// paths are the fields an error names.
func paths(err error) []string {
	var out []string
	var coded *posthouse.Error
	if errors.As(err, &coded) {
		for _, p := range coded.Problems {
			out = append(out, p.Path)
		}
	}
	return out
}
