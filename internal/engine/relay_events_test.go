package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/taskbody"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/outbox"
	"github.com/posthouse/posthouse/workflow"
)

// takenEvents is a taker of events that remembers them, and does to some what the test says.
type takenEvents struct {
	mu    sync.Mutex
	taken []string // task and event, in their order
	at    []time.Time
	fail  map[string]func(ctx context.Context) error // by task
}

func (l *takenEvents) take(ctx context.Context, row work.Enqueued, e *taskbody.NewEvent) error {
	l.mu.Lock()
	fail := l.fail[e.Task.Text()]
	l.mu.Unlock()
	if fail != nil {
		if err := fail(ctx); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	at := row.CreatedAt
	if e.At != "" {
		at, _ = time.Parse(time.RFC3339, e.At)
	}
	l.taken, l.at = append(l.taken, fmt.Sprint(row.Tenant, " ", e.Task.Text(), " ", e.Type)), append(l.at, at)
	return nil
}

// of are the events of a task that were taken.
func (l *takenEvents) of(task string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.taken), func(s string) bool { return !slices.Contains(wordsOf(s), task) })
}

func wordsOf(s string) []string {
	var tenant, task, event string
	fmt.Sscan(s, &tenant, &task, &event)
	return []string{tenant, task, event}
}

// withEvents runs a test in virtual time with a taker.
func withEvents(t *testing.T, test func(m *mailbox, l *takenEvents)) {
	virtualOutbox(t, func(m *mailbox) {
		m.stop()
		l := &takenEvents{fail: map[string]func(context.Context) error{}}
		m.events = l.take
		m.begin()
		test(m, l)
	})
}

// report enqueues events and commits them.
func (m *mailbox) report(events ...workflow.Event) {
	m.Helper()
	box, err := outbox.New(outbox.Options{Database: outbox.SQLite, Tenant: m.tenant})
	if err != nil {
		m.Fatal(err)
	}
	if err := box.Report(context.Background(), m.db, events...); err != nil {
		m.Fatal(err)
	}
}

func event(task string, kind workflow.EventType) workflow.Event {
	return workflow.Event{Type: kind, Task: task}
}

// FLOW-3, FLOW-19: events of tasks through the outbox are applied in the order they were written, and a
// message beside them is sent.
func TestEventsOfTheOutboxAreAppliedInTheirOrder(t *testing.T) {
	withEvents(t, func(m *mailbox, l *takenEvents) {
		wrote := time.Now()
		m.report(event("t1", workflow.TaskCreated), event("t1", workflow.NodeActivated), event("t2", workflow.TaskCreated))
		at := wrote.Add(-time.Hour).UTC()
		m.report(workflow.Event{Type: workflow.NodeDone, Task: "t1", At: at})
		odd := text("open", "u1")
		odd.Kind = "task_event" // which looks like one at a glance
		id := m.post(odd)[0]
		m.pass(3 * time.Second)
		want := []string{"default t1 task.created", "default t1 node.activated", "default t1 node.done"}
		if diff := cmp.Diff(want, l.of("t1")); diff != "" {
			t.Errorf("applied (-want +got):\n%s", diff)
		}
		if got := l.of("t2"); len(got) != 1 {
			t.Errorf("of t2 %v was applied", got)
		}
		for i, s := range l.taken {
			if early := l.at[i]; early.IsZero() || (wordsOf(s)[2] == string(workflow.NodeDone)) != early.Equal(at) {
				t.Errorf("%s happened at %v", s, early)
			}
		}
		m.want(posthouse.DeliveryID(id, 1), posthouse.Sent, "", 0)
		m.wantRows(nil)
	})
}

func TestEventThatCannotBeAppliedWaitsAndBlocksNobody(t *testing.T) {
	withEvents(t, func(m *mailbox, l *takenEvents) {
		tries := 0
		l.fail["refused"] = func(context.Context) error {
			tries++
			if tries < 3 {
				return errors.New("nobody knows the node")
			}
			return nil
		}
		l.fail["hangs"] = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		l.fail["kills"] = func(context.Context) error { panic("one event too many") }
		for _, task := range []string{"refused", "hangs", "kills", "good"} {
			m.report(event(task, workflow.TaskFinished))
		}
		id := m.post(text("open", "u1"))[0]
		m.pass(3 * time.Second)
		m.want(posthouse.DeliveryID(id, 1), posthouse.Sent, "", 0) // while one hangs
		m.pass(15 * time.Second)
		if got := l.of("good"); len(got) != 1 {
			t.Errorf("of the good task %v was applied", got)
		}
		rows, err := m.store.Outbox.Outbox(m.Context(), time.Now().Add(time.Hour), "task_events", 10, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		for _, row := range rows {
			want[row.ID] = map[string]string{"refused": "nobody knows the node", "hangs": "deadline exceeded", "kills": "one event too many"}[taskOf(row)]
		}
		if len(want) != 3 {
			t.Fatalf("%d events are left, want 3", len(want))
		}
		m.wantRows(want)
		m.pass(time.Minute)
		if got := l.of("refused"); len(got) != 1 || tries != 3 {
			t.Errorf("%v was applied after %d tries, want once after 3", got, tries)
		}
	})
}

// PostgreSQL keeps no U+0000: with one in a reason, none of its batch was put off, and all were tried at every poll.
func TestAReasonThatNoDatabaseKeepsIsMended(t *testing.T) {
	withEvents(t, func(m *mailbox, l *takenEvents) {
		l.fail["odd"] = func(context.Context) error { return errors.New("who has the role \x00 is not known") }
		m.write(`INSERT INTO posthouse_outbox (id, draft) VALUES ('r', '{"task_event": {"event": "task.finished", "task_id": "odd"}}')`)
		m.pass(3 * time.Second)
		m.wantRows(map[string]string{"r": "who has the role ? is not known"})
	})
}

func TestServerWithoutATakerSaysSoInTheRow(t *testing.T) {
	virtualOutbox(t, func(m *mailbox) {
		m.write(`INSERT INTO posthouse_outbox (id, draft) VALUES ('r', '{"task_event": {"event": "task.finished", "task_id": "t1"}}')`)
		m.write(`INSERT INTO posthouse_outbox (id, draft) VALUES ('both', '{"task_event": {"event": "task.finished", "task_id": "t1"}, "channel": "open"}')`)
		m.write(`INSERT INTO posthouse_outbox (id, draft) VALUES ('odd', '{"task_event": {"event": "task.finished", "task": 7}}')`)
		m.write(`INSERT INTO posthouse_outbox (id, draft) VALUES ('list', '[]')`)
		m.write(`INSERT INTO posthouse_outbox (id, draft) VALUES ('misspelt', '{"chanel": "open"}')`)
		m.pass(3 * time.Second)
		m.wantRows(map[string]string{
			"r": "takes no task events", "both": "stands beside the task_event", "odd": "cannot be read: task_event.task cannot be of the kind number",
			"list": "it is JSON of the kind array: want an object", "misspelt": `cannot be read: unknown field "chanel"`,
		})
	})
}

func TestMessageOfTheOutboxLinksToItsWritersTrace(t *testing.T) {
	virtualOutbox(t, func(m *mailbox) {
		const span = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		for trace, want := range map[string]string{span: span, "nonsense": "", "": ""} {
			box, err := outbox.New(outbox.Options{Database: outbox.SQLite, Trace: func(context.Context) string { return trace }})
			if err != nil {
				t.Fatal(err)
			}
			ids, err := box.Enqueue(context.Background(), m.db, text("open", "u1"))
			if err != nil {
				t.Fatal(err)
			}
			m.pass(3 * time.Second)
			msg, _, err := m.store.Messages.Message(context.Background(), m.tenant, ids[0])
			if err != nil || msg.Trace != want {
				t.Errorf("with the span %q the message has %q, %v; want %q", trace, msg.Trace, err, want)
			}
		}
	})
}

// taskOf is the task that a row's event is about.
func taskOf(row work.Enqueued) string {
	var in draft.Row
	if json.Unmarshal([]byte(row.Draft), &in) != nil || in.TaskEvent == nil {
		return ""
	}
	return in.TaskEvent.Task.Text()
}
