package webhook_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/channeltest"
	"github.com/posthouse/posthouse/channel/webhook"
)

const (
	newSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	oldSecret = "whsec_dGhpcyBpcyBhIHNlY3JldCBvZiAyNCBieXRlcw=="
)

// accepts are the behaviours that a webhook reads as accepted: its answer's body says nothing.
var accepts = map[string]posthouse.Class{
	"200 with rubbish":        posthouse.ClassOK,
	"200 with half an answer": posthouse.ClassOK,
	"200 that never ends":     posthouse.ClassOK,
	"200 with a gzip bomb":    posthouse.ClassOK,
}

func TestContractWithOneURL(t *testing.T) {
	channeltest.Run(t, channeltest.Case{
		Type: webhook.Type(),
		Config: func(url string) map[string]any {
			return map[string]any{
				"url": url, "secret": newSecret, "old_secrets": map[string]any{"2025": oldSecret},
				"headers": map[string]any{"X-Api-Key": "k-71a2b3c4"},
			}
		},
		Classes: accepts,
		Secrets: []string{newSecret, oldSecret, "k-71a2b3c4"},
	})
}

func TestContractWithAURLForEachRecipient(t *testing.T) {
	classes := map[string]posthouse.Class{"forbidden network": posthouse.ClassRecipient}
	for _, status := range []string{
		"302", "307", "401", "403", "404", "429, wait in seconds", "503, wait in seconds", "429, wait by date",
		"429, wait too long", "429, wait negative", "429, wait rubbish",
	} {
		classes["HTTP "+status] = posthouse.ClassTransient
	}
	for name, class := range accepts {
		classes[name] = class
	}
	channeltest.Run(t, channeltest.Case{
		Type:    webhook.Type(),
		Config:  func(string) map[string]any { return map[string]any{"secret": newSecret} },
		Egress:  func(url string) *posthouse.Egress { return toRecipients(t, url) },
		Address: func(url string) string { return url + "/hook" },
		Classes: classes,
		Secrets: []string{newSecret},
	})
}

// toRecipients lets a channel post to recipients' addresses at one host and port.
func toRecipients(t *testing.T, address string) *posthouse.Egress {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	return &posthouse.Egress{RecipientURLs: true, Hosts: []string{u.Hostname()}, Ports: []int{port}}
}

func open(t *testing.T, raw map[string]any, egress *posthouse.Egress) channel.Driver {
	t.Helper()
	config, problems := webhook.Type().Validate(raw)
	if problems = append(problems, webhook.Type().CheckEgress(config, egress)...); len(problems) > 0 {
		t.Fatalf("problems: %+v", problems)
	}
	d, err := webhook.Type().Open(config, channel.Env{Network: channel.Network{AllowPrivate: true}, Egress: webhook.Type().Egress(config, egress)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.(io.Closer).Close() })
	return d
}

func TestSignatureIsWhatTheReferenceLibraryExpects(t *testing.T) {
	t.Parallel()
	p := channeltest.NewProvider(t, channeltest.Reply(204, ""))
	d := open(t, map[string]any{"url": p.URL, "secret": newSecret, "old_secrets": map[string]any{"2025": oldSecret}}, nil)
	out := channel.Outgoing{
		Channel: "hooks", Message: "m", Delivery: "d", IdemKey: "01K0DELIVERY", Kind: "duty", Ref: "7",
		Recipient: posthouse.Recipient{User: "u1", Address: "a1"},
		Content:   posthouse.Content{Title: "值班", Text: "<b>&"},
		Payload:   json.RawMessage(`{"n":1}`),
	}
	for range 2 { // the id stays the same over attempts
		if r := d.Send(t.Context(), out); r.Class != posthouse.ClassOK {
			t.Fatalf("result = %+v", r)
		}
	}
	for _, a := range p.Arrivals() {
		if got := a.Header.Get("Webhook-Id"); got != "01K0DELIVERY" {
			t.Errorf("webhook-id = %q, want the delivery's idempotency key", got)
		}
		for _, secret := range []string{newSecret, oldSecret} {
			verifier, err := standardwebhooks.NewWebhook(secret)
			if err != nil {
				t.Fatal(err)
			}
			if err := verifier.Verify(a.Body, a.Header); err != nil {
				t.Errorf("a receiver with the secret %s refuses it: %v", secret, err)
			}
		}
	}
	stranger, _ := standardwebhooks.NewWebhook("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	if err := stranger.Verify(p.Arrivals()[0].Body, p.Arrivals()[0].Header); err == nil {
		t.Error("a receiver with another secret accepts it")
	}
}

func TestBodyHoldsTheMessage(t *testing.T) {
	t.Parallel()
	p := channeltest.NewProvider(t, channeltest.Reply(200, ""))
	d := open(t, map[string]any{"url": p.URL, "secret": newSecret, "type": "duty.notice"}, nil)
	d.Send(t.Context(), channel.Outgoing{
		Channel: "hooks", Message: "m", Delivery: "d", IdemKey: "d", Kind: "duty", Ref: "7",
		Recipient: posthouse.Recipient{User: "u1", Address: "a1"}, Content: posthouse.Content{Title: "t", Text: "x"},
		Payload: json.RawMessage(`{"n":1}`),
	})
	var got struct {
		Type      string
		Timestamp time.Time
		Data      map[string]any
	}
	if err := json.Unmarshal(p.Arrivals()[0].Body, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"message": "m", "delivery": "d", "channel": "hooks", "kind": "duty", "ref": "7", "user": "u1", "address": "a1",
		"title": "t", "text": "x", "payload": map[string]any{"n": 1.0},
	}
	if diff := cmp.Diff(want, got.Data); diff != "" || got.Type != "duty.notice" || got.Timestamp.IsZero() {
		t.Errorf("type %q at %s, data (-want +got):\n%s", got.Type, got.Timestamp, diff)
	}
}

func TestConfigurationNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	_, problems := webhook.Type().Validate(map[string]any{
		"url": "ftp://example.com", "secret": "short", "old_secrets": map[string]any{"a": "whsec_AAAA"},
		"headers": map[string]any{"X-A": "1\r\nX-B: 2", "X Y": "1"},
	})
	var got []string
	for _, p := range problems {
		got = append(got, p.Path)
	}
	want := []string{"config.url", "config.secret", "config.old_secrets.a", "config.headers.X Y", "config.headers.X-A"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}

func TestAddressThatIsNoURLIsTheRecipientsFault(t *testing.T) {
	t.Parallel()
	d := toURLs(t, toRecipients(t, "http://a.example:80"))
	for _, address := range []string{"13800005678", "file:///etc/passwd", "http://", "https://a:b@example.com/", "http://x\r\ny/"} {
		r := d.Send(t.Context(), channel.Outgoing{IdemKey: "d", Recipient: posthouse.Recipient{Address: address}})
		if r.Class != posthouse.ClassRecipient || r.Error == "" {
			t.Errorf("%q: result = %+v, want class recipient", address, r)
		}
	}
}

// toURLs opens a webhook that posts to recipients' addresses.
func toURLs(t *testing.T, egress *posthouse.Egress) channel.Driver {
	t.Helper()
	return open(t, map[string]any{"secret": newSecret}, egress)
}

// A recipient's address decides where to only where the channel says so, and as far as it says.
func TestRecipientsAddressesAreBounded(t *testing.T) {
	t.Parallel()
	p := channeltest.NewProvider(t, channeltest.Reply(200, "inner secrets"))
	mine, _ := url.Parse(p.URL)
	port, _ := strconv.Atoi(mine.Port())
	for _, c := range []struct {
		name, address string
		hosts         []string
		ports         []int
		says          string // empty where it is posted
	}{
		{"host and port are named", p.URL + "/hook", []string{"127.0.0.1"}, []int{port}, ""},
		{"any host", p.URL + "/hook", []string{"*"}, []int{port}, ""},
		{"only usual ports", p.URL + "/hook", []string{"*"}, nil, "the port " + mine.Port() + " is not among its egress.ports, 80 443"},
		{"an implied port", "https://127.0.0.1/", []string{"*"}, []int{80}, "port 443"},
		{"another host", p.URL, []string{"*.example.com"}, []int{port}, "the host 127.0.0.1"},
		{"a host that ends alike", "http://evilexample.com/", []string{"*.example.com"}, nil, "host evilexample.com"},
		{"not below itself", "http://.example.com/", []string{"*.example.com"}, nil, "host .example.com"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := toURLs(t, &posthouse.Egress{RecipientURLs: true, Hosts: c.hosts, Ports: c.ports})
			r := d.Send(t.Context(), channel.Outgoing{IdemKey: "d", Recipient: posthouse.Recipient{Address: c.address}})
			if c.says == "" && r.Class != posthouse.ClassOK || c.says != "" && (r.Class != posthouse.ClassRecipient || !strings.Contains(r.Error, c.says)) {
				t.Errorf("got %+v, want %q", r, c.says)
			}
		})
	}
}

func TestGoneEndpointOfARecipientIsFinal(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) }))
	t.Cleanup(gone.Close)
	d := toURLs(t, toRecipients(t, gone.URL))
	r := d.Send(t.Context(), channel.Outgoing{IdemKey: "d", Recipient: posthouse.Recipient{Address: gone.URL}})
	if r.Class != posthouse.ClassRecipient || r.Code != "HTTP_410" {
		t.Errorf("result = %+v, want class recipient and code HTTP_410", r)
	}
}
