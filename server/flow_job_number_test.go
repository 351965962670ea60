package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/outbox"
)

// Number 31: callers with long columns give a job a number, or are answered one, and it stands wherever the job's id does.
func TestFLOW3_AJobHasANumberForCallersWithLongColumns(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.closedFlow()
		numbered := func(task, key, number string) (id string, n int64, status int) {
			status, answer := h.call(http.MethodPost, "/v1/notify/jobs", "application/json", strings.Replace(finished(task, key, "u1"), `"operator"`, `"number": `+number+`, "operator"`, 1))
			id, _ = answer["jobId"].(string)
			given, _ := answer["number"].(float64)
			return id, int64(given), status
		}
		id, n, status := numbered("1001", "", "4711")
		if n != 4711 || status != 202 {
			h.Fatalf("a job with a number is answered HTTP %d %s %d", status, id, n)
		}
		if again, n, status := numbered("1001", "", `"4711"`); again != id || n != 4711 || status != 200 {
			h.Errorf("its number again: HTTP %d %s %d, want the job %s", status, again, n, id)
		}
		var all sync.WaitGroup
		var made atomic.Int64
		for range 16 {
			all.Go(func() {
				switch _, n, status := numbered("1006", "", "4712"); {
				case n != 4712 || status != 200 && status != 202:
					h.Errorf("one of sixteen calls with a number at once is answered HTTP %d %d", status, n)
				case status == 202:
					made.Add(1)
				}
			})
		}
		if all.Wait(); made.Load() != 1 {
			h.Errorf("sixteen calls with a number made %d jobs", made.Load())
		}
		if _, _, status := numbered("1002", "", "4711"); status != 409 {
			h.Errorf("another job with its number is answered HTTP %d, want 409", status)
		}
		if j := h.job("4711"); j.ID != id || j.Number != 4711 {
			h.Errorf("the job of the number is %+v", j)
		}
		third, m, status := numbered("1003", "3_1003_0", "0")
		if m <= 0 || status != 202 || h.job(fmt.Sprint(m)).ID != third {
			h.Errorf("a job that asks for a number is answered HTTP %d %s %d", status, third, m)
		}
		if again, n, status := numbered("1003", "3_1003_0", "0"); again != third || n != m || status != 200 {
			h.Errorf("its key again: HTTP %d %s %d, want %s %d", status, again, n, third, m)
		}
		if again, n, status := numbered("1003", "3_1003_0", "99"); again != third || n != m || status != 200 {
			h.Errorf("its key with another number: HTTP %d %s %d, want %s %d", status, again, n, third, m)
		}
		h.outboxJobs(h.business(), true, outbox.Job{BizType: 3, BizID: "1004", Users: []string{"u1"}, Payload: []byte(`{"taskName": "x"}`), Number: 9223372036854775807})
		h.outboxIsEmpty()
		if j := h.job("9223372036854775807"); j.BizID != "1004" {
			h.Errorf("the job of the outbox is %+v", j)
		}
		long := int64(31)
		r, err := h.api.Jobs.Enqueue(h.Context(), client.JobDraft{
			BizType: 5, BizID: "8882", DedupKey: "5_8882_0", UserIDs: []string{"u1"}, Payload: []byte(`{"taskName": "x", "nodeName": "y", "timeoutRemind": 30}`), Number: &long,
		})
		if h.must(err); r.JobID != "5_8882_0" || r.Number != 31 || h.job("31").ID != "5_8882_0" {
			h.Errorf("a job that comes again is answered %+v", r)
		}
		if n := h.number("SELECT number FROM tc_notify_job WHERE id = '" + id + "'"); n != 4711 {
			h.Errorf("the view has the number %d", n)
		}
		if _, _, status := numbered("1005", "", "-1"); status != 422 {
			h.Errorf("a number below 0 is answered HTTP %d", status)
		}
	})
}
