package api_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/web"
)

// public are the addresses that need no key.
var public = map[string]bool{"/healthz": true, "/readyz": true, "/metrics": true, "/openapi.json": true, "/v1/proof/keys": true, "/docs": true, "/docs/{file}": true, "/{$}": true}

// addressOf is a route's address with something in place of its parameters.
func addressOf(r web.Route) string {
	return strings.NewReplacer("{$}", "", "{file}", "rapidoc-min.js", "{id}", "x", "{name}", "x").Replace(r.Path)
}

const noKey = `{"type":"/docs/errors.html#unauthorized","title":"Unauthorized","status":401,"code":"unauthorized","detail":"no valid API key: send one as \"Authorization: Bearer ph_…\""}` + "\n"

// withoutID is the body of an error without the id of its request, which differs each time.
func withoutID(body string) string {
	return regexp.MustCompile(`,"id":"[0-9A-Z]{26}"`).ReplaceAllString(body, "")
}

// called are the addresses that providers call, who have no key: a driver verifies what they sign.
var called = map[string]bool{"/v1/callbacks/{address}": true}

func TestEveryAddressNeedsAKeyButThePublicOnes(t *testing.T) {
	t.Parallel()
	h := open(t)
	for _, r := range routes() {
		got := h.do(request{method: r.Method, path: addressOf(r), key: "none"})
		if called[r.Path] {
			if got.status != 403 || got.body != "refused" || r.Scope != "" {
				t.Errorf("%s %s: got %d %s from a stranger, want 403", r.Method, r.Path, got.status, got.body)
			}
			continue
		}
		if public[r.Path] {
			if got.status != 200 || r.Scope != "" {
				t.Errorf("%s %s: got %d without a key, want 200", r.Method, r.Path, got.status)
			}
			continue
		}
		if got.status != 401 || withoutID(got.body) != noKey || got.header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s %s: got %d %s without a key, want 401", r.Method, r.Path, got.status, got.body)
		}
	}
}

func TestScopesReachWhatTheyAreFor(t *testing.T) {
	t.Parallel()
	h := open(t)
	for _, r := range routes() {
		if r.Scope == "" {
			continue
		}
		for _, have := range []posthouse.Scope{posthouse.ScopeRead, posthouse.ScopeSend, posthouse.ScopeAdmin, posthouse.ScopeAgent} {
			got := h.do(request{method: r.Method, path: addressOf(r), key: string(have)})
			if want := !have.Allows(r.Scope) || have == posthouse.ScopeAgent; (got.status == http.StatusForbidden) != want {
				t.Errorf("%s %s needs %s: a key of scope %s got %d", r.Method, r.Path, r.Scope, have, got.status)
			}
			detail := fmt.Sprintf("the key's scope is %s: this needs %s", have, r.Scope)
			if have == posthouse.ScopeAgent && (r.Own || r.Scope == have) {
				detail = "the key is the agent y's, not the agent x's"
			}
			if got.status == 403 && read[fault](t, got).Detail != detail {
				t.Errorf("got %s, want the detail %q", got.body, detail)
			}
		}
	}
}

func TestWrongKeysGetOneAndTheSameAnswer(t *testing.T) {
	t.Parallel()
	h := open(t)
	made := read[struct{ ID, Secret string }](t, h.must(201, "POST", "/v1/keys", `{"name":"gone","scope":"read"}`))
	if got := h.do(request{method: "GET", path: "/v1/users", key: made.Secret}); got.status != 200 {
		t.Fatalf("the new key got %d %s", got.status, got.body)
	}
	h.must(204, "DELETE", "/v1/keys/"+made.ID, "")
	id, _, _ := secret.ParseKey(h.keys["read"])
	_, otherSecret := secret.NewKey()
	unknownID, _ := secret.NewKey()
	for name, header := range map[string]string{
		"none":           "",
		"another scheme": "Basic " + h.keys["read"],
		"no key":         "Bearer",
		"another form":   "Bearer hello",
		"not ASCII":      "Bearer ph_\xff\xfe驿站_\x80",
		"long":           "Bearer ph_" + strings.Repeat("x", 10_000),
		"wrong secret":   "Bearer " + secret.FormatKey(id, otherSecret),
		"unknown id":     "Bearer " + secret.FormatKey(unknownID, otherSecret),
		"cut":            "Bearer " + h.keys["read"][:len(h.keys["read"])-1],
		"revoked":        "Bearer " + made.Secret,
	} {
		got := h.do(request{method: "GET", path: "/v1/users", key: "none", header: http.Header{"Authorization": {header}}})
		if got.status != 401 || withoutID(got.body) != noKey {
			t.Errorf("%s: got %d %s", name, got.status, got.body)
		}
	}
	if got := h.do(request{method: "GET", path: "/v1/users", key: "none", header: http.Header{"Authorization": {"bearer  " + h.keys["read"]}}}); got.status != 200 {
		t.Errorf("a small letter and a second space: got %d %s", got.status, got.body)
	}
}

func TestGuessingIsSlowedDownButNotTheOwner(t *testing.T) {
	t.Parallel()
	h := open(t)
	id, _, _ := secret.ParseKey(h.keys["send"])
	guess := func() reply {
		_, text := secret.NewKey()
		return h.do(request{method: "GET", path: "/v1/users", key: secret.FormatKey(id, text)})
	}
	h.do(request{method: "GET", path: "/v1/users", key: "read"})
	for i := range 10 {
		if got := guess(); got.status != 401 {
			t.Fatalf("guess %d: got %d, want 401", i+1, got.status)
		}
	}
	got := guess()
	if got.status != 429 || got.header.Get("Retry-After") == "" || read[fault](t, got).Detail != "too many wrong API keys: try again later" {
		t.Errorf("guess 11: got %d %s %s, want 429 with Retry-After", got.status, got.header, got.body)
	}
	if got := h.do(request{method: "GET", path: "/v1/users", key: "read"}); got.status != 200 {
		t.Errorf("another key from the same address: got %d, want 200", got.status)
	}
}
