package console_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
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
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/server"
)

// house is a whole server on a fresh SQLite file, whose handler is called without a network. It has a person for each role of
// the tenant default, and an administrator "other" of the tenant other; their sessions are the names of the roles.
type house struct {
	testing.TB
	serve http.Handler
	file  string
	link  string // of the first person, where there is none of ours
	key   string
}

// open is a house; with nobody it has no people but the first.
func open(tb testing.TB, nobody bool, change ...func(*server.Options)) *house {
	tb.Helper()
	h := &house{TB: tb}
	dsn := "sqlite:" + tb.TempDir() + "/posthouse.db"
	h.file = strings.TrimPrefix(dsn, "sqlite:")
	h.prepare(dsn, nobody)
	o := server.Options{
		DSN: dsn, NoListen: true, Log: slog.New(slog.DiscardHandler), Output: io.Discard, Version: "v1.2.3", StateDir: tb.TempDir(),
		CreateKeyring: true, KeyringFile: tb.TempDir() + "/posthouse.keys", AnnounceLink: func(path string) { h.link = path },
	}
	for _, f := range change {
		f(&o)
	}
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
	h.serve = s.Handler()
	return h
}

// prepare stores a key and people before the server opens the database.
func (h *house) prepare(dsn string, nobody bool) {
	h.Helper()
	ctx := context.Background()
	st, err := store.Open(ctx, store.Options{DSN: dsn, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		h.Fatal(err)
	}
	defer st.Close()
	if _, err := st.Schema.Migrate(ctx); err != nil {
		h.Fatal(err)
	}
	id, text := secret.NewKey()
	h.key = secret.FormatKey(id, text)
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

// reply is what came back.
type reply struct {
	status int
	body   string
	header http.Header
}

// to is where a reply leads.
func (r reply) to() string { return r.header.Get("Location") }

// ask is a request of a browser with a session, "" for none; a form makes it a POST. change may change it.
func (h *house) ask(session, path string, form url.Values, change ...func(*http.Request)) reply {
	h.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	if form != nil {
		r = httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	if session != "" {
		r.AddCookie(&http.Cookie{Name: "posthouse", Value: session})
	}
	r.Header.Set("Accept-Language", "en")
	for _, f := range change {
		f(r)
	}
	w := httptest.NewRecorder()
	h.serve.ServeHTTP(w, r)
	return reply{w.Code, w.Body.String(), w.Result().Header}
}

// page is a page that must be there.
func (h *house) page(session, path string, change ...func(*http.Request)) string {
	h.Helper()
	got := h.ask(session, path, nil, change...)
	if got.status != http.StatusOK {
		h.Fatalf("GET %s as %s: status %d, to %q\n%s", path, session, got.status, got.to(), got.body)
	}
	return got.body
}

// shows is an error for each text that a page lacks.
func (h *house) shows(page string, texts ...string) {
	h.Helper()
	for _, text := range texts {
		if !strings.Contains(page, text) {
			h.Errorf("the page lacks %q:\n%s", text, page)
		}
	}
}

// api calls the API with the key and decodes the answer.
func (h *house) api(method, path, body string, out any) {
	h.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+h.key)
	w := httptest.NewRecorder()
	h.serve.ServeHTTP(w, r)
	if w.Code/100 != 2 {
		h.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	if out != nil {
		if err := json.Unmarshal(w.Body.Bytes(), out); err != nil {
			h.Fatal(err)
		}
	}
}

// waiting is the id of a delivery with a text that waits in the channel "later", which is paused.
func (h *house) waiting(text string) string {
	h.Helper()
	h.api("PUT", "/v1/channels/later", `{"driver":"discard"}`, nil)
	h.api("POST", "/v1/channels/later/pause", `{"reason":"for the test"}`, nil)
	body, _ := json.Marshal(map[string]any{"channel": "later", "kind": "leave", "ref": "4711", "to": []any{map[string]string{"user": "u1"}}, "content": map[string]string{"title": text, "text": text}})
	h.api("POST", "/v1/messages", string(body), nil)
	var list struct{ Items []posthouse.Delivery }
	h.api("GET", "/v1/deliveries?user=u1", "", &list)
	if len(list.Items) == 0 {
		h.Fatal("there is no delivery")
	}
	return list.Items[0].ID
}

// exec changes the database behind the program's back.
func (h *house) exec(text string) {
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
