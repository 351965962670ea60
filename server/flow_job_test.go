package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/wire"
	"github.com/posthouse/posthouse/workflow"
)

// flow configures OA with the default templates: what jobs need.
func (h *house) flow(s posthouse.ChannelSettings) {
	h.Helper()
	h.put(h.oa(s))
	_, err := h.api.Templates.Install(h.Context())
	h.must(err)
}

// closedFlow is flow with an OA that takes messages and sends none.
func (h *house) closedFlow() {
	h.Helper()
	h.flow(posthouse.ChannelSettings{})
	_, err := h.api.Channels.Pause(h.Context(), "oa", "closed by the test")
	h.must(err)
}

// enqueue hands in a job as JSON text.
func (h *house) enqueue(body string) (id string, existing bool) {
	h.Helper()
	status, answer := h.call(http.MethodPost, "/v1/notify/jobs", "application/json", body)
	id, _ = answer["jobId"].(string)
	existing, _ = answer["existing"].(bool)
	if want := map[bool]int{true: 200, false: 202}[existing]; status != want || id == "" {
		h.Fatalf("%s: HTTP %d %v", body, status, answer)
	}
	return id, existing
}

// finished is the body of a job of type 3 about a task.
func finished(task, key string, users ...string) string {
	return fmt.Sprintf(`{"bizType": 3, "bizId": %s, "channel": 0, "payload": {"taskName": "应急成像-京津冀"}, "userIds": ["%s"], "dedupKey": %q, "operator": "task-service"}`,
		task, strings.Join(users, `", "`), key)
}

func (h *house) job(id string) wire.Job {
	h.Helper()
	j, err := h.api.Jobs.Get(h.Context(), id)
	h.must(err)
	return j
}

// jobReaches waits until a job and its recipients, by user, have statuses, and wants the views to say the same.
func (h *house) jobReaches(id string, status int, recipients map[string]int) wire.Job {
	h.Helper()
	var j wire.Job
	var got map[string]int
	h.eventually(fmt.Sprintf("job %s has status %d and its recipients have %v", id, status, recipients), func() bool {
		j, got = h.job(id), map[string]int{}
		for _, r := range j.Recipients {
			got[r.UserID] = r.Status
		}
		return j.Status == status && cmp.Equal(got, recipients)
	})
	if n := h.number("SELECT status FROM tc_notify_job WHERE id = '" + id + "'"); n != status {
		h.Errorf("the view says that job %s has status %d, want %d", id, n, status)
	}
	for user, want := range recipients {
		if n := h.number("SELECT status FROM tc_notify_recipient WHERE job_id = '" + id + "' AND user_id = '" + user + "' ORDER BY id DESC LIMIT 1"); n != want {
			h.Errorf("the view says that %s has status %d, want %d", user, n, want)
		}
	}
	return j
}

// change posts to one of the two addresses that change jobs and returns how many changed.
func (h *house) change(what, body string) int {
	h.Helper()
	status, answer := h.call(http.MethodPost, "/v1/notify/jobs/"+what, "application/json", body)
	n, ok := answer["changed"].(float64)
	if status != 200 || !ok {
		h.Fatalf("%s: HTTP %d %v", body, status, answer)
	}
	return int(n)
}

// FLOW-1, FLOW-2, FLOW-10: a job is sent by the template of its numbers and read under its document's names,
// over HTTP and in the database.
func TestFLOW2_AJobIsReadUnderTheNamesOfItsDocument(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.flow(atOnce(20 * time.Millisecond))
		id, _ := h.enqueue(`{"bizType": "5", "bizId": "8882", "channel": "0", "userIds": ["u1", 7, "u1"], "operator": 42,
			"payload": {"taskName": "应急成像-京津冀", "nodeName": "资源确认", "maxDuration": 60}, "dedupKey": "5_8882_0"}`)
		j := h.jobReaches(id, 1, map[string]int{"u1": 1, "7": 1})
		if j.BizType != 5 || j.BizID != "8882" || j.Channel != 0 || j.DedupKey != "5_8882_0" || j.CreateBy != "42" || j.DelFlag != 0 || j.RetryCount != 0 {
			h.Errorf("the job reads as %+v", j)
		}
		if len(j.Recipients) != 2 || j.Recipients[0].ExternalMsgID == "" || j.Recipients[0].State != posthouse.Sent {
			h.Errorf("its recipients are %+v", j.Recipients)
		}
		want := "【星地协同平台】您好，您参与的任务“应急成像-京津冀”的“资源确认”环节已超时0分钟，请尽快登录系统办理。"
		if a := h.arrivals("oa", "7"); len(a) != 1 || a[0].Title != "办理超时：应急成像-京津冀" || a[0].Text != want {
			h.Errorf("OA got %+v", a)
		}
		for view, columns := range map[string]string{
			"tc_notify_job":            "id biz_type biz_id dedup_key payload channel status retry_count next_run_time remark del_flag create_by create_time update_by update_time",
			"tc_notify_recipient":      "id job_id user_id status last_error external_msgid del_flag create_by create_time update_by update_time",
			"tc_notify_template":       "id biz_type channel title_tpl content_tpl external_tpl_id enabled del_flag create_by create_time update_by update_time",
			"tc_notify_channel_config": "id channel config_json enabled del_flag create_by create_time update_by update_time",
		} {
			got := h.columns(view)
			if text := strings.Join(got, " "); !strings.HasPrefix(text, columns+" tenant") {
				h.Errorf("%s has the columns %s, want %s and ours behind them", view, text, columns)
			}
		}
		if n := h.number("SELECT biz_id FROM tc_notify_job WHERE biz_type = 5 AND channel = 0 AND retry_count = 0 AND dedup_key = '5_8882_0'"); n != 8882 {
			h.Errorf("biz_id is %d", n)
		}
		if n := h.number("SELECT COUNT(*) FROM tc_notify_template WHERE enabled = 1 AND external_tpl_id = 'SE1006' AND biz_type = 5"); n != 2 {
			h.Errorf("%d templates for NODE_TIMEOUT, want 2", n)
		}
		if list, err := h.api.Jobs.List(h.Context(), client.JobFilter{BizTypes: []workflow.BizType{5}, BizID: "8882"}); err != nil || len(list.Items) != 1 || list.Items[0].ID != id {
			h.Errorf("the jobs of node 8882 are %v, %v", list, err)
		}
	})
}

// FLOW-4, FLOW-5, section 10 of the document: repeated calls make no second job, calls without a key always do.
func TestFLOW4_ADedupKeyMakesOneJob(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.closedFlow()
		var mu sync.Mutex
		var made []string
		ids := map[string]bool{}
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				id, existing := h.enqueue(finished("1001", "3_1001_0", "u1", "u2"))
				mu.Lock()
				defer mu.Unlock()
				ids[id] = true
				if !existing {
					made = append(made, id)
				}
			})
		}
		all.Wait()
		if len(ids) != 1 || len(made) != 1 {
			h.Errorf("16 calls answered the jobs %v and made %v", ids, made)
		}
		first, _ := h.enqueue(finished("1001", "", "u1"))
		second, existing := h.enqueue(finished("1001", "", "u1"))
		if first == second || existing {
			h.Error("without a key the second call made no job")
		}
		if n := h.number("SELECT COUNT(*) FROM tc_notify_job"); n != 3 {
			h.Errorf("there are %d jobs, want 3", n)
		}
	})
}

// FLOW-13, section 10 of the document: the steps 1, 3, 5, 10, 30, 60, 180 minutes, and then a visible failure;
// only the recipient that failed is sent to again. Waiting is done by setting the due time back.
func TestFLOW13_OnlyTheRecipientThatFailedIsTriedAgain(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.flow(posthouse.ChannelSettings{Profile: "flow"})
		if ch, err := h.api.Channels.Get(h.Context(), "oa"); err != nil || ch.Profile != "flow" || ch.OnUnknown != posthouse.Retry {
			h.Errorf("the profile of oa is %q and its policy %q, %v; want flow and retry", ch.Profile, ch.OnUnknown, err)
		}
		id, _ := h.enqueue(finished("1001", "3_1001_0", "u1", "always-busy"))
		for n, minutes := range []int{1, 3, 5, 10, 30, 60, 180} {
			step := time.Duration(minutes) * time.Minute
			j := h.jobReaches(id, 0, map[string]int{"u1": 1, "always-busy": 0})
			h.eventually(fmt.Sprintf("try %d has failed", n+1), func() bool { j = h.job(id); return j.RetryCount == n+1 })
			d := h.delivery(j.Recipients[1].ID)
			if wait := d.DueAt.Sub(d.UpdatedAt); wait < step || wait > step*6/5+time.Second {
				h.Errorf("after failure %d it waits %s, want %s and a fifth at most", n+1, wait, step)
			}
			if !j.NextRunTime.Equal(d.DueAt) {
				h.Errorf("next_run_time is %s, want %s", j.NextRunTime, d.DueAt)
			}
			_, err := h.db.ExecContext(h.Context(), "UPDATE posthouse_queue SET due_at = 1 WHERE id = '"+d.ID+"'")
			h.must(err)
		}
		j := h.jobReaches(id, 2, map[string]int{"u1": 1, "always-busy": 2})
		if j.RetryCount != 8 || j.Recipients[1].LastError == "" {
			h.Errorf("after all steps the job is %+v", j)
		}
		if a, b := len(h.arrivals("oa", "u1")), len(h.arrivals("oa", "always-busy")); a != 1 || b != 8 {
			h.Errorf("u1 was sent to %d times and always-busy %d times, want 1 and 8", a, b)
		}
	})
}

// FLOW-17, section 10 of the document: a channel sends as many a minute as it may, and delays no other.
func TestFLOW17_AChannelAtItsLimitDelaysNoOther(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.flow(posthouse.ChannelSettings{Limits: []posthouse.Limit{{Max: 2, Per: posthouse.Duration(time.Minute)}}})
		h.dingtalk(posthouse.ChannelSettings{})
		_, err := h.api.Users.Put(h.Context(), posthouse.User{ID: "u1", Addresses: map[string]string{"dingtalk": "user.1"}}, posthouse.User{ID: "u2", Addresses: map[string]string{"dingtalk": "user.2"}})
		h.must(err)
		slow, _ := h.enqueue(finished("1001", "3_1001_0", "u1", "u2", "u3", "u4"))
		fast, _ := h.enqueue(strings.Replace(finished("1001", "3_1001_1", "u1", "u2"), `"channel": 0`, `"channel": 1`, 1))
		h.jobReaches(fast, 1, map[string]int{"u1": 1, "u2": 1})
		h.eventually("two are sent within the first minute", func() bool {
			sent := 0
			for _, r := range h.job(slow).Recipients {
				sent += r.Status
			}
			return sent == 2
		})
		x, err := h.api.Deliveries.Explain(h.Context(), h.job(slow).Recipients[3].ID)
		h.must(err)
		if j := h.job(slow); j.Status != 0 || len(x.Waits) == 0 || !strings.Contains(fmt.Sprint(x.Waits), "limit") {
			h.Errorf("the job with a limit has status %d and waits for %+v", j.Status, x.Waits)
		}
	})
}

// FLOW-16: setting the status stops what was not sent, leaves what was, and changes only expected jobs.
func TestFLOW16_AStatusStopsWhatWasNotSent(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.flow(posthouse.ChannelSettings{})
		half, _ := h.enqueue(finished("1001", "", "u1", "always-busy"))
		done, _ := h.enqueue(finished("1001", "", "u2"))
		day := time.Now().In(time.FixedZone("Asia/Shanghai", 8*60*60)).AddDate(0, 0, 30)
		future, _ := h.enqueue(strings.Replace(finished("1002", "", "u3"), `"operator"`, `"nextRunTime": "`+day.Format(time.DateOnly)+` 08:00:00", "operator"`, 1))
		h.jobReaches(done, 1, map[string]int{"u2": 1})
		h.eventually("always-busy has failed once", func() bool { return h.job(half).RetryCount == 1 && h.job(half).Recipients[0].Status == 1 })
		if at := h.job(future).NextRunTime; !at.Equal(time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, time.UTC)) {
			h.Errorf("08:00 in the server's zone is %s", at)
		}

		if n := h.change("status", `{"bizType": 3, "bizIds": [1001], "status": 4, "expectedStatuses": [2], "operator": "u9"}`); n != 0 {
			h.Errorf("%d jobs changed that were not failed", n)
		}
		if n := h.change("status", `{"bizType": 3, "bizIds": ["1001", 1002, "1001", 9999], "status": 4, "operator": "u9"}`); n != 2 {
			h.Errorf("%d jobs changed, want 2", n)
		}
		h.jobReaches(half, 4, map[string]int{"u1": 1, "always-busy": 4})
		h.jobReaches(done, 1, map[string]int{"u2": 1})
		if j := h.jobReaches(future, 4, map[string]int{"u3": 4}); j.UpdateBy != "u9" {
			h.Errorf("update_by is %q", j.UpdateBy)
		}
		if n := h.change("status", `{"bizType": 3, "bizIds": [1001], "status": 3}`); n != 0 {
			h.Errorf("%d jobs changed that were not waiting", n)
		}
		if n := h.change("status", `{"bizType": 3, "bizIds": [1001], "status": 3, "expectedStatuses": [4, 1]}`); n != 2 {
			h.Errorf("%d aborted and sent jobs were cancelled, want 2", n)
		}
		h.jobReaches(half, 3, map[string]int{"u1": 1, "always-busy": 3})
		h.jobReaches(done, 3, map[string]int{"u2": 1})
	})
}

// FLOW-16: deleting and planning again works any number of times, which the document's unique key does not
// allow; what is deleted is kept and not sent.
func TestFLOW16_DeletingFreesTheDedupKeyEachTime(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.closedFlow()
		slot := func() string {
			return `{"bizType": 2, "bizId": 1001, "channel": 0, "payload": {"taskName": "x", "orbitNo": 9, "remainMin": 45}, "userIds": ["u1"],
				"dedupKey": "2_1001_9_45_0", "nextRunTime": "` + time.Now().Add(time.Hour).Format(time.RFC3339) + `"}`
		}
		var ids []string
		for range 4 {
			id, existing := h.enqueue(slot())
			if again, known := h.enqueue(slot()); existing || !known || again != id || slices.Contains(ids, id) {
				h.Fatalf("enqueued %s (existing %t), then %s (existing %t), after %v", id, existing, again, known, ids)
			}
			ids = append(ids, id)
			if n := h.change("delete", `{"bizType": 2, "bizIds": [1001, 1002], "operator": "u9"}`); n != 1 {
				h.Errorf("%d jobs were deleted, want 1", n)
			}
			if j := h.jobReaches(id, 3, map[string]int{"u1": 3}); j.DelFlag != 1 || j.UpdateBy != "u9" {
				h.Errorf("the deleted job is %+v", j)
			}
		}
		if n := h.change("delete", `{"bizType": 2, "bizIds": [1001]}`); n != 0 {
			h.Errorf("%d jobs were deleted a second time", n)
		}
		if n := h.number("SELECT COUNT(*) FROM tc_notify_job WHERE del_flag = 1 AND dedup_key = '2_1001_9_45_0'"); n != 4 {
			h.Errorf("%d deleted jobs are kept, want 4", n)
		}
		if list, err := h.api.Jobs.List(h.Context(), client.JobFilter{BizTypes: []workflow.BizType{2}, BizID: "1001"}); len(list.Items) != 0 || err != nil {
			h.Errorf("the list shows %v, %v", list, err)
		}
		if n := h.number("SELECT COUNT(*) FROM posthouse_deliveries WHERE state IN ('pending', 'sending', 'unknown', 'quarantined')"); n != 0 {
			h.Errorf("%d deliveries are still to be sent", n)
		}
	})
}

// FLOW-7: a slot that is enqueued when the next one has come is kept as a job, and is not sent.
func TestFLOW7_ASlotThatIsEnqueuedTooLateIsNotSent(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.flow(atOnce(20 * time.Millisecond))
		slot := func(late time.Duration) string {
			return `{"bizType": 2, "bizId": 1001, "channel": 0, "payload": {"taskName": "x", "orbitNo": 9, "remainMin": 45}, "userIds": ["u1"],
				"dedupKey": "2_1001_9_45_0", "nextRunTime": "` + time.Now().Add(-late).Format(time.RFC3339) + `"}`
		}
		id, _ := h.enqueue(slot(20 * time.Minute))
		j := h.jobReaches(id, 2, map[string]int{"u1": 2})
		if j.Recipients[0].State != posthouse.Expired || len(h.arrivals("oa", "u1")) != 0 {
			h.Errorf("a slot of 20 minutes ago is %s and OA got %v", j.Recipients[0].State, h.arrivals("oa", "u1"))
		}
		if again, existing := h.enqueue(slot(21 * time.Minute)); again != id || !existing {
			h.Errorf("its key makes another job: %s", again)
		}
		h.change("delete", `{"bizType": 2, "bizIds": [1001]}`)
		id, _ = h.enqueue(slot(5 * time.Minute))
		h.jobReaches(id, 1, map[string]int{"u1": 1})
		if a := h.arrivals("oa", "u1"); len(a) != 1 || !strings.Contains(a[0].Text, "40分钟") {
			h.Errorf("of a slot of 5 minutes ago OA got %+v, want 40 minutes", a)
		}
	})
}

// passes sets a reminder back, as if time had passed.
func (h *house) passes(id string, d time.Duration) {
	h.Helper()
	var r posthouse.Reminder
	var doc string
	h.must(h.db.QueryRowContext(h.Context(), "SELECT doc FROM posthouse_plans WHERE id = '"+id+"'").Scan(&doc))
	h.must(json.Unmarshal([]byte(doc), &r))
	r.NextAt, r.Repeat.From, r.Draft.Clock.Since = r.NextAt.Add(-d), r.Repeat.From.Add(-d), r.Draft.Clock.Since.Add(-d)
	text, err := json.Marshal(r)
	h.must(err)
	_, err = h.db.ExecContext(h.Context(), fmt.Sprintf("UPDATE posthouse_plans SET next_at = %d, doc = '%s' WHERE id = '%s'", r.NextAt.UnixMicro(), text, id))
	h.must(err)
}

// FLOW-8, FLOW-16, section 10 of the document: a time-out with timeoutRemind is one job that comes again, with
// the minutes of its sending in it, until its status is set; deleted, it can be planned anew.
func TestFLOW8_ATimeoutJobComesAgainUntilItIsStopped(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.flow(atOnce(20 * time.Millisecond))
		body := func() string {
			return `{"bizType": 5, "bizId": 8882, "channel": 0, "dedupKey": "5_8882_0", "userIds": ["u1"], "operator": "task-service",
				"payload": {"taskName": "x", "nodeName": "资源确认", "maxDuration": 60, "timeoutRemind": "30"}, "nextRunTime": "` + time.Now().Add(time.Hour).Format(time.RFC3339) + `"}`
		}
		id, existing := h.enqueue(body())
		if again, known := h.enqueue(body()); id != "5_8882_0" || existing || again != id || !known {
			h.Fatalf("enqueued %s (existing %t), then %s (existing %t)", id, existing, again, known)
		}
		h.jobReaches(id, 0, map[string]int{})
		for n, minutes := range []int{0, 31, 62} {
			h.passes(id, map[bool]time.Duration{true: time.Hour, false: 31 * time.Minute}[n == 0])
			h.eventually(fmt.Sprintf("round %d is sent", n+1), func() bool { return len(h.arrivals("oa", "u1")) == n+1 })
			_, text, _ := strings.Cut(h.arrivals("oa", "u1")[n].Text, "已超时")
			if said, err := strconv.Atoi(strings.TrimRight(text[:strings.Index(text, "分")], " ")); err != nil || said < minutes || said > minutes+2 {
				h.Errorf("round %d says %q, want %d minutes", n+1, text, minutes)
			}
			h.jobReaches(id, 0, map[string]int{"u1": 1})
		}
		if n := h.change("status", `{"bizType": 5, "bizIds": [8882], "status": 3, "operator": "u9"}`); n != 1 {
			h.Errorf("%d jobs were cancelled, want 1", n)
		}
		if j := h.jobReaches(id, 3, map[string]int{"u1": 1}); j.UpdateBy != "u9" {
			h.Errorf("the job is %+v", j)
		}
		if n := h.number("SELECT COUNT(*) FROM posthouse_plans WHERE next_at > 0"); n != 0 {
			h.Error("the reminder goes on")
		}
		if again, known := h.enqueue(body()); again != id || !known {
			h.Error("a cancelled job's key makes another one before it is deleted")
		}
		for n := range 2 {
			if n := h.change("delete", `{"bizType": 5, "bizIds": [8882]}`); n != 1 {
				h.Errorf("%d jobs were deleted, want 1", n)
			}
			if next, known := h.enqueue(body()); next != fmt.Sprintf("5_8882_0~%d", n+2) || known {
				h.Errorf("after deletion %d the next job is %s (existing %t)", n+1, next, known)
			}
		}
		if n := h.number("SELECT COUNT(*) FROM tc_notify_job WHERE biz_type = 5 AND biz_id = 8882"); n != 3 {
			h.Errorf("the view has %d jobs, want 3", n)
		}
	})
}

// FLOW-10: defaults are stored once and never over somebody's own; a payload that lacks a field is refused by
// its name, or shown where the template is lenient.
func TestFLOW10_DefaultTemplatesKeepWhatWasChanged(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.put(h.oa(posthouse.ChannelSettings{}))
		own, err := h.api.Templates.Put(h.Context(), posthouse.Template{Name: "task_finished.oa", Text: "${taskName}", Lenient: true})
		h.must(err)
		for _, want := range []int{11, 0} {
			out, err := h.api.Templates.Install(h.Context())
			h.must(err)
			if len(out.Installed) != want || len(out.Kept) != 12-want {
				h.Errorf("installed %v, kept %v", out.Installed, out.Kept)
			}
		}
		if t, err := h.api.Templates.Get(h.Context(), "task_finished.oa", 0); err != nil || t.Version != own.Version || t.Text != own.Text {
			h.Errorf("one's own template became %+v, %v", t, err)
		}
		id, _ := h.enqueue(`{"bizType": 3, "bizId": 1, "channel": 0, "userIds": ["u1"]}`)
		m, err := h.api.Messages.Get(h.Context(), id)
		if h.must(err); m.Content.Text != "${taskName}" {
			h.Errorf("a lenient template makes %q of nothing", m.Content.Text)
		}
		status, answer := h.call(http.MethodPost, "/v1/notify/jobs", "application/json", `{"bizType": 4, "bizId": 1, "channel": 0, "userIds": ["u1"], "payload": {"taskname": "x"}}`)
		if text := fmt.Sprint(answer); status != 422 || !strings.Contains(text, "payload.taskName") {
			h.Errorf("a missing field is answered HTTP %d %s", status, text)
		}
	})
}

// FLOW-16: what is wrong is named in the document's words, and nothing is stored.
func TestFLOW2_JobsThatCannotBeSentAreRefusedByField(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.closedFlow()
		for _, c := range []struct{ path, body, want string }{
			{"", `{}`, "bizId bizType channel userIds"},
			{"", `{"bizType": 6, "bizId": 1, "channel": 2, "userIds": [], "nextRunTime": "tomorrow"}`, "bizType channel nextRunTime userIds"},
			{"", `{"bizType": 3, "bizId": 1.5, "channel": true, "userIds": [null, {}]}`, "bizId channel userIds[0] userIds[1]"},
			{"", `{"bizType": 3, "bizId": 1, "channel": 1, "userIds": ["u1"]}`, "channel"}, // dingtalk is not configured
			{"", `{"bizType": 3, "bizId": 1, "channel": 0, "userIds": ["u1"], "payload": [1]}`, "payload"},
			{"", `{"bizType": 3, "bizId": 1, "channel": 0, "userIds": ["u1"], "payload": {"taskName": "x"}, "nextRunTime": "2999-01-01 00:00:00", "dedupKey": "` + strings.Repeat("k", 300) + `"}`, "dedupKey nextRunTime"},
			{"", `{"bizType": 3, "bizId": 1, "channel": 0, "userIds": ["u1"], "retries": 3}`, "retries"},
			{"", `{"bizType": 5, "bizId": 1, "channel": 0, "userIds": ["u1"], "payload": {"taskName": "x", "timeoutRemind": 5}}`, "payload.nodeName"},
			{"/status", `{"bizType": 3, "bizIds": [], "status": 1, "expectedStatuses": [9]}`, "bizIds expectedStatuses[0] status"},
			{"/status", `{"bizIds": [{}]}`, "bizIds[0] bizType status"},
			{"/delete", `{"bizType": 9, "bizIds": [""]}`, "bizIds[0] bizType"},
		} {
			status, answer := h.call(http.MethodPost, "/v1/notify/jobs"+c.path, "application/json", c.body)
			var paths []string
			list, _ := answer["problems"].([]any)
			for _, p := range list {
				paths = append(paths, fmt.Sprint(p.(map[string]any)["path"]))
			}
			slices.Sort(paths)
			if got := strings.Join(paths, " "); status != 422 || got != c.want {
				h.Errorf("%.100s: HTTP %d, problems with %s, want %s: %v", c.body, status, got, c.want, answer)
			}
		}
		if n := h.number("SELECT COUNT(*) FROM posthouse_messages"); n != 0 {
			h.Errorf("%d messages were stored", n)
		}
	})
}
