package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/posthouse/posthouse"
)

// nights is a calendar of a summary each Monday.
func nights(summary string) string {
	return "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20200106\r\nRRULE:FREQ=WEEKLY\r\nSUMMARY:" + summary + "\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
}

func asCalendar(path, body string, query ...string) request {
	q := url.Values{}
	for i := 0; i < len(query); i += 2 {
		q.Set(query[i], query[i+1])
	}
	return request{method: "PUT", path: path + "?" + q.Encode(), body: body, header: http.Header{"Content-Type": {"text/calendar; charset=utf-8"}}}
}

// A roster goes out as a calendar and comes in as the same one, over another roster and where there was none.
func TestRostersGoThroughACalendarUnchanged(t *testing.T) {
	t.Parallel()
	h := open(t)
	put := read[posthouse.Roster](t, h.must(200, "PUT", "/v1/rosters/duty", `{"days":{"1":["u1","u,2"],"7":["王芳: x"]},"overrides":{"2020-10-01":["u9"],"2040-10-02":[]},"hand_over":"08:30","time_zone":"America/New_York"}`))
	text := h.must(200, "GET", "/v1/rosters/duty.ics", "").body
	for _, name := range []string{"duty", "other"} {
		h.must(200, "PUT", "/v1/rosters/duty", `{"days":{"3":["x"]}}`)
		got := h.do(asCalendar("/v1/rosters/"+name, text))
		if got.status != 200 {
			t.Fatalf("got %d %s", got.status, got.body)
		}
		if diff := cmp.Diff(put, read[posthouse.Roster](t, got), cmpopts.IgnoreFields(posthouse.Roster{}, "UpdatedAt", "Name")); diff != "" {
			t.Errorf("through a calendar (-put +got):\n%s", diff)
		}
	}
}

// Users of a calendar are those of the directory by id, name or address, and who the caller says; a look stores nothing.
func TestACalendarsNamesAreUsers(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.must(201, "PUT", "/v1/channels/out", `{"driver":"discard"}`)
	h.must(200, "PUT", "/v1/users", `{"users":[{"id":"li.na","name":"李娜","addresses":{"out":"li.na@example.com"}},{"id":"w1","name":"王伟"},{"id":"w2","name":"王伟"}]}`)
	h.must(200, "PUT", "/v1/rosters/duty", `{"days":{"2":["x"]},"hand_over":"08:30"}`)
	const at = "/v1/rosters/duty"
	for _, c := range []struct {
		summary string
		query   []string
		status  int
		want    string
	}{
		{"李娜", nil, 200, `"days":{"1":["li.na"]}`},
		{"On call: LI.NA@example.com", nil, 200, `"days":{"1":["li.na"]}`},
		{"李", nil, 422, `{"path":"line 5","message":"\"李\" is nobody of the directory`},
		{"王伟", nil, 422, `\"王伟\" may be w1 or w2: say who it is`},
		{"王伟、Nana", []string{"as", "王伟=w2, Nana=li.na"}, 200, `"days":{"1":["w2","li.na"]}`},
		{"某人", []string{"unknown", "keep"}, 200, `"days":{"1":["某人"]}`},
		{"某人", []string{"unknown", "drop"}, 422, `{"path":"query.unknown","message":"is \"drop\": want keep"}`},
		{"李娜", []string{"by", "attendee"}, 422, `{"path":"line 2","message":"the event names nobody: want users in its attendees"}`},
		{"李娜", []string{"by", "title"}, 422, `{"path":"query.by","message":"is \"title\": want attendee or summary"}`},
		{"李娜", []string{"as", "x"}, 422, `{"path":"query.as","message":"has \"x\": want NAME=USER, with commas between"}`},
		{"李娜", []string{"hand_over", "late"}, 422, `"path":"hand_over"`},
		{"李娜", []string{"hand_over", "09:00", "time_zone", "UTC"}, 200, `"hand_over":"09:00","time_zone":"UTC"`},
		{strings.Repeat("长", 300), nil, 422, "is nobody of the directory"},
		{"a\x00b", nil, 422, "is nobody of the directory"},
		{"李娜", []string{"dry_run", "maybe"}, 422, `"path":"query.dry_run"`},
	} {
		before := h.must(200, "GET", at, "").body
		got := h.do(asCalendar(at, nights(c.summary), append([]string{"dry_run", "true"}, c.query...)...))
		if got.status != c.status || !strings.Contains(got.body, c.want) {
			t.Errorf("%q %v: got %d %s, want %s", c.summary, c.query, got.status, got.body, c.want)
		}
		if after := h.must(200, "GET", at, "").body; after != before {
			t.Errorf("%q: a look has stored %s", c.summary, after)
		}
	}
	if got := h.do(asCalendar(at, nights("李娜"))); got.status != 200 || !strings.Contains(got.body, `"hand_over":"08:30"`) {
		t.Errorf("got %d %s", got.status, got.body)
	}
	for _, query := range []string{"by=summary", "as=a%3Db", "unknown=keep", "hand_over=", "time_zone=UTC"} {
		name, _, _ := strings.Cut(query, "=")
		if got := h.do(request{method: "PUT", path: at + "?" + query, body: `{"days":{}}`}); got.status != 422 || !strings.Contains(got.body, fmt.Sprintf(`"query.%s","message":"says how a calendar is read`, name)) {
			t.Errorf("JSON with %s: %d %s", query, got.status, got.body)
		}
	}
	dry := h.do(request{method: "PUT", path: at + "?dry_run=true", body: `{"days":{"5":["q"]}}`, header: http.Header{"If-Match": {`"of another time"`}}})
	if dry.status != 412 {
		t.Errorf("a look over another state: %d %s", dry.status, dry.body)
	}
	if got := h.must(200, "GET", "/v1/audit?target=duty", "").body; strings.Count(got, `"action":"rosters.put"`) != 2 {
		t.Errorf("the audit log has looks: %s", got)
	}
	other := h.do(request{method: "PUT", path: "/v1/rosters/own", body: nights("李娜"), key: "other", header: http.Header{"Content-Type": {"text/calendar"}}})
	if other.status != 422 || !strings.Contains(other.body, "is nobody of the directory") {
		t.Errorf("another tenant's directory is read: %d %s", other.status, other.body)
	}
}
