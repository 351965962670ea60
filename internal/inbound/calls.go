package inbound

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// Calls keeps what came last at a front, the oldest of a list first.
type Calls interface {
	AddFrontCalls(ctx context.Context, now time.Time, tenant, front string, list []work.FrontCall) error
}

// Sealer hides what is stored.
type Sealer interface {
	Seal(plain, aad string) (string, error)
}

// SealedFor is what the body of a call is sealed for: it opens as no other's.
func SealedFor(tenant, front, id string) string {
	return "front call " + tenant + "/" + front + "/" + id
}

// Bounds of what is kept: of a body, of what is shown of it, and how many calls wait to be written.
const (
	maxKept    = 64 << 10
	maxShown   = 8 << 10
	maxWaiting = 256
	writeEvery = 500 * time.Millisecond
)

type kept struct {
	work.FrontCall
	plain []byte
}

// keep has a call written for the page of its front. A caller waits for nothing here: what there is no room for is counted.
func (d *Desk) keep(in *Request, out Result, outcome posthouse.FrontOutcome) {
	plain := bytes.ReplaceAll(in.Body[:min(len(in.Body), maxKept)], []byte(in.Token), []byte("(token)"))
	c := kept{FrontCall: work.FrontCall{Tenant: in.Front.Tenant, Front: in.Front.Name}, plain: plain}
	c.ID, c.At, c.Outcome, c.Size = posthouse.NewID(), in.Now.UTC(), outcome, len(in.Body)
	reasons := in.notes
	if out.Reason != "" {
		reasons = append(reasons, out.Reason)
	}
	c.Reason = Cut(Clean(strings.Join(reasons, "; ")), 2000)
	for i := range out.Accepted {
		c.Messages = append(c.Messages, out.Accepted[i].ID)
	}
	c.Shown = Mask(in)
	select {
	case d.calls <- c:
	default:
		d.dropped.Inc()
	}
}

// Run writes what came until ctx ends, and then what is left.
func (d *Desk) Run(ctx context.Context) {
	tick := time.NewTicker(writeEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			d.write(ctx)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			d.write(last)
			return
		}
	}
}

// write writes what waits, front by front.
func (d *Desk) write(ctx context.Context) {
	type place struct{ tenant, front string }
	lists := map[place][]work.FrontCall{}
	for range len(d.calls) {
		c := <-d.calls
		body, err := d.o.Sealer.Seal(string(c.plain), SealedFor(c.Tenant, c.Front, c.ID))
		if err != nil {
			d.o.Log.Error("a body cannot be sealed", "front", c.Front, "error", err)
			continue
		}
		c.Body = body
		at := place{c.Tenant, c.Front}
		lists[at] = append(lists[at], c.FrontCall)
	}
	for at, list := range lists {
		if err := d.o.Calls.AddFrontCalls(ctx, time.Now(), at.tenant, at.front, list); err != nil && ctx.Err() == nil {
			d.o.Log.Warn("what came at a front cannot be kept for its page", "front", at.front, "error", err)
		}
	}
}

// Mask is the body of a call, and what stands in its path and query, as its page shows it: the names, and of each text its first two
// characters.
func Mask(in *Request) string {
	var parts []string
	if len(in.Rest) > 0 {
		masked := make([]string, len(in.Rest))
		for i, part := range in.Rest {
			masked[i] = hint(part)
		}
		parts = append(parts, "/"+strings.Join(masked, "/"))
	}
	if query := in.URL.Query(); len(query) > 0 {
		parts = append(parts, "?"+maskValues(query, in.Token))
	}
	if body := maskAs(in.Header.Get("Content-Type"), in.Body[:min(len(in.Body), maxKept)]); body != "" {
		parts = append(parts, body)
	}
	return Cut(Clean(strings.Join(parts, "\n")), maxShown)
}

func maskValues(values url.Values, token string) string {
	shown := url.Values{}
	for name, list := range values {
		for _, v := range list {
			if v == token {
				v = ""
			}
			shown.Add(name, hint(v))
		}
	}
	text, err := url.QueryUnescape(shown.Encode())
	if err != nil {
		return shown.Encode()
	}
	return text
}

// maskAs masks a body of a media type.
func maskAs(kind string, body []byte) string {
	if kind == Letter {
		return maskLetter(body)
	}
	return maskBody(body)
}

// Letter is the media type of mails.
const Letter = "message/rfc822"

// maskLetter shows the names of a mail's header.
func maskLetter(body []byte) string {
	head, text, _ := strings.Cut(strings.ReplaceAll(string(body), "\r\n", "\n"), "\n\n")
	var out strings.Builder
	for line := range strings.Lines(head) {
		if name, value, ok := strings.Cut(line, ":"); ok && !strings.ContainsAny(name, " \t") {
			out.WriteString(name + ": " + hint(strings.TrimSpace(value)) + "\n")
		}
	}
	return strings.TrimSpace(out.String() + "\n" + hint(strings.TrimSpace(text)))
}

func maskBody(body []byte) string {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var v any
	if decoder.Decode(&v) == nil {
		var out bytes.Buffer
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", " ")
		if encoder.Encode(maskJSON(v)) == nil {
			return strings.TrimSpace(out.String())
		}
	}
	text := strings.TrimSpace(string(body))
	if form, err := url.ParseQuery(text); err == nil && strings.Contains(text, "=") && !strings.ContainsAny(text, " \n") {
		return maskValues(form, "")
	}
	return hint(text)
}

func maskJSON(v any) any {
	switch v := v.(type) {
	case string:
		return hint(v)
	case map[string]any:
		for name := range v {
			v[name] = maskJSON(v[name])
		}
	case []any:
		for i := range v {
			v[i] = maskJSON(v[i])
		}
	}
	return v
}

// hint is a text of which no more than its first two characters can be read; short ones not even those.
func hint(text string) string {
	const seen = 2
	n := utf8.RuneCountInString(text)
	if n == 0 {
		return ""
	}
	if n < 4*seen {
		return "***"
	}
	runes := []rune(text)
	return string(runes[:seen]) + "***"
}
