package api_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/builtin"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/sqltest"
	"github.com/posthouse/posthouse/server"
)

// house is a whole server on a fresh SQLite file, called over real HTTP.
type house struct {
	testing.TB
	url, dsn string
	http     *http.Client
	provider *provider
	// keys are the API keys by their names: read, send and admin of the tenant default, and other,
	// of scope admin for another tenant; agent is the key of an agent "y" that is not registered.
	keys map[string]string
}

// provider is the other side of the driver "test": it answers by the recipient's name and keeps
// what begins with "slow" waiting until release is closed.
type provider struct {
	release chan struct{}
	once    sync.Once
	began   chan string // users of the slow sends, as they begin
}

func (p *provider) Send(ctx context.Context, out channel.Outgoing) channel.Result {
	switch user := out.Recipient.User; {
	case strings.HasPrefix(user, "refused"):
		return channel.Result{Class: posthouse.ClassRecipient, Code: "NO_SUCH_USER", Error: "nobody of that name", Request: "POST /send", Response: "no"}
	case strings.HasPrefix(user, "lost"):
		return channel.Result{Class: posthouse.ClassUnknown, Code: "API_TIMEOUT", Error: "no answer"}
	case strings.HasPrefix(user, "slow"):
		p.began <- user
		select {
		case <-p.release:
		case <-ctx.Done():
			return channel.Result{Class: posthouse.ClassUnknown, Error: "ended"}
		}
	}
	return channel.Result{Class: posthouse.ClassOK, Ref: "ref-" + out.Delivery, Request: "POST /send", Response: "ok"}
}

func (p *provider) Test(context.Context) channel.Result {
	return channel.Result{Class: posthouse.ClassOK, Code: "PONG"}
}

func (p *provider) letGo() { p.once.Do(func() { close(p.release) }) }

func (p *provider) driver() channel.Type {
	return channel.Type{
		Name: "test", Title: "Test", TitleZH: "测试", Doc: "Answers as the test says.", DocZH: "按测试要求应答。", MaxBatch: 1,
		Fields: []channel.Field{
			{Name: "token", Label: "Token", LabelZH: "令牌", Kind: channel.KindSecret},
			{Name: "size", Label: "Size", LabelZH: "大小", Kind: channel.KindInt, Min: 1, Max: 9, Default: 3},
		},
		Open: func(channel.Config, channel.Env) (channel.Driver, error) { return p, nil },
	}
}

// open starts a house that closes with the test. It may be changed before it starts.
func open(tb testing.TB, change ...func(*server.Options)) *house {
	tb.Helper()
	h := &house{TB: tb, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}, provider: &provider{release: make(chan struct{}), began: make(chan string, 100)}, keys: map[string]string{}}
	o := server.Options{StateDir: tb.TempDir(),
		DSN: sqltest.Ready.SQLite(tb), Addr: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler), Output: io.Discard, Version: "v1.2.3",
		CreateKeyring: true, KeyringFile: tb.TempDir() + "/posthouse.keys",
		Drivers: append(builtin.Types(), h.provider.driver()), MaxBody: 1 << 20,
	}
	for _, f := range change {
		f(&o)
	}
	h.dsn = o.DSN
	h.prepareKeys(o.DSN)
	s, err := server.New(context.Background(), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		h.provider.letGo()
		h.http.CloseIdleConnections() // or the server waits for them
		if err := s.Stop(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	if err := s.Start(context.Background()); err != nil {
		tb.Fatal(err)
	}
	h.url = s.URL()
	return h
}

// prepareKeys stores the keys before the server opens the database.
func (h *house) prepareKeys(dsn string) {
	h.Helper()
	st, err := store.Open(context.Background(), store.Options{DSN: dsn, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		h.Fatal(err)
	}
	defer st.Close()
	if _, err := st.Schema.Migrate(context.Background()); err != nil {
		h.Fatal(err)
	}
	for name, key := range map[string]posthouse.Key{
		"read":  {Tenant: posthouse.DefaultTenant, Scope: posthouse.ScopeRead},
		"send":  {Tenant: posthouse.DefaultTenant, Scope: posthouse.ScopeSend},
		"admin": {Tenant: posthouse.DefaultTenant, Scope: posthouse.ScopeAdmin},
		"other": {Tenant: "other", Scope: posthouse.ScopeAdmin},
		"agent": {Tenant: posthouse.DefaultTenant, Scope: posthouse.ScopeAgent, Agent: "y"},
	} {
		id, text := secret.NewKey()
		key.ID, key.Name = id, name
		if err := st.Keys.AddKey(context.Background(), time.Now(), key, secret.HashKey(text)); err != nil {
			h.Fatal(err)
		}
		h.keys[name] = secret.FormatKey(id, text)
	}
}

// with is a house with the channels out (driver test, sends at once, holds what is unknown) and
// later (paused: its deliveries stay pending).
func with(tb testing.TB, change ...func(*server.Options)) *house {
	tb.Helper()
	h := open(tb, change...)
	h.must(201, "PUT", "/v1/channels/out", `{"driver":"test","on_unknown":"hold","timeout":"5m","config":{"token":"s3cret"}}`)
	h.must(201, "PUT", "/v1/channels/later", `{"driver":"test"}`)
	h.must(200, "POST", "/v1/channels/later/pause", `{"reason":"for the test"}`)
	return h
}

// request is one call. The key defaults to admin, "none" sends none; a body goes as JSON.
type request struct {
	method, path, body, key string
	header                  http.Header
}

// reply is what came back.
type reply struct {
	status int
	header http.Header
	body   string
}

func (h *house) do(r request) reply {
	h.Helper()
	got, err := h.try(r)
	if err != nil {
		h.Fatal(err)
	}
	return got
}

// try is do for other goroutines than the test's.
func (h *house) try(r request) (reply, error) {
	req, err := http.NewRequestWithContext(context.Background(), r.method, h.url+r.path, strings.NewReader(r.body))
	if err != nil {
		return reply{}, err
	}
	if r.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.key != "none" {
		req.Header.Set("Authorization", "Bearer "+cmp.Or(h.keys[cmp.Or(r.key, "admin")], r.key))
	}
	for name, values := range r.header {
		req.Header[name] = values
	}
	res, err := h.http.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	if res.Header.Get("Content-Type") == "text/event-stream" {
		return reply{res.StatusCode, res.Header, ""}, nil // it does not end: package server's tests read it
	}
	body, err := io.ReadAll(res.Body)
	return reply{res.StatusCode, res.Header, string(body)}, err
}

// must calls as admin and wants a status.
func (h *house) must(status int, method, path, body string) reply {
	h.Helper()
	got := h.do(request{method: method, path: path, body: body})
	if got.status != status {
		h.Fatalf("%s %s: got %d %s, want %d", method, path, got.status, got.body, status)
	}
	return got
}

// read decodes an answer, and refuses fields that T does not have.
func read[T any](tb testing.TB, r reply) T {
	tb.Helper()
	var v T
	d := json.NewDecoder(bytes.NewReader([]byte(r.body)))
	if err := d.Decode(&v); err != nil {
		tb.Fatalf("the answer %s: %v", r.body, err)
	}
	return v
}

// fault is an error's answer.
type fault struct {
	Status   int                 `json:"status"`
	Code     posthouse.Code      `json:"code"`
	Detail   string              `json:"detail"`
	Problems []posthouse.Problem `json:"problems"`
}

// list is a page of a list.
type list[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next"`
}

// send accepts a message to users and returns their deliveries' ids.
func (h *house) send(channel string, users ...string) []string {
	h.Helper()
	to := make([]posthouse.Recipient, len(users))
	for i, u := range users {
		to[i].User = u
	}
	body, err := json.Marshal(posthouse.Draft{Channel: channel, To: to, Content: &posthouse.Content{Text: "hello"}})
	if err != nil {
		h.Fatal(err)
	}
	accepted := read[posthouse.Accepted](h, h.must(202, "POST", "/v1/messages", string(body)))
	var ids []string
	for _, d := range accepted.Deliveries {
		ids = append(ids, d.ID)
	}
	return ids
}

// until waits for a delivery to be in a state.
func (h *house) until(id string, want posthouse.State) posthouse.Delivery {
	h.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		d := read[posthouse.Delivery](h, h.must(200, "GET", "/v1/deliveries/"+id, ""))
		if d.State == want {
			return d
		}
		select {
		case <-tick.C:
		case <-h.Context().Done():
			h.Fatalf("the delivery %s is %s, want %s", id, d.State, want)
		}
	}
}
