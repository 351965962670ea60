package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/wire"
)

// The tests of the requirement table DUTY, a test a line or more: here what is accepted and shown, in
// duty_send_test.go how it is sent, in duty_roster_test.go the rosters, in duty_platform_test.go the
// platforms' interfaces.

func TestDUTY1_ANoticeHasFourFieldsInEitherLanguage(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.wantProblems(`{"userId": "u1", "userType": "branch", "platform": "天元", "messageContent": "x"}`, "platform") // no channel yet
		h.close(h.tianyuan(runs(time.Minute)))
		h.close(h.zhaohu(runs(time.Minute)))
		h.roster(posthouse.Roster{Name: "duty", Days: weekdays([]string{"u1"}, 1, 2, 3, 4, 5, 6, 7)})
		types := map[string]string{"总行": "head_office", "head_office": "head_office", "分行": "branch", "branch": "branch"}
		platforms := map[string]string{"天元": "tianyuan", "tianyuan": "tianyuan", "招呼": "zhaohu", "zhaohu": "zhaohu"}
		for kind, wantKind := range types {
			for platform, wantPlatform := range platforms {
				status, answer := h.post(fmt.Sprintf(`{"userId": "u1", "userType": %q, "platform": %q, "messageContent": "您有一条待办"}`, kind, platform))
				id, _ := answer["id"].(string)
				if diff := cmp.Diff(map[string]any{"id": id, "status": "pending"}, answer); status != http.StatusAccepted || diff != "" {
					h.Fatalf("%s to %s: HTTP %d\n%s", kind, platform, status, diff)
				}
				if d := h.delivery(id); d.User != "u1" || d.Type != wantKind || d.Channel != wantPlatform {
					h.Errorf("%s to %s is kept as %s, %s to %s", kind, platform, d.User, d.Type, d.Channel)
				}
				if n := h.notice(id); n.UserID != "u1" || n.Platform != wantPlatform || n.Content != "您有一条待办" {
					h.Errorf("%s to %s reads as %+v", kind, platform, n)
				}
			}
		}
	})
}

func TestDUTY1_AWrongNoticeIsRefusedFieldByField(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.put(h.tianyuan(runs(time.Minute)))
		for body, paths := range map[string][]string{
			`{}`: {"userId", "userType", "platform", "messageContent"},
			`{"userId": "u1", "userType": "省行", "platform": "天元", "messageContent": "x"}`:            {"userType"},
			`{"userId": "u1", "userType": "分行", "platform": "wechat", "messageContent": "x"}`:        {"platform"},
			`{"userId": "", "userType": "branch", "platform": "TIANYUAN", "messageContent": ""}`:     {"userId", "platform", "messageContent"},
			`{"userId": 7, "userType": "branch", "platform": "tianyuan", "messageContent": ["x"]}`:   {"userId", "messageContent"},
			`{"user_id": "u1", "userType": "branch", "platform": "tianyuan", "messageContent": "x"}`: {"user_id", "userId"},
			`{"userId": "u\n1", "userType": "branch", "platform": "tianyuan", "messageContent": "x"}`: {
				"userId"},
			`{"userId": "u1", "userType": "branch", "platform": "tianyuan", "messageContent": "` + strings.Repeat("字", 22000) + `"}`: {"messageContent"},
		} {
			h.wantProblems(body, paths...)
		}
		problems := h.wantProblems(`{"userId": "u1", "userType": "x", "platform": "y", "messageContent": "x"}`, "userType", "platform")
		for path, words := range map[string][]string{"userType": {"head_office", "总行", "branch", "分行"}, "platform": {"tianyuan", "天元", "zhaohu", "招呼"}} {
			for _, word := range words {
				if !strings.Contains(problems[path], word) {
					h.Errorf("the problem of %s is %q: it does not say that %s is allowed", path, problems[path], word)
				}
			}
		}
		if status, answer := h.post(`{"userId": `); status != http.StatusBadRequest || answer["code"] != "invalid" {
			h.Errorf("half a body is answered HTTP %d %v, want 400", status, answer)
		}
		page, err := h.api.Deliveries.List(h.Context(), client.Filter{})
		h.must(err)
		if len(page.Items) != 0 {
			h.Errorf("wrong notices left %d deliveries", len(page.Items))
		}
	})
}

// wantProblems posts a notice that must be refused for exactly these fields.
func (h *house) wantProblems(body string, paths ...string) map[string]string {
	h.Helper()
	status, answer := h.post(body)
	got := map[string]string{}
	list, _ := answer["problems"].([]any)
	for _, p := range list {
		p, _ := p.(map[string]any)
		got[fmt.Sprint(p["path"])] = fmt.Sprint(p["message"])
	}
	want := map[string]string{}
	for _, path := range paths {
		want[path] = got[path]
		if got[path] == "" {
			want[path] = "a problem"
		}
	}
	if diff := cmp.Diff(want, got); status != http.StatusUnprocessableEntity || answer["code"] != "invalid" || diff != "" {
		h.Errorf("%.90s: HTTP %d, code %v\n%s", body, status, answer["code"], diff)
	}
	return got
}

// close configures a channel that does not send: what is accepted stays as it is.
func (h *house) close(ch posthouse.Channel) {
	h.Helper()
	h.put(ch)
	h.eventually("the first run of "+ch.Name+" is over", func() bool {
		return len(h.log.with(line{"msg": "run ends", "channel": ch.Name})) > 0
	})
	_, err := h.api.Channels.Pause(h.Context(), ch.Name, "closed by the test")
	h.must(err)
}

func TestDUTY2_ABranchUserAlwaysGetsARecord(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.close(h.tianyuan(runs(time.Minute))) // with the duty rule, and no roster at all
		id := h.notify("分行-7", "分行", "天元", "请尽快处理").ID
		n := h.notice(id)
		want := wire.Notice{ID: id, UserID: "分行-7", Platform: "tianyuan", Content: "请尽快处理", Status: "pending"}
		if diff := cmp.Diff(want, n, cmpopts.IgnoreFields(wire.Notice{}, "CreateTime", "UpdateTime")); diff != "" {
			h.Error(diff)
		}
		if diff := cmp.Diff([]wire.Notice{n}, h.sendLog(), aboutTheSameTime); diff != "" {
			h.Errorf("message_send_log is not what the API says:\n%s", diff)
		}
	})
}

func TestDUTY3_AHeadOfficeUserIsToldOnlyOnDuty(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.put(h.tianyuan(atOnce(time.Minute)))
		near, others := days(t, "Asia/Shanghai")
		roster := weekdays([]string{"on"}, near...)
		for day, users := range weekdays([]string{"off"}, others...) {
			roster[day] = users
		}
		h.roster(posthouse.Roster{Name: "duty", Days: roster})

		status, answer := h.post(`{"userId": "off", "userType": "总行", "platform": "天元", "messageContent": "x"}`)
		off, _ := answer["id"].(string)
		if diff := cmp.Diff(map[string]any{"id": off, "status": "suppressed", "reason": "not_on_duty"}, answer); status != http.StatusOK || diff != "" {
			h.Errorf("off duty: HTTP %d\n%s", status, diff)
		}
		on := h.notify("on", "总行", "天元", "x").ID
		h.reaches(on, "success", 0)

		if d := h.delivery(off); d.State != posthouse.Suppressed || d.Reason != "not_on_duty" || d.Attempts != 0 {
			h.Errorf("off duty: the delivery is %s, %q after %d attempts", d.State, d.Reason, d.Attempts)
		}
		if n := h.notice(off); n.Status != "suppressed" {
			h.Errorf("off duty: the notice reads %q", n.Status)
		}
		if log := h.sendLog(); len(log) != 1 || log[0].ID != on {
			h.Errorf("message_send_log has %+v, want %s alone", log, on)
		}
		if got := h.arrivals("tianyuan", "off"); len(got) != 0 {
			h.Errorf("%d messages arrived for somebody off duty", len(got))
		}
		h.said(line{"level": "DEBUG", "msg": "recipient suppressed", "delivery": off, "user": "off", "reason": "not_on_duty"})
		h.inTheRostersOwnZone()
	})
}

// inTheRostersOwnZone looks at one moment from two zones 26 hours apart: never the same day.
func (h *house) inTheRostersOwnZone() {
	h.Helper()
	near, _ := days(h, "Pacific/Kiritimati")
	for zone, want := range map[string]string{"Pacific/Kiritimati": "pending", "Etc/GMT+12": "suppressed"} {
		h.roster(posthouse.Roster{Name: "duty", TimeZone: zone, Days: map[string][]string{
			fmt.Sprint(near[0]): {"islander"}, fmt.Sprint(near[1]): {"islander"}, fmt.Sprint((near[0]+4)%7 + 1): {"sailor"}, fmt.Sprint((near[0]+5)%7 + 1): {"sailor"},
		}})
		if got := h.notify("islander", "head_office", "tianyuan", "x"); got.Status != want {
			h.Errorf("on day %d as it is in Kiritimati, by a roster in %s: %s %s, want %s", near[0], zone, got.Status, got.Reason, want)
		}
	}
}

// said wants exactly one such line in the log; it may come just after what it tells of can be read.
func (h *house) said(fields line) {
	h.Helper()
	var got []line
	h.eventually(fmt.Sprintf("the log has a line with %v", fields), func() bool {
		got = h.log.with(fields)
		return len(got) > 0
	})
	if len(got) > 1 {
		h.Errorf("the log has %d lines with %v, want one:\n%s", len(got), fields, h.log.tail(20))
	}
}

func TestDUTY4_ADayWithoutARosterIsAWarning(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		const metric = "posthouse_duty_schedule_not_configured_total"
		h.close(h.tianyuan(runs(time.Minute)))
		before := h.metric(metric)
		missing := h.notify("u1", "总行", "天元", "x")
		_, others := days(t, "Asia/Shanghai")
		h.roster(posthouse.Roster{Name: "duty", Days: weekdays([]string{"u1"}, others...)})
		empty := h.notify("u1", "总行", "天元", "x")
		for what, sent := range map[string]wire.NoticeSent{"without a roster": missing, "with nobody for today": empty} {
			if sent.Status != "suppressed" || sent.Reason != "duty_schedule_not_configured" {
				h.Errorf("%s: answered %+v", what, sent)
			}
			if d := h.delivery(sent.ID); d.State != posthouse.Suppressed || d.Reason != "duty_schedule_not_configured" {
				h.Errorf("%s: the delivery is %s, %q", what, d.State, d.Reason)
			}
			h.said(line{"level": "WARN", "code": "DUTY_SCHEDULE_NOT_CONFIGURED", "delivery": sent.ID, "user": "u1", "channel": "tianyuan", "reason": sent.Reason})
		}
		if got := h.metric(metric) - before; got != 2 {
			h.Errorf("%s rose by %v, want 2", metric, got)
		}
		if log := h.sendLog(); len(log) != 0 {
			h.Errorf("message_send_log has %+v", log)
		}
		if got := h.notify("u1", "分行", "天元", "x"); got.Status != "pending" {
			h.Errorf("a branch user without a roster: %+v", got)
		}
	})
}

func TestDUTY10_StoredFieldsReadAsTheDocumentNamesThem(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.put(h.tianyuan(atOnce(time.Hour)))
		h.close(h.zhaohu(runs(time.Minute)))
		h.roster(posthouse.Roster{Name: "duty", Days: map[string][]string{"1": {"a", "b"}, "2": {}, "7": {"a"}}, Overrides: map[string][]string{"2026-10-01": {"c"}}})
		h.roster(posthouse.Roster{Name: "night", Days: map[string][]string{"3": {"z"}}})

		want := map[string]string{
			h.branch("reader", "tianyuan"):         "success",
			h.branch("always-busy", "tianyuan"):    "failure", // waits for its next try
			h.branch("fail-recipient", "tianyuan"): "stopped",
			h.branch("reader", "zhaohu"):           "pending",
			h.held("lost-answer"):                  "failure", // unknown
			h.cancelled("reader"):                  "cancelled",
		}
		read := map[string]wire.Notice{}
		for id, status := range want {
			h.eventually("the notice "+id+" is "+status, func() bool { read[id] = h.notice(id); return read[id].Status == status })
		}
		log := h.sendLog()
		if len(log) != len(want) {
			h.Errorf("message_send_log has %d rows, want %d", len(log), len(want))
		}
		for _, row := range log {
			if diff := cmp.Diff(read[row.ID], row, aboutTheSameTime); diff != "" {
				h.Errorf("the view is not what the API says:\n%s", diff)
			}
			page, err := h.api.Notices.List(h.Context(), client.NoticeFilter{Status: row.Status, UserID: row.UserID, Platform: row.Platform})
			h.must(err)
			if diff := cmp.Diff([]wire.Notice{read[row.ID]}, page.Items); diff != "" {
				h.Errorf("listed by status %s, user and platform:\n%s", row.Status, diff)
			}
		}
		h.wantColumns("message_send_log", "id", "user_id", "platform", "content", "status", "retry_count", "create_time", "update_time", "last_error")
		h.wantColumns("duty_schedule", "id", "day_of_week", "user_id")
		if diff := cmp.Diff([]string{"1 a", "1 b", "7 a"}, h.schedule()); diff != "" {
			h.Errorf("duty_schedule:\n%s", diff)
		}
		if ids := h.number("SELECT count(DISTINCT id) FROM duty_schedule"); ids != 3 {
			h.Errorf("duty_schedule has %d ids for 3 rows", ids)
		}
		_, raw := h.call(http.MethodGet, "/v1/notices/"+log[0].ID, "", "")
		for _, name := range []string{"id", "user_id", "platform", "content", "status", "retry_count", "create_time", "update_time", "last_error"} {
			if _, ok := raw[name]; !ok || len(raw) != 9 {
				h.Errorf("GET /v1/notices/{id} answers %v: %s is missing, or there is more", raw, name)
			}
		}
	})
}

// held is a notice whose outcome nobody knows, under the policy that waits for a person.
func (h *house) held(user string) string {
	h.Helper()
	sent, err := h.api.Messages.Send(h.Context(), posthouse.Draft{
		Channel: "tianyuan", Kind: "notice", To: []posthouse.Recipient{{User: user, Type: "branch"}}, Content: &posthouse.Content{Text: "x"}, OnUnknown: posthouse.Hold,
	})
	h.must(err)
	return sent.Accepted[0].Deliveries[0].ID
}

// cancelled is a notice that was withdrawn before it was sent.
func (h *house) cancelled(user string) string {
	h.Helper()
	id := h.notify(user, "branch", "zhaohu", "withdrawn").ID
	_, err := h.api.Messages.Cancel(h.Context(), h.delivery(id).Message)
	h.must(err)
	return id
}

// aboutTheSameTime forgives the view of SQLite, which shows milliseconds.
var aboutTheSameTime = cmpopts.EquateApproxTime(time.Millisecond)

// sendLog reads the view message_send_log.
func (h *house) sendLog() []wire.Notice {
	h.Helper()
	rows, err := h.db.QueryContext(h.Context(), `SELECT id, user_id, platform, content, status, retry_count, create_time, update_time, last_error
		FROM message_send_log WHERE tenant = 'default' ORDER BY id`)
	h.must(err)
	defer rows.Close()
	var out []wire.Notice
	for rows.Next() {
		var n wire.Notice
		var created, updated any
		h.must(rows.Scan(&n.ID, &n.UserID, &n.Platform, &n.Content, &n.Status, &n.RetryCount, &created, &updated, &n.LastError))
		n.CreateTime, n.UpdateTime = h.moment(created), h.moment(updated)
		out = append(out, n)
	}
	h.must(rows.Err())
	return out
}

// moment is a date and time as a driver hands it over: PostgreSQL's as a time, the others' as text in UTC.
func (h *house) moment(v any) time.Time {
	h.Helper()
	switch v := v.(type) {
	case time.Time:
		return v.UTC()
	case []byte:
		return h.moment(string(v))
	case string:
		t, err := time.Parse("2006-01-02 15:04:05.999999", v)
		h.must(err)
		return t
	}
	h.Fatalf("%T %v is not a date and time", v, v)
	return time.Time{}
}

// wantColumns wants a view to begin with these columns; what we add stands behind them.
func (h *house) wantColumns(view string, want ...string) {
	h.Helper()
	rows, err := h.db.QueryContext(h.Context(), "SELECT * FROM "+view)
	h.must(err)
	defer rows.Close()
	got, err := rows.Columns()
	h.must(err)
	h.must(rows.Err())
	if diff := cmp.Diff(append(want, "tenant"), got); diff != "" {
		h.Errorf("columns of %s:\n%s", view, diff)
	}
}

// schedule reads the view duty_schedule.
func (h *house) schedule() []string {
	h.Helper()
	rows, err := h.db.QueryContext(h.Context(), "SELECT day_of_week, user_id FROM duty_schedule ORDER BY day_of_week, user_id")
	h.must(err)
	defer rows.Close()
	var out []string
	for rows.Next() {
		var day int
		var user string
		h.must(rows.Scan(&day, &user))
		out = append(out, fmt.Sprint(day, " ", user))
	}
	h.must(rows.Err())
	return out
}
