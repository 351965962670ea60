package server_test

import (
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
