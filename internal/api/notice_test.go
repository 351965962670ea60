package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
)

// onDuty is a house with the two platforms, and a roster that has u1 on duty each day. The platforms are paused: the
// first run of a job may come after the first notice.
func onDuty(t *testing.T) *house {
	h := open(t)
	for _, name := range []string{"tianyuan", "zhaohu"} {
		h.must(201, "PUT", "/v1/channels/"+name, `{"driver":"test","profile":"duty"}`)
		h.must(200, "POST", "/v1/channels/"+name+"/pause", `{}`)
	}
	h.must(200, "PUT", "/v1/rosters/duty", `{"days":{"1":["u1"],"2":["u1"],"3":["u1"],"4":["u1"],"5":["u1"],"6":["u1"],"7":["u1"]}}`)
	return h
}

func noticeOf(user, kind, platform string) string {
	return fmt.Sprintf(`{"userId":%q,"userType":%q,"platform":%q,"messageContent":"值班提醒"}`, user, kind, platform)
}

func TestANoticeIsAcceptedUnderEachOfItsNames(t *testing.T) {
	t.Parallel()
	h := onDuty(t)
	for _, kind := range []string{"总行", "head_office", "分行", "branch"} {
		for platform, channel := range map[string]string{"tianyuan": "tianyuan", "天元": "tianyuan", "zhaohu": "zhaohu", "招呼": "zhaohu"} {
			sent := read[map[string]string](t, h.must(202, "POST", "/v1/notices", noticeOf("u1", kind, platform)))
			if diff := cmp.Diff(map[string]string{"id": sent["id"], "status": "pending"}, sent); diff != "" || sent["id"] == "" {
				t.Errorf("%s on %s (-want +got):\n%s", kind, platform, diff)
			}
			var got map[string]any
			if err := json.Unmarshal([]byte(h.must(200, "GET", "/v1/notices/"+sent["id"], "").body), &got); err != nil {
				t.Fatal(err)
			}
			want := map[string]any{
				"id": sent["id"], "user_id": "u1", "platform": channel, "content": "值班提醒", "status": "pending", "retry_count": 0.0,
				"create_time": got["create_time"], "update_time": got["update_time"], "last_error": "",
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s on %s (-want +got):\n%s", kind, platform, diff)
			}
			for _, name := range []string{"create_time", "update_time"} {
				if _, err := time.Parse(time.RFC3339Nano, fmt.Sprint(got[name])); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
}

func TestANoticeToSomebodyOffDutyIsSuppressed(t *testing.T) {
	t.Parallel()
	h := onDuty(t)
	check := func(body, reason string) {
		t.Helper()
		got := read[map[string]string](t, h.must(200, "POST", "/v1/notices", body))
		if diff := cmp.Diff(map[string]string{"id": got["id"], "status": "suppressed", "reason": reason}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
		if seen := h.must(200, "GET", "/v1/notices/"+got["id"], "").body; !strings.Contains(seen, `"status":"suppressed"`) {
			t.Errorf("it reads %s, want suppressed", seen)
		}
	}
	check(noticeOf("u2", "总行", "天元"), "not_on_duty")
	h.must(202, "POST", "/v1/notices", noticeOf("u2", "分行", "天元"))
	h.must(204, "DELETE", "/v1/rosters/duty", "")
	check(noticeOf("u1", "总行", "招呼"), "duty_schedule_not_configured")
}

func TestNoticesAreListedByTheirOwnWords(t *testing.T) {
	t.Parallel()
	h := onDuty(t)
	first := read[struct{ ID string }](t, h.must(202, "POST", "/v1/notices", noticeOf("u1", "总行", "天元"))).ID
	second := read[struct{ ID string }](t, h.must(200, "POST", "/v1/notices", noticeOf("u2", "总行", "招呼"))).ID
	h.must(201, "PUT", "/v1/channels/out", `{"driver":"test"}`)
	message := h.send("out", "u1")[0]
	for query, want := range map[string]string{
		"": second + " " + first, "status=pending": first, "status=suppressed": second, "status=failure": "", "status=stopped": "",
		"platform=天元": first, "platform=zhaohu": second, "userId=u2": second, "userId=u2&status=pending": "",
	} {
		ids, _ := h.listed("/v1/notices?" + query)
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("notices?%s: got %s, want %s", query, got, want)
		}
	}
	for _, id := range []string{message, posthouse.MessageID(first), "x"} {
		if got := read[fault](t, h.must(404, "GET", "/v1/notices/"+id, "")); !strings.HasPrefix(got.Detail, "there is no notice") {
			t.Errorf("notice %s: got %+v", id, got)
		}
	}
	for _, query := range []string{"status=gone", "platform=sms", "limit=-1", "user_id=u1"} {
		h.must(422, "GET", "/v1/notices?"+query, "")
	}
}
