package server_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/builtin"
	"github.com/posthouse/posthouse/internal/proof"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/wire"
)

// A key of scope read sees no link of acknowledgement, no card's key and no link to preferences. The provider got them, and quotes them in its
// answer: no door shows that either. The proof has the digest of the text that was sent, and is checked as before.
func TestNoDoorShowsTheLinksByWhichAPersonActs(t *testing.T) {
	t.Parallel()
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			p := &scripted{answer: map[string]func(channel.Outgoing) channel.Result{}}
			h := open(t, d.dsn(t), func(o *server.Options) {
				o.Drivers, o.PublicURL = append(builtin.Types(), p.driver()), "https://post.example"
			})
			h.put(posthouse.Channel{Name: "a", Driver: "scripted", ChannelSettings: atOnce(20 * time.Millisecond)})
			_, err := h.api.Templates.Put(h.Context(), posthouse.Template{Name: "filled", Title: "open ${ack_url}", Text: "see ${ack_url} ${preferences_url}"})
			h.must(err)
			p.answers("a", func(out channel.Outgoing) channel.Result { // a provider that quotes what it got
				said := out.Content.Title + out.Content.Text + string(out.Content.Extra)
				return channel.Result{Class: posthouse.ClassOK, Ref: "r1", Request: said, Response: "took " + url.QueryEscape(said)}
			})
			until := []posthouse.RouteStep{{Channels: []string{"a"}, Until: posthouse.ProofAcknowledged, Within: posthouse.Duration(time.Hour)}}
			h.way("plain", posthouse.Route{Steps: until})
			filled := until[0]
			filled.Template = "filled"
			h.way("filled", posthouse.Route{Steps: []posthouse.RouteStep{filled}})
			to := []posthouse.Recipient{{User: "u1"}}
			says := posthouse.Content{Title: "t ${ack_url}", Text: "x ${ack_url} ${preferences_url}", Extra: json.RawMessage(`{"button":"${ack_key}"}`)}
			sent, err := h.api.Messages.Send(h.Context(),
				posthouse.Draft{Route: "plain", To: to, Content: &says},
				posthouse.Draft{Route: "filled", To: to, Payload: json.RawMessage(`{}`), Content: &posthouse.Content{Text: "-"}},
				posthouse.Draft{Route: "plain", To: to, Content: &says, Sensitive: true})
			h.must(err)
			h.eventually("all is sent", func() bool {
				return h.number("SELECT COUNT(*) FROM posthouse_deliveries WHERE state = 'sent'") == 3
			})
			h.sealed()
			live := regexp.MustCompile(`p1\.[a-z0-9]+\.[A-Za-z0-9_-]{20}`)
			if list := p.texts("a"); len(list) != 3 || len(live.FindAllString(list[0], -1)) != 2 {
				h.Fatalf("the provider got %q", list)
			}
			reader, admin := h.keyOf(posthouse.ScopeRead), h.key
			shows := func(key, method, path string, body string) string {
				h.Helper()
				req, err := http.NewRequestWithContext(h.Context(), method, h.url+path, strings.NewReader(body))
				h.must(err)
				req.Header.Set("Authorization", "Bearer "+key)
				req.Header.Set("Content-Type", "application/json")
				res, err := http.DefaultClient.Do(req)
				h.must(err)
				defer res.Body.Close()
				text, err := io.ReadAll(res.Body)
				h.must(err)
				if res.StatusCode != http.StatusOK {
					h.Errorf("%s %s: got %d %s", method, path, res.StatusCode, text)
				}
				if found := live.FindString(string(text)); found != "" {
					h.Errorf("%s %s shows %s", method, path, found)
				}
				for _, file := range regexp.MustCompile(`base64,([A-Za-z0-9+/=]+)`).FindAllStringSubmatch(strings.ReplaceAll(string(text), "&#43;", "+"), -1) {
					if raw, err := base64.StdEncoding.DecodeString(file[1]); err != nil || live.Match(raw) {
						h.Errorf("%s %s: the file in it shows a link, %v", method, path, err)
					}
				}
				return string(text)
			}
			for i := range sent.Accepted {
				list, err := h.api.Notifications.Of(h.Context(), sent.Accepted[i].ID)
				h.must(err)
				delivery := list[0].Deliveries[0].ID
				message := posthouse.MessageID(delivery)
				for _, key := range []string{reader, admin} {
					for _, path := range []string{
						"/v1/messages/" + sent.Accepted[i].ID, "/v1/messages/" + message, "/v1/messages/" + sent.Accepted[i].ID + "/proof", "/v1/messages/" + message + "/proof",
						"/v1/messages/" + message + "/proof?format=html", "/v1/messages/" + sent.Accepted[i].ID + "/notifications", "/v1/notifications/" + list[0].ID,
						"/v1/deliveries/" + delivery, "/v1/deliveries/" + delivery + "/story", "/v1/deliveries/" + delivery + "/events", "/v1/deliveries/" + delivery + "/attempts", "/v1/deliveries/" + delivery + "/explain",
					} {
						shows(key, http.MethodGet, path, "")
					}
				}
				if i == 2 {
					if got := shows(admin, http.MethodPost, "/v1/messages/"+message+"/reveal", `{"reason":"test"}`); !strings.Contains(got, "/ack/***") {
						h.Errorf("what is revealed: %s", got)
					}
					shows(admin, http.MethodPost, "/v1/messages/"+message+"/proof/reveal", `{"reason":"test"}`)
					continue
				}
				made, s := h.proves(sent.Accepted[i].ID, "")
				part := s.Parts[0]
				p.mu.Lock()
				whole := map[string]string{}
				for _, out := range p.came {
					whole[out.Content.Text] = proof.TextDigest(out.Content.Text)
				}
				p.mu.Unlock()
				known := false
				for _, sum := range whole {
					known = known || sum == part.Masked["text"]
				}
				if !known || part.Chain.State != wire.ProofSealed || part.Chain.Row != "" || !part.Chain.Masked || !noted(s, "links_masked") || !noted(s, "chain_masked") {
					h.Errorf("the statement: %+v", part)
				}
				if !strings.Contains(made.Statement, "/ack/***") {
					h.Errorf("the statement does not show where a link was: %s", made.Statement)
				}
			}
			shows(reader, http.MethodGet, "/v1/messages", "")
			shows(reader, http.MethodGet, "/v1/deliveries", "")
		})
	}
}

// A proof of one person of a route for any of several names no one else.
func TestAProofOfOnePersonNamesNoOther(t *testing.T) {
	t.Parallel()
	p := &scripted{answer: map[string]func(channel.Outgoing) channel.Result{}}
	h := open(t, databases[0].dsn(t), func(o *server.Options) { o.Drivers = append(builtin.Types(), p.driver()) })
	h.put(posthouse.Channel{Name: "a", Driver: "scripted", ChannelSettings: atOnce(20 * time.Millisecond)})
	h.way("any", posthouse.Route{For: posthouse.RouteAny, Steps: []posthouse.RouteStep{{Channels: []string{"a"}, Until: posthouse.ProofAcknowledged, Within: posthouse.Duration(time.Hour)}}})
	message, list := h.routes("any", "li.na", "wang.fang", "zhao.lei")
	h.eventually("all are told", func() bool { return len(p.on("a")) == 3 })
	h.eventually("all is written", func() bool {
		return h.number("SELECT COUNT(*) FROM posthouse_deliveries WHERE state = 'sent'") == 3
	})
	_, err := h.api.Notifications.Acknowledge(h.Context(), list[0].ID, wire.Ack{By: "wang.fang", Evidence: json.RawMessage(`{"note":"zhao.lei is on it"}`)})
	h.must(err)
	made, s := h.proves(message, "li.na")
	if n := s.Notifications[0]; len(n.To) != 1 || len(n.Deliveries) != 1 || n.Ack == nil || n.Ack.By != "" || s.Others != 2 || len(s.Parts) != 1 || !noted(s, "others_unnamed") {
		h.Errorf("the statement: %+v", s)
	}
	if strings.Contains(made.Statement, "wang.fang") || strings.Contains(made.Statement, "zhao.lei") {
		h.Errorf("the statement names others: %s", made.Statement)
	}
	page, err := proof.Page(made, true, time.UTC)
	if err != nil || !strings.Contains(string(page), "另一位收件人") {
		h.Errorf("the page: %v", err)
	}
	if _, s = h.proves(message, ""); len(s.Notifications[0].To) != 3 || s.Notifications[0].Ack.By != "wang.fang" || s.Others != 0 {
		h.Errorf("of all: %+v", s.Notifications[0])
	}
}

// A link that a program before the short form sent goes on.
func TestALinkOfBeforeGoesOn(t *testing.T) {
	t.Parallel()
	p := &scripted{answer: map[string]func(channel.Outgoing) channel.Result{}}
	h := open(t, databases[0].dsn(t), func(o *server.Options) {
		o.Drivers, o.PublicURL = append(builtin.Types(), p.driver()), "https://post.example"
	})
	h.put(posthouse.Channel{Name: "a", Driver: "scripted", ChannelSettings: atOnce(20 * time.Millisecond)})
	_, err := h.api.Users.Put(h.Context(), posthouse.User{ID: "ny", Language: "en", TimeZone: "America/New_York"})
	h.must(err)
	h.way("w", posthouse.Route{Steps: []posthouse.RouteStep{{Channels: []string{"a"}, Until: posthouse.ProofAcknowledged, Within: posthouse.Duration(time.Hour)}}})
	sent, err := h.api.Messages.Send(h.Context(), posthouse.Draft{Route: "w", To: []posthouse.Recipient{{User: "ny"}}, Content: &posthouse.Content{Title: "Disk \u202efull", Text: "${ack_url}"}})
	h.must(err)
	h.eventually("it arrives", func() bool { return len(p.on("a")) == 1 })
	if short := p.texts("a")[0]; len(short) > len("https://post.example/ack/")+110 {
		h.Errorf("the link has %d characters: %s", len(short), short)
	}
	ring, err := secret.Parse(keyring)
	h.must(err)
	claim, _ := json.Marshal(map[string]any{"t": "default", "n": posthouse.DeliveryID(sent.Accepted[0].ID, 1), "u": "ny", "e": time.Now().Add(time.Hour).Unix()}) // texts: cannot fail
	sealed, err := ring.Seal(string(claim), secret.AAD("acknowledgement"))
	h.must(err)
	res, err := http.Get(h.url + "/ack/" + base64.RawURLEncoding.EncodeToString([]byte(sealed))) //nolint:noctx // the test's own server
	h.must(err)
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	h.must(err)
	// The person reads English and lives in New York, though the browser says nothing; what turns the order of a text is shown.
	for _, want := range []string{"I have taken note", "Disk [U+202E]full", "ny"} {
		if res.StatusCode != http.StatusOK || !strings.Contains(string(page), want) {
			h.Errorf("got %d without %q: %s", res.StatusCode, want, page)
		}
	}
	if !regexp.MustCompile(`[0-9:]{8} -0[45]:00<|[0-9:]{8} -0[45]:00`).Match(page) {
		h.Errorf("the time is not New York's: %s", page)
	}
}
