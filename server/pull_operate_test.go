package server_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/config"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/server"
)

// PULL-9: three logs, with all that was asked and answered; who is not let in fills none.
func TestPULL_ThreeLogsTellATasksWholeStory(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		send := func(body string) told {
			return h.ask(asked{method: "POST", path: "/api/v1/sms/send", body: body, header: http.Header{"User-Agent": {"system_a/1.0"}, "X-Request-Id": {"req-7"}}})
		}
		body := `{"phone_number":"13800138000","content":"您好","source":"system_a"}`
		sent := send(body)
		id := dataOf[taskOf](h, sent).ID
		send(`{"phone_number":"1","content":"x"}`)
		send(`{"phone_number":`)
		h.ask(asked{method: "POST", path: "/api/v1/sms/send", body: body, user: "-"})
		h.fetched("slow", 1)
		h.patient()
		h.waits("quick")
		h.says(409, "slow", id, wentAgain)
		h.says(200, "quick", id, wentWrong)

		story := h.story(id)
		if story.Task.Source != "system_a" || len(story.Received) != 1 || len(story.Handed) != 2 || len(story.Reported) != 2 {
			h.Fatalf("got %+v", story)
		}
		got := story.Received[0]
		if since := time.Since(got.At); since < 0 || since > time.Minute {
			h.Errorf("the request is logged at %v", got.At)
		}
		got.At = time.Time{}
		want := lineOf{Task: id, RequestID: "req-7", Phone: "13800138000", Content: "您好", SourceIP: "127.0.0.1", UserAgent: "system_a/1.0", Request: kept(body), Response: kept(sent.text), Status: 200}
		if diff := cmp.Diff(want, got); diff != "" {
			h.Errorf("the request's line (-want +got):\n%s", diff)
		}
		if a, b := story.Handed[0], story.Handed[1]; a.App != "slow" || b.App != "quick" || a.Task != id || a.Phone != "13800138000" || a.Content != "您好" ||
			a.Request != `{"limit":1,"app_id":"slow"}` || a.Response != kept(fmt.Sprintf(`{"task_id":%q,"phone_number":"13800138000","content":"您好"}`, id)) {
			h.Errorf("the hand-outs are %+v", story.Handed)
		}
		if a, b := story.Reported[0], story.Reported[1]; a.App != "slow" || a.Answer != "stale" || b.App != "quick" || b.Answer != "done" || b.Error != "no signal" || !strings.Contains(string(b.Request), id) {
			h.Errorf("the reports are %+v", story.Reported)
		}

		logged := h.log3("receive", "")
		if len(logged) != 3 || logged[0].Status != 422 || logged[1].Status != 400 || logged[1].Phone != "1" || !strings.Contains(string(logged[1].Response), "phone_number") || logged[0].Request != `"16 bytes that are no JSON object"` {
			h.Errorf("the requests' log is %+v", logged)
		}
		if got := h.log3("send", "?app_id=quick"); len(got) != 1 || got[0].Task != id {
			h.Errorf("the hand-outs to quick are %+v", got)
		}
		if got := h.log3("report", "?task_id="+id+"&since="+time.Now().Add(time.Hour).UTC().Format(time.RFC3339)); len(got) != 0 {
			h.Errorf("the reports of the future are %+v", got)
		}
		h.want(404, "GET", "/api/v1/admin/logs/other", "")
		h.want(422, "GET", "/api/v1/admin/logs/send?since=yesterday", "")
		for _, odd := range []string{"%00", "a%00b", "%ff"} { // PostgreSQL does not even compare them
			h.want(422, "GET", "/api/v1/admin/logs/send?app_id="+odd, "")
			h.want(200, "GET", "/api/v1/admin/logs/report?task_id="+odd, "")
			h.want(404, "GET", "/api/v1/admin/task/"+odd, "")
		}
	}, brief)
}

// log3 reads one of the three logs, newest first.
func (h *house) log3(name, query string) []lineOf {
	h.Helper()
	return dataOf[struct{ Items []lineOf }](h, h.want(200, "GET", "/api/v1/admin/logs/"+name+query, "")).Items
}

// PULL-10: counts, kept and not counted, and what operators are told.
func TestPULL_StatisticsFollowEachTask(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		wants := func(fresh, retry, processing, success, failed int) {
			h.Helper()
			want := fmt.Sprintf(`{"pending_new_tasks":%d,"pending_retry_tasks":%d,"processing_tasks":%d,"success_tasks":%d,"failed_tasks":%d}`, fresh, retry, processing, success, failed)
			if got := h.want(200, "GET", "/api/v1/admin/task-statistics", ""); string(got.Data) != want {
				h.Errorf("got %s, want %s", got.Data, want)
			}
		}
		wants(0, 0, 0, 0, 0)
		ids := h.texts(5)
		wants(5, 0, 0, 0, 0)
		h.fetched("a", 4)
		wants(1, 0, 4, 0, 0)
		for i, what := range []string{wentOut, wentWrong, wentAgain} {
			h.says(200, "a", ids[i], what)
		}
		wants(1, 1, 1, 1, 1)
	}, func(s *server.SMS) { s.RetryDelay = time.Hour })
}

// PULL-10: what the numbers mean, zombies at once, and health.
func TestPULL_OperatorsAreToldTheRulesAndTheHealth(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		info := h.want(200, "GET", "/api/v1/admin/task-status-info", "")
		for _, want := range []string{
			`"data":[{"status_code":0,"status_name":"PENDING","description":"待处理"}`, `{"status_code":3,"status_name":"FAILED","description":"失败"}]`,
		} {
			if !strings.Contains(info.text, want) {
				h.Errorf("got %s, want it to contain %s", info.text, want)
			}
		}
		rules := h.want(200, "GET", "/api/v1/admin/rules", "")
		for _, want := range []string{
			`"max_retry_count":3`, `"retry_delay_seconds":300`, `"processing_timeout_seconds":1800`, `"fair_after_seconds":600`, `"pending_format":"list"`,
		} {
			if !strings.Contains(rules.text, want) {
				h.Errorf("got %s, want it to contain %s", rules.text, want)
			}
		}
		if got := h.want(200, "POST", "/api/v1/admin/recover-zombie-tasks", ""); string(got.Data) != `{"recovered_count":0,"message":"成功恢复 0 个僵尸任务"}` {
			h.Errorf("got %s", got.text)
		}
		if got := h.want(200, "GET", "/health", ""); string(got.Data) != `{"status":"healthy"}` {
			h.Errorf("got %s", got.text)
		}
	}, func(s *server.SMS) { s.RetryDelay = 0 })
}

// PULL-10, PULL-8: zombies are recovered when an operator asks, before the next look.
func TestPULL_ZombiesAreRecoveredOnRequest(t *testing.T) {
	t.Parallel()
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			h := open(t, d.dsn(t), withSMS(brief), func(o *server.Options) { o.RescueEvery = time.Hour })
			id := h.sms("13800138000", "x")
			h.fetched("a", 1)
			h.eventually("the task is recovered", func() bool {
				return string(h.want(200, "POST", "/api/v1/admin/recover-zombie-tasks", "").Data) == `{"recovered_count":1,"message":"成功恢复 1 个僵尸任务"}`
			})
			if s := h.story(id).Task; s.Status != 0 || s.RetryCount != 1 || s.Result != "处理超时，自动重试" {
				t.Errorf("got %+v", s)
			}
		})
	}
}

// PULL-11: the variables of an existing deployment start the server with its front door, on its address.
func TestPULL_AnExistingDeploymentCanSwapTheServer(t *testing.T) {
	t.Parallel()
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			dsn := d.dsn(t)
			c, err := config.Load(config.Sources{Dir: t.TempDir(), Environ: []string{
				"BASIC_AUTH_USERNAME=admin", "BASIC_AUTH_PASSWORD=not a default 1", "APP_HOST=127.0.0.1", "APP_PORT=0", "DEBUG=false",
				"DATABASE_URL=" + strings.Replace(dsn, "postgres://", "postgresql://", 1),
			}})
			if err != nil {
				t.Fatal(err)
			}
			h := open(t, c.Server.DSN, func(o *server.Options) { o.SMS = c.Server.SMS })
			for path, want := range map[string]int{"/health": 200, "/api/v1/admin/task-statistics": 200, "/v1/messages": 404, "/metrics": 404} {
				got := h.ask(asked{method: "GET", path: path, user: "admin", password: "not a default 1", url: h.smsURL})
				if got.status != want {
					t.Errorf("%s on the front door's own address: got %d, want %d", path, got.status, want)
				}
			}
			if got := h.ask(asked{method: "GET", path: "/api/v1/admin/task-statistics", user: "admin", password: "not a default 1"}); got.status != 200 {
				t.Errorf("on the server's address: got %d, want 200", got.status)
			}
		})
	}
}

// PULL-11: a password that everybody knows is refused at start.
func TestPULL_WellKnownPasswordsAreRefused(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{"admin", "your_password_here"}, {"admin", "your_secure_password"}, {"admin", "password"}, {"admin", "ADMIN"}, {"admin", " changeme "}, {"x", "123456"},
		{"somebody", "Somebody"}, {"admin", ""}, {"", "good enough 7"}, {"admin", "  "}, {"a:b", "good enough 7"},
	} {
		s, err := server.New(t.Context(), server.Options{DSN: databases[0].dsn(t), Keyring: keyring, SMS: server.SMS{Username: pair[0], Password: pair[1]}})
		if err == nil {
			_ = s.Stop(t.Context())
			t.Errorf("%q was taken", pair)
		} else if !strings.Contains(err.Error(), "BASIC_AUTH_") || pair[1] != "" && strings.Contains(err.Error(), `"`+pair[1]+`"`) {
			t.Errorf("%q: got %v, want the variable and not the password", pair, err)
		}
	}
}

// The channel of the front door keeps what operators gave it, but for what is said at start; one that is
// pushed is refused.
func TestPULL_TheChannelIsMadeOnceAndKept(t *testing.T) {
	t.Parallel()
	dsn := databases[0].dsn(t)
	h := open(t, dsn, withSMS(func(s *server.SMS) { s.RetryDelay = 0 }))
	ch, err := h.api.Channels.Get(t.Context(), "sms")
	h.must(err)
	if ch.Driver != "pull" || ch.Tries != 4 || ch.Backoff[0].Std() != 5*time.Minute || ch.Timeout.Std() != 30*time.Minute || ch.OnUnknown != posthouse.Retry || ch.HoldTimeout != ch.Timeout {
		t.Errorf("the channel is made as %+v", ch)
	}
	ch.Tries, ch.Timeout = 6, posthouse.Duration(time.Minute)
	h.put(ch)
	h.must(h.stop(context.WithoutCancel(t.Context())))
	again := open(t, dsn, withSMS(func(s *server.SMS) { s.RetryDelay, s.Timeout = 0, time.Hour }))
	if ch, err = again.api.Channels.Get(t.Context(), "sms"); err != nil || ch.Tries != 6 || ch.Timeout.Std() != time.Hour {
		t.Errorf("after a start with another time-out: %+v and error %v", ch, err)
	}
	again.put(posthouse.Channel{Name: "pushed", Driver: "console"})
	h.must(again.stop(context.WithoutCancel(t.Context())))
	s, err := server.New(t.Context(), server.Options{DSN: dsn, Addr: "127.0.0.1:0", Keyring: keyring, AdminKey: h.key, SMS: server.SMS{Username: "u", Password: "good enough 7", Channel: "pushed"}})
	h.must(err)
	h.end(s.Stop)
	if err := s.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "is pushed by the driver console") {
		t.Errorf("got %v, want the pushed channel refused", err)
	}
}

// A server that stops lets waiting agents go at once: it does not wait for their minute to end.
func TestPULL_WaitingAgentsDoNotHoldUpAStop(t *testing.T) {
	t.Parallel()
	admin := secret.FormatKey(secret.NewKey())
	s, err := server.New(t.Context(), server.Options{DSN: databases[0].dsn(t), Addr: "127.0.0.1:0", Keyring: keyring, AdminKey: admin, Drain: 30 * time.Second, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	h := &house{T: t, key: admin}
	h.end(s.Stop)
	h.must(s.Start(t.Context()))
	h.url = s.URL()
	h.api, err = client.New(client.Options{URL: h.url, Key: admin})
	h.must(err)
	h.put(posthouse.Channel{Name: "sms", Driver: "pull"})
	key := h.agentKey("phone", "sms")
	answered := make(chan told, 1)
	go func() {
		out, err := h.try(asked{method: "POST", path: "/v1/agents/phone/claims", body: `{"wait":"60s"}`, user: "-", header: http.Header{"Authorization": {"Bearer " + key}}})
		if err != nil {
			t.Error(err)
		}
		answered <- out
	}()
	h.eventually("the agent waits", func() bool { return h.metric("posthouse_agents_waiting") == 1 })
	h.must(s.Stop(context.WithoutCancel(t.Context())))
	if out := <-answered; out.status != 200 {
		t.Errorf("the agent was answered %d %s, want 200 before its connection is cut", out.status, out.text)
	}
}
