package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/builtin"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/server"
)

// house is a client of a whole server on a fresh SQLite file, over real HTTP. The tape keeps the
// last answer.
type house struct {
	testing.TB
	*client.Client
	tape *tape
	url  string
}

// tape is a transport that keeps the body of the last answer.
type tape struct{ last []byte }

func (t *tape) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	t.last, err = io.ReadAll(res.Body)
	res.Body = io.NopCloser(bytes.NewReader(t.last))
	return res, err
}

// moody is a driver that answers by the recipient's name.
type moody struct{}

func (moody) Send(_ context.Context, out channel.Outgoing) channel.Result {
	switch out.Recipient.User {
	case "refused":
		return channel.Result{Class: posthouse.ClassRecipient, Code: "NO_SUCH_USER", Error: "nobody of that name", Request: "POST /send", Response: "no"}
	case "lost":
		return channel.Result{Class: posthouse.ClassUnknown, Code: "API_TIMEOUT", Error: "no answer"}
	}
	return channel.Result{Class: posthouse.ClassOK, Ref: "r1"}
}

func moodyType() channel.Type {
	return channel.Type{
		Name: "moody", Title: "Moody", TitleZH: "看人下菜", Doc: "Answers by the recipient's name.", DocZH: "按收件人应答。", MaxBatch: 1,
		Open: func(channel.Config, channel.Env) (channel.Driver, error) { return moody{}, nil },
	}
}

// serve starts a server on a fresh SQLite file in a folder, and returns its address, an admin key
// and what ends it.
func serve(folder string) (url, key string, stop func() error, err error) {
	ctx := context.Background()
	key = secret.FormatKey(secret.NewKey())
	s, err := server.New(ctx, server.Options{
		DSN: "sqlite:" + folder + "/posthouse.db", Addr: "127.0.0.1:0", AdminKey: key, Version: "v1.2.3",
		Drivers: append(builtin.Types(), moodyType()), Log: slog.New(slog.DiscardHandler), Output: io.Discard,
	})
	if err != nil {
		return "", "", nil, err
	}
	if err := s.Start(ctx); err != nil {
		return "", "", nil, errors.Join(err, s.Stop(ctx))
	}
	return s.URL(), key, func() error {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections() // or the server waits for them
		return s.Stop(ctx)
	}, nil
}

// served is serve for a test, with which it ends.
func served(t *testing.T) (url, key string) {
	t.Helper()
	url, key, stop, err := serve(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return url, key
}

// open makes a house with the channels out (sends at once) and later (paused).
func open(t *testing.T) *house {
	t.Helper()
	url, key := served(t)
	h := &house{TB: t, tape: &tape{}, url: url}
	var err error
	if h.Client, err = client.New(client.Options{URL: url, Key: key, HTTP: &http.Client{Transport: h.tape}}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"out", "later"} {
		ch := posthouse.Channel{Name: name, Driver: "moody", ChannelSettings: posthouse.ChannelSettings{OnUnknown: posthouse.Hold}}
		if _, _, err := h.Channels.Put(t.Context(), ch); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.Channels.Pause(t.Context(), "later", "for the test"); err != nil {
		t.Fatal(err)
	}
	return h
}

// whole wants a call to succeed, and its result to hold all that the server answered.
func whole[T any](h *house, got T, err error) T {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
	kept, err := json.Marshal(got)
	if err != nil {
		h.Fatal(err)
	}
	if diff := cmp.Diff(fields(h, h.tape.last), fields(h, kept)); diff != "" {
		h.Errorf("%T: the server's answer (-) is not what the client made of it (+):\n%s", got, diff)
	}
	return got
}

// fields decodes an answer, a page as its items and a list of results as these.
func fields(h *house, text []byte) any {
	h.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		h.Fatalf("the answer %.200q: %v", text, err)
	}
	for _, name := range []string{"items", "results"} {
		if list, ok := v.(map[string]any); ok && list[name] != nil {
			return list[name]
		}
	}
	return v
}

// draft is a short message to users.
func draft(channel string, users ...string) posthouse.Draft {
	d := posthouse.Draft{Channel: channel, Kind: "duty", Ref: "7", Content: &posthouse.Content{Text: "hello"}}
	for _, u := range users {
		d.To = append(d.To, posthouse.Recipient{User: u})
	}
	return d
}

// send hands in a message to one user and returns the delivery's id.
func (h *house) send(channel, user string) string {
	h.Helper()
	sent, err := h.Messages.Send(h.Context(), draft(channel, user))
	if err != nil {
		h.Fatal(err)
	}
	return sent.Accepted[0].Deliveries[0].ID
}

// until waits for a delivery to be in a state.
func (h *house) until(id string, want posthouse.State) {
	h.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		d, err := h.Deliveries.Get(h.Context(), id)
		if err != nil {
			h.Fatal(err)
		}
		if d.State == want {
			return
		}
		select {
		case <-tick.C:
		case <-h.Context().Done():
			h.Fatalf("the delivery %s is %s, want %s", id, d.State, want)
		}
	}
}

func ptr[T any](v T) *T { return &v }
