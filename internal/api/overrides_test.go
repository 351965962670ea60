package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// Single dates are changed, and the rest of the roster stays; what is over stays too.
func TestDatesOfARosterAreOverridden(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.must(200, "PUT", "/v1/rosters/night", `{"days":{"1":["a"],"2":["b"]},"overrides":{"2020-01-01":["old"],"2099-12-31":["c"]},"hand_over":"08:30"}`)
	const at = "/v1/rosters/night/override"
	roster := func() posthouse.Roster {
		t.Helper()
		return read[posthouse.Roster](t, h.must(200, "GET", "/v1/rosters/night", ""))
	}
	before := roster()
	look := read[wire.Overridden](t, h.must(200, "POST", at, `{"dates":{"2099-01-01":["x"]},"clear":["2099-12-31"],"dry_run":true}`))
	want := []wire.DutyChange{{Date: "2099-01-01", Before: []string{}, After: []string{"x"}}, {Date: "2099-12-31", Before: []string{"c"}, After: []string{}}}
	if diff := cmp.Diff(want, look.Changed); diff != "" || !look.DryRun || look.Tag != before.Tag() {
		t.Errorf("the look is %+v (-want +got):\n%s", look, diff)
	}
	if now := roster(); now.Tag() != before.Tag() {
		t.Fatal("a look has changed the roster")
	}
	today := look.Now.Date
	if look.Now.Until != look.Next.From || look.Now.From.After(time.Now()) || look.Now.Until.Before(time.Now().Add(-time.Minute)) {
		t.Errorf("now is %+v, and next %+v", look.Now, look.Next)
	}
	done := read[wire.Overridden](t, h.must(200, "POST", at, `{"dates":{"`+today+`":["me"]},"clear":["2099-12-31"]}`))
	after := roster()
	if len(done.Now.Users) != 1 || done.Now.Users[0] != "me" || done.Tag != after.Tag() || len(done.Changed) != 2 {
		t.Errorf("the answer is %+v", done)
	}
	if after.HandOver != "08:30" || len(after.Days) != 2 || len(after.Overrides) != 2 || after.Overrides["2020-01-01"] == nil {
		t.Errorf("the roster is %+v", after)
	}
	if got := h.do(request{method: "POST", path: at, body: `{"clear":["` + today + `"]}`, header: http.Header{"If-Match": {`"` + before.Tag() + `"`}}}); got.status != http.StatusPreconditionFailed {
		t.Errorf("over what was there before: %d %s", got.status, got.body)
	}
	swap := `{"dates":{"2099-01-05":["a"],"2099-01-06":["b"]},"swap":{"user":"a","date":"2099-01-05","with":"b","with_date":"2099-01-06"}}`
	h.must(200, "POST", at, swap)
	if now := roster(); now.Overrides["2099-01-05"][0] != "b" || now.Overrides["2099-01-06"][0] != "a" {
		t.Errorf("swapped to %v", now.Overrides)
	}
	for body, paths := range map[string][]string{
		`{}`: {"dates"},
		`{"dates":{"2020-01-01":["x"],"tomorrow":["y"],"2099-01-01":[""]}}`:             {"dates.2020-01-01", "overrides.tomorrow", "overrides.2099-01-01[0]"},
		`{"clear":["2020-01-01","2098-01-01"]}`:                                         {"clear[0]", "clear[1]"},
		`{"swap":{"user":"a","date":"2020-01-06","with":"x","with_date":"2099-01-06"}}`: {"swap.date", "swap.with"},
		`{"dates":{"2099-01-01":["x"]},"night":true}`:                                   {"night"},
	} {
		got := h.do(request{method: "POST", path: at, body: body})
		for _, path := range paths {
			if got.status != 422 || !strings.Contains(got.body, `"path":"`+path+`"`) {
				t.Errorf("%s: got %d %s, want a problem of %s", body, got.status, got.body, path)
			}
		}
	}
	log := read[wire.Page[wire.AuditEntry]](t, h.must(200, "GET", "/v1/audit?action=rosters.override", ""))
	if len(log.Items) != 2 || log.Items[1].Target != "night" || !strings.Contains(string(log.Items[1].Detail), `"me"`) || log.Items[1].Affected != 2 {
		t.Errorf("the audit log has %+v", log.Items)
	}
}
