package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
)

// A reminder that a new epoch holds stands on the list, its page says which slot may have been sent, and an operator lets it go on, also a task's.
func TestAHeldReminderIsResumed(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.waiting("hello")
	at := "/console/t/default/"
	one := at + "reminders/r"
	h.api("PUT", "/v1/reminders/r", `{"draft":{"channel":"later","to":[{"user":"u1"}],"content":{"text":"x"}},"repeat":{"from":"2031-01-01T09:00:00+08:00","every":"1h"}}`, nil)
	if got := h.page("operator", at+"reminders"); strings.Contains(got, "held=true") {
		t.Error("the list speaks of a restore that was none")
	}
	h.exec("UPDATE posthouse_plans SET held = 'epoch_hold', next_at = 0, version = version + 1, doc = replace(doc, '\"state\":\"open\"', '\"task_id\":\"1001\",\"state\":\"open\"') WHERE type = 'reminder'")
	h.shows(h.page("viewer", at+"reminders"), "The database was restored", `reminders?held=true"`, "paused")
	h.shows(h.page("viewer", at+"reminders?held=true"), one)
	h.shows(h.page("operator", one, func(r *http.Request) { r.Header.Set("Accept-Language", "zh-CN") }), "这个提醒已挂起", "可能已发的时点", "2031-01-01 09:00", "epoch_hold", "恢复")
	if got := h.ask("operator", one+"/resume", url.Values{"state": {"paused"}}); got.to() != one+"?said=reminder_resumed_said" {
		t.Fatalf("an operator lets it go on: %d\n%s", got.status, got.body)
	}
	if got := h.page("operator", one); strings.Contains(got, "is held") || strings.Contains(got, "/pause\"") {
		t.Error("it is held still, or a task's can be paused")
	}
	h.shows(h.page("viewer", at+"reminders?held=true"), "Nothing")
}

// A schedule is described in a form, shown with its next ten moments, stored, changed, paused and resumed.
func TestAScheduleIsStoredAndPaused(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.waiting("hello")
	h.api("PUT", "/v1/routes/way", `{"steps":[{"channels":["later"]}]}`, nil)
	at := "/console/t/default/"
	if strings.Contains(h.page("operator", at+"reminders"), "New schedule") {
		t.Error("an operator is offered what an operator may not do")
	}
	h.shows(h.page("sender", at+"new-schedule"), "0 9 * * 1-5", "route:way", "Name of the schedule")
	form := url.Values{"id": {"report"}, "via": {"later"}, "to": {"u1\r\nroster:night"}, "text": {"the report is due"}, "cron": {"0 9 1 1 *"}, "time_zone": {"Asia/Shanghai"}, "missed": {"expire"}, "step": {"look"}}
	if got := h.ask("sender", at+"new-schedule", form); got.status != http.StatusOK || !strings.Contains(got.body, `class="warn"`) || !strings.Contains(got.body, "posthouse roster set") {
		t.Errorf("a roster that is not there yet is warned of: %d\n%s", got.status, got.body)
	}
	h.api("PUT", "/v1/rosters/night", `{"days":{"1":["u2"],"2":["u2"],"3":["u2"],"4":["u2"],"5":["u2"],"6":["u2"],"7":["u2"]}}`, nil)
	look := h.ask("sender", at+"new-schedule", form)
	if n := strings.Count(look.body, "-01-01 09:00:00"); look.status != http.StatusOK || n != 10 {
		t.Errorf("the preview: %d, with %d moments\n%s", look.status, n, look.body)
	}
	form.Set("step", "store")
	one := at + "reminders/report"
	if got := h.ask("sender", at+"new-schedule", form); got.to() != one+"?said=stored" {
		t.Fatalf("storing it: %d\n%s", got.status, got.body)
	}
	h.shows(h.page("viewer", one), "0 9 1 1 *", "Asia/Shanghai", "-01-01 09:00:00", "it is dropped")
	h.shows(h.page("sender", at+"new-schedule?id=report"), "the report is due", "u1\nroster:night", "0 9 1 1 *")

	var before, after posthouse.Reminder
	h.api("PUT", "/v1/reminders/report", `{"draft":{"channel":"later","to":[{"user":"u1"}],"content":{"text":"x"},"kind":"daily","priority":"high"},"repeat":{"cron":"0 9 1 1 *","time_zone":"Asia/Shanghai","max":7}}`, &before)
	form.Set("via", "route:way")
	if got := h.ask("sender", at+"new-schedule", form); got.to() != one+"?said=stored" {
		t.Fatalf("changing it: %d\n%s", got.status, got.body)
	}
	h.api("GET", "/v1/reminders/report", "", &after)
	if after.Draft.Route != "way" || after.Draft.Channel != "" || after.Draft.Kind != "daily" || after.Draft.Priority != posthouse.High || after.Repeat.Max != 7 || !after.NextAt.Equal(before.NextAt) {
		t.Errorf("what the form does not show has changed: %+v", after)
	}

	act := func(verb, state string) reply {
		return h.ask("operator", one+"/"+verb, url.Values{"state": {state}})
	}
	if got := act("pause", "open"); got.to() != one+"?said=reminder_paused_said" {
		t.Errorf("pausing it: %d\n%s", got.status, got.body)
	}
	if got := act("pause", "open"); got.status != http.StatusConflict {
		t.Errorf("a second click: %d", got.status)
	}
	h.shows(h.page("viewer", one), "paused", "not made up for")
	h.shows(h.page("viewer", at+"reminders"), "paused", "Route way")
	if got := act("resume", "paused"); got.to() != one+"?said=reminder_resumed_said" {
		t.Errorf("resuming it: %d\n%s", got.status, got.body)
	}
	h.shows(h.page("operator", one, func(r *http.Request) { r.Header.Set("Accept-Language", "zh-CN") }), "暂停", "进行中")

	form.Set("cron", "0 9 31 4 *")
	form.Set("time_zone", "Nowhere")
	if got := h.ask("sender", at+"new-schedule", form); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "never comes") || !strings.Contains(got.body, "repeat.time_zone") {
		t.Errorf("a schedule that never comes: %d\n%s", got.status, got.body)
	}
}
