package engine

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/storetest"
	"github.com/posthouse/posthouse/internal/taskbody"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/outbox"
	"github.com/posthouse/posthouse/rule"
)

// mailbox is a rig with a caller that has a connection of its own to the same database.
type mailbox struct {
	*rig
	db      *sql.DB
	log     *pages
	metrics *prometheus.Registry
	events  func(ctx context.Context, row work.Enqueued, e *taskbody.NewEvent) error // takes events of tasks
}

// pages keep what was logged.
type pages struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *pages) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *pages) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// virtualOutbox runs a test in virtual time, with a channel named open.
func virtualOutbox(t *testing.T, test func(m *mailbox)) {
	t.Parallel()
	path := t.TempDir() + "/posthouse.db"
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		m := &mailbox{rig: &rig{T: t, provider: &provider{}, tenant: posthouse.DefaultTenant}, log: &pages{}}
		var err error
		if m.store, err = store.Open(ctx, store.Options{DSN: "sqlite:" + path, Log: slog.New(slog.DiscardHandler)}); err != nil {
			t.Fatal(err)
		}
		defer m.store.Close()
		if _, err := m.store.Schema.Migrate(ctx); err != nil {
			t.Fatal(err)
		}
		if m.db, err = sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)"); err != nil {
			t.Fatal(err)
		}
		defer m.db.Close()
		m.begin()
		defer func() { m.stop() }()
		test(m)
	})
}

// begin starts an engine with the channel named open.
func (m *mailbox) begin() {
	m.Helper()
	m.metrics = prometheus.NewRegistry()
	var err error
	m.engine, err = New(Options{
		Stores: parts(storetest.All(m.store)), Rosters: m.store.Rosters, Limiter: limit.SQL{Rows: m.store.Limits}, Log: slog.New(slog.NewTextHandler(m.log, nil)),
		Metrics: m.metrics, Poll: time.Second, RescueEvery: time.Second, TaskEvents: m.events,
	})
	if err != nil {
		m.Fatal(err)
	}
	if err := m.engine.Start(context.Background()); err != nil {
		m.Fatal(err)
	}
	m.open("open", posthouse.ChannelSettings{}, state.Opened{})
}

// post enqueues drafts and commits them.
func (m *mailbox) post(drafts ...posthouse.Draft) []string {
	m.Helper()
	box, err := outbox.New(outbox.Options{Database: outbox.SQLite, Tenant: m.tenant})
	if err != nil {
		m.Fatal(err)
	}
	ids, err := box.Enqueue(context.Background(), m.db, drafts...)
	if err != nil {
		m.Fatal(err)
	}
	return ids
}

// write writes rows as another program would.
func (m *mailbox) write(query string, args ...any) {
	m.Helper()
	if _, err := m.db.Exec(query, args...); err != nil {
		m.Fatal(err)
	}
}

// wantRows checks why each row is still in the outbox.
func (m *mailbox) wantRows(want map[string]string) {
	m.Helper()
	rows, err := m.db.Query("SELECT id, error FROM posthouse_outbox")
	if err != nil {
		m.Fatal(err)
	}
	defer rows.Close()
	left := 0
	for rows.Next() {
		var id, problem string
		if err := rows.Scan(&id, &problem); err != nil {
			m.Fatal(err)
		}
		left++
		if part, ok := want[id]; !ok || part == "" || !strings.Contains(problem, part) {
			m.Errorf("row %s is left with %q, want %q", id, problem, part)
		}
	}
	if err := rows.Err(); err != nil {
		m.Fatal(err)
	}
	if left != len(want) {
		m.Errorf("%d rows are left, want %d", left, len(want))
	}
}

// gauge reads posthouse_outbox_rows by state.
func (m *mailbox) gauge() map[string]float64 {
	m.Helper()
	families, err := m.metrics.Gather()
	if err != nil {
		m.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		if f.GetName() == "posthouse_outbox_rows" {
			for _, metric := range f.GetMetric() {
				got[metric.GetLabel()[0].GetValue()] = metric.GetGauge().GetValue()
			}
		}
	}
	return got
}

func TestRelaySendsWhatWasCommittedUnderItsOwnID(t *testing.T) {
	virtualOutbox(t, func(m *mailbox) {
		ids := m.post(text("open", "u1", "u2", "u1"), text("open", "u3"))
		m.pass(3 * time.Second)
		for i, users := range []int{2, 1} {
			for n := range users {
				m.want(posthouse.DeliveryID(ids[i], n+1), posthouse.Sent, "", 0)
			}
		}
		m.wantRows(nil)
		if sent := m.provider.to(); len(sent) != 3 {
			t.Errorf("sent to %v", sent)
		}
	})
}

func TestRejectedRowBlocksNobodyAndIsAcceptedOnceItsChannelExists(t *testing.T) {
	hours(t)
	virtualOutbox(t, func(m *mailbox) {
		ids := m.post(text("later", "early bird"), text("open", "u1"))
		m.pass(3 * time.Second)
		m.want(posthouse.DeliveryID(ids[1], 1), posthouse.Sent, "", 0)
		m.wantRows(map[string]string{ids[0]: `channel: there is no channel "later"`})
		if log := m.log.String(); !strings.Contains(log, "level=WARN") || !strings.Contains(log, ids[0]) || !strings.Contains(log, `there is no channel`) {
			t.Errorf("the log names no problem:\n%s", log)
		}
		m.pass(time.Minute)
		if diff := cmp.Diff(map[string]float64{"waiting": 0, "rejected": 1}, m.gauge()); diff != "" {
			t.Errorf("posthouse_outbox_rows (-want +got):\n%s", diff)
		}
		m.open("later", posthouse.ChannelSettings{}, state.Opened{})
		m.pass(11 * time.Minute)
		m.want(posthouse.DeliveryID(ids[0], 1), posthouse.Sent, "", 0)
		m.wantRows(nil)
		m.pass(time.Minute)
		if got := m.gauge()["rejected"]; got != 0 {
			t.Errorf("posthouse_outbox_rows{state=rejected} = %v, want 0", got)
		}
	})
}

func TestRejectedRowIsNotTriedAtEveryPoll(t *testing.T) {
	hours(t)
	virtualOutbox(t, func(m *mailbox) {
		m.post(text("nowhere", "u1"))
		m.pass(15 * time.Minute)
		var failures int
		if err := m.db.QueryRow("SELECT failures FROM posthouse_outbox").Scan(&failures); err != nil {
			t.Fatal(err)
		}
		if failures != 8 { // after 0, 5, 15, 35, 75, 155, 315 and 635 seconds
			t.Errorf("%d tries in 15 minutes, want 8", failures)
		}
	})
}

func TestRowsThatCannotBeReadSayWhy(t *testing.T) {
	virtualOutbox(t, func(m *mailbox) {
		if _, err := m.store.Templates.PutTemplate(m.Context(), time.Now(), posthouse.Template{Tenant: m.tenant, Name: "welcome", Text: "Dear ${name}"}); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		for i, c := range []struct{ draft, problem string }{
			{``, "the draft is empty"},
			{`{"channel"`, "the draft cannot be read"},
			{`{"chanel": "open"}`, `unknown field "chanel"`},
			{`{"channel": "open"} {}`, "followed by more text"},
			{`{}`, "channel: is required"},
			{`{"channel": "open", "content": {"text": "x"}}`, "to: is required"},
			{`{"channel": "open", "to": [{"user": "u"}], "template": "gone"}`, `there is no template "gone"`},
			{`{"channel": "open", "to": [{"user": "u"}], "template": "welcome", "payload": {}}`, "payload.name"},
			{`{"channel": "open", "to": [{"user": "u"}], "content": {"text": "x"}, "priority": "now"}`, "priority: is"},
			{`{"channel": "open", "to": [{"user": 7}]}`, "the draft cannot be read"},
			{`{"channel": "open", "to": [{"user": "u"}], "content": {"text": "x"}, "payload": {"a": "\u0000"}}`, "payload: holds the character U+0000"},
			{`{"channel": "open", "to": [{"user": "u"}], "content": {"text": "x"}, "payload": {"\ud83d": 1}}`, "payload: holds half of a surrogate pair"},
			{`{"channel": "open", "to": [{"user": "u"}], "content": {"title": "x", "text": "a \ud83d b"}}`, "content.text: holds half of a surrogate pair"},
			{`{"channel": "open", "to": [{"user": "\udc00"}], "content": {"text": "x"}}`, "to: holds half of a surrogate pair"},
			{`{"task_event": {"event": "node.done", "task_id": "t\ud800", "node_id": "n1"}}`, "task_event.task_id: holds half of a surrogate pair"},
			{`{"job": {"bizType": 0, "bizId": "\ud800"}}`, "job.bizId: holds half of a surrogate pair"},
		} {
			id := fmt.Sprint("row ", i)
			want[id] = c.problem
			m.write("INSERT INTO posthouse_outbox (id, draft) VALUES (?, ?)", id, c.draft)
		}
		ahead := posthouse.FirstID(time.Now().AddDate(1000, 0, 0)) // it would be kept until then
		want[ahead] = "id: is of a time to come"
		m.write("INSERT INTO posthouse_outbox (id, draft) VALUES (?, ?)", ahead, `{"channel": "open", "to": [{"user": "u"}], "content": {"text": "x"}}`)
		m.write(`INSERT INTO posthouse_outbox (draft) VALUES ('{"channel": "open", "to": [{"user": "good"}], "content": {"text": "x"}}')`)
		m.pass(3 * time.Second)
		m.wantRows(want)
		if diff := cmp.Diff([]string{"good"}, m.provider.to()); diff != "" {
			t.Errorf("sent to (-want +got):\n%s", diff)
		}
	})
}

func TestRowThatTheDatabaseRefusesIsRejectedAlone(t *testing.T) {
	virtualOutbox(t, func(m *mailbox) {
		first := m.post(text("open", "u1"))[0]
		m.pass(2 * time.Second)
		m.write("INSERT INTO posthouse_outbox (id, draft) VALUES (?, ?)", first, `{"channel": "open", "to": [{"user": "u2"}], "content": {"text": "x"}}`)
		m.post(text("open", "u3"))
		m.pass(2 * time.Second)
		m.wantRows(map[string]string{first: "the database refused the message"})
		if diff := cmp.Diff([]string{"u1", "u3"}, m.provider.to()); diff != "" {
			t.Errorf("sent to (-want +got):\n%s", diff)
		}
	})
}

func TestRelayThatWasDownChangesNoDeadline(t *testing.T) {
	virtualOutbox(t, func(m *mailbox) {
		m.stop()
		late := text("open", "late")
		late.Deadline = time.Now().Add(time.Minute)
		id := m.post(late)[0]
		m.write("UPDATE posthouse_outbox SET created_at = ?", time.Now().UnixMicro()) // the database's clock is not virtual
		m.pass(time.Hour)
		m.begin()
		m.pass(2 * life.SightEvery) // only a sweep from the beginning sees what was overdue before it was accepted
		m.want(posthouse.DeliveryID(id, 1), posthouse.Expired, state.ReasonDeadline, 0)
		m.wantRows(nil)
		if sent := m.provider.to(); len(sent) != 0 {
			t.Errorf("sent to %v", sent)
		}
	})
}

func TestRelayCutsWhatIsManyIntoSeveralTransactions(t *testing.T) {
	virtualOutbox(t, func(m *mailbox) {
		var drafts []posthouse.Draft
		for range 6 {
			d := text("open")
			for n := range 1000 {
				d.To = append(d.To, posthouse.Recipient{User: fmt.Sprint("u", n)})
			}
			d.NotBefore = time.Now().Add(time.Hour)
			drafts = append(drafts, d)
		}
		ids := m.post(drafts...)
		m.pass(5 * time.Second)
		m.wantRows(nil)
		for _, id := range ids {
			m.want(posthouse.DeliveryID(id, 1000), posthouse.Pending, "", 0)
		}
	})
}

func TestDuplicateFromTheOutboxCreatesNothingAndIsSaid(t *testing.T) {
	virtualOutbox(t, func(m *mailbox) {
		d := text("open", "u1")
		d.DedupKey = "order 7"
		first := m.post(d)[0]
		m.pass(2 * time.Second)
		if again := m.post(d)[0]; again != first {
			t.Errorf("the key is told as %s again, want %s", again, first)
		}
		second := posthouse.NewID() // of a program that does not look
		m.write("INSERT INTO posthouse_outbox (id, draft) VALUES (?, ?)", second, `{"channel": "open", "to": [{"user": "u1"}], "content": {"text": "x"}, "dedup_key": "order 7"}`)
		m.pass(2 * time.Second)
		m.wantRows(nil)
		if found, _, err := m.store.Messages.Message(m.Context(), m.tenant, second); err != nil || found.ID != first {
			t.Errorf("the id %s leads to %q, %v; want %s", second, found.ID, err, first)
		}
		if sent := m.provider.to(); len(sent) != 1 {
			t.Errorf("sent to %v, want once", sent)
		}
		if log := m.log.String(); !strings.Contains(log, second) || !strings.Contains(log, "duplicate_of="+first) {
			t.Errorf("the log does not name the duplicate:\n%s", log)
		}
	})
}

func TestProcessFromBeforeARestoreRelaysNothing(t *testing.T) {
	virtualOutbox(t, func(m *mailbox) {
		if _, err := m.store.Epochs.BumpEpoch(m.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		m.pass(5 * time.Second) // the rescuer has seen it
		m.post(text("open", "u1"))
		m.pass(time.Minute)
		var left int
		if err := m.db.QueryRow("SELECT COUNT(*) FROM posthouse_outbox WHERE failures = 0").Scan(&left); err != nil || left != 1 {
			t.Errorf("%d untouched rows, %v; want 1", left, err)
		}
		if sent := m.provider.to(); len(sent) != 0 {
			t.Errorf("sent to %v", sent)
		}
	})
}

// brittle is a rule that panics about one user.
type brittle struct{}

func (brittle) Judge(_ context.Context, s rule.Subject) (rule.Verdict, error) {
	if s.Recipient.User == "boom" {
		panic("boom")
	}
	return rule.Verdict{Decision: rule.Allow}, nil
}

// A row that makes the process panic would do so again in the next one, for ever.
func TestARowThatMakesTheRelayPanicStaysBehindAlone(t *testing.T) {
	virtualOutbox(t, func(m *mailbox) {
		m.engine.Routes.route(m.tenant, "open").Rules = brittle{}
		bad, good := m.post(text("open", "boom"))[0], m.post(text("open", "u1"))[0]
		m.pass(3 * time.Second)
		m.wantRows(map[string]string{bad: "makes the server panic: boom"})
		m.want(posthouse.DeliveryID(good, 1), posthouse.Sent, "", 0)
	})
}
