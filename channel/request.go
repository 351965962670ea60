package channel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Request is one call. The client changes nothing in it, so URL and Header may be shared.
type Request struct {
	Method string // defaults to POST
	URL    *url.URL
	Header http.Header
	Body   []byte
	// Hide are secrets of this call alone, such as an access token: they are masked in what is reported of it.
	Hide []string
}

// http builds the request so that the transport never sends it a second time by itself: without
// GetBody it cannot rewind a body, and what has no body gets one that is empty, or hides the
// header by which the transport would think a repetition safe (it looks for one spelling only,
// while servers take any).
func (r Request) http(ctx context.Context) *http.Request {
	header := make(http.Header, len(r.Header)+1)
	header["User-Agent"] = []string{userAgent}
	for name, values := range r.Header {
		switch name = http.CanonicalHeaderKey(name); name {
		case "Idempotency-Key", "X-Idempotency-Key":
			name = strings.ToLower(name)
		}
		header[name] = values
	}
	out := (&http.Request{
		Method: r.Method, URL: r.URL, Host: r.URL.Host, Header: header, ContentLength: int64(len(r.Body)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	if len(r.Body) > 0 || replayable(r.Method) {
		// net/http knows this reader: header and body leave in one write.
		out.Body = io.NopCloser(bytes.NewReader(r.Body))
	}
	return out
}

// replayable names the methods the transport repeats on its own when there is no body.
func replayable(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions || method == http.MethodTrace
}

// check refuses what cannot be sent: another protocol, or a header that would add lines of its
// own to the request.
func (r Request) check() error {
	if strings.ContainsFunc(r.Method, func(c rune) bool { return c > 0x7e || !headerNameByte(byte(c)) }) {
		return fmt.Errorf("%q is not a method of HTTP", r.Method)
	}
	if r.URL.Scheme != "http" && r.URL.Scheme != "https" || r.URL.Hostname() == "" {
		return errors.New("the URL is not one of http or https with a host")
	}
	return checkHeader(r.Header)
}

func checkHeader(header http.Header) error {
	for name, values := range header {
		if name == "" || strings.ContainsFunc(name, func(c rune) bool { return c > 0x7e || !headerNameByte(byte(c)) }) {
			return fmt.Errorf("header name %q holds characters that are not allowed there", name)
		}
		for _, v := range values {
			if !headerValue(v) {
				return fmt.Errorf("header %s: a line break or control character is not allowed in a header", name)
			}
		}
	}
	return nil
}

func headerNameByte(c byte) bool {
	return nameByte(c) || strings.IndexByte("!#$%&'*+.^`|~", c) >= 0
}

func headerValue(v string) bool {
	return !strings.ContainsFunc(v, func(c rune) bool { return control(c) && c != '\t' })
}

// ValidHeader reports whether a header of this name and value can be sent.
func ValidHeader(name, value string) bool {
	return checkHeader(http.Header{name: {value}}) == nil
}
