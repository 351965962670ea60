package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/dbtest"
)

// Beyond the year 9999 in UTC although its own zone has 9999; and the time that Go takes for none.
var oddTimes = []string{"9999-12-31T23:59:59-23:59", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "0001-01-01T08:00:00+08:00", "1969-12-31T23:59:59Z", "3000-01-01T00:00:00Z"}

func TestTimesOfNoUseAreRefusedAtEveryField(t *testing.T) {
	t.Parallel()
	h := with(t)
	const draft = `"channel":"later","to":[{"user":"u"}]`
	for _, at := range oddTimes {
		for _, b := range []struct{ path, body, field string }{
			{"/v1/messages", `{` + draft + `,"content":{"text":"x"},"deadline":"%s"}`, "deadline"},
			{"/v1/messages", `{"messages":[{` + draft + `,"content":{"text":"x"},"not_before":"%s"}]}`, "messages[0].not_before"},
			{"/v1/messages", `{` + draft + `,"template":"t","clock":{"until":"%s"}}`, "clock.until"},
			{"/v1/reminders", `{"draft":{` + draft + `,"content":{"text":"x"}},"repeat":{"every":"1h","until":"%s"}}`, "repeat.until"},
			{"/v1/reminders", `{"draft":{` + draft + `,"template":"x"},"countdown":{"to":"%s"}}`, "countdown.to"},
			{"/v1/workflow/events", `{"event":"node.done","task_id":"1","node_id":"2","at":"%s"}`, "at"},
			{"/v1/workflow/events", `{"event":"orbit_plan.changed","task_id":"1","orbits":[{"orbit_no":1,"in_time":"%s"}]}`, "orbits[0].in_time"},
			{"/v1/deliveries/replay", `{"channel":"later","since":"%s"}`, "since"},
			{"/v1/notify/jobs", `{"bizType":0,"bizId":1,"channel":0,"userIds":[1],"nextRunTime":"%s"}`, "nextRunTime"},
		} {
			got := h.do(request{method: "POST", path: b.path, body: fmt.Sprintf(b.body, at)})
			if fields := pathsOf(read[fault](t, got)); got.status != 422 || !strings.Contains(fields, b.field+";") {
				t.Errorf("%s with %s at %s: got %d %s", b.path, b.field, at, got.status, got.body)
			}
		}
		for _, path := range []string{"/v1/messages?since=", "/v1/deliveries?until=", "/v1/logs?since="} {
			if got := h.do(request{method: "GET", path: path + strings.ReplaceAll(at, "+", "%2B")}); got.status != 422 {
				t.Errorf("%s%s: got %d %s, want 422", path, at, got.status, got.body)
			}
		}
	}
	if got := h.do(request{method: "PUT", path: "/v1/rosters/duty", body: `{"days":{},"overrides":{"0001-01-01":["u"]}}`}); got.status != 422 {
		t.Errorf("a roster of the year 1: got %d %s", got.status, got.body)
	}
}

func pathsOf(f fault) string {
	var b strings.Builder
	for _, p := range f.Problems {
		b.WriteString(p.Path + ";")
	}
	return b.String()
}

// A row that somebody's hand wrote must keep nobody from reading the others.
func TestReadersSurviveATimeThatHasNoWords(t *testing.T) {
	t.Parallel()
	h := with(t)
	id := h.send("later", "u")[0]
	db := dbtest.SQL(t, h.dsn)
	for _, change := range []string{
		"UPDATE posthouse_messages SET deadline = 9223372036854775807, not_before = -9223372036854775807",
		"UPDATE posthouse_queue SET deadline = 9223372036854775807, due_at = 9223372036854775807",
	} {
		if _, err := db.ExecContext(t.Context(), change); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"/v1/messages", "/v1/deliveries", "/v1/deliveries/" + id, "/v1/deliveries/" + id + "/story", "/v1/deliveries/" + id + "/events", "/v1/deliveries/" + id + "/explain"} {
		if got := h.do(request{method: "GET", path: path}); got.status != 200 {
			t.Errorf("%s: got %d %s, want 200", path, got.status, got.body)
		}
	}
}
