// Package consoletest is a whole server with people, whose pages tests ask for without a network.
package consoletest

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/sqltest"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/server"
)

// House is a whole server, on a fresh SQLite file unless the options say otherwise, whose handler is called without a network. It has a person for each role of
// the tenant default, and an administrator "other" of the tenant other; their sessions are the names of the roles.
type House struct {
	testing.TB
	Serve http.Handler
	Link  string // of the first person, where there is none of ours
	Key   string // of the API, which may do everything
	file  string
}

// Open is a house; with nobody it has no people but the first.
func Open(tb testing.TB, nobody bool, change ...func(*server.Options)) *House {
	tb.Helper()
	h := &House{TB: tb}
	o := server.Options{
		DSN: sqltest.Ready.SQLite(tb), NoListen: true, Log: slog.New(slog.DiscardHandler), Output: io.Discard, Version: "v1.2.3", StateDir: tb.TempDir(),
		CreateKeyring: true, KeyringFile: tb.TempDir() + "/posthouse.keys", AnnounceLink: func(path string) { h.Link = path },
	}
	for _, f := range change {
		f(&o)
	}
	h.file = strings.TrimPrefix(o.DSN, "sqlite:")
	h.prepare(o.DSN, nobody)
	s, err := server.New(context.Background(), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	if err := s.Start(context.Background()); err != nil {
		tb.Fatal(err)
	}
	h.Serve = s.Handler()
	return h
}

// prepare stores a key and people before the server opens the database.
func (h *House) prepare(dsn string, nobody bool) {
	h.Helper()
	ctx := context.Background()
	st, err := store.Open(ctx, store.Options{DSN: dsn, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		h.Fatal(err)
	}
	defer func() { _ = st.Close() }() // it has been read
	if _, err := st.Schema.Migrate(ctx); err != nil {
		h.Fatal(err)
	}
	id, text := secret.NewKey()
	h.Key = secret.FormatKey(id, text)
	if err := st.Keys.AddKey(ctx, time.Now(), posthouse.Key{ID: id, Tenant: posthouse.DefaultTenant, Name: "test", Scope: posthouse.ScopeAdmin}, secret.HashKey(text)); err != nil {
		h.Fatal(err)
	}
	if nobody {
		return
	}
	people := map[string]map[string]posthouse.Role{"other": {"other": posthouse.RoleAdmin}, "nothing": {}}
	for _, role := range posthouse.Roles() {
		people[string(role)] = map[string]posthouse.Role{posthouse.DefaultTenant: role}
	}
	for name, roles := range people {
		if _, _, err := st.People.PutPerson(ctx, time.Now(), posthouse.Person{Name: name, Roles: roles}); err != nil {
			h.Fatal(err)
		}
		sum := sha256.Sum256([]byte(name))
		if err := st.People.AddPass(ctx, time.Now(), work.Pass{Kind: work.PassSession, Mark: hex.EncodeToString(sum[:]), Person: name, Source: "192.0.2.1"}, time.Hour); err != nil {
			h.Fatal(err)
		}
	}
}

// Reply is what came back.
type Reply struct {
	Status int
	Body   string
	Header http.Header
}

// To is where a reply leads.
func (r Reply) To() string { return r.Header.Get("Location") }

// Ask is a request of a browser with a session, "" for none; a form makes it a POST. change may change it.
func (h *House) Ask(session, path string, form url.Values, change ...func(*http.Request)) Reply {
	h.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	if form != nil {
		r = httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	if session != "" {
		r.AddCookie(&http.Cookie{Name: "posthouse", Value: session}) //nolint:gosec // a request has no attributes of cookies
	}
	r.Header.Set("Accept-Language", "en")
	for _, f := range change {
		f(r)
	}
	w := httptest.NewRecorder()
	h.Serve.ServeHTTP(w, r)
	return Reply{w.Code, w.Body.String(), w.Result().Header}
}

// Page is a page that must be there.
func (h *House) Page(session, path string, change ...func(*http.Request)) string {
	h.Helper()
	got := h.Ask(session, path, nil, change...)
	if got.Status != http.StatusOK {
		h.Fatalf("GET %s as %s: status %d, to %q\n%s", path, session, got.Status, got.To(), got.Body)
	}
	return got.Body
}

// Hidden is the value of the first hidden field of a name, empty where a page has none.
func Hidden(page, name string) string {
	_, rest, _ := strings.Cut(page, `name="`+name+`" value="`)
	value, _, _ := strings.Cut(rest, `"`)
	return html.UnescapeString(value)
}

// Shows is an error for each text that a page lacks.
func (h *House) Shows(page string, texts ...string) {
	h.Helper()
	for _, text := range texts {
		if !strings.Contains(page, text) {
			h.Errorf("the page lacks %q:\n%s", text, page)
		}
	}
}

// API calls the API with the key and decodes the answer.
func (h *House) API(method, path, body string, out any) {
	h.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+h.Key)
	w := httptest.NewRecorder()
	h.Serve.ServeHTTP(w, r)
	if w.Code/100 != 2 {
		h.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	if out != nil {
		if err := json.Unmarshal(w.Body.Bytes(), out); err != nil {
			h.Fatal(err)
		}
	}
}

// Waiting is the id of a delivery with a text that waits in the channel "later", which is paused.
func (h *House) Waiting(text string) string {
	h.Helper()
	h.API("PUT", "/v1/channels/later", `{"driver":"discard"}`, nil)
	h.API("POST", "/v1/channels/later/pause", `{"reason":"for the test"}`, nil)
	body, _ := json.Marshal(map[string]any{"channel": "later", "kind": "leave", "ref": "4711", "to": []any{map[string]string{"user": "u1"}}, "content": map[string]string{"title": text, "text": text}})
	h.API("POST", "/v1/messages", string(body), nil)
	var list struct{ Items []posthouse.Delivery }
	h.API("GET", "/v1/deliveries?user=u1", "", &list)
	if len(list.Items) == 0 {
		h.Fatal("there is no delivery")
	}
	return list.Items[0].ID
}

// Exec changes the database behind the program's back.
func (h *House) Exec(text string) {
	h.Helper()
	db, err := sql.Open("sqlite", h.file+"?_pragma=busy_timeout(30000)") // the server writes too
	if err != nil {
		h.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(context.Background(), text); err != nil {
		h.Fatal(err)
	}
}

// VersionOf is the state of a thing that a form on a page was drawn from.
func VersionOf(page string) string {
	_, rest, _ := strings.Cut(page, `name="version" value="`)
	version, _, _ := strings.Cut(rest, `"`)
	return version
}
