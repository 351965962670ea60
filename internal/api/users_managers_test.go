package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// A manager may come later, so one who is not known is a warning, and so is a circle. What is no zone and no language is refused.
func TestManagersAreDoubtedAndZonesRefused(t *testing.T) {
	t.Parallel()
	h := open(t)
	unknown, circle := `user "a": the directory does not know the manager "b"`, `user "b": the managers are a circle: b, c, a, b`
	put := func(query, users string, want ...string) {
		t.Helper()
		got := read[wire.UsersStored](t, h.must(200, http.MethodPut, "/v1/users"+query, `{"users":[`+users+`]}`))
		if diff := cmp.Diff(want, got.Warnings); diff != "" {
			t.Errorf("%s (-want +got):\n%s", users, diff)
		}
	}
	put("", `{"id":"a","manager":"b"}`, unknown)
	put("", `{"id":"c","manager":"a"}`)
	put("", `{"id":"b","manager":"c"}`, circle)
	put("?prune=true&dry_run=true", `{"id":"a","manager":"b"}`, unknown)
	put("", `{"id":"d"},{"id":"d","name":"last"},{"id":"d","name":"last"}`, `user "d" stands in the list several times: the last one holds`)
	if u := read[posthouse.User](t, h.must(200, http.MethodGet, "/v1/users/d", "")); u.Name != "last" {
		t.Errorf("of a user three times in a list there is %+v", u)
	}
	u := read[posthouse.User](t, h.must(200, http.MethodPatch, "/v1/users/b", `{"time_zone":"Asia/Urumqi","language":"ZH-hant"}`))
	if u.Manager != "c" || u.TimeZone != "Asia/Urumqi" || u.Language != "zh-Hant" || !cmp.Equal(u.Warnings, []string{circle}) {
		t.Errorf("the changed user is %+v", u)
	}
	for body, field := range map[string]string{
		`{"time_zone":"Local"}`: "time_zone", `{"time_zone":"Asia/Peking"}`: "time_zone", `{"language":"chinese please"}`: "language", `{"language":"und"}`: "language", `{"manager":"b"}`: "manager",
	} {
		if got := h.must(422, http.MethodPatch, "/v1/users/b", body); !strings.Contains(got.body, `"`+field+`"`) || !strings.Contains(got.body, "such as") {
			t.Errorf("%s is refused by %s, want the field %s with an example", body, got.body, field)
		}
	}
	if u := read[posthouse.User](t, h.must(200, http.MethodPatch, "/v1/users/b", `{"manager":"","time_zone":""}`)); u.Manager != "" || u.TimeZone != "" || u.Language != "zh-Hant" || u.Warnings != nil {
		t.Errorf("the emptied user is %+v", u)
	}
}
