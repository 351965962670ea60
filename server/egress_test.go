package server_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
)

// inner is a service of the house that no channel has any business with, on a network that the server may dial.
type inner struct {
	*httptest.Server
	reached atomic.Int32
	port    int
}

func newInner(t *testing.T) *inner {
	t.Helper()
	in := new(inner)
	in.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		in.reached.Add(1)
		http.Error(w, "inner secrets", http.StatusTeapot)
	}))
	t.Cleanup(in.Close)
	u, err := url.Parse(in.URL)
	if err != nil {
		t.Fatal(err)
	}
	in.port, err = strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// attempt sends a message and returns what became of its one attempt.
func (h *house) attempt(channel string, to posthouse.Recipient, content posthouse.Content) (posthouse.Delivery, posthouse.Attempt) {
	h.Helper()
	_, err := h.api.Channels.Resume(h.Context(), channel) // an attempt before may have parked it
	h.must(err)
	accepted := h.hand(posthouse.Draft{Channel: channel, To: []posthouse.Recipient{to}, Content: &content})
	var d posthouse.Delivery
	h.eventually("the attempt has ended", func() bool {
		d, err = h.api.Deliveries.Get(h.Context(), accepted.Deliveries[0].ID)
		h.must(err)
		return d.State != posthouse.Sending && d.Attempts > 0
	})
	return d, h.attempts(d.ID)[0]
}

// A channel calls what its configuration names, whatever recipients, templates and contents hold, and keeps no answer unasked.
func TestAChannelReachesOnlyWhatItMayCall(t *testing.T) {
	t.Parallel()
	h, in := open(t, dbtest.SQLite(t)), newInner(t)
	redirects := httptest.NewServer(http.RedirectHandler(in.URL, http.StatusTemporaryRedirect))
	t.Cleanup(redirects.Close)
	here := strings.TrimPrefix(in.URL, "http://")
	text := posthouse.Content{Text: "hello"}
	put := func(name, driver string, config map[string]any, e *posthouse.Egress) {
		h.put(posthouse.Channel{Name: name, Driver: driver, Config: config, ChannelSettings: posthouse.ChannelSettings{Egress: e, Tries: 1}})
	}
	secret := hook(h).Config["secret"]
	put("addressed", "webhook", map[string]any{"secret": secret}, &posthouse.Egress{RecipientURLs: true, Hosts: []string{"*"}})
	for _, name := range []string{"filled", "filled-too", "filled-again"} { // what is refused stays, and would be tried before the next
		put(name, "httpapi", map[string]any{"url": h.sim.URL() + "/${address}", "body": "{}"}, nil)
	}
	put("redirected", "httpapi", map[string]any{"url": redirects.URL, "body": "{}"}, &posthouse.Egress{Hosts: []string{"*"}})
	put("pictures", "wecom_robot", map[string]any{"url": h.sim.URL() + "/wecom_robot/cgi-bin/webhook/send", "key": "any"}, nil)
	picture := posthouse.Content{Type: posthouse.ImageContent, Media: []posthouse.Media{{URL: in.URL + "/a.png"}}}
	for _, c := range []struct {
		channel, address string
		content          posthouse.Content
	}{
		{"addressed", in.URL, text},
		{"filled", "@" + here + "/", text},
		{"filled-too", "/" + here + "/", text},
		{"filled-again", `\\@` + here, text},
		{"redirected", "u1", text},
	} {
		d, a := h.attempt(c.channel, posthouse.Recipient{User: "u1", Address: c.address}, c.content)
		if in.reached.Load() != 0 {
			t.Fatalf("%s to %q reached what it may not: %+v", c.channel, c.address, a)
		}
		if d.State == posthouse.Sent || a.Response != "" {
			t.Errorf("%s to %q is %s; attempt %+v", c.channel, c.address, d.State, a)
		}
	}
	_, err := h.api.Messages.Send(t.Context(), posthouse.Draft{Channel: "pictures", To: []posthouse.Recipient{{User: "u1", Address: "u1"}}, Content: &picture})
	if coded := new(posthouse.Error); !errors.As(err, &coded) || len(coded.Problems) != 1 || !strings.HasSuffix(coded.Problems[0].Path, "content.media[0].url") || in.reached.Load() != 0 {
		t.Errorf("a picture that the channel may not fetch: %v", err)
	}
}

// What the egress names is reached, and its answer is kept where the channel says so.
func TestWhatTheEgressNamesIsReached(t *testing.T) {
	t.Parallel()
	h, in := open(t, dbtest.SQLite(t)), newInner(t)
	keep := true
	ch := hook(h)
	ch.ChannelSettings = posthouse.ChannelSettings{
		Tries: 1, KeepAnswers: &keep, ProbeAfter: posthouse.Duration(time.Hour),
		Egress: &posthouse.Egress{RecipientURLs: true, Hosts: []string{"127.0.0.1"}, Ports: []int{in.port}},
	}
	delete(ch.Config, "url")
	stored := h.put(ch)
	if _, a := h.attempt("hook", posthouse.Recipient{User: "u1", Address: in.URL}, posthouse.Content{Text: "hello"}); in.reached.Load() != 1 || strings.TrimSpace(a.Response) != "inner secrets" {
		t.Errorf("reached %d times, attempt %+v", in.reached.Load(), a)
	}
	for name, change := range map[string]func(e *posthouse.Egress){
		"another host":  func(e *posthouse.Egress) { e.Hosts = []string{"*"} },
		"another port":  func(e *posthouse.Egress) { e.Ports = nil },
		"nobody at all": func(e *posthouse.Egress) { e.RecipientURLs = false },
	} {
		moved, egress := stored, *stored.Egress
		change(&egress)
		moved.Egress = &egress
		if _, _, err := h.api.Channels.Put(t.Context(), moved); posthouse.CodeOf(err) != posthouse.CodeInvalid {
			t.Errorf("%s with the secret masked gives %v, want invalid: the secret would go elsewhere", name, err)
		}
	}
	h.put(stored) // as it was read
}
