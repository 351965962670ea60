package httpapi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/access"
)

type driver struct {
	*plan
	client *channel.Client
	target *url.URL    // set where the URL is always the same
	header http.Header // the headers that are always the same
	filled []namedTemplate
	meter  meter
	access *access.Access // nil where no token is needed
}

type namedTemplate struct {
	name string
	text template
}

func open(c channel.Config, env channel.Env) (channel.Driver, error) {
	p := newPlan(c)
	if err := posthouse.Invalid("the httpapi driver cannot be opened", p.problems); err != nil {
		return nil, err
	}
	p.table.override(env.Codes)
	d := &driver{plan: p, header: http.Header{}}
	d.client = channel.NewClient(env, channel.ClientOptions{Secrets: secrets(c)})
	if p.token != nil {
		d.access = d.newAccess(c, env)
	}
	none := &scope{outs: make([]channel.Outgoing, 1)}
	for _, name := range slices.Sorted(maps.Keys(p.headers)) {
		text := p.headers[name]
		if !text.static() {
			d.filled = append(d.filled, namedTemplate{name, text})
			continue
		}
		value, err := text.render(none)
		if err != nil {
			return nil, fmt.Errorf("fill header %s: %w", name, err)
		}
		d.header.Set(name, string(value))
	}
	if p.url.static() {
		return d, d.fix(none)
	}
	return d, nil
}

// fix parses a URL that never changes once.
func (d *driver) fix(s *scope) error {
	target, err := d.renderURL(s)
	d.target = target
	return err
}

// secrets lists what must never be seen in a log: the secrets, and the words of the headers that
// may carry one.
func secrets(c channel.Config) []string {
	var out []string
	for _, secret := range c.Map("secrets") {
		out = append(out, secret)
		for _, piece := range strings.FieldsFunc(secret, func(r rune) bool { return strings.ContainsRune("/?&=", r) }) {
			if len(piece) >= shortestPiece && len(piece) < len(secret) {
				out = append(out, piece) // of a hook's path, which may be echoed in part
			}
		}
	}
	for name, value := range c.Map("headers") {
		if slices.Contains(openHeaders, http.CanonicalHeaderKey(name)) {
			continue
		}
		for _, word := range strings.Fields(value) {
			if !strings.Contains(word, "${") && !slices.Contains(schemes, word) {
				out = append(out, word)
			}
		}
	}
	return out
}

// shortestPiece is the shortest part of a secret that is masked by itself, in bytes.
const shortestPiece = 12

// openHeaders hold no secret, schemes are not one.
var (
	openHeaders = []string{"Accept", "Accept-Language", "Content-Type", "User-Agent"}
	schemes     = []string{"Basic", "Bearer", "Token"}
)

// Close closes the idle connections.
func (d *driver) Close() error { return d.client.Close() }

// Send makes one call for one delivery.
func (d *driver) Send(ctx context.Context, out channel.Outgoing) channel.Result {
	return d.SendBatch(ctx, []channel.Outgoing{out})[0]
}

// SendBatch makes one call for all, and one more with a new token where the provider refused the first one's.
func (d *driver) SendBatch(ctx context.Context, outs []channel.Outgoing) (results []channel.Result) {
	if d.access == nil {
		return d.call(ctx, outs, "")
	}
	err := d.access.Call(ctx, func(token string) access.Answer {
		if results = d.call(ctx, outs, token); refusedToken(results) {
			return access.Again
		}
		return access.Fine
	})
	if err != nil {
		return slices.Repeat([]channel.Result{access.Without(err, d.client)}, len(outs))
	}
	return results
}

// call fills the request, makes it and reads its answer. What cannot be filled is refused without a call.
func (d *driver) call(ctx context.Context, outs []channel.Outgoing, token string) []channel.Result {
	request, err := d.request(&scope{outs: outs, now: time.Now(), separator: d.separator, token: token})
	if err != nil {
		return slices.Repeat([]channel.Result{{
			Class: posthouse.ClassContent, Code: channel.CodeRequest,
			Error: d.client.Redactor().Line(err.Error(), 512),
		}}, len(outs))
	}
	if token != "" {
		request.Hide = []string{token}
	}
	reply := d.client.Do(ctx, request)
	if !d.readable(ctx, &reply) {
		return slices.Repeat([]channel.Result{reply.Result(d.unreadable(&reply))}, len(outs))
	}
	return d.awaiting(d.read(&reply, outs))
}

func (d *driver) request(s *scope) (channel.Request, error) {
	r := channel.Request{Method: d.method, URL: d.target, Header: d.header}
	var err error
	if r.Body, err = d.body.render(s); err != nil { // before what signs it
		return r, err
	}
	s.body = r.Body
	if r.URL == nil {
		if r.URL, err = d.renderURL(s); err != nil {
			return r, err
		}
	}
	if len(d.filled) > 0 {
		if r.Header, err = d.fillHeader(s); err != nil {
			return r, err
		}
	}
	return r, nil
}

func (d *driver) fillHeader(s *scope) (http.Header, error) {
	header := maps.Clone(d.header)
	for _, h := range d.filled {
		value, err := h.text.render(s)
		if err != nil {
			return nil, err
		}
		header[h.name] = []string{string(value)}
	}
	return header, nil
}

// renderURL refuses a value that would climb to another path.
func (d *driver) renderURL(s *scope) (*url.URL, error) {
	text, err := d.url.render(s)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(string(text))
	if err != nil {
		return nil, errors.New("the URL cannot be read once its placeholders are filled")
	}
	for segment := range strings.SplitSeq(u.Path, "/") {
		if segment == "." || segment == ".." {
			return nil, errors.New("the URL's path holds a . or .. once its placeholders are filled")
		}
	}
	return u, nil
}
