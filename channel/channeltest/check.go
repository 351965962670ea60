package channeltest

import (
	"cmp"
	"fmt"
	"html"
	"io"
	"log"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

func (c Case) size(t *testing.T, url string) int {
	t.Helper()
	if c.Type.BatchSize == nil {
		return c.Type.MaxBatch
	}
	config, _ := c.Type.Validate(c.raw(url))
	return c.Type.BatchSize(config)
}

// check looks at what every result must be.
func (c Case) check(t *testing.T, r channel.Result) {
	t.Helper()
	if !r.Class.Valid() {
		t.Errorf("class = %q, which is none", r.Class)
	}
	if r.Await > 0 && c.Type.Receipts == nil {
		t.Error("a receipt is awaited, and the type says that none come")
	}
	if (r.Class == posthouse.ClassOK) != (r.Error == "") {
		t.Errorf("class %q with the error text %q", r.Class, r.Error)
	}
	for name, text := range map[string]string{"Code": r.Code, "Error": r.Error, "Ref": r.Ref, "Request": r.Request, "Response": r.Response} {
		if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
			t.Errorf("%s is not text that a database takes: %q", name, text)
		}
		if name != "Request" && name != "Response" && strings.ContainsAny(text, "\r\n\x1b") {
			t.Errorf("%s is not one line: %q", name, text)
		}
		if len(text) > 8<<10 {
			t.Errorf("%s has %d bytes", name, len(text))
		}
		for _, secret := range c.Secrets {
			if shows(text, secret) {
				t.Errorf("%s shows the secret %q: %q", name, secret, text)
			}
		}
	}
}

// shows reports whether a text shows a secret to somebody who reads it as it is, as XML, JSON or a URL.
func shows(text, secret string) bool {
	readings := []string{text, html.UnescapeString(text), inJSON.Replace(text), unescaped(text), unescaped(strings.ReplaceAll(text, "+", " "))}
	return slices.ContainsFunc(readings, func(s string) bool { return strings.Contains(s, secret) })
}

// inJSON reads what encoders escape of printable text.
var inJSON = strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\/`, `/`, `\u0026`, "&", `\u003c`, "<", `\u003e`, ">")

// unescaped reads the escapes of a URL, in a text that may have other percent signs.
func unescaped(text string) string {
	return escape.ReplaceAllStringFunc(text, func(s string) string {
		c, _ := strconv.ParseUint(s[1:], 16, 8) // two digits, by the pattern
		return string([]byte{byte(c)})
	})
}

var escape = regexp.MustCompile("%[0-9A-Fa-f]{2}")

func (c Case) wantClass(t *testing.T, behaviour string, r channel.Result, want []posthouse.Class) {
	t.Helper()
	if class, ok := c.Classes[behaviour]; ok {
		want = []posthouse.Class{class}
	}
	if !slices.Contains(want, r.Class) {
		t.Errorf("class = %q (%s: %s), want %q", r.Class, r.Code, r.Error, want)
	}
}

// open opens the driver; it is closed with the test.
func (c Case) open(t *testing.T, url string, timeout time.Duration, network channel.Network) channel.Driver {
	t.Helper()
	return c.openIn(t, url, c.env(t, url, timeout, network))
}

// env is what the driver of a channel gets whose provider is at a URL.
func (c Case) env(t *testing.T, url string, timeout time.Duration, network channel.Network) channel.Env {
	t.Helper()
	config, _ := c.Type.Validate(c.raw(url))
	var egress *posthouse.Egress
	if c.Egress != nil {
		egress = c.Egress(url)
	}
	if problems := c.Type.CheckEgress(config, egress); len(problems) > 0 {
		t.Fatalf("the egress is refused: %+v", problems)
	}
	return channel.Env{
		Tenant: "t1", Channel: "c1", Log: slog.New(slog.DiscardHandler), Output: io.Discard,
		Network: network, Timeout: cmp.Or(timeout, time.Minute), KeepAnswers: true, Egress: c.Type.Egress(config, egress),
	}
}

func (c Case) openIn(t *testing.T, url string, env channel.Env) channel.Driver {
	t.Helper()
	config, problems := c.Type.Validate(c.raw(url))
	if len(problems) > 0 {
		t.Fatalf("the configuration is refused: %+v", problems)
	}
	d, err := c.Type.Open(config, env)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	if closer, ok := d.(io.Closer); ok {
		t.Cleanup(func() { closer.Close() })
	}
	return d
}

func (c Case) raw(url string) map[string]any {
	if c.Config == nil {
		return map[string]any{}
	}
	return c.Config(url)
}

func (c Case) provider(t *testing.T) *Provider {
	t.Helper()
	p := NewProvider(t, c.accept())
	p.aside = c.Aside
	return p
}

func (c Case) accept() http.HandlerFunc {
	if c.Accept != nil {
		return c.Accept
	}
	return Reply(200, "{}")
}

// outgoing is the nth delivery of a message with everything set.
func (c Case) outgoing(url string, n int) channel.Outgoing {
	address := fmt.Sprintf("1380000%04d", n)
	if c.Address != nil {
		address = c.Address(url)
	}
	content := posthouse.Content{Title: "值班提醒", Text: "Please call back.\n请回电 \"今天\"。"}
	if !c.Content.IsZero() {
		content = c.Content
	}
	id := posthouse.NewID()
	delivery := posthouse.DeliveryID(id, n)
	return channel.Outgoing{
		Tenant: "t1", Channel: "c1", Account: "a1", Message: id, Delivery: delivery,
		Recipient: posthouse.Recipient{User: fmt.Sprintf("u%d", n), Address: address, Type: "branch"},
		Content:   content,
		Kind:      "duty", Ref: "2026-10-01", Priority: posthouse.Normal, Template: "notice",
		Payload: []byte(`{"amount":12.5,"name":"王芳"}`), IdemKey: delivery, Attempt: 1,
	}
}

func private() channel.Network { return channel.Network{AllowPrivate: true} }

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
