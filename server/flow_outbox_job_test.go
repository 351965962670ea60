package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/outbox"
)

// outboxJobs writes jobs into the outbox in a transaction that commits or not.
func (h *house) outboxJobs(box *outbox.Box, commit bool, jobs ...outbox.Job) {
	h.Helper()
	tx, err := h.db.BeginTx(h.Context(), nil)
	h.must(err)
	defer tx.Rollback() // without effect after a commit
	h.must(box.EnqueueJob(h.Context(), tx, jobs...))
	if commit {
		h.must(tx.Commit())
	}
}

// insertRow writes a row as a program in any language does.
func (h *house) insertRow(draft string) {
	h.Helper()
	_, err := h.db.ExecContext(h.Context(), "INSERT INTO posthouse_outbox (draft) VALUES ('"+draft+"')")
	h.must(err)
}

func (h *house) outboxIsEmpty() {
	h.Helper()
	h.eventually("the outbox is empty", func() bool { return h.number("SELECT COUNT(*) FROM posthouse_outbox") == 0 })
}

// FLOW-3, FLOW-4: a job of the outbox is the job that POST /v1/notify/jobs makes, with the same keys, from Go and in SQL; a
// transaction that rolls back makes none.
func TestFLOW3_AJobOfTheOutboxIsAJob(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.flow(atOnce(20 * time.Millisecond))
		box := h.business()
		job := outbox.Job{BizType: 3, BizID: "1001", Users: []string{"u1", "u2", "u1"}, Payload: []byte(`{"taskName": "x"}`), DedupKey: "3_1001_0", Operator: "task-service"}
		h.outboxJobs(box, false, job)
		other := job
		other.BizID, other.DedupKey = "1002", ""
		h.outboxJobs(box, true, job, job, other, other)
		h.insertRow(`{"job": {"bizType": "3", "bizId": 1001, "channel": 0, "userIds": ["u1", "u2"], "dedupKey": "3_1001_0", "operator": "task-service", "payload": {"taskName": "x"}}}`)
		h.insertRow(`{"job": {"bizType": 3, "bizId": 1003, "channel": 0, "userIds": [7], "nextRunTime": "2020-01-02 03:04:05", "operator": 42, "payload": {"taskName": "x"}}}`)
		h.outboxIsEmpty()
		id, existing := h.enqueue(finished("1001", "3_1001_0", "u1"))
		if j := h.jobReaches(id, 1, map[string]int{"u1": 1, "u2": 1}); !existing || j.CreateBy != "task-service" {
			h.Errorf("the job of the key is %s (existing %t): %+v", id, existing, j)
		}
		for about, want := range map[string]int{"1001": 1, "1002": 2, "1003": 1} {
			if n := h.number("SELECT COUNT(*) FROM tc_notify_job WHERE biz_type = 3 AND biz_id = " + about); n != want {
				h.Errorf("there are %d jobs about %s, want %d", n, about, want)
			}
		}
		if n := h.number("SELECT COUNT(*) FROM tc_notify_job WHERE create_by = '42' AND biz_id = 1003"); n != 1 {
			h.Error("the numbers of a job written in SQL are not read")
		}
	})
}

// FLOW-8: a time-out of the outbox comes again as one that is enqueued does, and one that is no job waits with its problem.
func TestFLOW8_ATimeoutOfTheOutboxComesAgain(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.flow(atOnce(20 * time.Millisecond))
		text := `{"job": {"bizType": 5, "bizId": 8882, "channel": 0, "dedupKey": "5_8882_0", "userIds": ["u1"],
			"payload": {"taskName": "x", "nodeName": "y", "timeoutRemind": 30}, "nextRunTime": "` + time.Now().Add(time.Hour).Format(time.RFC3339) + `"}}`
		h.insertRow(text)
		h.insertRow(text)
		h.outboxIsEmpty()
		r, err := h.api.Reminders.Get(h.Context(), "5_8882_0")
		if err != nil || r.State != posthouse.ReminderOpen || r.Repeat == nil || r.Repeat.Every.Std() != 30*time.Minute {
			h.Errorf("the reminder is %+v, %v", r, err)
		}
		if n := h.number("SELECT COUNT(*) FROM tc_notify_job"); n != 1 {
			h.Errorf("there are %d jobs, want 1", n)
		}
		h.insertRow(`{"job": {"bizType": 9, "bizId": 1, "channel": 0, "userIds": ["u1"]}}`)
		h.insertRow(`{"job": {"bizType": 3, "bizId": 1, "channel": 0, "userIds": ["u1"]}, "channel": "oa"}`)
		h.eventually("both rows have their problem", func() bool { return h.number("SELECT COUNT(*) FROM posthouse_outbox WHERE failed_at > 0") == 2 })
		box, err := h.api.Outbox.List(h.Context(), client.Filter{})
		h.must(err)
		for i, want := range []string{"bizType", "want a row for each"} {
			if got := fmt.Sprintf("%+v", box); !strings.Contains(got, want) {
				h.Errorf("row %d: its problem does not say %q: %s", i, want, got)
			}
		}
	})
}
