package flow

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/workflow"
)

// FLOW-8: a time-out that was enqueued as a job goes on until its node is done, too. Other tasks', other
// nodes', and those that were enqueued for the next time go on.
func TestADoneNodeEndsTheTimeOutsThatWereEnqueuedForIt(t *testing.T) {
	t.Parallel()
	w := newWorld()
	open := func(id, node, payload string, created time.Time) {
		w.reminders[id] = posthouse.Reminder{
			ID: id, State: posthouse.ReminderOpen, CreatedAt: created,
			Draft: posthouse.Draft{Kind: KindNodeTimeout, Ref: node, Payload: json.RawMessage(payload)},
		}
	}
	before := noon.Add(-time.Hour)
	open("number", "8882", `{"taskId": 1001}`, before)
	open("text", "8882", `{"taskId": "1001"}`, before)
	open("no task", "8882", `{}`, before)
	open("another task", "8882", `{"taskId": 1002}`, before)
	open("another node", "8883", `{"taskId": 1001}`, before)
	open("the next time", "8882", `{"taskId": 1001}`, noon.Add(time.Minute))
	task := w.reminders["no task"]
	task.Task = "1003"
	w.reminders["an event's"] = task

	for range 2 {
		if _, err := w.flow(t).Apply(t.Context(), "t1", workflow.Event{Type: workflow.NodeDone, Task: "1001", Node: "8882", At: noon}); err != nil {
			t.Fatal(err)
		}
		maps.DeleteFunc(w.reminders, func(_ string, r posthouse.Reminder) bool { return r.State != posthouse.ReminderOpen })
		want := []string{"an event's", "another node", "another task", "the next time"}
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(w.reminders))); diff != "" {
			t.Errorf("still open (-want +got):\n%s", diff)
		}
	}
}

// A timeoutRemind that cannot be read would be a reminder that never comes again, and nobody would know.
func TestATimeoutRemindThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	for written, refused := range map[string]bool{
		`30`: false, `"30"`: false, `0`: false, `null`: false, `""`: false,
		`"abc"`: true, `-5`: true, `1.5`: true, `[30]`: true, `99999999`: true,
	} {
		job := Job{BizType: workflow.BizNodeTimeout, BizID: "8882", Users: []string{"u1"}, Payload: json.RawMessage(`{"timeoutRemind": ` + written + `}`)}
		problems := job.Check()
		if got := len(problems) == 1 && problems[0].Path == "payload.timeoutRemind"; got != refused || len(problems) > 1 {
			t.Errorf("%s: got %v, want it refused: %t", written, problems, refused)
		}
		if job.BizType = workflow.BizNodeDone; len(job.Check()) != 0 {
			t.Errorf("%s: a job of another type is refused: %v", written, job.Check())
		}
	}
}
