package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// Number 32: a change keeps what it does not name, and says what it cannot take.
func TestAChangeOfAUserKeepsTheRest(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.must(200, http.MethodPut, "/v1/users", `{"users":[{"id":"u1","name":"李娜","type":"branch","roles":["planner"],"addresses":{"oa":"1001","dingtalk":"li.na"}}]}`)
	for _, step := range []struct{ body, want string }{
		{`{"addresses":{"dingtalk":"li.na.2"}}`, "李娜 branch planner 1001 li.na.2"},
		{`{"name":"李 娜"}`, "李 娜 branch planner 1001 li.na.2"},
		{`{"roles":["a","b"],"type":""}`, "李 娜  a,b 1001 li.na.2"},
		{`{"addresses":{"oa":null,"dingtalk":""},"roles":[]}`, "李 娜    "},
	} {
		got := h.must(200, http.MethodPatch, "/v1/users/u1", step.body)
		for name, answer := range map[string]reply{"the answer": got, "the user": h.must(200, http.MethodGet, "/v1/users/u1", "")} {
			u := read[posthouse.User](t, answer)
			if text := strings.Join([]string{u.Name, u.Type, strings.Join(u.Roles, ","), u.Addresses["oa"], u.Addresses["dingtalk"]}, " "); text != step.want {
				t.Errorf("after %s %s is %q, want %q", step.body, name, text, step.want)
			}
		}
	}
	h.must(404, http.MethodPatch, "/v1/users/u2", `{"name":"x"}`)
	for body, field := range map[string]string{`{}`: "body", `{"roles":["a;b"]}`: "roles[0]", `{"nmae":"x"}`: "nmae", `{"addresses":{"oa":"` + strings.Repeat("x", 513) + `"}}`: "addresses.oa"} {
		if got := h.must(422, http.MethodPatch, "/v1/users/u1", body); !strings.Contains(got.body, `"`+field+`"`) {
			t.Errorf("%.60s is refused by %s, want the field %s", body, got.body, field)
		}
	}
	if got := h.do(request{method: http.MethodPatch, path: "/v1/users/u1", body: `{"name":"x"}`, key: "send"}); got.status != 403 {
		t.Errorf("a key that may only send changes a user: %d", got.status)
	}
}

// Excel saves CSV as GBK in China, and as UTF-16 where it says Unicode: both are read, of users and of rosters.
func TestTablesOfExcelAreRead(t *testing.T) {
	t.Parallel()
	h := open(t)
	gbk, err := simplifiedchinese.GB18030.NewEncoder().String("id,name,roles\nli.na,李娜,值班\n")
	if err != nil {
		t.Fatal(err)
	}
	wide, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String("id,name,roles\nli.na,李娜,值班\n")
	if err != nil {
		t.Fatal(err)
	}
	csv := http.Header{"Content-Type": {"text/csv"}}
	for form, file := range map[string]string{"GBK": gbk, "UTF-16": wide} {
		h.do(request{method: http.MethodDelete, path: "/v1/users/li.na"})
		if got := h.do(request{method: http.MethodPut, path: "/v1/users", body: file, header: csv}); got.status != 200 {
			t.Fatalf("%s: %d %s", form, got.status, got.body)
		}
		if u := read[posthouse.User](t, h.must(200, http.MethodGet, "/v1/users/li.na", "")); u.Name != "李娜" || !cmp.Equal(u.Roles, []string{"值班"}) {
			t.Errorf("%s is read as %+v", form, u)
		}
	}
	got := h.do(request{method: http.MethodPut, path: "/v1/users", body: "id,name\nli.na,\xff\xff\n", header: csv})
	if got.status != 422 || !strings.Contains(got.body, "line 2") {
		t.Errorf("neither of them: %d %s", got.status, got.body)
	}
	got = h.do(request{method: http.MethodPut, path: "/v1/users", body: "id,手机号\nli.na,13800138000\n", header: csv})
	if got.status != 422 || !strings.Contains(got.body, "which is no channel") {
		t.Errorf("a column of another system: %d %s", got.status, got.body)
	}
}

// Number 32: a file is all of the directory where its caller says so, after a look at what that would change.
func TestTheDirectoryIsReplacedAfterALook(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.must(200, http.MethodPut, "/v1/users", `{"users":[{"id":"stays","name":"a","roles":["y","x"]},{"id":"changes","name":"b","addresses":{"sms":"13800138000"}},{"id":"goes","name":"c","roles":["x"]}]}`)
	h.do(request{method: http.MethodPut, path: "/v1/users", body: `{"users":[{"id":"theirs"}]}`, key: "other"})
	const file = "id,name,roles,robot\nstays,a,x;y,\nchanges,b2,,r2\ncomes,d,,r3\n"
	h.must(201, http.MethodPut, "/v1/channels/robot", `{"driver":"discard"}`)
	want := wire.UsersStored{Stored: 2, Replaced: &wire.UsersReplaced{DryRun: true, Added: []string{"comes"}, Changed: []string{"changes"}, Unchanged: 1, Removed: []string{"goes"}, Gained: map[string]int{"robot": 1}, Lost: map[string]int{"sms": 1}}}
	put := func(query string) wire.UsersStored {
		t.Helper()
		got := h.do(request{method: http.MethodPut, path: "/v1/users?" + query, body: file, header: http.Header{"Content-Type": {"text/csv"}}})
		if got.status != 200 {
			t.Fatalf("%s: %d %s", query, got.status, got.body)
		}
		out := read[wire.UsersStored](t, got)
		if out.Replaced.Tag == "" {
			t.Errorf("%s: the directory that was compared has no tag", query)
		}
		out.Replaced.Tag = ""
		return out
	}
	if diff := cmp.Diff(want, put("prune=true&dry_run=true")); diff != "" {
		t.Errorf("the preview (-want +got):\n%s", diff)
	}
	if ids, _ := h.listed("/v1/users?limit=100"); !cmp.Equal(ids, []string{"changes", "goes", "stays"}) {
		t.Errorf("after a preview the directory has %v", ids)
	}
	want.Replaced.DryRun = false
	if diff := cmp.Diff(want, put("prune=true")); diff != "" {
		t.Errorf("the deed (-want +got):\n%s", diff)
	}
	if ids, _ := h.listed("/v1/users?limit=100"); !cmp.Equal(ids, []string{"changes", "comes", "stays"}) {
		t.Errorf("the directory has %v", ids)
	}
	again := wire.UsersStored{Replaced: &wire.UsersReplaced{Added: []string{}, Changed: []string{}, Unchanged: 3, Removed: []string{}}}
	if diff := cmp.Diff(again, put("prune=true&dry_run=false")); diff != "" {
		t.Errorf("again (-want +got):\n%s", diff)
	}
	if got := h.do(request{method: http.MethodGet, path: "/v1/users/theirs", key: "other"}); got.status != 200 {
		t.Errorf("another tenant's user is gone: %d", got.status)
	}
	for query, field := range map[string]string{"dry_run=true": "query.dry_run", "prune=yes": "query.prune"} {
		if got := h.must(422, http.MethodPut, "/v1/users?"+query, `{"users":[{"id":"a"}]}`); !strings.Contains(got.body, field) {
			t.Errorf("?%s: %s", query, got.body)
		}
	}
	h.must(422, http.MethodPut, "/v1/users?prune=true", `{"users":[]}`)
}
