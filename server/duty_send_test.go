package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/wire"
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
		var waits []wire.Wait
		h.eventually("the next run is planned", func() bool {
			x, err := h.api.Deliveries.Explain(h.Context(), late)
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
		h.eventually("招呼 runs on, and says so", func() bool {
			starts, ends := h.log.with(line{"msg": "run starts", "job": zhaohuJob}), h.log.with(line{"msg": "run ends", "job": zhaohuJob})
			return h.metric(`posthouse_runs_total{job="`+zhaohuJob+`"}`) >= 3 && len(starts) >= 3 && len(ends) >= 3
		})
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
		_, _, err := h.api.Channels.Put(h.Context(), h.zhaohu(s))
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
		sent, err := h.api.Messages.Send(h.Context(), posthouse.Draft{
			Channel: "tianyuan", Kind: "notice", To: []posthouse.Recipient{{User: "u2", Type: "branch"}}, Content: &posthouse.Content{Text: "too late"},
			Deadline: time.Now().Add(10 * time.Second),
		})
		h.must(err)
		id := sent.Accepted[0].Deliveries[0].ID
		read := h.reaches(id, "expired", 0)
		if d := h.delivery(id); d.State != posthouse.Expired || d.Reason != "deadline" {
			h.Errorf("the delivery is %s, %q", d.State, d.Reason)
		}
		page, err := h.api.Notices.List(h.Context(), client.NoticeFilter{Status: "expired", UserID: "u2"}) // not u1: its day may end
		h.must(err)
		if diff := cmp.Diff([]wire.Notice{read}, page.Items); diff != "" {
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
		s.Timeout = posthouse.Duration(10 * time.Second) // no send that is answered takes as long
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
			own := dbtest.Own(t, dbtest.Options{Kind: kind, Durable: true}) // it is killed, and is to know afterwards what it had
			h := open(t, own.DSN)
			h.survives(func() { h.must(own.Kill()); h.wantUnavailable() }, func() { h.must(own.Restart()) })
			if status, _ := h.call(http.MethodGet, "/readyz", "", ""); status != http.StatusOK {
				h.Errorf("afterwards /readyz answers %d", status)
			}
		})
	}
	// SQLite is no server that could go: here its queue cannot be found for a while.
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		h := open(t, dbtest.SQLite(t))
		rename := func(from, to string) {
			_, err := h.db.ExecContext(t.Context(), "ALTER TABLE "+from+" RENAME TO "+to)
			h.must(err)
		}
		h.survives(func() { rename("posthouse_queue", "away") }, func() { rename("away", "posthouse_queue") })
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
	// A run whose result could not be recorded does not end before it is, and no other begins.
	h.eventually("two runs have met the fault, or the end of one has", func() bool {
		return len(h.log.with(failed)) >= 2 || len(h.log.with(line{"msg": "results could not be recorded: trying again"})) > 0
	})
	for _, l := range h.log.with(failed) {
		stack, _ := l["stack"].(string)
		if reason, _ := l["error"].(string); reason == "" || !strings.Contains(stack, "runOnce") {
			h.Errorf("the fault is logged without its cause or stack: %v", l)
		}
	}
	repair()
	h.behave("tianyuan")
	h.eventually("a later run sends it", func() bool {
		n, err := h.api.Notices.Get(h.Context(), id)
		return err == nil && n.Status == "success"
	})
}
