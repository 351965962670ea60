package e2e

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/simulator"
)

// house is a server that a browser can reach, on a fresh SQLite file, beside simulated providers.
type house struct {
	testing.TB
	url       string
	simulator string
	file      string // of the database
	link      string // signs the first person in, once
	api       *client.Client
}

// open starts a house.
func open(tb testing.TB, change ...func(*server.Options)) *house {
	tb.Helper()
	h := &house{TB: tb}
	providers := httptest.NewServer(simulator.New(simulator.Options{Log: slog.New(slog.DiscardHandler)}))
	tb.Cleanup(providers.Close)
	h.simulator = providers.URL
	id, text := secret.NewKey()
	key, path := secret.FormatKey(id, text), ""
	dir := tb.TempDir()
	h.file = dir + "/posthouse.db"
	o := server.Options{
		DSN: "sqlite:" + dir + "/posthouse.db", Addr: "127.0.0.1:0", AdminKey: key, CreateKeyring: true, KeyringFile: dir + "/posthouse.keys", StateDir: dir,
		Log: slog.New(slog.DiscardHandler), Output: io.Discard, Version: "e2e", AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		AnnounceLink: func(p string) { path = p },
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
	h.url, h.link = s.URL(), s.URL()+path
	if h.api, err = client.New(client.Options{URL: h.url, Key: key}); err != nil {
		tb.Fatal(err)
	}
	return h
}

// at is the address of a page of the first tenant.
func (h *house) at(path string) string {
	return h.url + "/console/t/" + posthouse.DefaultTenant + "/" + path
}

// gateway makes a channel to a simulated provider. Where nothing is changed, it tries once and holds what is unknown for a person.
func (h *house) gateway(name string, change ...func(*posthouse.Channel)) {
	h.Helper()
	c := posthouse.Channel{
		Name: name, Driver: "httpapi", ChannelSettings: posthouse.ChannelSettings{Tries: 1, OnUnknown: posthouse.Hold},
		Config: map[string]any{"url": h.simulator + "/generic/" + name, "body": `{"to": "${user}", "title": "${title}", "text": "${text}"}`, "id_path": "$.id"},
	}
	for _, f := range change {
		f(&c)
	}
	if _, _, err := h.api.Channels.Put(h.Context(), c); err != nil {
		h.Fatal(err)
	}
}

// breaks says how a simulated provider fails from now on, in the simulator's own form.
func (h *house) breaks(provider, faults string) {
	h.Helper()
	r, err := http.NewRequestWithContext(h.Context(), http.MethodPut, h.simulator+"/faults/"+provider, strings.NewReader(faults))
	if err != nil {
		h.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		h.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		h.Fatal("the simulator answers", answer.Status)
	}
}

// send hands a message in, and waits until none of its deliveries is about to be sent.
func (h *house) send(d posthouse.Draft) []posthouse.Delivery {
	h.Helper()
	sent, err := h.api.Messages.Send(h.Context(), d)
	if err != nil {
		h.Fatal(err)
	}
	ctx, end := context.WithTimeout(h.Context(), patience)
	defer end()
	for {
		m, err := h.api.Messages.Get(ctx, sent.Accepted[0].ID)
		if err != nil {
			h.Fatal(err)
		}
		if m.Counts[posthouse.Pending]+m.Counts[posthouse.Sending] == 0 {
			return m.Deliveries
		}
	}
}
