package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/outbox"
)

// crowd names so many users.
func crowd(n int) []string {
	users := make([]string, n)
	for i := range users {
		users[i] = fmt.Sprintf("u%05d", i)
	}
	return users
}

// Section 4.1 of the document knows no bound of userIds: a job of more users than a message of the API takes is one job, with
// one answer, and its status and deletion reach all of them; also where it comes again, and from the outbox.
func TestFLOW3_AJobIsForAsManyAsOneCommitTakes(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.SQLite(t))
	h.closedFlow()
	users := crowd(2500)
	id, _ := h.enqueue(finished("1001", "3_1001_0", users...))
	if again, existing := h.enqueue(finished("1001", "3_1001_0", users...)); again != id || !existing {
		t.Errorf("the same job again is %s (existing %t), want %s", again, existing, id)
	}
	if j := h.job(id); len(j.Recipients) != len(users) || j.Status != 0 {
		t.Fatalf("the job has %d recipients and status %d", len(j.Recipients), j.Status)
	}
	if n := h.change("status", `{"bizType": 3, "bizIds": [1001], "status": 4}`); n != 1 {
		t.Errorf("%d jobs were aborted, want 1", n)
	}
	if n := h.number("SELECT COUNT(*) FROM tc_notify_recipient WHERE status = 4 AND job_id = '" + id + "'"); n != len(users) {
		t.Errorf("%d recipients follow it, want %d", n, len(users))
	}
	if n := h.change("delete", `{"bizType": 3, "bizIds": [1001]}`); n != 1 {
		t.Errorf("%d jobs were deleted, want 1", n)
	}
	if n := h.number("SELECT COUNT(*) FROM posthouse_queue"); n != 0 {
		t.Errorf("%d deliveries still wait", n)
	}

	box, err := outbox.New(outbox.Options{Database: outbox.SQLite})
	h.must(err)
	h.outboxJobs(box, true, outbox.Job{BizType: 3, BizID: "1002", Users: users, Payload: []byte(`{"taskName": "x"}`)})
	h.outboxIsEmpty()
	if n := h.number("SELECT COUNT(*) FROM tc_notify_recipient r JOIN tc_notify_job j ON j.id = r.job_id WHERE j.biz_id = 1002"); n != len(users) {
		t.Errorf("the job of the outbox has %d recipients", n)
	}

	h.enqueue(`{"bizType": 5, "bizId": 8882, "channel": 0, "dedupKey": "5_8882_0", "userIds": ["` + strings.Join(users, `", "`) + `"],
		"payload": {"taskName": "x", "nodeName": "y", "timeoutRemind": 30}, "nextRunTime": "` + time.Now().Add(time.Hour).Format(time.RFC3339) + `"}`)
	h.passes("5_8882_0", 2*time.Hour)
	h.eventually("the time-out's first round is for all", func() bool {
		return h.number("SELECT COUNT(*) FROM tc_notify_recipient WHERE job_id = '5_8882_0'") == len(users)
	})

	status, answer := h.call("POST", "/v1/notify/jobs", "application/json", finished("1003", "", crowd(10_001)...))
	if text := fmt.Sprint(answer["problems"]); status != 422 || !strings.Contains(text, "userIds") || !strings.Contains(text, "10000") {
		t.Errorf("a job for more than one commit takes is answered HTTP %d %s", status, text)
	}
	_, err = h.api.Messages.Send(t.Context(), posthouse.Draft{Channel: "oa", To: make([]posthouse.Recipient, 1001), Content: &posthouse.Content{Text: "x"}})
	if err == nil || !strings.Contains(err.Error(), "1000") {
		t.Errorf("a message for 1001 is answered %v", err)
	}
}
