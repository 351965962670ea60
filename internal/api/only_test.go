package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// What is stored with If-Match is stored over what was read and nothing else.
func TestAPutIsForWhatWasRead(t *testing.T) {
	t.Parallel()
	h := open(t)
	ask := func(method, path, body string, headers ...string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, h.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+h.keys["admin"])
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		got, err := h.http.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { got.Body.Close() })
		return got
	}
	want := func(got *http.Response, status int) {
		t.Helper()
		if got.StatusCode != status {
			t.Errorf("%s %s: status %d, want %d", got.Request.Method, got.Request.URL.Path, got.StatusCode, status)
		}
		if (got.Header.Get("ETag") != "") != (status/100 == 2) {
			t.Errorf("%s %s: status %d with the ETag %q", got.Request.Method, got.Request.URL.Path, status, got.Header.Get("ETag"))
		}
	}
	ask("PUT", "/v1/channels/fleet", `{"driver":"wecom_robot","accounts":true,"config":{"url":"http://127.0.0.1:1/send"}}`)
	for path, put := range map[string]struct{ method, body string }{
		"/v1/channels/c":                {"PUT", `{"driver":"discard","job":"VALUE"}`},
		"/v1/channels/fleet/accounts/c": {"PUT", `{"config":{"key":"VALUE"}}`},
		"/v1/templates/c":               {"PUT", `{"text":"VALUE"}`},
		"/v1/rosters/c":                 {"PUT", `{"days":{"1":["VALUE"]}}`},
		"/v1/tenants/c":                 {"PUT", `{"note":"VALUE"}`},
		"/v1/users/c":                   {"PATCH", `{"name":"VALUE"}`},
	} {
		if put.method == "PATCH" {
			ask("PUT", "/v1/users", `{"users":[{"id":"c"}]}`)
		} else {
			want(ask("PUT", path, put.body, "If-Match", "*"), http.StatusPreconditionFailed)
			want(ask("PUT", path, put.body, "If-None-Match", "*"), map[bool]int{true: 201, false: 200}[strings.Contains(path, "channels") || strings.Contains(path, "tenants")])
			want(ask("PUT", path, put.body, "If-None-Match", "*"), http.StatusPreconditionFailed)
		}
		read := ask("GET", path, "", "If-Match", `"elsewhere"`)
		want(read, http.StatusOK)
		tag := read.Header.Get("ETag")
		other := strings.Replace(put.body, "VALUE", "other", 1)
		stored := ask(put.method, path, other, "If-Match", `"other", `+tag)
		want(stored, http.StatusOK)
		if now := ask("GET", path, "").Header.Get("ETag"); now == tag || now != stored.Header.Get("ETag") {
			t.Errorf("%s: the ETag is %s, was %s, and %s when it was stored", path, now, tag, stored.Header.Get("ETag"))
		}
		late := ask(put.method, path, put.body, "If-Match", tag)
		want(late, http.StatusPreconditionFailed)
		var p wire.Problem
		if err := json.NewDecoder(late.Body).Decode(&p); err != nil {
			t.Fatal(err)
		}
		if p.Code != posthouse.CodeChanged || !strings.Contains(p.Detail, "was changed since it was read") {
			t.Errorf("%s: the answer is %+v", path, p)
		}
		for _, odd := range []string{"1", `W/"1"`, `"`, `""`, `"a" "b`} {
			want(ask(put.method, path, put.body, "If-Match", odd), http.StatusUnprocessableEntity)
		}
		want(ask(put.method, path, put.body, "If-None-Match", tag), http.StatusUnprocessableEntity)
	}
	want(ask("DELETE", "/v1/rosters/c", "", "If-Match", `"1"`), http.StatusUnprocessableEntity)
	want(ask("GET", "/v1/rosters/none", ""), http.StatusNotFound)
}
