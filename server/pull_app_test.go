package server_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server"
)

// PULL-5: new tasks by creation, then retries by their count, up to the limit; the app is written down.
func TestPULL_NewTasksComeBeforeRetriesInOrder(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		old := h.texts(3)
		if got := h.fetched("a", 100); !slices.Equal(got, old) {
			h.Fatalf("got %v, want %v in the order they were handed in", got, old)
		}
		if s := h.story(old[0]); s.Task.App != "a" || s.Task.Status != 1 {
			h.Errorf("the task is %+v, want it with a", s.Task)
		}
		// The last one fails twice, the first one once: both wait for a retry when others come in.
		h.says(200, "a", old[2], wentAgain)
		h.becomes(old[2], 0, 1)
		if got := h.waits("a"); got != old[2] {
			h.Fatalf("got %s, want %s again", got, old[2])
		}
		h.says(200, "a", old[2], wentAgain)
		h.says(200, "a", old[0], wentAgain)
		h.becomes(old[2], 0, 2)
		h.becomes(old[0], 0, 1)
		fresh := h.texts(2)
		h.eventually("the retries are due", func() bool { return h.due(old[0], old[2]) })
		if got, want := h.fetched("b", 3), []string{fresh[0], fresh[1], old[0]}; !slices.Equal(got, want) {
			h.Errorf("got %v, want the new ones and then the least tried %v", got, want)
		}
		if got, want := h.fetched("b", 3), []string{old[2]}; !slices.Equal(got, want) {
			h.Errorf("got %v, want %v", got, want)
		}
	})
}

// due reports whether the time of all these tasks has come.
func (h *house) due(tasks ...string) bool {
	h.Helper()
	for _, id := range tasks {
		if h.delivery(id).DueAt.After(time.Now()) {
			return false
		}
	}
	return true
}

// PULL-5: the document's order, new tasks before retries, holds for ten minutes, or as long as the setting says. A retry
// that has waited longer beyond its time goes before what is new: it never starves.
func TestPULL_ARetryThatHasWaitedGoesFirst(t *testing.T) {
	for name, c := range map[string]struct {
		set   time.Duration
		first time.Duration // that a retry has waited which goes first
		later time.Duration // and one that does not
	}{"by default": {0, 10*time.Minute + time.Second, 9 * time.Minute}, "as set": {30 * time.Minute, 31 * time.Minute, 20 * time.Minute}} {
		t.Run(name, func(t *testing.T) {
			onEachFrontDoor(t, func(h *house) {
				old := h.texts(2)
				h.fetched("a", 2)
				for i, id := range old {
					h.says(200, "a", id, wentAgain)
					h.becomes(id, 0, 1)
					due := time.Now().Add(-[]time.Duration{c.later, c.first}[i]).UnixMicro()
					if _, err := h.db.ExecContext(h.Context(), fmt.Sprintf("UPDATE posthouse_queue SET due_at = %d WHERE id = '%s'", due, id)); err != nil {
						h.Fatal(err)
					}
				}
				fresh := h.texts(2)
				if got, want := h.fetched("a", 4), []string{old[1], fresh[0], fresh[1], old[0]}; !slices.Equal(got, want) {
					h.Errorf("got %v, want the retry that has waited first, and the other last: %v", got, want)
				}
			}, func(s *server.SMS) { s.FairAfter = c.set })
		})
	}
}

// PULL-5: apps that ask at the same time never get one task, and never more than they ask for.
func TestPULL_TwoAppsNeverGetOneTask(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		want := h.texts(60)
		var mu sync.Mutex
		var got []string
		var apps sync.WaitGroup
		for n := range 6 {
			apps.Go(func() {
				for range 6 {
					out, err := h.try(asked{method: "GET", path: fmt.Sprintf("/api/v1/sms/tasks/pending?limit=3&app_id=app_%d", n)})
					if err != nil || out.status != 200 {
						h.Errorf("got %s and error %v", out.text, err)
						return
					}
					tasks := dataOf[[]taskOf](h, out)
					if len(tasks) > 3 {
						h.Errorf("got %d tasks, want at most 3", len(tasks))
					}
					mu.Lock()
					for _, task := range tasks {
						got = append(got, task.ID)
					}
					mu.Unlock()
				}
			})
		}
		apps.Wait()
		for rest := h.fetched("last", 100); len(rest) > 0; rest = h.fetched("last", 100) {
			got = append(got, rest...)
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			h.Errorf("handed out (-want +got):\n%s", diff)
		}
	})
}

// PULL-5: ten where nothing is said.
func TestPULL_TenTasksAreHandedOutByDefault(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		h.texts(12)
		if got := dataOf[[]taskOf](h, h.want(200, "GET", "/api/v1/sms/tasks/pending?app_id=a", "")); len(got) != 10 {
			h.Errorf("got %d tasks, want 10", len(got))
		}
	})
}

// PULL-6: what follows a report, up to the fourth hand-out.
func TestPULL_AReportEndsATaskOrPutsItBack(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		ids := h.texts(3)
		h.fetched("a", 3)
		h.says(200, "a", ids[0], wentOut)
		if s := h.story(ids[0]).Task; s.Status != 2 || s.SentAt == nil || s.ReportedAt == nil || s.Result != "发送成功" || s.App != "a" {
			h.Errorf("sent: got %+v", s)
		}
		h.says(200, "a", ids[1], wentWrong)
		if s := h.story(ids[1]).Task; s.Status != 3 || s.RetryCount != 0 || s.Result != "no signal" || s.SentAt != nil || s.ReportedAt == nil {
			h.Errorf("failed without a retry: got %+v", s)
		}
		for n := range 4 {
			h.says(200, "a", ids[2], wentAgain)
			if n == 3 {
				break
			}
			if s := h.becomes(ids[2], 0, n+1).Task; s.Result != "no signal" || s.App != "" {
				h.Errorf("failed for the %d. time: got %+v", n+1, s)
			}
			if got := h.waits("a"); got != ids[2] {
				h.Fatalf("got %s, want %s again", got, ids[2])
			}
		}
		if s := h.becomes(ids[2], 3, 3).Task; s.Result != "超过最大重试次数: no signal" {
			h.Errorf("failed for good: got %+v", s)
		}
		if got := h.fetched("a", 10); len(got) != 0 {
			h.Errorf("got %v after all has ended", got)
		}
	})
}

// PULL-6: a retry waits, five minutes unless the setting says otherwise.
func TestPULL_ARetryWaitsForItsDelay(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		id := h.sms("13800138000", "x")
		h.fetched("a", 1)
		before := time.Now()
		h.says(200, "a", id, wentAgain)
		if wait := h.delivery(id).DueAt.Sub(before); wait < 4*time.Minute || wait > 6*time.Minute {
			h.Errorf("the retry is due in %v, want 5m", wait)
		}
		if got := h.fetched("a", 1); len(got) != 0 {
			h.Errorf("got %v before its time", got)
		}
	}, func(s *server.SMS) { s.RetryDelay = 0 })
}

// PULL-6: an error text of any length is cut, and never an error.
func TestPULL_ALongErrorIsCut(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		id := h.sms("13800138000", "x")
		h.fetched("a", 1)
		h.says(200, "a", id, fmt.Sprintf(`"status":3,"error_message":%q`, strings.Repeat("错", 100_000)))
		if s := h.story(id); s.Task.Result != strings.Repeat("错", 500) || len([]rune(s.Reported[0].Error)) > 500 {
			h.Errorf("the result has %d characters, the log %d", len([]rune(s.Task.Result)), len([]rune(s.Reported[0].Error)))
		}
	})
}

// PULL-6: what cannot be stored of an error text is replaced, and never an error: the task would go out again.
func TestPULL_AnErrorThatCannotBeStoredIsTaken(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		id := h.sms("13800138000", "x")
		h.fetched("a", 1)
		h.says(200, "a", id, `"status":3,"error_message":"a\u0000b\ud800c"`)
		if s := h.story(id); s.Task.Result != "a\uFFFDb\uFFFDc" || s.Reported[0].Error != s.Task.Result {
			h.Errorf("the result is %q, the log %q", s.Task.Result, s.Reported[0].Error)
		}
	})
}

// brief lets a task time out after a second.
func brief(s *server.SMS) { s.Timeout = time.Second }

// patient lets what is handed out from now on take its time.
func (h *house) patient() {
	h.Helper()
	ch, err := h.api.Channels.Get(h.Context(), "sms")
	h.must(err)
	ch.Timeout = posthouse.Duration(time.Hour)
	h.put(ch)
}

// PULL-7: who no longer holds a task changes nothing, unless it proves that the text has left.
func TestPULL_AStaleReportChangesNothing(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		id := h.sms("13800138000", "x")
		h.fetched("slow", 1)
		h.patient()
		if got := h.waits("quick"); got != id { // the first one's time is over
			h.Fatalf("got %s, want %s", got, id)
		}
		held := h.delivery(id)
		for _, late := range []string{wentWrong, wentAgain} {
			if got := h.says(409, "slow", id, late); !strings.Contains(got.Message, `"slow" no longer holds the task`) {
				h.Errorf("got %s", got.text)
			}
		}
		if got := h.says(409, "never", id, wentOut); !strings.Contains(got.Message, "never handed") {
			h.Errorf("got %s", got.text)
		}
		if now := h.delivery(id); now.Version != held.Version || now.LeaseOwner != held.LeaseOwner {
			h.Errorf("got %+v, want it as it was: %+v", now, held)
		}
		h.says(200, "slow", id, wentOut) // which is true whoever says it
		if s := h.story(id).Task; s.Status != 2 || s.SentAt == nil {
			h.Errorf("got %+v, want it sent", s)
		}
		done := h.delivery(id)
		h.says(200, "slow", id, wentOut)
		h.says(409, "quick", id, wentAgain)
		if now := h.delivery(id); now.Version != done.Version {
			h.Errorf("got %+v, want it as it was: %+v", now, done)
		}
	}, brief)
}

// PULL-7: a repeated report counts once and is answered as before.
func TestPULL_ARepeatedReportCountsOnce(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		ids := h.texts(3)
		h.fetched("a", 3)
		for i, what := range []string{wentOut, wentWrong, wentAgain} {
			for range 3 {
				h.says(200, "a", ids[i], what)
			}
		}
		for i, want := range []struct{ status, retries int }{{2, 0}, {3, 0}, {0, 1}} {
			if s := h.story(ids[i]); s.Task.Status != want.status || s.Task.RetryCount != want.retries || len(s.Reported) != 3 {
				h.Errorf("got %+v after the same report three times, want %+v", s.Task, want)
			}
		}
		h.says(409, "a", ids[0], wentWrong)
		h.says(200, "a", ids[0], wentOut) // as before, whatever was refused meanwhile
		if s := h.story(ids[0]).Task; s.Status != 2 {
			h.Errorf("got %+v: a task that was sent has failed", s)
		}
	}, func(s *server.SMS) { s.RetryDelay = time.Hour })
}

// PULL-8: a task that nobody reports on comes back, and fails after the last time.
func TestPULL_ATaskThatTimesOutIsRecovered(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		id := h.sms("13800138000", "x")
		h.fetched("a", 1)
		if s := h.becomes(id, 0, 1).Task; s.Result != "处理超时，自动重试" || s.App != "" {
			h.Errorf("got %+v", s)
		}
		if got := h.waits("b"); got != id {
			h.Fatalf("got %s, want %s again", got, id)
		}
		if s := h.becomes(id, 3, 1).Task; s.Result != "处理超时，超过最大重试次数" {
			h.Errorf("got %+v", s)
		}
		h.says(200, "b", id, wentOut) // it has left all the same
		h.becomes(id, 2, 1)
	}, brief, func(s *server.SMS) { s.MaxRetries = 1 })
}

// PULL-8: one that was cancelled while a phone had it is not sent again, and does not stay in processing either.
func TestPULL_ACancelledTaskThatTimesOutFails(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		ch, err := h.api.Channels.Get(h.Context(), "sms")
		h.must(err)
		ch.HoldTimeout = posthouse.Duration(time.Second)
		h.put(ch)
		id := h.sms("13800138000", "x")
		h.fetched("a", 1)
		_, err = h.api.Messages.Cancel(h.Context(), posthouse.MessageID(id))
		h.must(err)
		h.endLeases()
		if s := h.becomes(id, 3, 0).Task; s.Result != "处理超时，超过最大重试次数" || s.App != "" {
			h.Errorf("got %+v", s)
		}
	})
}

// PULL-12: some apps want their tasks in a page.
func TestPULL_TasksCanComeInAPage(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		id := h.sms("13800138000", "x")
		for _, want := range []string{
			`{"code":200,"message":"success","data":{"total_count":1,"app_id":"a","tasks":[{"task_id":"ID","phone_number":"13800138000","content":"x"}]}}`,
			`{"code":200,"message":"success","data":{"total_count":0,"app_id":"a","tasks":[]}}`,
		} {
			wantText(h, h.want(200, "GET", "/api/v1/sms/tasks/pending?limit=5&app_id=a", ""), want, id)
		}
	}, func(s *server.SMS) { s.Format = "page" })
}
