package server_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
)

// FLOW-8: a time-out that is enqueued as a job comes again until a workflow event says that its node is done.
func TestFLOW8_ADoneNodeEndsItsTimeoutJob(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.flow(atOnce(20 * time.Millisecond))
		body := `{"bizType": 5, "bizId": 8882, "channel": 0, "dedupKey": "5_8882_0", "userIds": ["u1"],
			"payload": {"taskId": 1001, "taskName": "x", "nodeName": "y", "timeoutRemind": 30}}`
		id, _ := h.enqueue(body)
		h.eventually("the first round is sent", func() bool { return len(h.arrivals("oa", "u1")) == 1 })
		h.jobReaches(id, 0, map[string]int{"u1": 1})
		for _, node := range []string{"8881", "8882"} {
			status, answer := h.call("POST", "/v1/workflow/events", "application/json", `{"event": "node.done", "task_id": "1001", "node_id": "`+node+`"}`)
			if status != 202 {
				h.Fatalf("HTTP %d %v", status, answer)
			}
			r, err := h.api.Reminders.Get(h.Context(), id)
			h.must(err)
			if want := map[string]posthouse.ReminderState{"8881": posthouse.ReminderOpen, "8882": posthouse.ReminderEnded}[node]; r.State != want {
				h.Errorf("when node %s is done the job's reminder is %s, want %s", node, r.State, want)
			}
		}
		h.jobReaches(id, 1, map[string]int{"u1": 1})
	})
}

// Section 6 of the document: what a task that ended abnormally had planned is aborted, and its recipients with it; what a
// task that was finished had planned is cancelled.
func TestFLOW16_ATaskThatEndsAbnormallyAbortsItsJobs(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.closedFlow()
		_, err := h.api.Users.Put(h.Context(), posthouse.User{ID: "u1"})
		h.must(err)
		for end, want := range map[string]int{"task.aborted": 4, "task.finished": 3} {
			for _, event := range []string{
				`{"event": "task.created", "task_id": %q, "task": {"name": "x", "create_by": "u1", "nodes": [{"id": "n-%[1]s", "name": "y", "handler_user_ids": ["u1"], "max_duration": 60, "timeout_remind": 30}]}}`,
				`{"event": "orbit_plan.changed", "task_id": %q, "orbits": [{"orbit_no": 9, "in_time": "` + time.Now().Add(90*time.Minute).Format(time.RFC3339) + `"}]}`,
				`{"event": "` + end + `", "task_id": %q}`,
			} {
				if status, answer := h.call("POST", "/v1/workflow/events", "application/json", fmt.Sprintf(event, end)); status != 202 {
					h.Fatalf("HTTP %d %v", status, answer)
				}
			}
			for view, n := range map[string]int{"tc_notify_job WHERE biz_type IN (2, 5) AND": 6, "tc_notify_recipient WHERE": 5} {
				query := "SELECT COUNT(*) FROM " + view + " status = " + fmt.Sprint(want)
				if got := h.number(query); got != n {
					h.Errorf("after %s %d of %s have the status %d, want %d", end, got, view, want, n)
				}
			}
		}
	})
}
