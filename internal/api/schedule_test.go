package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
)

const workdays = `{"draft":{"channel":"later","to":[{"user":"u1"}],"content":{"text":"x"}},"repeat":{"cron":"0 9 * * 1-5","time_zone":"Asia/Shanghai"}}`

// A schedule is stored by its name, again and again, shows its next ten slots, and is paused and resumed.
func TestAScheduleIsPutPausedAndResumed(t *testing.T) {
	t.Parallel()
	h := with(t)
	made := read[reminded](t, h.must(201, "PUT", "/v1/reminders/report", workdays))
	if made.ID != "report" || made.Missed != posthouse.MissedCollapse || len(made.Slots) != 10 {
		t.Errorf("made: %+v", made)
	}
	zone, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	for i, slot := range made.Slots {
		local := slot.In(zone)
		if local.Format("15:04:05") != "09:00:00" || local.Weekday() == time.Saturday || local.Weekday() == time.Sunday || i > 0 && slot.Sub(made.Slots[i-1]) > 72*time.Hour {
			t.Errorf("slot %d is %s", i, local)
		}
	}
	again := read[reminded](t, h.must(200, "PUT", "/v1/reminders/report", strings.Replace(workdays, `"x"`, `"y"`, 1)))
	if diff := cmp.Diff(made.Slots, again.Slots); diff != "" || again.Draft.Content.Text != "y" || !again.CreatedAt.Equal(made.CreatedAt) || !again.Repeat.From.Equal(made.Repeat.From) {
		t.Errorf("put again: %+v\n%s", again, diff)
	}
	if got := read[reminded](t, h.must(200, "POST", "/v1/reminders/report/pause", "")); !got.Paused || len(got.Slots) != 0 || !got.NextAt.IsZero() || got.State != posthouse.ReminderOpen {
		t.Errorf("paused: %+v", got)
	}
	if got := read[reminded](t, h.must(200, "PUT", "/v1/reminders/report", workdays)); !got.Paused || len(got.Slots) != 0 {
		t.Errorf("put while it is paused: %+v", got)
	}
	if got := read[reminded](t, h.must(200, "POST", "/v1/reminders/report/resume", "")); got.Paused || len(got.Slots) != 10 {
		t.Errorf("resumed: %+v", got)
	}
	for _, verb := range []string{"pause", "resume"} {
		h.must(404, "POST", "/v1/reminders/none/"+verb, "")
		if got := h.do(request{method: "POST", path: "/v1/reminders/report/" + verb, key: "other"}); got.status != http.StatusNotFound {
			t.Errorf("%s by another tenant: %d", verb, got.status)
		}
	}
	log := h.must(200, "GET", "/v1/audit?limit=100", "").body
	for _, action := range []string{"reminders.put", "reminders.pause", "reminders.resume"} {
		if !strings.Contains(log, `"`+action+`"`) {
			t.Errorf("the audit log has no %s: %s", action, log)
		}
	}
	h.must(200, "POST", "/v1/reminders/report/end", "")
	h.must(409, "POST", "/v1/reminders/report/pause", "")
	if got := read[reminded](t, h.must(201, "PUT", "/v1/reminders/report", workdays)); got.State != posthouse.ReminderOpen || got.Slots[0] != made.Slots[0] {
		t.Errorf("put after its end: %+v", got)
	}
}

// What would be opened is shown, and nothing is.
func TestAReminderIsTriedWithoutOpeningIt(t *testing.T) {
	t.Parallel()
	h := with(t)
	if got := read[reminded](t, h.must(200, "POST", "/v1/reminders?dry_run=true", workdays)); len(got.Slots) != 10 {
		t.Errorf("tried: %+v", got)
	}
	h.must(422, "POST", "/v1/reminders?dry_run=yes", workdays)
	if got := h.must(200, "GET", "/v1/reminders", ""); got.body != "{\"items\":[]}\n" {
		t.Errorf("a dry run opened %s", got.body)
	}
}

// What is wrong with a schedule is said when it is stored: the field, the value, and an example of what is right.
func TestWhatIsWrongWithAScheduleIsSaidWhenItIsStored(t *testing.T) {
	t.Parallel()
	h := with(t)
	body := func(repeat string) string {
		return `{"draft":{"channel":"later","to":[{"user":"u1"}],"content":{"text":"x"}},"repeat":` + repeat + `}`
	}
	for repeat, want := range map[string][2]string{
		`{"cron":"0 9 31 4 *","time_zone":"UTC"}`:               {"repeat.cron", "never comes"},
		`{"cron":"0 9 * *","time_zone":"UTC"}`:                  {"repeat.cron", "0 9 * * 1-5"},
		`{"cron":"60 9 * * *"}`:                                 {"repeat.cron", "0 9 * * 1-5"},
		`{"cron":"*/90 * * * *"}`:                               {"repeat.cron", "*/15 * * * *"},
		`{"cron":"` + strings.Repeat("1,", 200) + `1 * * * *"}`: {"repeat.cron", "at most 255"},
		`{"cron":"0 9 * * 1","time_zone":"Asia/Peking"}`:        {"repeat.time_zone", "Asia/Shanghai"},
		`{"cron":"0 9 * * 1","every":"1h"}`:                     {"repeat.cron", "stands beside every"},
		`{"every":"1h","time_zone":"UTC"}`:                      {"repeat.time_zone", "daily times and cron"},
	} {
		for _, at := range [][2]string{{"POST", "/v1/reminders"}, {"PUT", "/v1/reminders/r"}} {
			if got := h.must(422, at[0], at[1], body(repeat)).body; !strings.Contains(got, `"`+want[0]+`"`) || !strings.Contains(got, want[1]) {
				t.Errorf("%s %s: %s", at[0], repeat, got)
			}
		}
	}
	if got := h.must(422, "PUT", "/v1/reminders/r", strings.Replace(workdays, `"to"`, `"dedup_key":"other","to"`, 1)).body; !strings.Contains(got, `"draft.dedup_key"`) {
		t.Errorf("another name: %s", got)
	}
	if got := h.must(422, "PUT", "/v1/reminders/r", strings.Replace(workdays, "later", "nowhere", 1)).body; !strings.Contains(got, `"draft.channel"`) {
		t.Errorf("no channel: %s", got)
	}
}

// A reminder follows a route as a message does, and its end ends what the last slot began. A key for some channels has no part in it.
func TestAScheduleFollowsARoute(t *testing.T) {
	t.Parallel()
	h := with(t)
	h.must(200, "PUT", "/v1/routes/way", `{"steps":[{"channels":["later"]}]}`)
	body := `{"draft":{"route":"way","to":[{"user":"u1"}],"content":{"text":"x"}},"repeat":{"every":"1h"}}`
	narrow := h.narrowed(posthouse.ScopeAdmin, posthouse.KeyLimits{Channels: []string{"later"}})
	if got := h.do(request{method: "PUT", path: "/v1/reminders/r", body: body, key: narrow}); got.status != http.StatusForbidden {
		t.Errorf("by a key for one channel: %d %s", got.status, got.body)
	}
	h.must(201, "PUT", "/v1/reminders/r", body)
	came := h.came("r")
	if got := h.do(request{method: "GET", path: "/v1/reminders/r", key: narrow}); got.status != http.StatusNotFound {
		t.Errorf("seen by a key for one channel: %d %s", got.status, got.body)
	}
	type told struct {
		Items []posthouse.Notification
	}
	before := read[told](t, h.must(200, "GET", "/v1/messages/"+came.Message+"/notifications", ""))
	if len(before.Items) != 1 || before.Items[0].State != posthouse.NotificationWaiting {
		t.Fatalf("the slot began %+v", before)
	}
	h.must(200, "POST", "/v1/reminders/r/end", "")
	if after := read[told](t, h.must(200, "GET", "/v1/messages/"+came.Message+"/notifications", "")); after.Items[0].State != posthouse.NotificationNotTold {
		t.Errorf("after the end: %+v", after)
	}
}
