package channel

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/posthouse/posthouse"
)

// The kit's own codes, for calls that ended without an answer. An answer other than 2xx has the
// code HTTP_ and its status.
const (
	CodeNetwork   = "NETWORK_ERROR"
	CodeTimeout   = "API_TIMEOUT"
	CodeCancelled = "CANCELLED"       // the caller gave up
	CodeBlocked   = "ADDRESS_BLOCKED" // Network or Egress does not allow the address
	CodeRequest   = "BAD_REQUEST"     // it cannot be sent at all
	CodeLocal     = "LOCAL_ERROR"     // our own machine had no room for a connection
	CodeLookup    = "NO_NAME_SERVER"  // our name server could not be asked
)

// Reply is what became of one call.
type Reply struct {
	Status int         // 0 without an answer
	Header http.Header // nil without an answer
	Body   []byte      // at most ClientOptions.MaxBody
	Cut    bool        // the body went on beyond that
	// Err says why there is no answer, or (with a Status) why its body ends early.
	Err error
	// Code is empty for a 2xx that was read whole.
	Code string
	// Written reports whether a byte of the request left, or may have. Without it the provider
	// has surely seen nothing.
	Written bool
	// Request and Response are redacted excerpts.
	Request, Response string

	client   *Client
	redactor *Redactor
	host     string
}

func (r *Reply) fail(err error, code string) { r.Err, r.Code = err, code }

// OK reports whether the answer is a 2xx that arrived whole, or as far as it is read.
func (r *Reply) OK() bool { return r.Status/100 == 2 && r.Err == nil }

// Class is what the call's end means by itself, for a provider nothing more is known of:
// reliability first, so whatever may have been accepted is unknown.
func (r *Reply) Class() posthouse.Class {
	switch {
	case r.Code == CodeRequest:
		return posthouse.ClassRequest
	case r.Code == CodeBlocked:
		return posthouse.ClassBlocked // the address is configured: all its deliveries would fail
	case !r.Written && (r.Code == CodeLocal || r.Code == CodeLookup):
		return posthouse.ClassLocal // all deliveries of this process would fail
	case !r.Written:
		return posthouse.ClassTransient
	case r.Status == 0 || r.Status/100 == 2 && r.Err != nil:
		return posthouse.ClassUnknown
	}
	return r.statusClass()
}

// ClassIn is the class that a table of codes, such as a channel's own, gives to the call's end by itself: by
// the code, such as HTTP_500, or by the status alone, 500.
func (r *Reply) ClassIn(codes map[string]posthouse.Class) (class posthouse.Class, listed bool) {
	if r.Code == "" {
		return "", false
	}
	if class, listed = codes[r.Code]; listed {
		return class, true
	}
	if status, ok := strings.CutPrefix(r.Code, "HTTP_"); ok {
		class, listed = codes[status]
	}
	return class, listed
}

func (r *Reply) statusClass() posthouse.Class {
	switch s := r.Status; {
	case s/100 == 2:
		return posthouse.ClassOK
	case s == 401 || s == 407:
		return posthouse.ClassAuth
	case s/100 == 3, s == 402, s == 403, s == 404, s == 405, s == 410, s == 501, s == 505:
		return posthouse.ClassAccount // permission, balance, or a URL that is not the right one
	case s == 408, s == 425:
		return posthouse.ClassTransient
	case s == 409:
		return posthouse.ClassUnknown // often says that an earlier try of the same key arrived
	case s == 413, s == 422, s == 451:
		return posthouse.ClassContent
	case s == 429, s == 503 && r.RetryAfter() > 0:
		return posthouse.ClassRate
	case s == 503:
		return posthouse.ClassTransient
	case s/100 == 4:
		return posthouse.ClassRequest
	}
	return posthouse.ClassUnknown
}

// RetryAfter is the wait the answer's header asks for, 0 if it does not.
func (r *Reply) RetryAfter() time.Duration {
	return ParseRetryAfter(r.Header.Get("Retry-After"), time.Now())
}

// Verdict is how a driver reads a reply.
type Verdict struct {
	Class   posthouse.Class
	Code    string        // defaults to the reply's
	Message string        // for a person; defaults to what became of the call; left out on success
	Ref     string        // the provider's id
	After   time.Duration // defaults to the Retry-After header
	AtOnce  Scope         // of a refusal of too many calls at once
}

// Bounds of what is kept of a provider's own words, in bytes: the store's columns hold them.
const (
	maxCode  = 128
	maxRef   = 256
	maxError = 512
)

// Result completes a verdict: redacted, bounded, on one line, with the excerpts of the call.
func (r *Reply) Result(v Verdict) Result {
	if v.Code == "" {
		v.Code = r.Code
	}
	if v.After == 0 && r.Header != nil {
		v.After = r.RetryAfter()
	}
	out := Result{
		Class: v.Class, Code: r.line(v.Code, maxCode), Ref: cut(oneLine(r.redactor.Secrets(v.Ref)), maxRef),
		Request: r.Request, Response: r.Response, Unsent: v.Class != posthouse.ClassOK && !r.Written,
	}
	if v.Class == posthouse.ClassOK {
		return out
	}
	if v.Message == "" {
		v.Message = r.explain()
	}
	out.Error, out.After, out.AtOnce = r.line(v.Message, maxError), v.After, v.AtOnce
	return out
}

func (r *Reply) line(s string, max int) string {
	if s == "" {
		return ""
	}
	return r.redactor.Line(s, max)
}

// explain says in a line what became of the call. It names the host as configured, never the
// address behind it.
func (r *Reply) explain() string {
	var lookup *net.DNSError
	var handshake *handshakeError
	var op *net.OpError
	err := r.Err
	switch {
	case err == nil && r.Status/100 == 3:
		return fmt.Sprintf("%s answered with a redirect, HTTP %d, which is not followed: check the URL", r.host, r.Status)
	case err == nil:
		return fmt.Sprintf("%s answered HTTP %d %s", r.host, r.Status, http.StatusText(r.Status))
	case r.Code == CodeRequest:
		return err.Error()
	case r.Code == CodeBlocked:
		return fmt.Sprintf("%s: %s", r.host, blockedBy(err))
	case r.Code == CodeCancelled:
		return "the call was given up"
	case r.Code == CodeLocal:
		return fmt.Sprintf("this machine has no room for a connection to %s: %s", r.host, reason(err))
	case r.Code == CodeLookup:
		return fmt.Sprintf("the name %s could not be looked up: the name server does not answer", r.host)
	case r.Written && isTimeout(err):
		return fmt.Sprintf("%s did not answer within %s", r.host, posthouse.Duration(r.client.options.Timeout))
	case errors.As(err, &lookup):
		return fmt.Sprintf("the name %s could not be looked up", r.host)
	case errors.As(err, &handshake):
		return fmt.Sprintf("TLS with %s failed: %s", r.host, handshake)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("%s refused the connection", r.host)
	case !r.Written && isTimeout(err):
		return fmt.Sprintf("connecting to %s took too long", r.host)
	case errors.As(err, &op) && op.Op == "dial":
		return fmt.Sprintf("no connection to %s: %s", r.host, op.Err)
	case r.Written:
		return fmt.Sprintf("%s closed the connection before its answer was complete", r.host)
	}
	return fmt.Sprintf("%s could not be called: %s", r.host, err)
}

// blockedBy says what forbids a call, and never the address behind a name.
func blockedBy(err error) error {
	if errors.Is(err, ErrEgress) {
		return err
	}
	return fmt.Errorf("%w: its setting allow_networks says which it may", ErrBlocked)
}

// codeOf is the kit's code for a failed call.
func codeOf(err error) string {
	switch {
	case errors.Is(err, ErrBlocked):
		return CodeBlocked
	case errors.Is(err, context.Canceled):
		return CodeCancelled
	case isTimeout(err):
		return CodeTimeout
	}
	return CodeNetwork
}
