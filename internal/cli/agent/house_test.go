package agent

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/simulator"
)

// The login of the SMS front door.
const (
	user     = "短信"
	password = "对暗号-7"
)

// house is a server with a pulled channel and one agent, and a simulator with the agent's phone.
type house struct {
	t      *testing.T
	url    string
	key    string // the agent's
	sim    *simulator.Simulator
	sink   *bytes.Buffer // the simulator's journal
	phone  string        // the simulator's URL
	client *client.Client
}

func newHouse(t *testing.T, change ...func(*server.Options)) *house {
	t.Helper()
	h := &house{t: t, sink: &bytes.Buffer{}}
	h.sim = simulator.New(simulator.Options{Log: quiet(), Journal: h.sink})
	phones := httptest.NewServer(h.sim)
	t.Cleanup(phones.Close)
	h.phone = phones.URL
	key := secret.FormatKey(secret.NewKey())
	o := server.Options{
		DSN: "sqlite:" + filepath.Join(t.TempDir(), "posthouse.db"), Addr: "127.0.0.1:0", AdminKey: key,
		AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Poll: 50 * time.Millisecond, RescueEvery: 100 * time.Millisecond,
		Log: quiet(), Output: io.Discard, Version: "test",
	}
	for _, f := range change {
		f(&o)
	}
	s, err := server.New(t.Context(), o)
	must(t, err)
	t.Cleanup(func() { must(t, s.Stop(context.WithoutCancel(t.Context()))) })
	must(t, s.Start(t.Context()))
	h.url = s.URL()
	h.client, err = client.New(client.Options{URL: h.url, Key: key})
	must(t, err)
	h.channel("phones", posthouse.ChannelSettings{Tries: 4, Backoff: []posthouse.Duration{posthouse.Duration(50 * time.Millisecond)}})
	h.key = h.agent("phone-1", "phones")
	return h
}

// agent registers an agent and answers its key.
func (h *house) agent(id, channel string) string {
	h.t.Helper()
	made, err := h.client.Agents.Add(h.t.Context(), posthouse.Agent{ID: id, Channels: []string{channel}, Limits: []posthouse.Limit{}})
	must(h.t, err)
	return made.Secret
}

// withSMS opens the SMS front door.
func withSMS(o *server.Options) { o.SMS = server.SMS{Username: user, Password: password} }

func (h *house) channel(name string, s posthouse.ChannelSettings) {
	h.t.Helper()
	_, _, err := h.client.Channels.Put(h.t.Context(), posthouse.Channel{Name: name, Driver: "pull", ChannelSettings: s})
	must(h.t, err)
}

// send hands in a message to each number and answers their ids.
func (h *house) send(numbers ...string) []string {
	h.t.Helper()
	var ids []string
	for _, n := range numbers {
		sent, err := h.client.Messages.Send(h.t.Context(), posthouse.Draft{
			Channel: "phones", To: []posthouse.Recipient{{Address: n}}, Content: &posthouse.Content{Text: "您的验证码是123456"},
		})
		must(h.t, err)
		ids = append(ids, sent.Accepted[0].ID)
	}
	return ids
}

// states are the states of messages' only deliveries.
func (h *house) states(ids ...string) []posthouse.State {
	h.t.Helper()
	var out []posthouse.State
	for _, id := range ids {
		out = append(out, h.delivery(id).State)
	}
	return out
}

func (h *house) delivery(message string) posthouse.Delivery {
	h.t.Helper()
	m, err := h.client.Messages.Get(h.t.Context(), message)
	must(h.t, err)
	return m.Deliveries[0]
}

// options are an agent that sends by the simulator's phone until there is nothing left.
func (h *house) options(change ...func(*Options)) Options {
	o := Options{
		URL: h.url, ID: "phone-1", Key: h.key, Once: true, Log: quiet(),
		Phone: Simulated(h.phone, "phone-1", &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}),
	}
	for _, f := range change {
		f(&o)
	}
	return o
}

// run runs an agent to its end.
func (h *house) run(ctx context.Context, o Options) (Totals, error) {
	h.t.Helper()
	a, err := New(o)
	must(h.t, err)
	err = a.Run(ctx)
	return a.Totals(), err
}

// arrived is how often each number was sent to.
func (h *house) arrived() map[string]int {
	out := map[string]int{}
	for _, a := range h.sim.Arrivals(simulator.Filter{Limit: 1000}) {
		if a.Answer != simulator.Refused {
			out[strings.TrimPrefix(a.User, "+86")]++
		}
	}
	return out
}

// road loses answers: the request arrives, its answer does not.
type road struct{ lose func(path string) bool }

var errLost = errors.New("the answer was lost")

func (r road) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(req)
	if err == nil && r.lose(req.URL.Path) {
		res.Body.Close()
		return nil, errLost
	}
	return res, err
}

// losing makes an agent lose the answers of calls whose path ends so, as often as said.
func losing(end string, times int) func(*Options) {
	return func(o *Options) {
		o.HTTP = &http.Client{Transport: road{func(path string) bool {
			if times == 0 || !strings.HasSuffix(path, end) {
				return false
			}
			times--
			return true
		}}}
	}
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
