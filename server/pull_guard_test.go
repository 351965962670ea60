package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/wire"
)

// keyOf makes an API key.
func (h *house) keyOf(scope posthouse.Scope) string {
	h.Helper()
	k, err := h.api.Keys.Create(h.Context(), wire.Key{Name: "test", Scope: scope})
	h.must(err)
	return k.Secret
}

// agentKey registers an agent for the front door's channel and returns its key.
func (h *house) agentKey(id string, channels ...string) string {
	h.Helper()
	a, err := h.api.Agents.Add(h.Context(), posthouse.Agent{ID: id, Channels: channels, Limits: []posthouse.Limit{}})
	h.must(err)
	return a.Secret
}

// PULL-1, PULL-14: a key in place of the shared password reaches what its scope is for: third parties send,
// apps fetch and report under their own name, operators administer.
func TestPULL_KeysReachWhatTheirScopeIsFor(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		id := h.sms("13800138000", "x")
		keys := map[string]string{
			"read": h.keyOf(posthouse.ScopeRead), "send": h.keyOf(posthouse.ScopeSend), "admin": h.keyOf(posthouse.ScopeAdmin), "agent": h.agentKey("phone-1", "sms"),
		}
		for _, c := range []struct {
			method, path, body string
			allowed            []string
		}{
			{"POST", "/api/v1/sms/send", `{"phone_number":"13800138000","content":"x"}`, []string{"send", "admin"}},
			{"GET", "/api/v1/sms/task/" + id, "", []string{"read", "send", "admin"}},
			{"GET", "/api/v1/sms/tasks/pending?app_id=phone-1&limit=1", "", []string{"agent"}},
			{"GET", "/api/v1/admin/task-statistics", "", []string{"admin"}},
			{"GET", "/api/v1/admin/logs/receive", "", []string{"admin"}},
			{"POST", "/api/v1/admin/template", `{"template_name":"t","template_content":"x"}`, []string{"admin"}},
		} {
			for name, key := range keys {
				want := 403
				if strings.Contains(strings.Join(c.allowed, " "), name) {
					want = 200
				}
				if got := h.ask(asked{method: c.method, path: c.path, body: c.body, user: "anything", password: key}); got.status != want {
					h.Errorf("%s %s with a key of scope %s: got %d %s, want %d", c.method, c.path, name, got.status, got.text, want)
				}
			}
		}
		bearer := h.ask(asked{method: "GET", path: "/api/v1/admin/task-statistics", user: "-", header: http.Header{"Authorization": {"Bearer " + keys["admin"]}}})
		if bearer.status != 200 {
			h.Errorf("a key as Bearer: got %d %s", bearer.status, bearer.text)
		}
	})
}

// PULL-5, PULL-7: an app with a key of its own is nobody else, and nobody else is it.
func TestPULL_AnAppIsKnownByItsKey(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		id := h.sms("13800138000", "x")
		h.put(posthouse.Channel{Name: "other", Driver: "pull"})
		one, far := h.agentKey("phone-1", "sms"), h.agentKey("far", "other")
		for _, c := range []struct {
			key, app string
			want     int
		}{{one, "phone-2", 403}, {far, "far", 403}, {smsPassword, "phone-1", 403}, {one, "phone-1", 200}} {
			user := map[bool]string{true: smsUser, false: "x"}[c.key == smsPassword]
			got := h.ask(asked{method: "GET", path: "/api/v1/sms/tasks/pending?app_id=" + c.app, user: user, password: c.key})
			if got.status != c.want {
				h.Errorf("pending as %s: got %d %s, want %d", c.app, got.status, got.text, c.want)
			}
		}
		report := asked{method: "POST", path: "/api/v1/sms/report", body: fmt.Sprintf(`{"task_id":%q,"app_id":"phone-1",%s}`, id, wentOut)}
		if got := h.ask(report); got.status != 403 {
			h.Errorf("a report in the name of phone-1: got %d %s, want 403", got.status, got.text)
		}
		report.user, report.password = "x", one
		if got := h.ask(report); got.status != 200 {
			h.Errorf("its own report: got %d %s", got.status, got.text)
		}
	})
}

// PULL-5: an app that is paused is handed nothing, and reports on what it holds.
func TestPULL_APausedAppFinishesWhatItHolds(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		ids := h.texts(2)
		h.fetched("a", 1)
		if _, err := h.api.Agents.Pause(h.Context(), "a", "its SIM is blocked"); err != nil {
			h.Fatal(err)
		}
		if got := h.fetched("a", 10); len(got) != 0 {
			h.Errorf("a paused app is handed %v", got)
		}
		h.says(200, "a", ids[0], wentOut)
		if got := h.fetched("b", 10); !cmp.Equal(got, ids[1:]) {
			h.Errorf("another one is handed %v, want %v", got, ids[1:])
		}
	})
}

// PULL-1: who guesses is slowed down; a phone with one wrong password is not taken for that.
func TestPULL_GuessingIsSlowedDown(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		with := func(user, password string) int {
			return h.ask(asked{method: "GET", path: "/api/v1/admin/task-statistics", user: user, password: password}).status
		}
		for range 30 {
			if got := with(smsUser, "the one of last year"); got != 401 {
				h.Fatalf("the same wrong password: got %d, want 401", got)
			}
		}
		if got := with(smsUser, smsPassword); got != 200 {
			h.Fatalf("the right one after it: got %d, want 200", got)
		}
		for i := range 10 {
			with("guessed", fmt.Sprint("guess ", i))
		}
		braked := h.ask(asked{method: "GET", path: "/api/v1/admin/task-statistics", user: "guessed", password: "guess 11"})
		if braked.status != 429 || braked.header.Get("Retry-After") == "" {
			h.Errorf("the eleventh guess: got %d %s, want 429 with Retry-After", braked.status, braked.text)
		}
		if got := with(smsUser, smsPassword); got != 200 {
			h.Errorf("another user, who was right before: got %d, want 200", got)
		}
		for i := range 10 {
			with(smsUser, fmt.Sprint("guess ", i))
		}
		if got := with(smsUser, smsPassword); got != 429 {
			h.Errorf("the right password after ten wrong ones: got %d, want 429: who guesses must not find it", got)
		}
	})
}

// PULL-9, PULL-13: a sensitive text is seen by the phone that sends it, and by nobody else.
func TestPULL_ASensitiveTextIsSeenByItsPhoneAlone(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		body := `{"phone_number":"13800138000","content":"code 918273","source":"bank"}`
		sent := h.want(200, "POST", "/api/v1/sms/send", body)
		id := dataOf[taskOf](h, sent).ID
		if sent.header.Get("X-Sms-Parts") != "1" {
			h.Errorf("the parts are %q", sent.header.Get("X-Sms-Parts"))
		}
		tasks := h.fetch("a", 1)
		if len(tasks) != 1 || tasks[0].Content != "code 918273" {
			h.Errorf("the phone is handed %+v", tasks)
		}
		h.says(200, "a", id, wentOut)
		for _, seen := range []told{
			sent, h.want(200, "GET", "/api/v1/sms/task/"+id, ""), h.want(200, "GET", "/api/v1/admin/task/"+id, ""),
			h.want(200, "GET", "/api/v1/admin/logs/receive", ""), h.want(200, "GET", "/api/v1/admin/logs/send", ""),
		} {
			if strings.Contains(seen.text, "918273") {
				h.Errorf("the text is seen in %s", seen.text)
			}
		}
		for _, table := range []string{"posthouse_messages", "posthouse_receive_log", "posthouse_send_log", "posthouse_report_log", "posthouse_sealed"} {
			if rows := h.rowsOf(table); strings.Contains(rows, "918273") || rows == "" {
				h.Errorf("table %s holds %s", table, rows)
			}
		}
	}, func(s *server.SMS) { s.Sensitive = true })
}

// PULL-9: a phone may quote a sensitive text in its report, in whatever field and with whatever status. Of others the
// log keeps what it said.
func TestPULL_AReportOnASensitiveTextKeepsNoneOfIt(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		reports := map[string]string{
			"sent":                  `"status":2,"error_message":"ok: code 918273"`,
			"sent, with the text":   `"status":2,"content":"code 918273"`,
			"failed, with the text": `"status":3,"error_message":"","content":"code 918273","should_retry":false`,
			"failed":                `"status":3,"error_message":"no signal for code 918273","should_retry":false`,
		}
		var tasks []string
		for _, what := range reports {
			task := dataOf[taskOf](h, h.want(200, "POST", "/api/v1/sms/send", `{"phone_number":"13800138000","content":"code 918273","sensitive":true}`)).ID
			h.fetched("a", 1)
			h.says(200, "a", task, what)
			h.says(409, "b", task, `"status":3,"error_message":"","content":"code 918273"`) // nobody's report, and logged
			tasks = append(tasks, task)
		}
		if rows := h.rowsOf("posthouse_report_log"); strings.Contains(rows, "918273") || strings.Count(rows, "not_sent") < len(tasks) {
			h.Errorf("the log of reports holds %s", rows)
		}
		other := h.sms("13800138000", "hello")
		h.fetched("a", 1)
		h.says(409, "b", other, `"status":3,"error_message":"","sim":2`)
		h.says(200, "a", other, wentOut)
		said := h.story(other).Reported
		if len(said) != 2 || !strings.Contains(string(said[0].Request), `"sim":2`) || said[1].Request != kept(fmt.Sprintf(`{"task_id":%q,"app_id":"a","status":2}`, other)) {
			h.Errorf("the reports on an ordinary text are logged as %+v", said)
		}

		// What an earlier version has kept.
		_, err := h.db.ExecContext(h.Context(), `UPDATE posthouse_report_log SET request = '{"content":"code 918273"}'`)
		h.must(err)
		for _, task := range tasks {
			_, native := h.call("GET", "/v1/deliveries/"+task+"/story", "", "")
			for _, seen := range []string{h.want(200, "GET", "/api/v1/admin/task/"+task, "").text, fmt.Sprint(native)} {
				if strings.Contains(seen, "918273") || !strings.Contains(seen, "missing") {
					h.Errorf("the text is seen in %s", seen)
				}
			}
		}
		_, native := h.call("GET", "/v1/logs?log=report", "", "")
		for _, seen := range []string{h.want(200, "GET", "/api/v1/admin/logs/report", "").text, fmt.Sprint(native)} {
			if strings.Count(seen, "918273") != 2 {
				h.Errorf("want the requests of the ordinary text's reports alone in %s", seen)
			}
		}
	})
}

// PULL-9: a request that says that its text is sensitive, but so that nobody can read it, is logged without it too.
func TestPULL_AMalformedRequestKeepsItsSecret(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		for _, body := range []string{
			`{"phone_number":"13800138000","content":"code 918273","sensitive":"yes"}`,
			`{"phone_number":"13800138000","content":["code 918273"],"sensitive":true}`,
			`[{"phone_number":"13800138000","content":"code 918273","sensitive":true}]`,
			"{\"phone_number\":\"13800138000\",\"content\":\"code 918273\xff\",\"sensitive\":true}",
			`{"phone_number":"13800138000","content":"code 918273","sensitive":true`,
		} {
			h.want(422, "POST", "/api/v1/sms/send", body)
		}
		if rows := h.rowsOf("posthouse_receive_log"); strings.Contains(rows, "918273") || strings.Count(rows, "422") < 5 {
			h.Errorf("the log of requests holds %s", rows)
		}
	})
}

// rowsOf is everything that a table holds, as text.
func (h *house) rowsOf(table string) string {
	h.Helper()
	rows, err := h.db.QueryContext(h.Context(), "SELECT * FROM "+table)
	h.must(err)
	defer rows.Close()
	names, err := rows.Columns()
	h.must(err)
	var text strings.Builder
	for rows.Next() {
		values := make([]any, len(names))
		for i := range values {
			values[i] = new([]byte)
		}
		h.must(rows.Scan(values...))
		for _, v := range values {
			fmt.Fprintf(&text, "%s|", *v.(*[]byte))
		}
	}
	h.must(rows.Err())
	return text.String()
}
