package inbound

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"time"
)

// Call is what comes by a door that does not speak HTTP.
type Call struct {
	// Kind is that of the front, and Token what the caller shows.
	Kind, Token string
	// From is the address of the caller.
	From string
	// Envelope is what comes beside the body, which a form reads as the query of its request, and Type the media type of the body.
	Envelope url.Values
	Type     string
	Body     io.Reader
}

// request is a call as forms read it.
func (c *Call) request(ctx context.Context) *http.Request {
	r := &http.Request{
		Method: http.MethodPost, URL: &url.URL{Path: Path + c.Kind, RawQuery: c.Envelope.Encode()}, Header: http.Header{"Content-Type": {c.Type}}, Body: http.NoBody, RemoteAddr: c.From,
	}
	return r.WithContext(ctx)
}

// Limit bounds the body of a call in bytes.
func (d *Desk) Limit(kind string) int64 { return d.most(d.forms[kind]) }

// Knows reports whether the token of a call is that of a front. It is for doors that learn who calls before there is a body. One that is
// nobody's is counted and told to the log, as that of a whole call is.
func (d *Desk) Knows(ctx context.Context, c Call) (bool, error) {
	form, in := d.forms[c.Kind], d.of(ctx, &c)
	found, err := d.is(form, in, c.Token)
	if err == nil && !found {
		out := d.unknown(in)
		d.requests.WithLabelValues(c.Kind, "", unauthorized).Inc()
		d.refusals.Note("kind", c.Kind, "outcome", unauthorized, "from", c.From, "why", out.Reason)
	}
	return found, err
}

// Take takes a call. A nil error of its body at its end says that it is whole.
func (d *Desk) Take(ctx context.Context, c Call) Result {
	form, in := d.forms[c.Kind], d.of(ctx, &c)
	held := d.o.Bodies.Hold(c.From)
	defer held.Free()
	return d.take(form, in, held.Reader(http.MaxBytesReader(nil, io.NopCloser(c.Body), d.most(form))), func() (bool, error) { return d.is(form, in, c.Token) })
}

func (d *Desk) of(ctx context.Context, c *Call) *Request {
	return &Request{Request: c.request(ctx), Zone: d.o.Zone, Now: time.Now()}
}

// Unreadable is why a body cannot be read, however often it comes: the error of the reader of a call.
type Unreadable string

func (u Unreadable) Error() string { return string(u) }
