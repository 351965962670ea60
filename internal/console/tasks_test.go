package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
)

// A reminder is found, says what it has sent and what comes next, and is ended once.
func TestAReminderIsSeenAndEnded(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.waiting("hello")
	var first, second posthouse.Reminder
	h.api("POST", "/v1/reminders", `{"draft":{"channel":"later","kind":"leave","ref":"7","to":[{"user":"u1"}],"content":{"text":"x"}},"countdown":{"to":"2036-10-01T14:00:00Z","before":"60m","every":"15m"}}`, &first)
	h.api("POST", "/v1/reminders", `{"draft":{"channel":"later","to":[{"user":"u1"}],"content":{"text":"x"}},"repeat":{"every":"30m","max":3}}`, &second)
	at := "/console/t/default/reminders"
	h.shows(h.page("viewer", at), first.ID, second.ID, "goes on", "2036-10-01 21:00:00")
	found := h.page("viewer", at+"?kind=leave&ref=7")
	h.shows(found, first.ID, "leave / 7")
	if strings.Contains(found, second.ID) {
		t.Error("a search by kind and ref shows another reminder")
	}
	h.shows(h.page("viewer", at+"?kind=leave&ref=8"), "Nothing was found", "by kind and ref together")
	if got := h.ask("viewer", at+"?kind=leave", nil); got.status != http.StatusUnprocessableEntity {
		t.Errorf("a kind alone: %d", got.status)
	}
	one := at + "/" + first.ID
	h.shows(h.page("viewer", one), "2036-10-01 21:00:00", "2036-10-01 21:45:00", "Counts down to", "It has sent nothing yet")
	if strings.Contains(h.page("viewer", one), "End it") {
		t.Error("a viewer is offered what a viewer may not do")
	}
	h.shows(h.page("operator", one, func(r *http.Request) { r.Header.Set("Accept-Language", "zh-CN") }), "结束提醒", "倒计时至")
	form := url.Values{"sure": {"1"}, "note": {"取消过境"}}
	if got := h.ask("operator", one+"/end", form); got.to() != one+"?said=ended_said" {
		t.Errorf("ending it: %d\n%s", got.status, got.body)
	}
	if got := h.ask("operator", one+"/end", form); got.to() != one+"?said=ended_said" {
		t.Errorf("what has ended: %d", got.status)
	}
	h.shows(h.page("viewer", one), "ended", "Nothing more comes")
	if got := h.ask("other", "/console/t/other/reminders/"+first.ID, nil); got.status != http.StatusNotFound {
		t.Errorf("another tenant's reminder: %d", got.status)
	}
}

// The page of a task says who was told, by which messages, and what comes next.
func TestATaskSaysWhoWasTold(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("POST", "/v1/workflow/events", `{"event":"task.created","task_id":"a/1001","task":{"name":"过境 7","create_by":"u1","nodes":[{"id":"n1","name":"n"}]}}`, nil)
	h.shows(h.page("viewer", "/console/t/default/tasks"), "a/1001", "过境 7", "runs", `href="/console/t/default/tasks/a%2F1001"`)
	h.shows(h.page("viewer", "/console/t/default/tasks/a%2F1001"), "过境 7", "runs", "Notices", "posthouse task show")
	h.shows(h.page("viewer", "/console/t/default/tasks/a%2F1001", chinese), "任务没有指定渠道，oa 和 dingtalk 也都没有配置")
	if got := h.ask("viewer", "/console/t/default/tasks/none", nil); got.status != http.StatusNotFound {
		t.Errorf("a task that is not there: %d", got.status)
	}
}
