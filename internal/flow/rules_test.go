package flow

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
	"github.com/posthouse/posthouse/workflow"
)

// take has a flow take events in.
func (w *world) take(t *testing.T, events ...workflow.Event) []wire.TaskOutcome {
	t.Helper()
	out, err := w.flow(t).Apply(t.Context(), "t", events...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func wantTold(t *testing.T, w *world, kind, channel string, want map[string][]string) {
	t.Helper()
	got := map[string][]string{}
	for key, users := range w.told(kind, channel) {
		key, _, _ = strings.Cut(key, "/") // the parts of one notice
		got[key] = append(got[key], users...)
		slices.Sort(got[key])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s on %s (-want +got):\n%s", kind, channel, diff)
	}
}

// FLOW-6, FLOW-9: a new task is told of to everyone who handles a node, but for the initiator.
func TestANewTaskIsToldToAllHandlersWithoutTheInitiator(t *testing.T) {
	t.Parallel()
	w := newWorld()
	out := w.take(t, created(0))
	wantTold(t, w, KindTaskCreated, "oa", map[string][]string{"0_1001_0": {"u1", "u2", "u3", "u9"}})
	wantTold(t, w, KindTaskCreated, "dingtalk", map[string][]string{"0_1001_1": {"u1", "u2", "u3", "u9"}})
	var keys []string
	for _, told := range out[0].Told {
		keys = append(keys, told.Key)
	}
	if slices.Sort(keys); !slices.Equal(keys, []string{"0_1001_0", "0_1001_1", "5_1_0", "5_1_1"}) || !out[0].Changed {
		t.Errorf("the outcome is %+v", out[0])
	}
}

// FLOW-6: when a node is done, the handlers of all nodes that follow are told, each time it is done.
func TestANodeThatIsDoneIsToldToTheHandlersOfAllNext(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.take(t, created(0), node(workflow.NodeDone, "1", 5), node(workflow.NodeDone, "2", 6), node(workflow.NodeDone, "4", 7), again(node(workflow.NodeDone, "2", 8), 2))
	wantTold(t, w, KindNodeDone, "oa", map[string][]string{
		"1_1001_1_0": {"u1", "u2", "u3", "u9"}, "1_1001_2_0": {"u2", "u3"}, "1_1001_2_0#2": {"u2", "u3"},
	})
}

// FLOW-6: the end is told to everyone with the initiator, once, whatever comes after it.
func TestTheEndIsToldToEveryoneOnce(t *testing.T) {
	t.Parallel()
	for event, want := range map[workflow.EventType]map[string]map[string][]string{
		workflow.TaskFinished:  {KindTaskFinished: {"3_1001_1": {"boss", "u1", "u2", "u3", "u9"}}, KindTaskAbnormal: {}},
		workflow.TaskAborted:   {KindTaskAbnormal: {"4_1001_1": {"boss", "u1", "u2", "u3", "u9"}}, KindTaskFinished: {}},
		workflow.TaskCancelled: {KindTaskAbnormal: {}, KindTaskFinished: {}, KindTaskCreated: {}},
	} {
		w := newWorld()
		w.take(t, created(0), ends(event, 5), ends(event, 5), ends(workflow.TaskFinished, 9), ends(workflow.TaskAborted, 9))
		for kind, told := range want {
			wantTold(t, w, kind, "dingtalk", told)
		}
	}
}

// FLOW-7: five reminders for each pass, to everyone with the initiator; those that have passed are not planned.
func TestEachPassHasFiveReminders(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.take(t, created(0), passes(0, 120, 40))
	everyone := []string{"boss", "u1", "u2", "u3", "u9"}
	wantTold(t, w, KindOrbitRemind, "oa", map[string][]string{
		"2_1001_9_60_0": everyone, "2_1001_9_45_0": everyone, "2_1001_9_30_0": everyone, "2_1001_9_15_0": everyone, "2_1001_9_0_0": everyone,
		"2_1001_10_30_0": everyone, "2_1001_10_15_0": everyone, "2_1001_10_0_0": everyone,
	})
	for _, m := range w.messages {
		if m.DedupKey == "2_1001_9_60_0" && (!m.NotBefore.Equal(at(60)) || !m.Deadline.Equal(at(75)) || !m.Clock.Until.Equal(at(120))) {
			t.Errorf("60 minutes before 14:00 it is from %s to %s, counting to %s", m.NotBefore, m.Deadline, m.Clock.Until)
		}
		if m.DedupKey == "2_1001_9_0_0" && (!m.NotBefore.Equal(at(120)) || !m.Deadline.Equal(at(135))) {
			t.Errorf("at the entry it is from %s to %s", m.NotBefore, m.Deadline)
		}
	}
}

// FLOW-7, FLOW-16: a plan that changes drops what is no longer in it and plans anew what moved; the task's end
// stops all that is still to come.
func TestAChangedOrbitPlanAndTheTasksEndDropReminders(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.take(t, created(0), passes(0, 120, 300), passes(1, 150))
	slots := func() (out []string) {
		for _, m := range w.messages {
			if m.Kind == KindOrbitRemind && m.Channel == "oa" && m.state == posthouse.Pending {
				out = append(out, m.DedupKey+" "+m.NotBefore.Sub(noon).String())
			}
		}
		slices.Sort(out)
		return out
	}
	want := []string{"2_1001_9_0_0~2 2h30m0s", "2_1001_9_15_0~2 2h15m0s", "2_1001_9_30_0~2 2h0m0s", "2_1001_9_45_0~2 1h45m0s", "2_1001_9_60_0~2 1h30m0s"}
	if diff := cmp.Diff(want, slots()); diff != "" {
		t.Errorf("after the pass moved (-want +got):\n%s", diff)
	}
	w.now = at(100)
	w.send()
	w.take(t, ends(workflow.TaskFinished, 100))
	if left := slots(); len(left) != 0 {
		t.Errorf("after the end there are still %v", left)
	}
	wantTold(t, w, KindOrbitRemind, "oa", map[string][]string{"2_1001_9_60_0~2": {"boss", "u1", "u2", "u3", "u9"}})
}

// FLOW-16: what was withdrawn is cancelled by the planner too: whoever took the event in may have died before.
func TestWhatWasWithdrawnIsCancelledAfterACrash(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.take(t, created(0), passes(0, 120))
	w.deaf = true // it dies after its commit
	if _, err := w.flow(t).Apply(t.Context(), "t", ends(workflow.TaskFinished, 1)); err == nil {
		t.Fatal("it did not die")
	}
	w.deaf = false
	if n := len(w.told(KindOrbitRemind, "oa")); n != 5 {
		t.Fatalf("after the crash %d reminders wait, want all 5 for now", n)
	}
	if w.plans["1001"].NextAt.IsZero() {
		t.Error("nobody looks after it")
	}
	if next, err := w.compose(t); err != nil || !next.NextAt.IsZero() {
		t.Errorf("the planner is to look again at %s, %v", next.NextAt, err)
	}
	wantTold(t, w, KindOrbitRemind, "oa", map[string][]string{})
}

// FLOW-16: what follows in other words is taken back when that is committed: a commit that does not come cancels
// nothing. Whom all of it has reached is one question.
func TestWhatFollowsInOtherWordsIsTakenBackAfterItsCommit(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.take(t, created(0), passes(0, 120))
	everyone := []string{"u1", "u2", "u3", "u9"}
	renamed := created(1)
	renamed.Created.Name = "改名"
	w.conflicts = 1000
	if _, err := w.flow(t).Apply(t.Context(), "t", renamed); err == nil {
		t.Fatal("there was no conflict")
	}
	wantTold(t, w, KindTaskCreated, "oa", map[string][]string{"0_1001_0": everyone})
	w.conflicts = 0
	if out := w.take(t, renamed); len(out[0].Withdrawn) != 14 || len(out[0].Told) != 14 {
		t.Errorf("withdrawn are %v, and told %+v", out[0].Withdrawn, out[0].Told)
	}
	wantTold(t, w, KindTaskCreated, "oa", map[string][]string{"0_1001_0~2": everyone})
	if w.asked != 1 {
		t.Errorf("it is asked %d times whom the messages reached", w.asked)
	}
}

// FLOW-16: whom messages have reached is asked once, however many submissions it takes to tell all of it anew.
func TestWhomMessagesHaveReachedIsAskedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.crowd(2500)
	w.take(t, created(0), passes(0, 120))
	before := len(w.deliveries())
	renamed := created(1)
	renamed.Created.Name = "改名"
	w.take(t, renamed)
	if after := len(w.deliveries()); after != before || w.asked != 1 {
		t.Errorf("there are %d deliveries of %d, and it is asked %d times", after, before, w.asked)
	}
}

// What was told so long ago that its messages are no longer kept counts as told, also in other words.
func TestWhatIsNoLongerKeptIsNotToldAgain(t *testing.T) {
	t.Parallel()
	w := newWorld()
	unbounded := func(m int) workflow.Event {
		e := created(m)
		e.Created.Nodes[0].MaxDuration = 0
		return e
	}
	w.take(t, unbounded(0))
	w.send()
	clear(w.messages)
	renamed := unbounded(1)
	renamed.Created.Name = "改名"
	if out := w.take(t, renamed, renamed); len(w.messages) != 0 || len(out[0].Told)+len(out[1].Told) != 0 {
		t.Errorf("it is told again: %+v", out)
	}
}

// A slot that is still to come has reached nobody, and is told of again also where its cancelled messages are gone.
func TestASlotToComeIsToldAgainWhereItsMessagesAreGone(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.take(t, created(0), passes(0, 120), passes(1))
	clear(w.messages)
	w.take(t, passes(2, 120))
	if n := len(w.told(KindOrbitRemind, "oa")); n != 5 {
		t.Errorf("there are %d reminders, want 5", n)
	}
}

// fill makes the task's document as large as so many bytes, by what an event said once.
func (w *world) fill(t *testing.T, size int) {
	t.Helper()
	p := w.plans["1001"]
	var l ledger
	if err := l.decode(p); err != nil {
		t.Fatal(err)
	}
	l.Known.at("old", 1).Done = &fact[nothing]{At: at(-1), Payload: canonical(strings.Repeat("x", size))}
	p.Doc = canonical(&l)
	w.plans["1001"] = p
}

// A large task does not keep what was withdrawn for ever, however often its passes move; the keys of that stay taken.
func TestALargeTaskDropsWhatIsOver(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.take(t, created(0), passes(0, 120))
	w.fill(t, largeLedger)
	for m := range 3 {
		w.take(t, passes(m+1, 121+m%2)) // it moves, and back
		if _, err := w.compose(t); err != nil {
			t.Fatal(err)
		}
	}
	s, err := w.flow(t).Task(t.Context(), "t", "1001")
	if err != nil || len(s.Notices) != 2*(1+1+5) {
		t.Errorf("there are %d notices, %v; want those that stand", len(s.Notices), err)
	}
	everyone := []string{"boss", "u1", "u2", "u3", "u9"}
	wantTold(t, w, KindOrbitRemind, "oa", map[string][]string{
		"2_1001_9_60_0~4": everyone, "2_1001_9_45_0~4": everyone, "2_1001_9_30_0~4": everyone, "2_1001_9_15_0~4": everyone, "2_1001_9_0_0~4": everyone,
	})
}

// What begins something in a task that has grown too large is refused; what ends something is not.
func TestATaskThatIsTooLargeCanStillEnd(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.take(t, created(0), node(workflow.NodeActivated, "1", 1))
	w.fill(t, maxLedger)
	w.take(t, created(1)) // it makes it no larger
	longer := created(2)
	longer.Created.Name += "二"
	for _, e := range []workflow.Event{longer, node(workflow.NodeActivated, "2", 2), passes(2, 120)} {
		if _, err := w.flow(t).Apply(t.Context(), "t", e); posthouse.CodeOf(err) != posthouse.CodeTooLarge {
			t.Errorf("%s: got %v, want it refused", e.Type, err)
		}
	}
	w.take(t, node(workflow.NodeDone, "1", 3))
	if r := w.reminders["5_1_0"]; r.State != posthouse.ReminderEnded {
		t.Errorf("the time-out is %s", r.State)
	}
	w.fill(t, 2*maxLedger)
	if _, err := w.flow(t).Apply(t.Context(), "t", node(workflow.NodeDone, "2", 4)); posthouse.CodeOf(err) != posthouse.CodeTooLarge {
		t.Errorf("beyond all bounds: got %v, want it refused", err)
	}
	w.take(t, ends(workflow.TaskFinished, 5))
	wantTold(t, w, KindTaskFinished, "oa", map[string][]string{"3_1001_0": {"boss", "u1", "u2", "u3", "u9"}})
}

// An event is in as a whole: what takes many submissions is not refused when some of it was told.
func TestAnEventThatMakesATaskTooLargeIsNotHalfIn(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.crowd(2500)
	w.take(t, created(0))
	w.fill(t, maxLedger-len(w.plans["1001"].Doc)-2000)
	w.take(t, passes(1, 120))
	if n := len(w.told(KindOrbitRemind, "oa")); n != 5*3 || len(w.plans["1001"].Doc) <= maxLedger {
		t.Errorf("there are %d reminders in a document of %d bytes, want 15", n, len(w.plans["1001"].Doc))
	}
}

// What may have reached somebody and may follow again is not dropped: it says who need not be told.
func TestWhatCanFollowAgainIsNotDropped(t *testing.T) {
	t.Parallel()
	l := ledger{Told: []telling{
		{Key: "a node's end", Withdrawn: true},
		{Key: "a slot to come~2", Withdrawn: true, NotBefore: at(1)},
		{Key: "a slot that is now", Withdrawn: true, NotBefore: at(-1)},
		{Key: "a slot that has passed", Withdrawn: true, NotBefore: at(-16)},
		{Key: "one that stands", NotBefore: at(-16)},
		{Key: "a reminder", Withdrawn: true, NotBefore: at(-1), Reminder: "a reminder"},
	}}
	l.drop(noon)
	var left []string
	for _, told := range l.Told {
		left = append(left, told.Key)
	}
	if want := []string{"a node's end", "a slot that is now", "one that stands"}; !slices.Equal(left, want) {
		t.Errorf("left are %v, want %v", left, want)
	}
	for key, want := range map[string]string{"a slot to come": "a slot to come~2", "a slot that is now": "a slot that is now~2", "a slot": "a slot"} {
		if got := l.freshKey(key); got != want {
			t.Errorf("the next key of %q is %q, want %q", key, got, want)
		}
	}
}

// FLOW-8: a time-out begins at the start and the node's duration, comes again each timeout_remind minutes,
// and ends with the node or the task.
func TestATimeoutIsAReminderUntilTheNodeIsDone(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.take(t, created(0), node(workflow.NodeActivated, "1", 1), node(workflow.NodeActivated, "2", 2), node(workflow.NodeActivated, "3", 2))
	first, once := w.reminders["5_1_0"], w.reminders["5_2_0"]
	if want := (&posthouse.Repeat{From: at(61), Every: posthouse.Duration(30 * time.Minute)}); !cmp.Equal(want, first.Repeat) || !first.Draft.Clock.Since.Equal(at(61)) {
		t.Errorf("the time-out of node 1 is %+v, counting from %+v", first.Repeat, first.Draft.Clock)
	}
	if once.Repeat.Max != 1 {
		t.Errorf("a node without timeout_remind reminds %d times", once.Repeat.Max)
	}
	if len(w.reminders) != 4 { // two nodes with max_duration on two channels
		t.Errorf("there are %d reminders", len(w.reminders))
	}
	var payload map[string]any
	if err := json.Unmarshal(first.Draft.Payload, &payload); err != nil || payload["maxDuration"] != 60.0 || payload["timeoutRemind"] != 30.0 || payload["nodeName"] != "受理" {
		t.Errorf("the payload is %s", first.Draft.Payload)
	}
	w.take(t, node(workflow.NodeDone, "1", 200))
	if r := w.reminders["5_1_0"]; r.State != posthouse.ReminderEnded || r.Reason != "node.done" {
		t.Errorf("after the node was done the reminder is %s: %s", r.State, r.Reason)
	}
	if r := w.reminders["5_2_0"]; r.State != posthouse.ReminderOpen {
		t.Errorf("another node's reminder is %s", r.State)
	}
	w.take(t, ends(workflow.TaskCancelled, 201))
	if r := w.reminders["5_2_0"]; r.State != posthouse.ReminderEnded {
		t.Errorf("after the task was cancelled the reminder is %s", r.State)
	}
}

// A task's lists are lists where they are empty too: a program that reads them in another language relies on it.
func TestATasksEmptyListsAreNoNulls(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.take(t, ends(workflow.TaskFinished, 0))
	s, err := w.flow(t).Task(t.Context(), "t1", "1001")
	if err != nil {
		t.Fatal(err)
	}
	if text := string(canonical(s)); strings.Contains(text, "null") {
		t.Errorf("it is %s", text)
	}
}

// FLOW-8: a time-out that somebody enqueued as a job stands for the task's own, and ends with the node; another
// reminder that happens to have its id is a warning.
func TestATimeoutThatIsAJobAlreadyStandsForTheTasksOwn(t *testing.T) {
	t.Parallel()
	w := newWorld()
	job := posthouse.Reminder{ID: "5_1_0", State: posthouse.ReminderOpen, Version: 1, Draft: posthouse.Draft{Channel: "oa", Kind: KindNodeTimeout, Ref: "1", To: []posthouse.Recipient{{User: "u9"}}}}
	ticket := posthouse.Reminder{ID: "5_1_1", State: posthouse.ReminderOpen, Version: 1, Draft: posthouse.Draft{Channel: "dingtalk", Kind: "ticket", Ref: "7"}}
	w.reminders[job.ID], w.reminders[ticket.ID] = job, ticket
	w.take(t, created(0), node(workflow.NodeActivated, "1", 1))
	if diff := cmp.Diff(job, w.reminders[job.ID]); diff != "" {
		t.Errorf("the job (-want +got):\n%s", diff)
	}
	s, err := w.flow(t).Task(t.Context(), "t1", "1001")
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Warnings) != 1 || s.Warnings[0].Detail != `node_timeout on dingtalk: another reminder has the id "5_1_1" and is under way` {
		t.Errorf("the warnings are %+v", s.Warnings)
	}
	w.take(t, node(workflow.NodeDone, "1", 200))
	if r := w.reminders[job.ID]; r.State != posthouse.ReminderEnded {
		t.Errorf("after the node was done the job is %s", r.State)
	}
	if r := w.reminders[ticket.ID]; r.State != posthouse.ReminderOpen {
		t.Errorf("after the node was done the other reminder is %s", r.State)
	}
}

// FLOW-8: a task that ends leaves the time-out alone that another task has opened for a node of the same id since.
func TestATimeoutOfAnotherTaskGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.take(t, created(0), node(workflow.NodeActivated, "2", 1))
	r := w.reminders["5_2_0"]
	r.State = posthouse.ReminderEnded // it has reminded once
	w.reminders[r.ID] = r
	for _, e := range []workflow.Event{created(2), node(workflow.NodeActivated, "2", 3)} {
		e.Task = "1002"
		w.take(t, e)
	}
	w.take(t, node(workflow.NodeDone, "2", 4))
	if r := w.reminders[r.ID]; r.Task != "1002" || r.State != posthouse.ReminderOpen {
		t.Errorf("the time-out of task %s is %s", r.Task, r.State)
	}
}

// FLOW-8: an event that comes late reminds at once, counting from when the time was up.
func TestATimeoutThatIsLateBeginsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.take(t, created(-200), node(workflow.NodeActivated, "1", -100))
	if r := w.reminders["5_1_1"]; !r.Repeat.From.Equal(noon) || !r.Draft.Clock.Since.Equal(at(-40)) {
		t.Errorf("it begins at %s and counts from %s", r.Repeat.From, r.Draft.Clock.Since)
	}
}

// FLOW-8: where much is told before it, it begins when it is told: the time its event came has passed as a slot.
func TestATimeoutThatIsToldLateBeginsThen(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.crowd(2500)
	w.refuse = func(posthouse.Draft) string {
		w.now = w.now.Add(time.Minute)
		return ""
	}
	w.take(t, node(workflow.NodeActivated, "1", -100), created(-200))
	if r := w.reminders["5_1_0"]; !r.Repeat.From.Equal(at(3)) { // after three messages on the first channel
		t.Errorf("it begins at %s", r.Repeat.From)
	}
}

// FLOW-8: a time-out that has reminded already begins anew where the node is given more time, and goes on as it is
// where that is over too.
func TestATimeoutThatHasBegunFollowsATimeStillToCome(t *testing.T) {
	t.Parallel()
	for _, every := range []int{0, 30} { // once, and again and again
		for more, begins := range map[int]time.Time{90: at(1 + 90), 70: at(1 + 60)} {
			w := newWorld()
			e := created(0)
			e.Created.Nodes[0].TimeoutRemind = every
			w.take(t, e, node(workflow.NodeActivated, "1", 1))
			w.now = at(80)
			w.messages["waits"] = &message{posthouse.Draft{Kind: KindNodeTimeout}, posthouse.Pending}
			r := w.reminders["5_1_0"]
			r.Fired, r.Message = 1, "waits"
			if r.Repeat.Max == 1 {
				r.State = posthouse.ReminderEnded
			}
			w.reminders[r.ID] = r
			e.At, e.Created.Nodes[0].MaxDuration = at(75), more
			w.take(t, e)
			if got := w.messages["waits"].state; (got == posthouse.Cancelled) != begins.After(w.now) {
				t.Errorf("with %d minutes, again each %d, the message that waits is %s", more, every, got)
			}
			if r := w.reminders[r.ID]; !r.Repeat.From.Equal(begins) || begins.After(w.now) != (r.Fired == 0 && r.State == posthouse.ReminderOpen) {
				t.Errorf("with %d minutes, again each %d, it begins at %s, has reminded %d times and is %s", more, every, r.Repeat.From, r.Fired, r.State)
			}
		}
	}
}

// FLOW-8, FLOW-9: a time-out is for the assignees of open work items, at the moment it is sent; for the handlers
// where no work items are known; for nobody once the node is done.
func TestATimeoutIsForThoseWhoHaveToActNow(t *testing.T) {
	t.Parallel()
	w := newWorld()
	f := w.flow(t)
	who := func() (users []string, over bool) {
		t.Helper()
		to, goesOn, err := f.Recipients(t.Context(), w.reminders["5_1_0"])
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range to {
			users = append(users, r.User)
		}
		return users, !goesOn
	}
	want := func(what string, users ...string) {
		t.Helper()
		if got, over := who(); !slices.Equal(got, users) || over {
			t.Errorf("%s: it is for %v, over %t; want %v", what, got, over, users)
		}
	}
	w.take(t, created(0), node(workflow.NodeActivated, "1", 1))
	want("without work items", "boss")
	items := node(workflow.NodeActivated, "1", 2)
	items.WorkItems = []workflow.WorkItem{{ID: "w1", Assignee: "u7", PhaseStatus: 1}, {ID: "w2", Assignee: "u8", PhaseStatus: 2}, {Assignee: "u5", PhaseStatus: 1}}
	w.take(t, items)
	want("with work items", "u5", "u7")
	items.At, items.WorkItems = at(3), []workflow.WorkItem{{ID: "w2", Assignee: "u8", PhaseStatus: 1}}
	w.take(t, items)
	want("after it was handed on", "u8")
	w.take(t, node(workflow.NodeDone, "1", 4))
	if _, over := who(); !over {
		t.Error("the node is done and its time-out goes on")
	}
}

// FLOW-9: a role that nobody has and a notice for nobody are warnings, said once, counted and kept.
func TestARoleThatNobodyHasIsAWarning(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.roles = nil
	e := created(0)
	e.Created.Nodes = e.Created.Nodes[3:]
	out := w.take(t, e, e, node(workflow.NodeActivated, "4", 1))
	var codes []wire.WarningCode
	for _, o := range out {
		for _, warning := range o.Warnings {
			codes = append(codes, warning.Code)
		}
	}
	if want := []wire.WarningCode{RoleVacant, NobodyToTell}; !slices.Equal(codes, want) {
		t.Errorf("the warnings are %v, want %v", codes, want)
	}
	if n := strings.Count(w.log.String(), "code=NOBODY_TO_TELL"); n != 1 {
		t.Errorf("the log says %d times that nobody is told:\n%s", n, w.log.String())
	}
	status, err := w.flow(t).Task(t.Context(), "t", "1001")
	if err != nil || len(status.Warnings) != 2 || status.State != "running" {
		t.Errorf("the task is %+v, %v", status, err)
	}
	w.roles = map[string][]string{"operator": {"u3"}}
	w.take(t, e) // repeated: now there is somebody
	wantTold(t, w, KindTaskCreated, "oa", map[string][]string{"0_1001_0": {"u3"}})
}

// FLOW-10: a notice that cannot be made into a message is a warning; the others are told.
func TestANoticeThatIsRefusedHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.refuse = func(d posthouse.Draft) string {
		if d.Channel == "oa" {
			return "there is no template"
		}
		return ""
	}
	out := w.take(t, created(0))
	wantTold(t, w, KindTaskCreated, "dingtalk", map[string][]string{"0_1001_1": {"u1", "u2", "u3", "u9"}})
	if len(out[0].Warnings) != 1 || out[0].Warnings[0].Code != NoticeRefused || len(out[0].Told) != 1+2 {
		t.Errorf("the outcome is %+v", out[0])
	}
	p := w.plans["1001"]
	if !p.NextAt.Equal(noon.Add(30 * time.Second)) {
		t.Errorf("it is tried again at %s", p.NextAt)
	}
	w.refuse = nil
	w.take(t, created(0))
	wantTold(t, w, KindTaskCreated, "oa", map[string][]string{"0_1001_0": {"u1", "u2", "u3", "u9"}})
}

// compose has the planner look after the task, as the engine does when its moment has come.
func (w *world) compose(t *testing.T) (work.Plan, error) {
	t.Helper()
	p := w.plans["1001"]
	drafts, next, err := w.flow(t).Compose(t.Context(), p, p.NextAt)
	if err != nil {
		return next, err
	}
	_, err = w.Submit(t.Context(), Submission{Drafts: drafts, Task: next})
	return next, err
}

// FLOW-10: what was refused is told by itself once it can be, what another has told meanwhile stands, and what is
// refused still is tried again.
func TestOfRefusedNoticesEachIsToldOnceItCanBe(t *testing.T) {
	t.Parallel()
	w := newWorld()
	refused := []string{KindTaskCreated, KindNodeDone}
	w.refuse = func(d posthouse.Draft) string {
		if slices.Contains(refused, d.Kind) {
			return "there is no template"
		}
		return ""
	}
	w.channels = []string{"oa"}
	w.take(t, created(0), node(workflow.NodeDone, "1", 1), node(workflow.NodeDone, "2", 2))
	if p, err := w.compose(t); err == nil || !strings.HasPrefix(err.Error(), "node_done on oa: template: there is no template; task_created on oa: ") {
		t.Errorf("while all are refused: next %s, %v", p.NextAt, err)
	}
	w.messages["by hand"] = &message{posthouse.Draft{Channel: "oa", Kind: KindNodeDone, DedupKey: "1_1001_2_0"}, posthouse.Sent}
	refused = refused[:1]
	if p, err := w.compose(t); err != nil || p.NextAt.IsZero() {
		t.Errorf("with one still refused: next %s, %v", p.NextAt, err)
	}
	wantTold(t, w, KindNodeDone, "oa", map[string][]string{"1_1001_1_0": {"u1", "u2", "u3", "u9"}})
	wantTold(t, w, KindTaskCreated, "oa", map[string][]string{})
	s, err := w.flow(t).Task(t.Context(), "t", "1001")
	if err != nil || len(s.Notices) != 4 || !slices.Equal(s.Notices[3].Messages, []string{"by hand"}) {
		t.Errorf("the task is %+v, %v", s, err)
	}
	refused = nil
	if p, err := w.compose(t); err != nil || !p.NextAt.IsZero() {
		t.Errorf("with none refused: next %s, %v", p.NextAt, err)
	}
	wantTold(t, w, KindTaskCreated, "oa", map[string][]string{"0_1001_0": {"u1", "u2", "u3", "u9"}})
	p := w.plans["1001"]
	p.NextAt, p.Failures = noon, maxRetries+1
	if _, next, err := w.flow(t).Compose(t.Context(), p, noon); err != nil || !next.NextAt.IsZero() {
		t.Errorf("after three days: next %s, %v", next.NextAt, err)
	}
}

// FLOW-10: notices that are refused leave room for those that come after them, also where they would fill a
// submission by themselves.
func TestRefusedNoticesThatFillASubmissionHoldUpNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.crowd(2500)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	asked := 0
	w.refuse = func(d posthouse.Draft) string {
		if asked++; asked > 1000 {
			cancel() // it asks for ever
		}
		if d.Channel == "oa" {
			return "there is no template"
		}
		return ""
	}
	out, err := w.flow(t).Apply(ctx, "t", created(0), passes(0, 120))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(w.told(KindOrbitRemind, "dingtalk")); n != 5*3 { // five slots of three messages each
		t.Errorf("there are %d reminders on the channel that takes them, want 15", n)
	}
	if len(out[0].Warnings) != 1 || len(out[1].Warnings) != 1 || w.plans["1001"].NextAt.IsZero() {
		t.Errorf("the warnings are %+v and %+v, and it is tried again at %s", out[0].Warnings, out[1].Warnings, w.plans["1001"].NextAt)
	}
}

// FLOW-19: events of one call that name no time happened in their order: the last word counts.
func TestEventsOfOneCallWithoutATimeHappenedInTheirOrder(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{{"甲", "乙"}, {"乙", "甲"}} {
		w := newWorld()
		var events []workflow.Event
		for _, name := range names {
			e := created(0)
			e.At, e.Created.Name = time.Time{}, name
			events = append(events, e)
		}
		w.take(t, events...)
		s, err := w.flow(t).Task(t.Context(), "t", "1001")
		if err != nil || s.About.Name != names[1] {
			t.Errorf("after %v the task is called %q, %v", names, s.About.Name, err)
		}
	}
}

// FLOW-19: whoever finds that somebody else was faster reads again.
func TestAConflictIsReadAgain(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.conflicts = 3
	w.take(t, created(0))
	if len(w.messages) != 2 {
		t.Errorf("there are %d messages", len(w.messages))
	}
	w.conflicts = 1000
	if _, err := w.flow(t).Apply(t.Context(), "t", ends(workflow.TaskFinished, 1)); posthouse.CodeOf(err) != posthouse.CodeUnavailable {
		t.Errorf("with ever new conflicts: %v", err)
	}
}

// FLOW-19: conflicts count from the last submission on: what takes many submissions meets many.
func TestConflictsBetweenManySubmissionsAreNoFailure(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.crowd(2500)
	w.rivals = maxConflicts - 1
	w.take(t, created(0), passes(0, 120))
	if n := len(w.told(KindOrbitRemind, "oa")); n != 5*3 { // five slots of three messages each
		t.Errorf("there are %d reminders, want 15", n)
	}
}

// FLOW-5: a message that has a notice's dedup key already stands for it.
func TestANoticeThatSomebodyElseToldIsNotToldAgain(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.messages["by hand"] = &message{posthouse.Draft{Channel: "oa", Kind: KindTaskCreated, Ref: "1001", DedupKey: "0_1001_0"}, posthouse.Pending}
	w.take(t, created(0))
	status, err := w.flow(t).Task(t.Context(), "t", "1001")
	if err != nil || !slices.Equal(status.Notices[0].Messages, []string{"by hand"}) {
		t.Errorf("the task is %+v, %v", status, err)
	}
}

// FLOW-7: what is more than one submission takes is told by several.
func TestManyRecipientsAreToldInParts(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.roles["planner"] = nil
	w.crowd(2500)
	w.take(t, created(0), passes(0, 120))
	if got := len(w.deliveries()); got != 2*(2504-1)+5*2*2504+2 {
		t.Errorf("there are %d deliveries", got)
	}
	for _, m := range w.messages {
		if len(m.To) > 1000 {
			t.Errorf("%s has %d recipients", m.DedupKey, len(m.To))
		}
	}
}

// A notice for more people than one commit takes is refused by itself.
func TestACrowdTooLargeIsAWarning(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.crowd(10_001)
	out := w.take(t, created(0), node(workflow.NodeDone, "2", 1))
	if len(w.messages) != 2 || len(out[0].Warnings) != 2 || out[0].Warnings[0].Code != NoticeRefused {
		t.Errorf("there are %d messages, and %+v", len(w.messages), out[0].Warnings)
	}
}

// FLOW-9: one person without an address on a channel is a warning; the others are told there, and he on the others.
func TestOnePersonWithoutAnAddressKeepsNothingFromTheOthers(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.lost = []string{"u2"}
	out := w.take(t, created(0), node(workflow.NodeActivated, "2", 1), node(workflow.NodeDone, "1", 2))
	wantTold(t, w, KindTaskCreated, "oa", map[string][]string{"0_1001_0": {"u1", "u3", "u9"}})
	wantTold(t, w, KindTaskCreated, "dingtalk", map[string][]string{"0_1001_1": {"u1", "u2", "u3", "u9"}})
	wantTold(t, w, KindNodeDone, "oa", map[string][]string{"1_1001_1_0": {"u1", "u3", "u9"}})
	want := []wire.TaskWarning{{Code: NoAddress, Detail: `"u2" cannot be told on oa: the address is no number`, At: noon}}
	if diff := cmp.Diff(want, out[0].Warnings); diff != "" || len(out[2].Warnings) != 0 || !w.plans["1001"].NextAt.IsZero() {
		t.Errorf("the warnings (-want +got):\n%s\nand then %v; it is tried again at %s", diff, out[2].Warnings, w.plans["1001"].NextAt)
	}
	for reminder, want := range map[string][]posthouse.Recipient{"5_2_0": {{User: "u1"}}, "5_2_1": {{User: "u1"}, {User: "u2"}}} {
		to, goesOn, err := w.flow(t).Recipients(t.Context(), w.reminders[reminder])
		if diff := cmp.Diff(want, to); diff != "" || !goesOn || err != nil {
			t.Errorf("the time-out %s is for (-want +got):\n%s\ngoes on %t, %v", reminder, diff, goesOn, err)
		}
	}
}

// FLOW-9: a crowd without addresses is one warning.
func TestACrowdWithoutAddressesIsOneWarning(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.roles["planner"] = []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	w.lost = w.roles["planner"][:7]
	out := w.take(t, created(0))
	want := []wire.TaskWarning{{Code: NoAddress, Detail: `"a", "b", "c", "d", "e" and 2 more cannot be told on oa: the address of the first is no number`, At: noon}}
	if diff := cmp.Diff(want, out[0].Warnings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wantTold(t, w, KindTaskCreated, "oa", map[string][]string{"0_1001_0": {"h", "u2", "u3", "u9"}})
}

// FLOW-9: warnings that find no room are said once by each event that finds them, however many submissions it takes.
func TestWarningsThatAreNotKeptAreSaidOnce(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.crowd(2500)
	e := created(0)
	for i := range maxWarnings + 10 {
		e.Created.Nodes[0].Roles = append(e.Created.Nodes[0].Roles, "role"+strings.Repeat("x", i))
	}
	out := w.take(t, e)
	if got := len(out[0].Warnings); got != maxWarnings+10 || strings.Count(w.log.String(), "code=ROLE_VACANT") != got {
		t.Errorf("there are %d warnings, and the log says:\n%s", got, w.log.String())
	}
}

// FLOW-9, FLOW-10: a notice that nobody can get for lack of an address is told by itself once somebody has one.
func TestANoticeForWhichNobodyHasAnAddressIsTriedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.roles, w.lost = map[string][]string{"operator": {"u2"}}, []string{"u2"}
	e := created(0)
	e.Created.Nodes = e.Created.Nodes[3:]
	out := w.take(t, e)
	if n := len(out[0].Warnings); n != 2 || out[0].Warnings[1].Detail != "task_created on oa: nobody of it has an address" {
		t.Errorf("the warnings are %+v", out[0].Warnings)
	}
	if _, err := w.compose(t); err == nil {
		t.Error("while nobody has an address the planner is to ask again")
	}
	w.lost = nil
	if p, err := w.compose(t); err != nil || !p.NextAt.IsZero() {
		t.Errorf("once there is one: next %s, %v", p.NextAt, err)
	}
	wantTold(t, w, KindTaskCreated, "oa", map[string][]string{"0_1001_0": {"u2"}})
}

// FLOW-10: the payload has the fields of the document's section 5.2, and what the event adds.
func TestThePayloadHasTheDocumentsFields(t *testing.T) {
	t.Parallel()
	w := newWorld()
	done := node(workflow.NodeDone, "1", 5)
	done.Payload = json.RawMessage(`{"platformUrl": "https://x/1", "taskId": "mine"}`)
	abort := ends(workflow.TaskAborted, 6)
	abort.Reason = "B节点决策为不执行"
	w.take(t, created(0), passes(0, 120), done, abort)
	for key, want := range map[string]string{
		"0_1001_1":      `{"createTime":"2026-11-20 12:00","creatorName":"张三","taskCode":"T2025-0001","taskId":1001,"taskName":"应急成像-京津冀"}`,
		"1_1001_1_1":    `{"createTime":"2026-11-20 12:00","creatorName":"张三","nextNodeName":"资源确认","nextNodeNames":"资源确认, 数据准备","nodeInstId":1,"nodeName":"受理","platformUrl":"https://x/1","taskCode":"T2025-0001","taskId":1001,"taskName":"应急成像-京津冀"}`,
		"2_1001_9_45_1": `{"createTime":"2026-11-20 12:00","creatorName":"张三","inTime":"2026-11-20 14:00","orbitId":"O-9","orbitNo":9,"remainMin":45,"taskCode":"T2025-0001","taskId":1001,"taskName":"应急成像-京津冀"}`,
		"4_1001_1":      `{"createTime":"2026-11-20 12:00","creatorName":"张三","finishTime":"2026-11-20 12:06","reason":"B节点决策为不执行","taskCode":"T2025-0001","taskId":1001,"taskName":"应急成像-京津冀"}`,
	} {
		found := false
		for _, m := range w.messages {
			if m.DedupKey == key {
				found = true
				if diff := cmp.Diff(want, string(m.Payload)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", key, diff)
				}
			}
		}
		if !found {
			t.Errorf("there is no message %s", key)
		}
	}
}

func TestEveryProblemOfAnEventIsNamed(t *testing.T) {
	t.Parallel()
	bad := created(0)
	bad.Task = ""
	bad.Created.Nodes[1].ID = "1"
	bad.Created.Nodes[2].Next = []string{"7"}
	bad.Created.Nodes[3].MaxDuration = -1
	bad.Created.Channels = []string{"fax"}
	bad.Reason = "because"
	twice := passes(0, 120, 130)
	twice.Orbits[1].Number = 9
	twice.Orbits[0].InTime = time.Time{}
	twice.Orbits[1].InTime = time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("west", -3600))
	odd := node("node.lost", "", 0)
	odd.Payload = json.RawMessage(`[]`)
	start := node(workflow.NodeActivated, "", 0)
	start.WorkItems = []workflow.WorkItem{{}}
	start.Payload = json.RawMessage(`[]`)
	ahead := created(0)
	ahead.At = noon.Add(25 * time.Hour)
	ahead.Payload = json.RawMessage(`{"a":"\u0000"}`)
	w := newWorld()
	_, err := w.flow(t).Apply(t.Context(), "t", bad, twice, odd, start, ahead)
	var paths []string
	var wrong *posthouse.Error
	if !errors.As(err, &wrong) {
		t.Fatalf("got %v, want problems", err)
	}
	for _, p := range wrong.Problems {
		paths = append(paths, p.Path)
	}
	want := []string{
		"events[0].task_id", "events[0].task.nodes[1].id", "events[0].task.nodes[2].next_node_ids[0]", "events[0].task.nodes[3].max_duration", "events[0].reason",
		"events[0].task.nodes[0].next_node_ids[0]", "events[0].task.channels[0]", "events[1].orbits[0].in_time", "events[1].orbits[1].in_time", "events[1].orbits[1].orbit_no", "events[2].event",
		"events[4].at", "events[4].payload", "events[3].node_id", "events[3].work_items[0].assignee_id", "events[3].payload",
	}
	slices.Sort(paths)
	slices.Sort(want)
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(w.plans) != 0 {
		t.Error("something was done although there are problems")
	}
}
