package email_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-msgauth/dkim"
	"github.com/emersion/go-smtp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/channeltest"
	"github.com/posthouse/posthouse/channel/email"
)

func TestContract(t *testing.T) {
	p := open(t, options{auth: []string{"PLAIN"}})
	channeltest.Run(t, channeltest.Case{
		Type: email.Type(), Offline: true,
		Config: func(string) map[string]any {
			return p.config(map[string]any{"username": user, "password": password, "callback_token": "a token of 16 or more"})
		},
		Address: func(string) string { return "li.na@example.org" },
		Same:    []string{"li.na@EXAMPLE.org", "li.na@example.org."},
		Secrets: []string{password, "a token of 16 or more"},
	})
}

func ok(t *testing.T, r channel.Result) {
	t.Helper()
	if r.Class != posthouse.ClassOK {
		t.Fatalf("class %q (%s: %s), want ok", r.Class, r.Code, r.Error)
	}
}

// words decodes the words of a header.
func words(t *testing.T, text string) string {
	t.Helper()
	out, err := new(mime.WordDecoder).DecodeHeader(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// parts are the leaves of a mail, by their media types.
func parts(t *testing.T, kind, encoding string, body io.Reader) map[string]string {
	t.Helper()
	is, params, err := mime.ParseMediaType(kind)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	if !strings.HasPrefix(is, "multipart/") {
		if encoding == "base64" {
			body = base64.NewDecoder(base64.StdEncoding, body)
		}
		text, err := io.ReadAll(body)
		if err != nil {
			t.Fatal(err)
		}
		out[is] = strings.ReplaceAll(string(text), "\r\n", "\n")
		return out
	}
	r := multipart.NewReader(body, params["boundary"])
	for {
		part, err := r.NextPart() // which undoes quoted-printable
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range parts(t, part.Header.Get("Content-Type"), part.Header.Get("Content-Transfer-Encoding"), part) {
			out[name] = text
		}
		if name := part.FileName(); name != "" {
			out["name"] = words(t, name)
		}
	}
}

func TestAMailSaysWhatTheMessageSays(t *testing.T) {
	p := open(t, options{auth: []string{"PLAIN"}})
	d := driver(t, p.config(map[string]any{"username": user, "password": password, "reply_to": "help@example.com", "unsubscribe": "leave@example.com"}))
	out := outgoing(1, posthouse.Content{Type: posthouse.MarkdownContent, Title: "值班提醒：张伟", Text: "**今天** <script>alert(1)</script>由您值班。"})
	r := d.Send(t.Context(), out)
	ok(t, r)
	if want := out.IdemKey + "@example.com"; r.Ref != want {
		t.Errorf("ref = %q, want %q", r.Ref, want)
	}
	a := p.taken()[0]
	if a.from != "desk@example.com" || a.to != "li.na@example.org" {
		t.Errorf("from %s to %s", a.from, a.to)
	}
	m := read(t, a)
	for name, want := range map[string]string{
		"Subject": "值班提醒：张伟", "From": "值班台 <desk@example.com>", "To": "<li.na@example.org>", "Reply-To": "<help@example.com>",
		"Message-Id": "<" + r.Ref + ">", "Auto-Submitted": "auto-generated", "List-Unsubscribe": "<mailto:leave@example.com?subject=unsubscribe>",
	} {
		if got := strings.ReplaceAll(words(t, m.Header.Get(name)), `"`, ""); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if at, err := m.Header.Date(); err != nil || time.Since(at) > time.Hour {
		t.Errorf("Date: %v, %v", at, err)
	}
	got := parts(t, m.Header.Get("Content-Type"), "", m.Body)
	if got["text/plain"] != out.Content.Text {
		t.Errorf("text %q", got["text/plain"])
	}
	if html := got["text/html"]; !strings.Contains(html, "<strong>今天</strong>") || strings.Contains(html, "<script>") {
		t.Errorf("html %q", html)
	}
}

func TestAMailHasFilesAndHTML(t *testing.T) {
	p := open(t, options{})
	d := driver(t, p.config(nil))
	out := outgoing(1, posthouse.Content{Type: posthouse.FileContent, Text: "见附件", Media: []posthouse.Media{{Upload: "f1"}}, Extra: json.RawMessage(`{"html":"<p>见附件</p>"}`)})
	ok(t, d.Send(t.Context(), out))
	m := read(t, p.taken()[0])
	got := parts(t, m.Header.Get("Content-Type"), "", m.Body)
	if got["application/pdf"] != "%PDF-1.4 of ours" || got["name"] != "值班表.pdf" || got["text/plain"] != "见附件" || got["text/html"] != "<p>见附件</p>" {
		t.Errorf("got %q", got)
	}
	out.Content.Media[0].Upload = "gone"
	if r := d.Send(t.Context(), out); r.Class != posthouse.ClassContent {
		t.Errorf("a file that is gone: %+v", r)
	}
}

func TestALineThatIsADotEndsNothing(t *testing.T) {
	p := open(t, options{})
	out := outgoing(1, posthouse.Content{})
	ok(t, driver(t, p.config(nil)).Send(t.Context(), out))
	m := read(t, p.taken()[0])
	text, _ := io.ReadAll(m.Body)
	if !strings.Contains(string(text), "begins with a dot is text") {
		t.Errorf("the text ends early: %q", text)
	}
}

func TestAMailIsSignedByDKIM(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	key := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	p := open(t, options{})
	ok(t, driver(t, p.config(map[string]any{"dkim_key": key, "dkim_selector": "s1"})).Send(t.Context(), outgoing(1, posthouse.Content{})))
	records := func(domain string) ([]string, error) {
		if domain != "s1._domainkey.example.com" {
			t.Errorf("asked for %s", domain)
		}
		return []string{"v=DKIM1; k=ed25519; p=" + base64.StdEncoding.EncodeToString(public)}, nil
	}
	found, err := dkim.VerifyWithOptions(bytes.NewReader(p.taken()[0].raw), &dkim.VerifyOptions{LookupTXT: records})
	if err != nil || len(found) != 1 || found[0].Err != nil || found[0].Domain != "example.com" {
		t.Fatalf("%+v, %v", found, err)
	}
	for _, name := range []string{"from", "to", "subject", "date", "message-id"} {
		if !slices.ContainsFunc(found[0].HeaderKeys, func(k string) bool { return strings.EqualFold(k, name) }) {
			t.Errorf("%s is not signed: %v", name, found[0].HeaderKeys)
		}
	}
}

// What a server says before the end of a mail is what the class is made of.
func TestEachAnswerHasItsClass(t *testing.T) {
	for _, c := range []struct {
		stage string
		code  int
		sub   smtp.EnhancedCode
		want  posthouse.Class
		after time.Duration
	}{
		{"mail", 421, smtp.EnhancedCode{4, 3, 2}, posthouse.ClassTransient, 0},
		{"mail", 550, smtp.EnhancedCode{5, 7, 1}, posthouse.ClassAccount, 0},
		{"mail", 553, smtp.EnhancedCode{5, 1, 8}, posthouse.ClassAccount, 0},
		{"mail", 530, smtp.EnhancedCode{5, 7, 0}, posthouse.ClassAccount, 0},
		{"mail", 452, smtp.EnhancedCode{4, 3, 1}, posthouse.ClassTransient, 0},
		{"mail", 454, smtp.EnhancedCode{4, 7, 28}, posthouse.ClassRate, 5 * time.Minute},
		{"rcpt", 450, smtp.EnhancedCode{4, 7, 1}, posthouse.ClassTransient, 5 * time.Minute},
		{"rcpt", 451, smtp.EnhancedCode{4, 7, 1}, posthouse.ClassTransient, 5 * time.Minute},
		{"rcpt", 450, smtp.EnhancedCode{4, 2, 1}, posthouse.ClassTransient, 5 * time.Minute},
		{"rcpt", 452, smtp.EnhancedCode{4, 2, 2}, posthouse.ClassTransient, time.Hour},
		{"rcpt", 550, smtp.EnhancedCode{5, 1, 1}, posthouse.ClassRecipient, 0},
		{"rcpt", 551, smtp.EnhancedCode{5, 1, 6}, posthouse.ClassRecipient, 0},
		{"rcpt", 550, smtp.EnhancedCode{5, 2, 1}, posthouse.ClassRecipient, 0},
		{"rcpt", 554, smtp.EnhancedCode{5, 7, 1}, posthouse.ClassRecipient, 0},
		{"rcpt", 550, smtp.EnhancedCode{5, 0, 0}, posthouse.ClassRecipient, 0},
		{"rcpt", 552, smtp.EnhancedCode{5, 2, 2}, posthouse.ClassTransient, time.Hour},
		{"data", 554, smtp.EnhancedCode{5, 7, 1}, posthouse.ClassContent, 0},
		{"end", 550, smtp.EnhancedCode{5, 7, 1}, posthouse.ClassContent, 0},
		{"end", 552, smtp.EnhancedCode{5, 3, 4}, posthouse.ClassContent, 0},
		{"end", 554, smtp.EnhancedCode{5, 6, 0}, posthouse.ClassContent, 0},
		{"end", 451, smtp.EnhancedCode{4, 3, 0}, posthouse.ClassTransient, 0},
		{"end", 550, smtp.EnhancedCode{5, 1, 1}, posthouse.ClassRecipient, 0},
	} {
		p := open(t, options{})
		p.refuses(func(stage, _ string) error {
			if stage != c.stage {
				return nil
			}
			return &smtp.SMTPError{Code: c.code, EnhancedCode: c.sub, Message: "no"}
		})
		d := driver(t, p.config(nil))
		r := d.Send(t.Context(), outgoing(1, posthouse.Content{}))
		if r.Class != c.want || r.After != c.after {
			t.Errorf("%s %d %v: class %q after %s (%s: %s), want %q after %s", c.stage, c.code, c.sub, r.Class, r.After, r.Code, r.Error, c.want, c.after)
		}
		p.refuses(nil)
		ok(t, d.Send(t.Context(), outgoing(2, posthouse.Content{}))) // whatever was said, the next one goes
	}
}

func TestAChannelsOwnTableGoesFirst(t *testing.T) {
	p := open(t, options{})
	p.refuses(func(string, string) error {
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 7, 1}, Message: "no"}
	})
	for code, want := range map[string]posthouse.Class{"550 5.7.1": posthouse.ClassRate, "5.7.1": posthouse.ClassTransient, "550": posthouse.ClassRequest} {
		d := driver(t, p.config(nil), func(e *channel.Env) { e.Codes = map[string]posthouse.Class{code: want} })
		if r := d.Send(t.Context(), outgoing(1, posthouse.Content{})); r.Class != want || r.Code != "550 5.7.1" {
			t.Errorf("%s: %+v, want %s", code, r, want)
		}
	}
}

func TestOneSessionBearsManyMails(t *testing.T) {
	p := open(t, options{auth: []string{"PLAIN"}})
	d := driver(t, p.config(map[string]any{"username": user, "password": password}))
	for n := range 5 {
		ok(t, d.Send(t.Context(), outgoing(n, posthouse.Content{})))
	}
	if got := p.taken(); len(got) != 5 || got[4].session != got[0].session {
		t.Errorf("%d mails, the last in session %d, the first in %d", len(got), got[len(got)-1].session, got[0].session)
	}
}

// cutter is a listener whose connections can be cut.
type cutter struct {
	net.Listener
	conns chan net.Conn
}

func (c *cutter) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.conns <- conn
	}
	return conn, err
}

func TestASessionThatTheServerHasClosedIsNotMissed(t *testing.T) {
	cut := &cutter{conns: make(chan net.Conn, 10)}
	p := open(t, options{wrap: func(l net.Listener) net.Listener { cut.Listener = l; return cut }})
	d := driver(t, p.config(nil))
	ok(t, d.Send(t.Context(), outgoing(1, posthouse.Content{})))
	(<-cut.conns).Close()
	ok(t, d.Send(t.Context(), outgoing(2, posthouse.Content{})))
	if n := len(p.taken()); n != 2 {
		t.Errorf("%d mails arrived, want 2", n)
	}
}

func TestALostConnectionIsInDoubtAfterTheEndAlone(t *testing.T) {
	for stage, want := range map[string][]posthouse.Class{
		"mail": {posthouse.ClassTransient}, "rcpt": {posthouse.ClassTransient}, "end": {posthouse.ClassUnknown},
		"data": {posthouse.ClassTransient, posthouse.ClassUnknown}, // all of it may have been in the system's buffers
	} {
		cut := &cutter{conns: make(chan net.Conn, 10)}
		p := open(t, options{wrap: func(l net.Listener) net.Listener { cut.Listener = l; return cut }})
		d := driver(t, p.config(nil))
		p.refuses(func(at, _ string) error {
			if at != stage {
				return nil
			}
			(<-cut.conns).Close()
			return errCut
		})
		r := d.Send(t.Context(), outgoing(1, posthouse.Content{Text: strings.Repeat("a long text. ", 200_000)}))
		if !slices.Contains(want, r.Class) {
			t.Errorf("%s: class %q (%s: %s), want %q", stage, r.Class, r.Code, r.Error, want)
		}
		if n := p.begun(); n > 1 {
			t.Errorf("%s: the mail was begun %d times", stage, n)
		}
	}
}

func TestNothingLeavesAfterTheTimeOfACall(t *testing.T) {
	p := open(t, options{})
	d := driver(t, p.config(nil))
	ctx, cancel := context.WithCancel(t.Context())
	p.refuses(func(stage, _ string) error {
		if stage == "rcpt" {
			cancel()
		}
		return nil
	})
	if r := d.Send(ctx, outgoing(1, posthouse.Content{})); r.Class != posthouse.ClassTransient || len(p.taken()) != 0 {
		t.Errorf("%+v, and %d mails", r, len(p.taken()))
	}
}

func TestAPasswordIsNeverShownInClear(t *testing.T) {
	p := open(t, options{clear: true, auth: []string{"PLAIN", "LOGIN"}})
	for name, set := range map[string]map[string]any{
		"starttls":      {"username": user, "password": password},
		"opportunistic": {"tls": "opportunistic", "username": user, "password": password},
		"without":       {},
	} {
		r := driver(t, p.config(set)).Send(t.Context(), outgoing(1, posthouse.Content{}))
		if r.Class != posthouse.ClassAccount || len(p.taken()) != 0 {
			t.Errorf("%s: %+v, and %d mails", name, r, len(p.taken()))
		}
	}
	ok(t, driver(t, p.config(map[string]any{"tls": "opportunistic"})).Send(t.Context(), outgoing(1, posthouse.Content{})))
}

func TestTLSFromTheFirstByte(t *testing.T) {
	p := open(t, options{implicit: true, auth: []string{"PLAIN"}})
	d := driver(t, p.config(map[string]any{"tls": "implicit", "username": user, "password": password}))
	ok(t, d.Send(t.Context(), outgoing(1, posthouse.Content{})))
	wrong := driver(t, p.config(map[string]any{"tls": "implicit", "username": user, "password": "wrong password"}))
	if r := wrong.Send(t.Context(), outgoing(1, posthouse.Content{})); r.Class != posthouse.ClassAccount || r.Code != "535 5.7.8" {
		t.Errorf("%+v", r)
	}
	ok(t, d.(channel.Tester).Test(t.Context()))
	if r := wrong.(channel.Tester).Test(t.Context()); r.Class != posthouse.ClassAccount {
		t.Errorf("%+v", r)
	}
}

func TestATokenSignsIn(t *testing.T) {
	p := open(t, options{auth: []string{"XOAUTH2"}})
	p.tokens = []string{"token-2"}
	fetched := 0
	idp := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fetched++
		if r.FormValue("refresh_token") != "a-refresh-token" || r.FormValue("grant_type") != "refresh_token" || r.FormValue("client_secret") != "a-client-secret" {
			t.Errorf("asked with %v", r.Form)
		}
		json.NewEncoder(w).Encode(map[string]any{"access_token": "token-" + string(rune('0'+fetched)), "expires_in": 3600})
	}))
	t.Cleanup(idp.Close)
	d := driver(t, p.config(map[string]any{"username": user, "oauth_url": idp.URL, "oauth_client_id": "c1", "oauth_client_secret": "a-client-secret", "oauth_refresh_token": "a-refresh-token"}),
		func(e *channel.Env) { e.Egress = nil })
	ok(t, d.Send(t.Context(), outgoing(1, posthouse.Content{}))) // the first token is refused, and another is fetched
	if fetched != 2 {
		t.Errorf("%d tokens were fetched, want 2", fetched)
	}
}

func TestANetworkThatIsNotAllowedIsNotDialled(t *testing.T) {
	p := open(t, options{})
	d := driver(t, p.config(nil), func(e *channel.Env) { e.Network = channel.Network{} })
	if r := d.Send(t.Context(), outgoing(1, posthouse.Content{})); r.Class != posthouse.ClassBlocked {
		t.Errorf("%+v", r)
	}
}

func TestWhatNoMailCanBeIsRefusedAtOnce(t *testing.T) {
	typ := email.Type()
	config, _ := typ.Validate(map[string]any{"host": "smtp.example.com", "from": "desk@example.com"})
	for _, address := range []string{"li.na", "li.na@", "@example.org", "a@b@c d", "li.na@example.org\r\nBcc: all@example.org", "li.na@example.org, b@example.org", "<li.na@example.org>",
		"li.na@例子.org", strings.Repeat("a", 65) + "@example.org", "a b@example.org"} {
		if kept, err := typ.Address(config, address); err == nil {
			t.Errorf("the address %q is kept as %q", address, kept)
		}
	}
	for path, c := range map[string]posthouse.Content{
		"content.title":            {Text: "x"},
		"content.title ":           {Title: "x\r\nBcc: all@example.org", Text: "x"},
		"content.extra":            {Title: "x", Extra: json.RawMessage(`{"htm":"x"}`)},
		"content.media[0].upload":  {Type: posthouse.FileContent, Title: "x", Media: []posthouse.Media{{URL: "https://example.com/x"}}},
		"content.media[0].upload ": {Type: posthouse.FileContent, Title: "x", Media: []posthouse.Media{{Upload: "f1", Size: 8 << 20}}},
		"content.type":             {Type: posthouse.NewsContent, Title: "x"},
		"content.text":             {Title: "x", Text: strings.Repeat("x", 8<<20)},
	} {
		problems := typ.Content(config, c)
		if len(problems) != 1 || problems[0].Path != strings.TrimSpace(path) {
			t.Errorf("%s: %+v", path, problems)
		}
	}
	for path, set := range map[string]any{"from": "desk", "from ": "A\r\nB <desk@example.com>", "host": "smtp.example.com:25", "hello": "a b", "dkim_selector": "s1", "callback_token": "short",
		"callback_url": "https://example.com/x", "username": "", "unsubscribe": "x"} {
		raw := map[string]any{"host": "smtp.example.com", "from": "desk@example.com", strings.TrimSpace(path): set}
		if path == "username" {
			raw["password"] = "x"
		}
		if _, problems := typ.Validate(raw); len(problems) == 0 {
			t.Errorf("%s = %q is taken", path, set)
		}
	}
}
