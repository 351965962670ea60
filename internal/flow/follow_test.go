package flow

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/workflow"
)

// read is what recipients read of nodes that follow: the name, and until when there is time.
type read struct {
	Name  string
	Until string
}

// reads are what people read on oa when a node is done.
func (w *world) reads(t *testing.T) map[string]read {
	t.Helper()
	out := map[string]read{}
	for _, m := range w.messages {
		if m.Kind != KindNodeDone || m.Channel != "oa" || m.state == posthouse.Cancelled {
			continue
		}
		var payload struct {
			Name   string `json:"nextNodeName"`
			Names  string `json:"nextNodeNames"`
			Remain string `json:"remainMin"`
		}
		if err := json.Unmarshal(m.Payload, &payload); err != nil || payload.Names != "资源确认, 数据准备" {
			t.Fatalf("the payload is %s, %v", m.Payload, err)
		}
		until := payload.Remain
		if m.Clock != nil {
			until = m.Clock.Until.Format(time.TimeOnly)
		}
		for _, to := range m.To {
			if _, twice := out[to.User]; twice {
				t.Errorf("%s is told twice", to.User)
			}
			out[to.User] = read{payload.Name, until}
		}
	}
	return out
}

// Section 3.2 of the document: where several nodes follow, each handler reads the node that is his with its time, and one
// who handles several reads all of them with the time of the most urgent.
func TestEachHandlerReadsTheNodeThatFollowsForHim(t *testing.T) {
	t.Parallel()
	w := newWorld()
	e := created(0)
	e.Created.Nodes[1].MaxDuration, e.Created.Nodes[2].MaxDuration = 60, 20
	w.take(t, e, node(workflow.NodeDone, "1", 5))
	want := map[string]read{
		"u1": {"资源确认", "05:05:00"}, "u2": {"资源确认, 数据准备", "04:25:00"}, "u3": {"数据准备", "04:25:00"}, "u9": {"数据准备", "04:25:00"},
	}
	if diff := cmp.Diff(want, w.reads(t)); diff != "" {
		t.Errorf("they read (-want +got):\n%s", diff)
	}
	e.At, e.Created.Nodes[1].MaxDuration, e.Created.Nodes[2].MaxDuration = at(6), 60, 0
	w.take(t, e)
	want["u2"], want["u3"], want["u9"] = read{"资源确认, 数据准备", "05:05:00"}, read{"数据准备", unlimited}, read{"数据准备", unlimited}
	if diff := cmp.Diff(want, w.reads(t)); diff != "" {
		t.Errorf("after one is described anew they read (-want +got):\n%s", diff)
	}
}

// A resolver that names somebody for several nodes together, and for none of them alone, has him read of all.
func TestAnUnknownHandlerReadsOfAllNodesThatFollow(t *testing.T) {
	t.Parallel()
	taking := &taking{Flow: newWorld().flow(t), answers: map[string]workflow.Audience{}}
	taking.ledger.Known.Task = &fact[workflow.Task]{Value: *created(0).Created}
	n := notice{kind: KindNodeDone, payload: map[string]any{}, next: []following{{ID: "2", Name: "a"}, {ID: "3", Name: "b"}}}
	shares, err := taking.shares(t.Context(), n, []posthouse.Recipient{{User: "u1"}, {User: "guest"}})
	if err != nil || len(shares) != 2 || shares[0].notice.payload["nextNodeName"] != "a" || shares[1].notice.payload["nextNodeName"] != "a, b" {
		t.Errorf("the shares are %+v, %v", shares, err)
	}
}

// FLOW-8: a node that no event activates has its time-out from when those before it were done, with a warning; what
// activates it later ends both.
func TestANodeThatIsNotActivatedHasItsTimeout(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.channels = []string{"oa"}
	since := func(id string) string {
		r := w.reminders[id]
		if r.State != posthouse.ReminderOpen {
			return "none"
		}
		return r.Repeat.From.Sub(noon).String()
	}
	warned := func() string {
		t.Helper()
		s, err := w.flow(t).Task(t.Context(), "t", "1001")
		if err != nil {
			t.Fatal(err)
		}
		var nodes []string
		for _, warning := range s.Warnings {
			if warning.Code == NotActivated {
				nodes = append(nodes, strings.Fields(warning.Detail)[1])
			}
		}
		return strings.Join(nodes, " ")
	}
	for _, step := range []struct {
		event             workflow.Event
		one, two, four, w string
	}{
		{created(0), "1h0m0s", "none", "none", `"1"`},
		{node(workflow.NodeDone, "1", 5), "none", "35m0s", "none", `"2"`},
		{node(workflow.NodeActivated, "2", 10), "none", "40m0s", "none", ""},
		{node(workflow.NodeDone, "2", 12), "none", "none", "none", ""},
		{node(workflow.NodeDone, "3", 20), "none", "none", "40m0s", `"4"`},
		{again(node(workflow.NodeActivated, "2", 21), 2), "none", "51m0s", "none", ""},
		{again(node(workflow.NodeDone, "2", 22), 2), "none", "none", "42m0s", `"4"`},
		{ends(workflow.TaskFinished, 23), "none", "none", "none", ""},
	} {
		w.take(t, step.event)
		two := since("5_2_0")
		if since("5_2_0#2") != "none" {
			two = since("5_2_0#2")
		}
		if got := []string{since("5_1_0"), two, since("5_4_0"), warned()}; !slices.Equal(got, []string{step.one, step.two, step.four, step.w}) {
			t.Errorf("after %s of %q the time-outs of 1, 2 and 4 and the warnings are %q", step.event.Type, step.event.Node, got)
		}
	}
}

// The assignees of such a time-out are the node's handlers, and it ends when what came before is under way again.
func TestTheTimeoutOfANodeThatIsNotActivatedIsForItsHandlers(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.take(t, created(0), node(workflow.NodeDone, "1", 5))
	to, goesOn, err := w.flow(t).Recipients(t.Context(), w.reminders["5_2_0"])
	if diff := cmp.Diff([]posthouse.Recipient{{User: "u1"}, {User: "u2"}}, to); diff != "" || !goesOn || err != nil {
		t.Errorf("it goes on %t for (-want +got):\n%s, %v", goesOn, diff, err)
	}
	if !strings.Contains(w.log.String(), string(NotActivated)) {
		t.Error("the log does not say that nobody activated the node")
	}
	r := w.reminders["5_2_0"]
	w.take(t, again(node(workflow.NodeActivated, "1", 6), 2))
	if _, goesOn, err := w.flow(t).Recipients(t.Context(), r); goesOn || err != nil {
		t.Errorf("it goes on, %v", err)
	}
}

// Nodes that are not linked are not known to begin with the task.
func TestNodesWithoutLinksHaveNoTimeoutBeforeTheyAreActivated(t *testing.T) {
	t.Parallel()
	w := newWorld()
	e := created(0)
	for i := range e.Created.Nodes {
		e.Created.Nodes[i].Next = nil
	}
	w.take(t, e)
	if len(w.reminders) != 0 {
		t.Errorf("there are the reminders %v", w.reminders)
	}
	e.At, e.Created.Nodes = at(1), e.Created.Nodes[:1]
	w.take(t, e)
	if len(w.reminders) != 2 {
		t.Errorf("of a task with one node there are the reminders %v", w.reminders)
	}
}

// Section 6 of the document: what still waits of a task that ended abnormally is aborted, not cancelled.
func TestWhatWaitsOfATaskThatIsAbortedIsMarkedSo(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.channels = []string{"oa"}
	w.take(t, created(0), passes(1, 90))
	w.now = at(35)
	w.send() // the first slot
	w.take(t, ends(workflow.TaskAborted, 40))
	want := []string{"2_1001_9_0_0", "2_1001_9_15_0", "2_1001_9_30_0", "2_1001_9_45_0", "5_1_0"}
	if !slices.Equal(w.aborted, want) {
		t.Errorf("aborted are %v, want %v", w.aborted, want)
	}
	if n := len(w.told(KindOrbitRemind, "oa")); n != 1 {
		t.Errorf("%d slots stand, want the one that was sent", n)
	}
	for _, end := range []workflow.EventType{workflow.TaskFinished, workflow.TaskCancelled} {
		w := newWorld()
		w.take(t, created(0), passes(1, 90), ends(end, 2))
		if len(w.aborted) != 0 {
			t.Errorf("%s aborts %v", end, w.aborted)
		}
	}
}
