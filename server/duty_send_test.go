package server_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/simulator"
)

// The jobs of the two platforms, as the document calls them.
const (
	tianyuanJob = "TianyuanMessageSenderJob"
	zhaohuJob   = "ZhaohuMessageSenderJob"
)

func TestDUTY5_EachPlatformHasItsOwnJobAndPeriod(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		// A channel that says nothing of its period runs once a minute, the first time at once.
		if ch := h.put(h.tianyuan(posthouse.ChannelSettings{})); ch.Every == nil || ch.Every.Std() != time.Minute {
			h.Errorf("without a setting the period is %v, want 1m", ch.Every)
		}
		h.eventually("the first run of 天元 is over", func() bool { return len(h.log.with(line{"msg": "run ends", "job": tianyuanJob})) == 1 })
		late := h.branch("late", "tianyuan")
		var waits []client.Wait
		h.eventually("the next run is planned", func() bool {
			x, err := h.api.Explain(h.Context(), late)
			h.must(err)
			waits = x.Waits
			return len(waits) == 1 && waits[0].Cause == "run"
		})
		if left := time.Until(waits[0].Until); left <= 0 || left > time.Minute || !strings.Contains(waits[0].Detail, tianyuanJob) {
			h.Errorf("the next run of 天元 is %s ahead: %s", left, waits[0].Detail)
		}
		if n := h.notice(late); n.Status != "pending" {
			h.Errorf("before the next run the notice is %s", n.Status)
		}

		// Another period is a setting; each run says in the log what it did.
		h.put(h.zhaohu(runs(time.Second)))
		good, bad := h.branch("u1", "zhaohu"), h.branch("fail-recipient", "zhaohu")
		h.reaches(good, "success", 0)
		h.reaches(bad, "stopped", 1)
		h.eventually("the runs of 招呼 have counted both", func() bool {
			return cmp.Equal(h.counts(zhaohuJob), map[string]float64{"claimed": 2, "success": 1, "failure": 1})
		})
		h.eventually("招呼 runs on", func() bool { return h.metric(`posthouse_runs_total{job="`+zhaohuJob+`"}`) >= 3 })
		if starts, ends := h.log.with(line{"msg": "run starts", "job": zhaohuJob}), h.log.with(line{"msg": "run ends", "job": zhaohuJob}); len(starts) < 3 || len(ends) < 3 {
			h.Errorf("the log has %d starts and %d ends of runs of 招呼", len(starts), len(ends))
		}
		if got := h.metric(`posthouse_runs_total{job="` + tianyuanJob + `"}`); got != 1 {
			h.Errorf("天元 has run %v times within its minute", got)
		}

		// Period 0 is continuous.
		h.put(h.tianyuan(runs(0)))
		h.reaches(late, "success", 0)
	})
}

// counts sums what a job's runs say they did.
func (h *house) counts(job string) map[string]float64 {
	sum := map[string]float64{}
	for _, l := range h.log.with(line{"msg": "run ends", "job": job}) {
		for _, name := range []string{"claimed", "success", "failure"} {
			n, _ := l[name].(float64)
			sum[name] += n
		}
	}
	return sum
}

func TestDUTY5_APlatformThatIsDownDelaysNoOther(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		slow := runs(time.Second)
		slow.Timeout = posthouse.Duration(time.Minute)
		h.put(h.tianyuan(slow))
		h.put(h.zhaohu(runs(time.Second)))

		h.behave("zhaohu", simulator.Fault{Kind: simulator.ServerError})
		down := h.branch("u1", "zhaohu")
		h.reaches(h.branch("u1", "tianyuan"), "success", 0)
		h.eventually("招呼 has failed meanwhile", func() bool { return h.notice(down).RetryCount > 0 })
		h.behave("zhaohu")

		h.behave("tianyuan", simulator.Fault{Kind: simulator.Hang})
		stuck := h.branch("u2", "tianyuan")
		h.eventually("天元 hangs", func() bool { return len(h.arrivals("tianyuan", "u2")) == 1 })
		h.reaches(h.branch("u2", "zhaohu"), "success", 0)
		if d := h.delivery(stuck); d.State != posthouse.Sending {
			h.Errorf("the notice to 天元 is %s: it did not hang while 招呼 sent", d.State)
		}
	})
}

func TestDUTY6_ThreeFailuresStopANotice(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.put(h.tianyuan(runs(time.Second)))
		h.behave("tianyuan",
			simulator.Fault{Kind: simulator.ServerError, Recipient: "worse", Times: 2},
			simulator.Fault{Kind: simulator.Business, Code: simulator.Busy, Recipient: "worse"})
		well, twice, worse := h.branch("well", "tianyuan"), h.branch("busy-twice", "tianyuan"), h.branch("worse", "tianyuan")
		h.reaches(well, "success", 0)
		h.reaches(twice, "success", 2)
		stopped := h.reaches(worse, "stopped", 3)

		var steps []string
		tries := h.attempts(worse)
		for _, a := range tries {
			steps = append(steps, string(a.From+" "+a.To))
		}
		if diff := cmp.Diff([]string{"pending pending", "pending pending", "pending failed"}, steps); diff != "" {
			h.Fatalf("attempts:\n%s", diff)
		}
		if stopped.LastError != tries[2].Error || !strings.Contains(tries[0].Error, "503") || !strings.Contains(stopped.LastError, "busy") {
			h.Errorf("last_error is %q after %q and %q", stopped.LastError, tries[0].Error, tries[2].Error)
		}
		h.eventually("the runs have counted every attempt", func() bool {
			return cmp.Equal(h.counts(tianyuanJob), map[string]float64{"claimed": 7, "success": 2, "failure": 5})
		})
		for user, want := range map[string]int{"well": 1, "busy-twice": 3, "worse": 3} {
			if got := len(h.arrivals("tianyuan", user)); got != want {
				h.Errorf("%s: %d arrivals, want %d", user, got, want)
			}
		}

		// Between two tries it reads failure; how many end it is a setting.
		h.put(h.zhaohu(atOnce(time.Hour)))
		if n := h.reaches(h.branch("always-busy", "zhaohu"), "failure", 1); n.LastError != "the system is busy, try again later" {
			h.Errorf("last_error is %q", n.LastError)
		}
		for _, limit := range []int{1, 5} {
			s := atOnce(10 * time.Millisecond)
			s.Tries = limit
			h.put(h.zhaohu(s))
			h.reaches(h.branch("always-busy", "zhaohu"), "stopped", limit)
		}
		s := runs(0)
		s.Tries = -1
		_, _, err := h.api.PutChannel(h.Context(), h.zhaohu(s))
		if diff := cmp.Diff([]string{"tries"}, paths(err)); diff != "" {
			h.Errorf("a limit of -1: %v\n%s", err, diff)
		}
	})
}

func TestDUTY7_ANoticeOfYesterdayExpiresVisibly(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.close(h.zhaohu(runs(time.Minute)))
		if d := h.delivery(h.branch("u1", "zhaohu")); !d.Deadline.IsZero() {
			h.Errorf("by default a notice has the deadline %s", d.Deadline)
		}
		for setting, zone := range map[string]string{"": "Asia/Shanghai", "America/New_York": "America/New_York"} {
			s := runs(time.Minute)
			s.ExpireEndOfDay, s.TimeZone = true, setting
			h.close(h.tianyuan(s))
			before := midnight(t, zone)
			got := h.delivery(h.branch("u1", "tianyuan")).Deadline
			if after := midnight(t, zone); !got.Equal(before) && !got.Equal(after) {
				h.Errorf("in %s the deadline is %s, want %s", zone, got, after)
			}
		}

		// No day ends within a test, so a notice with a near deadline of its own shows what follows.
		sent, err := h.api.Send(h.Context(), posthouse.Draft{
			Channel: "tianyuan", Kind: "notice", To: []posthouse.Recipient{{User: "u2", Type: "branch"}}, Content: &posthouse.Content{Text: "too late"},
			Deadline: time.Now().Add(time.Second),
		})
		h.must(err)
		id := sent.Accepted[0].Deliveries[0].ID
		read := h.reaches(id, "expired", 0)
		if d := h.delivery(id); d.State != posthouse.Expired || d.Reason != "deadline" {
			h.Errorf("the delivery is %s, %q", d.State, d.Reason)
		}
		page, err := h.api.Notices(h.Context(), client.NoticeFilter{Status: "expired"})
		h.must(err)
		if diff := cmp.Diff([]client.Notice{read}, page.Items); diff != "" {
			h.Errorf("listed as expired:\n%s", diff)
		}
		if got := h.number("SELECT count(*) FROM message_send_log WHERE status = 'expired' AND content = 'too late'"); got != 1 {
			h.Errorf("message_send_log shows %d expired rows, want 1", got)
		}
		h.said(line{"msg": "overdue delivery handled", "delivery": id, "state": "expired", "reason": "deadline"})
	})
}

// midnight is the end of today in a zone.
func midnight(t *testing.T, zone string) time.Time {
	t.Helper()
	place, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	y, m, d := time.Now().In(place).Date()
	return time.Date(y, m, d+1, 0, 0, 0, 0, place)
}

func TestDUTY8_EveryAttemptIsLoggedAndQueryable(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.put(h.tianyuan(runs(time.Second)))
		id := h.branch("busy-twice", "tianyuan")
		h.reaches(id, "success", 2)
		want := []struct {
			class    posthouse.Class
			code     string
			tries    int
			to       posthouse.State
			response string
		}{
			{posthouse.ClassTransient, "5000", 1, posthouse.Pending, `"code":5000`},
			{posthouse.ClassTransient, "5000", 2, posthouse.Pending, `"code":5000`},
			{posthouse.ClassOK, "0", 2, posthouse.Sent, `"messageId"`},
		}
		attempts, logged := h.attempts(id), []line{}
		h.eventually("the attempts are in the log", func() bool {
			logged = h.log.with(line{"msg": "attempt ended", "delivery": id})
			return len(logged) == len(want)
		})
		if len(attempts) != len(want) {
			h.Fatalf("%d attempts, want %d", len(attempts), len(want))
		}
		for i, w := range want {
			a, l := attempts[i], logged[i]
			if a.Number != i+1 || a.Delivery != id || a.Channel != "tianyuan" || a.Class != w.class || a.Tries != w.tries || a.From != posthouse.Pending || a.To != w.to {
				h.Errorf("attempt %d: %+v, want %+v", i+1, a, w)
			}
			if !strings.Contains(a.Request, `"touser": "busy-twice"`) || !strings.Contains(a.Request, id) || !strings.Contains(a.Response, w.response) {
				h.Errorf("attempt %d: request %q, response %q", i+1, a.Request, a.Response)
			}
			if a.StartedAt.IsZero() || a.FinishedAt.Before(a.StartedAt) || a.Error == "" != (w.class == posthouse.ClassOK) {
				h.Errorf("attempt %d: from %s to %s, error %q", i+1, a.StartedAt, a.FinishedAt, a.Error)
			}
			fields := line{
				"job": tianyuanJob, "channel": "tianyuan", "outcome": string(w.class), "code": w.code, "error": a.Error, "tries": float64(w.tries),
				"attempt": float64(i + 1), "from": "sending", "to": string(w.to), "request": a.Request, "response": a.Response,
			}
			if !l.has(fields) {
				h.Errorf("attempt %d is logged as %v, want %v", i+1, l, fields)
			}
		}
		if arrived := h.arrivals("tianyuan", "busy-twice"); attempts[2].Ref != arrived[len(arrived)-1].ID {
			h.Errorf("the provider's id is %q, want %q", attempts[2].Ref, arrived[len(arrived)-1].ID)
		}
	})
}

func TestDUTY9_TimeOutsAndNetworkErrorsAreFailuresThatAreRetried(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		s := runs(time.Second)
		s.Timeout = posthouse.Duration(time.Second)
		h.put(h.tianyuan(s))
		nowhere := h.zhaohu(atOnce(time.Hour))
		nowhere.Config["url"] = "http://127.0.0.1:1/" // nobody listens there
		h.put(nowhere)

		hang, cut, id := h.branch("hang", "tianyuan"), h.branch("cut-before", "tianyuan"), h.branch("u1", "zhaohu")
		for id, code := range map[string]string{hang: "API_TIMEOUT", cut: "NETWORK_ERROR"} {
			h.reaches(id, "success", 1)
			h.wantFailure(id, code)
		}
		if n := h.reaches(id, "failure", 1); !strings.Contains(n.LastError, "refused the connection") {
			h.Errorf("last_error is %q", n.LastError)
		}
		h.wantFailure(id, "NETWORK_ERROR")
		for id, user := range map[string]string{hang: "hang", cut: "cut-before"} {
			h.said(line{"level": "INFO", "msg": "delivery accepted", "delivery": id, "user": user, "channel": "tianyuan"})
		}
	})
}

// wantFailure wants a first attempt that counts as a failure and keeps its detail, in the API and
// in the log.
func (h *house) wantFailure(id, code string) {
	h.Helper()
	a := h.attempts(id)[0]
	if a.Code != code || a.Tries != 1 || a.Error == "" || a.Request == "" {
		h.Errorf("the first attempt of %s: code %s, %d tries, error %q, request %q; want %s", id, a.Code, a.Tries, a.Error, a.Request, code)
	}
	h.said(line{"msg": "attempt ended", "delivery": id, "code": code, "error": a.Error, "tries": 1.0})
}

func TestDUTY9_ARunSurvivesTheDatabase(t *testing.T) {
	t.Parallel()
	for _, kind := range []dbtest.Kind{dbtest.KindPostgres, dbtest.KindMariaDB} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			own := dbtest.Own(t, dbtest.Options{Kind: kind})
			h := open(t, own.DSN)
			h.survives(func() { h.must(own.Kill()); h.wantUnavailable() }, func() { h.must(own.Restart()) })
			if status, _ := h.call(http.MethodGet, "/readyz", "", ""); status != http.StatusOK {
				h.Errorf("afterwards /readyz answers %d", status)
			}
		})
	}
	// SQLite is no server that could go: here its queue can not be found for a while.
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		h := open(t, dbtest.SQLite(t))
		rename := func(from, to string) {
			_, err := h.db.ExecContext(t.Context(), "ALTER TABLE "+from+" RENAME TO "+to)
			h.must(err)
		}
		h.survives(func() { rename("queue", "away") }, func() { rename("away", "queue") })
	})
}

// wantUnavailable wants callers to hear that the database is gone, and to come back later.
func (h *house) wantUnavailable() {
	h.Helper()
	if status, answer := h.post(`{"userId": "u1", "userType": "branch", "platform": "tianyuan", "messageContent": "x"}`); status != http.StatusServiceUnavailable || answer["code"] != "unavailable" {
		h.Errorf("without the database a notice is answered HTTP %d %v, want 503", status, answer)
	}
	if status, _ := h.call(http.MethodGet, "/readyz", "", ""); status != http.StatusServiceUnavailable {
		h.Errorf("without the database /readyz answers %d, want 503", status)
	}
}

// survives takes the database away during runs and gives it back: the runs say so in the log, and
// what was accepted before is sent by a later one.
func (h *house) survives(breakIt, repair func()) {
	h.Helper()
	patient := runs(time.Second)
	patient.Tries = 100
	h.put(h.tianyuan(patient))
	h.behave("tianyuan", simulator.Fault{Kind: simulator.Business})
	id := h.branch("u1", "tianyuan")
	h.eventually("天元 has refused it", func() bool { return h.notice(id).Status == "failure" })
	breakIt()
	failed := line{"level": "ERROR", "code": "DATABASE_ERROR", "job": tianyuanJob, "channel": "tianyuan"}
	h.eventually("two runs have met the fault", func() bool { return len(h.log.with(failed)) >= 2 })
	for _, l := range h.log.with(failed) {
		stack, _ := l["stack"].(string)
		if reason, _ := l["error"].(string); reason == "" || !strings.Contains(stack, "runOnce") {
			h.Errorf("the fault is logged without its cause or stack: %v", l)
		}
	}
	repair()
	h.behave("tianyuan")
	h.eventually("a later run sends it", func() bool {
		n, err := h.api.Notice(h.Context(), id)
		return err == nil && n.Status == "success"
	})
}

func TestDUTY12_PlatformsAreConnectedByConfigurationAlone(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		quick := atOnce(20 * time.Millisecond)
		for _, ch := range []posthouse.Channel{h.tianyuan(quick), h.zhaohu(quick), h.oa(quick)} {
			h.put(ch)
		}
		// Three wire forms carry the same text as it is: JSON, JSON for many, a form answered in text.
		text := "第一行 \"引号\" \\ 反斜杠\n第二行 <b>&amp; ${user} a=1&b|2 😀"
		for _, name := range []string{"tianyuan", "zhaohu", "oa"} {
			d := h.settled(name, text, "u1")["u1"]
			arrived := h.arrivals(name, "u1")
			if len(arrived) != 1 || arrived[0].Text != text || arrived[0].Key != d.IdemKey || arrived[0].ID != d.ProviderRef || d.State != posthouse.Sent {
				h.Errorf("%s: %s, %d arrivals, %+v", name, d.State, len(arrived), arrived)
			}
			if name != "zhaohu" && arrived[0].Title != "标题" { // which has no titles
				h.Errorf("%s: the title arrived as %q", name, arrived[0].Title)
			}
		}
		// The table of codes says what each refusal means.
		for name, codes := range map[string][2]string{"tianyuan": {"1001", "1002"}, "zhaohu": {"NO_USER", "REFUSED"}, "oa": {"E02", "E03"}} {
			got := h.settled(name, "x", "fail-recipient", "refuse-content")
			for user, want := range map[string][2]string{"fail-recipient": {"recipient", codes[0]}, "refuse-content": {"content", codes[1]}} {
				if d, a := got[user], h.attempts(got[user].ID); d.State != posthouse.Failed || d.Reason != want[0] || len(a) != 1 || a[0].Code != want[1] || d.Error == "" {
					h.Errorf("%s, %s: %s %q after %d attempts, want failed for code %s", name, user, d.State, d.Reason, len(a), want[1])
				}
			}
		}
		h.inOneCall()
		h.afterTheWait()
	})
}

// inOneCall sends to many receivers of one message at once; only those who failed are tried again.
func (h *house) inOneCall() {
	h.Helper()
	before := h.requests("zhaohu")
	got := h.settled("zhaohu", "to all", "b1", "b2", "fail-recipient-2", "busy-twice")
	for user, want := range map[string]struct {
		state posthouse.State
		tries int
	}{"b1": {posthouse.Sent, 0}, "b2": {posthouse.Sent, 0}, "fail-recipient-2": {posthouse.Failed, 1}, "busy-twice": {posthouse.Sent, 2}} {
		if d := got[user]; d.State != want.state || d.Tries != want.tries {
			h.Errorf("in a batch %s is %s after %d failures, want %s after %d", user, d.State, d.Tries, want.state, want.tries)
		}
	}
	if n := h.requests("zhaohu") - before; n != 3 || len(h.arrivals("zhaohu", "b1")) != 1 {
		h.Errorf("%d calls, want 3: one for all four, two more for the one that was busy", n)
	}
}

// afterTheWait has each platform ask for a second: in its own field or line, and in Retry-After.
// 招呼 names the wait once for the whole call, so here a call has one receiver.
func (h *house) afterTheWait() {
	h.Helper()
	single := h.zhaohu(atOnce(20 * time.Millisecond))
	maps.DeleteFunc(single.Config, func(name string, _ any) bool { return name == "batch" || strings.HasPrefix(name, "result") })
	single.Config["id_path"] = "$.result[0].id"
	h.put(single)
	asked := []string{"too-fast", "rate-limited"}
	sent := map[string]posthouse.Accepted{}
	for _, name := range []string{"tianyuan", "zhaohu", "oa"} {
		sent[name] = h.send(name, "x", asked...)
	}
	for name, accepted := range sent {
		settled := h.settle(accepted)
		for _, user := range asked {
			d := settled[user]
			a := h.attempts(d.ID)
			if d.State != posthouse.Sent || d.Tries != 0 || len(a) != 2 || a[0].Class != posthouse.ClassRate {
				h.Errorf("%s, %s: %s after %d failures, attempts %+v", name, user, d.State, d.Tries, a)
			} else if wait := a[1].StartedAt.Sub(a[0].StartedAt); wait < time.Second {
				h.Errorf("%s, %s: tried again after %s, the platform asked for 1s", name, user, wait)
			}
		}
	}
}

// settled sends one message and waits until each of its deliveries is settled; they are by user.
func (h *house) settled(channel, text string, users ...string) map[string]posthouse.Delivery {
	h.Helper()
	return h.settle(h.send(channel, text, users...))
}

// send sends one message to many users.
func (h *house) send(channel, text string, users ...string) posthouse.Accepted {
	h.Helper()
	draft := posthouse.Draft{Channel: channel, Content: &posthouse.Content{Title: "标题", Text: text}}
	for _, user := range users {
		draft.To = append(draft.To, posthouse.Recipient{User: user})
	}
	sent, err := h.api.Send(h.Context(), draft)
	h.must(err)
	return sent.Accepted[0]
}

func (h *house) settle(message posthouse.Accepted) map[string]posthouse.Delivery {
	h.Helper()
	got := map[string]posthouse.Delivery{}
	for _, a := range message.Deliveries {
		h.eventually("the delivery to "+a.User+" is settled", func() bool { got[a.User] = h.delivery(a.ID); return !got[a.User].State.Open() })
	}
	return got
}

// requests is how many calls a provider has had.
func (h *house) requests(provider string) int64 {
	h.Helper()
	res, err := http.Get(h.sim.URL() + "/stats")
	h.must(err)
	defer res.Body.Close()
	var status simulator.Status
	h.must(json.NewDecoder(res.Body).Decode(&status))
	return status.Providers[provider].Requests
}
