package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/wire"
	"github.com/posthouse/posthouse/workflow"
)

// The tests of the requirement table FLOW over HTTP, on a whole server: here the acceptance list of the
// notification document (section 10), a test a line. What needs hours runs in package flow.

// bureau is a directory with roles, the channels oa and dingtalk, and a template for each kind.
func (h *house) bureau() {
	h.Helper()
	for _, name := range []string{"oa", "dingtalk"} {
		h.put(posthouse.Channel{Name: name, Driver: "console"})
	}
	for _, kind := range []string{"task_created", "node_done", "orbit_remind", "task_finished", "task_abnormal", "node_timeout"} {
		text := kind + " ${taskName}"
		if kind == "node_timeout" {
			text += " ${nodeName} ${overtime} ${maxDuration} ${originalMaxDuration}"
		}
		if kind == "orbit_remind" {
			text += " ${remainMin}"
		}
		_, err := h.api.Templates.Put(h.Context(), posthouse.Template{Name: kind, Text: text})
		h.must(err)
	}
	_, err := h.api.Users.Put(h.Context(), posthouse.User{ID: "boss", Name: "张三", Roles: []string{"head"}}, posthouse.User{ID: "p1", Roles: []string{"planner"}},
		posthouse.User{ID: "p2", Roles: []string{"planner", "operator"}}, posthouse.User{ID: "o1", Roles: []string{"operator"}})
	h.must(err)
}

// imaging is a task whose first node has two successors.
func imaging(id string) workflow.Event {
	return workflow.Event{Type: workflow.TaskCreated, Task: id, Created: &workflow.Task{
		Name: "应急成像", Code: "T" + id, Creator: "boss", Nodes: []workflow.Node{
			{ID: id + "1", Name: "受理", Roles: []string{"head"}, Next: []string{id + "2", id + "3"}},
			{ID: id + "2", Name: "资源确认", Roles: []string{"planner"}, MaxDuration: 60, TimeoutRemind: 30},
			{ID: id + "3", Name: "数据准备", Roles: []string{"operator"}, Users: []string{"guest"}},
		},
	}}
}

func nodeEvent(kind workflow.EventType, task, node string) workflow.Event {
	return workflow.Event{Type: kind, Task: task, Node: task + node}
}

func (h *house) tell(events ...workflow.Event) []wire.TaskOutcome {
	h.Helper()
	out, err := h.api.Tasks.Tell(h.Context(), events...)
	h.must(err)
	return out
}

// toldOf are the recipients of everything about a kind and ref on a channel, with their states.
func (h *house) toldOf(kind, ref, channel string) (users []string, states map[posthouse.State]int) {
	h.Helper()
	page, err := h.api.Deliveries.List(h.Context(), client.Filter{Kind: kind, Ref: ref, Channel: channel, Limit: 1000})
	h.must(err)
	states = map[posthouse.State]int{}
	for _, d := range page.Items {
		users = append(users, d.User)
		states[d.State]++
	}
	slices.Sort(users)
	return users, states
}

// wantSent waits until a kind and ref has reached exactly these users on both channels.
func (h *house) wantSent(kind, ref string, want ...string) {
	h.Helper()
	for _, channel := range []string{"oa", "dingtalk"} {
		h.eventually(kind+" of "+ref+" is sent on "+channel, func() bool {
			_, states := h.toldOf(kind, ref, channel)
			return states[posthouse.Sent] == len(want)
		})
		if users, _ := h.toldOf(kind, ref, channel); !slices.Equal(users, want) {
			h.Errorf("%s of %s on %s went to %v, want %v", kind, ref, channel, users, want)
		}
	}
}

// FLOW-18, FLOW-6: 任务创建 → 全体（不含发起人）收到通知.
func TestFLOW_ANewTaskIsToldToAllButTheInitiator(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.bureau()
		out := h.tell(imaging("7"))
		if len(out) != 1 || !out[0].Changed || len(out[0].Told) != 2 || out[0].Told[0].Key != "0_7_0" || out[0].Told[1].Key != "0_7_1" {
			h.Errorf("the outcome is %+v", out)
		}
		h.wantSent("task_created", "7", "guest", "o1", "p1", "p2")
		m, err := h.api.Messages.Get(h.Context(), out[0].Told[0].Messages[0])
		h.must(err)
		var payload map[string]any
		h.must(json.Unmarshal(m.Payload, &payload))
		if m.DedupKey != "0_7_0" || m.Content.Text != "task_created 应急成像" || payload["creatorName"] != "张三" || payload["taskId"] != 7.0 {
			h.Errorf("the message is %+v with %s", m.Message, m.Payload)
		}
	})
}

// FLOW-18, FLOW-6: 节点完成 → 下一节点办理人收到通知（并行多后继）.
func TestFLOW_ANodeThatIsDoneIsToldToAllSuccessors(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.bureau()
		h.tell(imaging("7"), nodeEvent(workflow.NodeActivated, "7", "1"), nodeEvent(workflow.NodeDone, "7", "1"))
		h.wantSent("node_done", "71", "guest", "o1", "p1", "p2")
		h.tell(nodeEvent(workflow.NodeDone, "7", "2")) // which has no successor
		if users, _ := h.toldOf("node_done", "72", "oa"); len(users) != 0 {
			h.Errorf("the end of the last node is told to %v", users)
		}
	})
}

// FLOW-18, FLOW-7, FLOW-5: 进站提醒 → 每圈次 5 个时点生成并按时发送；去重有效. A changed plan and the task's
// end withdraw what is still to come.
func TestFLOW_EachPassHasFiveRemindersUntilTheTaskEnds(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.bureau()
		in := time.Now().Add(2 * time.Hour).Truncate(time.Minute)
		plan := workflow.Event{Type: workflow.OrbitPlanChanged, Task: "7", At: time.Now(), Orbits: []workflow.Orbit{{ID: "O-9", Number: 9, InTime: in}}}
		h.tell(imaging("7"), plan, plan)
		task := h.task("7")
		var slots []string
		for _, n := range task.Notices {
			if n.Kind == "orbit_remind" && n.Channel == "oa" {
				slots = append(slots, fmt.Sprint(n.Key, " ", in.Sub(n.NotBefore)))
			}
		}
		want := []string{"2_7_9_60_0 1h0m0s", "2_7_9_45_0 45m0s", "2_7_9_30_0 30m0s", "2_7_9_15_0 15m0s", "2_7_9_0_0 0s"}
		if diff := cmp.Diff(want, slots); diff != "" {
			h.Errorf("the slots (-want +got):\n%s", diff)
		}
		users, states := h.toldOf("orbit_remind", "7", "oa")
		if len(users) != 25 || states[posthouse.Pending] != 25 || !slices.Contains(users, "boss") {
			h.Errorf("the reminders are for %v: %v", users, states)
		}

		plan.At, plan.Orbits = time.Now(), []workflow.Orbit{{ID: "O-9", Number: 9, InTime: in.Add(10 * time.Minute)}}
		if out := h.tell(plan); len(out[0].Withdrawn) != 10 || len(out[0].Told) != 10 {
			h.Errorf("when the pass moved, %d were withdrawn and %d planned anew", len(out[0].Withdrawn), len(out[0].Told))
		}
		h.tell(workflow.Event{Type: workflow.TaskFinished, Task: "7"})
		if _, states := h.toldOf("orbit_remind", "7", "oa"); states[posthouse.Cancelled] != 50 || len(states) != 1 {
			h.Errorf("after the end the reminders are %v", states)
		}
	})
}

// FLOW-7: a slot that is due is sent when its time comes, with the minutes that are left then; those that
// passed before the plan are not sent.
func TestFLOW_ASlotIsSentWhenItsTimeComes(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.bureau()
		in := time.Now().Add(15*time.Minute + 8*time.Second)
		h.tell(imaging("7"), workflow.Event{Type: workflow.OrbitPlanChanged, Task: "7", Orbits: []workflow.Orbit{{Number: 3, InTime: in}}})
		h.eventually("the slot of 15 minutes is sent", func() bool {
			_, states := h.toldOf("orbit_remind", "7", "oa")
			return states[posthouse.Sent] == 5 && states[posthouse.Pending] == 5
		})
		if got := h.keys("7", "orbit_remind", "oa"); !slices.Equal(got, []string{"2_7_3_15_0", "2_7_3_0_0"}) {
			h.Errorf("the slots are %v", got)
		}
	})
}

// keys are those of a task's notices of a kind on a channel.
func (h *house) keys(task, kind, channel string) []string {
	h.Helper()
	var keys []string
	for _, n := range h.task(task).Notices {
		if n.Kind == kind && n.Channel == channel && !n.Withdrawn {
			keys = append(keys, n.Key)
		}
	}
	return keys
}

func (h *house) task(id string) wire.TaskReport {
	h.Helper()
	task, err := h.api.Tasks.Get(h.Context(), id)
	h.must(err)
	return task
}

// FLOW-18, FLOW-6: 任务完成/异常 → 全体广播一次；重复触发不重复发送.
func TestFLOW_TheEndIsToldToAllOnce(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.bureau()
		finished := workflow.Event{Type: workflow.TaskFinished, Task: "7"}
		aborted := workflow.Event{Type: workflow.TaskAborted, Task: "8", Reason: "B节点决策为不执行"}
		h.tell(imaging("7"), imaging("8"), finished, aborted)
		for range 3 {
			if out := h.tell(finished, aborted); out[0].Changed || out[1].Changed || len(out[0].Told)+len(out[1].Told) != 0 {
				h.Errorf("told again: %+v", out)
			}
		}
		h.wantSent("task_finished", "7", "boss", "guest", "o1", "p1", "p2")
		h.wantSent("task_abnormal", "8", "boss", "guest", "o1", "p1", "p2")
		if task := h.task("8"); task.State != "aborted" || task.Reason != "B节点决策为不执行" {
			h.Errorf("the task is %+v", task)
		}
	})
}

// FLOW-18, FLOW-8, FLOW-9: 超时提醒 → 首次/重复策略正确，提醒人群准确. It is for the assignees of the moment, says
// how long it has been, and ends with the node.
func TestFLOW_ATimeoutRemindsWhoHasToActUntilTheNodeIsDone(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.bureau()
		begun := nodeEvent(workflow.NodeActivated, "7", "2")
		begun.At = time.Now().Add(-100 * time.Minute) // 40 minutes more than it may take
		begun.WorkItems = []workflow.WorkItem{{Assignee: "p2", PhaseStatus: 1}, {Assignee: "p1", PhaseStatus: 2}}
		later := nodeEvent(workflow.NodeActivated, "8", "2")
		h.tell(imaging("7"), begun, imaging("8"), later)
		h.wantSent("node_timeout", "72", "p2")
		task := h.task("7")
		if len(task.Reminders) != 2 || task.Reminders[0].State != posthouse.ReminderOpen || task.Reminders[0].Fired != 1 {
			h.Fatalf("the reminders are %+v", task.Reminders)
		}
		if next := time.Until(task.Reminders[0].NextAt); next > 30*time.Minute || next < 29*time.Minute {
			h.Errorf("the next one comes in %s, want 30m", next)
		}
		m, err := h.api.Messages.Get(h.Context(), task.Reminders[0].Message)
		h.must(err)
		if want := "node_timeout 应急成像 资源确认 40 40 60"; m.Content.Text != want {
			h.Errorf("it says %q, want %q", m.Content.Text, want)
		}
		if next := time.Until(h.task("8").Reminders[0].NextAt); next > time.Hour || next < 59*time.Minute {
			h.Errorf("a node that begins now is reminded of in %s, want 60m", next)
		}
		h.tell(nodeEvent(workflow.NodeDone, "7", "2"), workflow.Event{Type: workflow.TaskCancelled, Task: "8"})
		for _, id := range []string{"7", "8"} {
			for _, r := range h.task(id).Reminders {
				if r.State != posthouse.ReminderEnded {
					h.Errorf("the reminder %s is %s after the end", r.ID, r.State)
				}
			}
		}
	})
}

// FLOW-19, FLOW-18: 并发幂等. The same events at once from many callers, in any order, tell everybody once.
func TestFLOW_EventsAtOnceTellEverybodyOnce(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.bureau()
		now := time.Now()
		events := []workflow.Event{
			imaging("7"), nodeEvent(workflow.NodeActivated, "7", "1"), nodeEvent(workflow.NodeDone, "7", "1"),
			nodeEvent(workflow.NodeActivated, "7", "2"), {Type: workflow.TaskFinished, Task: "7"},
		}
		for i := range events {
			events[i].At = now.Add(time.Duration(i) * time.Millisecond)
		}
		var all sync.WaitGroup
		for n := range 10 {
			all.Go(func() {
				for i := range events {
					if _, err := h.api.Tasks.Tell(h.Context(), events[(i*3+n)%5]); err != nil {
						h.Error(err)
					}
				}
			})
		}
		all.Wait()
		h.wantSent("task_created", "7", "guest", "o1", "p1", "p2")
		h.wantSent("node_done", "71", "guest", "o1", "p1", "p2")
		h.wantSent("task_finished", "7", "boss", "guest", "o1", "p1", "p2")
	})
}

// FLOW-9: a role that nobody has, and a task that nobody is told of, are visible: log, metric, and the task.
func TestFLOW_ATaskThatNobodyIsToldOfIsAWarning(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.bureau()
		e := imaging("7")
		e.Created.Nodes = []workflow.Node{{ID: "71", Name: "受理", Roles: []string{"nobody"}}}
		h.tell(e)
		h.said(line{"level": "WARN", "code": "ROLE_VACANT", "task": "7"})
		h.said(line{"level": "WARN", "code": "NOBODY_TO_TELL", "task": "7"})
		for _, code := range []string{"ROLE_VACANT", "NOBODY_TO_TELL"} {
			if n := h.metric(`posthouse_task_warnings_total{code="` + code + `"}`); n != 1 {
				h.Errorf("%s is counted %v times", code, n)
			}
		}
		if task := h.task("7"); len(task.Warnings) != 2 {
			h.Errorf("the task's warnings are %+v", task.Warnings)
		}
		_, err := h.api.Users.Put(h.Context(), posthouse.User{ID: "new", Roles: []string{"nobody"}})
		h.must(err)
		h.tell(e)
		h.wantSent("task_created", "7", "new")
	})
}

// FLOW-10: a kind without a template is a warning of the task, and is made good once there is one.
func TestFLOW_AMissingTemplateHoldsUpNothingElse(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.bureau()
		h.must(h.api.Templates.Delete(h.Context(), "task_created"))
		told := time.Now()
		out := h.tell(imaging("7"), nodeEvent(workflow.NodeDone, "7", "1"))
		refused := time.Now()
		if len(out[0].Warnings) != 2 || out[0].Warnings[0].Code != "NOTICE_REFUSED" || !strings.Contains(out[0].Warnings[0].Detail, "template") {
			h.Errorf("the warnings are %+v", out[0].Warnings)
		}
		h.wantSent("node_done", "71", "guest", "o1", "p1", "p2")
		_, err := h.api.Templates.Put(h.Context(), posthouse.Template{Name: "task_created", Text: "x"})
		h.must(err)
		if next := h.task("7").NextAt; next.Before(told.Add(29*time.Second)) || next.After(refused.Add(31*time.Second)) {
			h.Errorf("what was refused between %s and %s is tried again by itself at %s, want 30s later", told, refused, next)
		}
		_, err = h.db.ExecContext(h.Context(), "UPDATE posthouse_plans SET next_at = 1 WHERE type = 'task' AND id = '7'") // now
		h.must(err)
		h.wantSent("task_created", "7", "guest", "o1", "p1", "p2")
		if task := h.task("7"); !task.NextAt.IsZero() {
			h.Errorf("when all is told it is still tried again at %s", task.NextAt)
		}
	})
}

// FLOW-19: wrong events are refused field by field, all or none; the same Idempotency-Key gets the same answer.
func TestFLOW_EventsOverHTTP(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.bureau()
		bad := imaging("8")
		bad.Created.Channels = []string{"fax"}
		_, err := h.api.Tasks.Tell(h.Context(), imaging("7"), bad, workflow.Event{Type: "task.lost", Task: "9"})
		if got, want := paths(err), []string{"events[1].task.channels[0]", "events[2].event"}; !slices.Equal(got, want) {
			h.Errorf("the problems are %v, want %v", got, want)
		}
		if page, err := h.api.Tasks.List(h.Context(), client.Filter{}); err != nil || len(page.Items) != 0 {
			h.Errorf("something was taken in: %+v, %v", page, err)
		}
		if status, answer := h.call("POST", "/v1/workflow/events", "application/json", `{"event": "task.finished", "task": 7, "nodeId": "x"}`); status != 422 {
			h.Errorf("a body of wrong types: %d %v", status, answer)
		}
		if status, answer := h.call("POST", "/v1/workflow/events", "application/json", `{"events": [{"event": "node.done", "task_id": "7"}]}`); status != 422 || !strings.Contains(fmt.Sprint(answer), "events[0].node_id") {
			h.Errorf("a list of one: %d %v", status, answer)
		}
		body, _ := json.Marshal(imaging("7"))
		first, err := h.api.Tasks.TellJSON(h.Context(), "key-1", body)
		h.must(err)
		again, err := h.api.Tasks.TellJSON(h.Context(), "key-1", body)
		h.must(err)
		if diff := cmp.Diff(first, again); diff != "" || len(first[0].Told) != 2 {
			h.Errorf("the same key (-first +again):\n%s", diff)
		}
		_, err = h.api.Tasks.TellJSON(h.Context(), "key-1", []byte(`{"event": "task.finished", "task_id": "7"}`))
		if posthouse.CodeOf(err) != posthouse.CodeKeyReused {
			h.Errorf("the key with another body: %v", err)
		}
		_, err = h.api.Tasks.Get(h.Context(), "9")
		if posthouse.CodeOf(err) != posthouse.CodeNotFound {
			h.Errorf("a task that no event has named: %v", err)
		}
	})
}

// FLOW-9: who is who can be asked of the caller's own system.
func TestFLOW_AResolverOfTheCallersIsAsked(t *testing.T) {
	t.Parallel()
	who := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		if r.Header.Get("X-Posthouse-Secret") != "hidden" || !strings.Contains(string(text), `"roles":["head","operator","planner"]`) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		io.WriteString(w, `{"users": [{"user": "x1", "address": "138"}, {"user": "boss"}]}`)
	}))
	t.Cleanup(who.Close)
	h := open(t, databases[0].dsn(t), func(o *server.Options) { o.WorkflowResolverURL, o.WorkflowResolverSecret = who.URL, "hidden" })
	h.bureau()
	h.tell(imaging("7"))
	h.wantSent("task_created", "7", "x1")
	page, err := h.api.Deliveries.List(h.Context(), client.Filter{Kind: "task_created"})
	h.must(err)
	if page.Items[0].Address != "138" {
		h.Errorf("the delivery goes to %q", page.Items[0].Address)
	}
}

// FLOW-18, FLOW-13: 渠道限流与重试 → 触发退避重试；最终失败可见. Only who failed is tried again, and who could not be told
// stands with the task.
func TestFLOW_WhoCouldNotBeToldStandsWithTheTask(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		settings := atOnce(30 * time.Millisecond)
		settings.Tries, settings.Limits = 3, []posthouse.Limit{{Max: 20, Per: posthouse.Duration(time.Second)}}
		h.flow(settings)
		e := imaging("7")
		e.Created.Nodes = []workflow.Node{{ID: "71", Name: "受理", Users: []string{"reader", "always-busy", "fail-recipient"}}}
		h.tell(e)
		want := map[posthouse.State]int{posthouse.Sent: 1, posthouse.Failed: 2}
		var got map[posthouse.State]int
		h.eventually("one of three is told", func() bool {
			got = h.task("7").Messages[0].Counts
			return got[posthouse.Failed] == 2 && got[posthouse.Sent] == 1
		})
		if diff := cmp.Diff(want, got); diff != "" {
			h.Errorf("the message stands (-want +got):\n%s", diff)
		}
		page, err := h.api.Deliveries.List(h.Context(), client.Filter{Kind: "task_created"})
		h.must(err)
		attempts := map[string]int{}
		for _, d := range page.Items {
			attempts[d.User] = d.Attempts
		}
		if diff := cmp.Diff(map[string]int{"reader": 1, "always-busy": 3, "fail-recipient": 1}, attempts); diff != "" {
			h.Errorf("the attempts (-want +got):\n%s", diff)
		}
	})
}

// FLOW-3, FLOW-19: an event that a program commits into the outbox is taken in, once.
func TestFLOW_AnEventComesThroughTheOutbox(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.bureau()
		for _, e := range []workflow.Event{nodeEvent(workflow.NodeDone, "7", "1"), imaging("7"), imaging("7")} {
			row, err := json.Marshal(map[string]any{"task_event": e})
			h.must(err)
			_, err = h.db.ExecContext(h.Context(), "INSERT INTO posthouse_outbox (draft) VALUES ('"+string(row)+"')")
			h.must(err)
		}
		h.wantSent("task_created", "7", "guest", "o1", "p1", "p2")
		h.wantSent("node_done", "71", "guest", "o1", "p1", "p2")
		h.eventually("the outbox is empty", func() bool { return h.number("SELECT COUNT(*) FROM posthouse_outbox") == 0 })
	})
}
