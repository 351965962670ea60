package httpapi

import (
	"errors"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/access"
)

// Rehearsal is a configuration that calls nobody: it shows what it would send, and how it reads what it is given. Tests of
// configurations and the simulator are made of it.
type Rehearsal struct{ d *driver }

// Moment is what a request is made of besides a message.
type Moment struct {
	Now         time.Time
	UUID, Token string
}

// Answer is a provider's.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Rehearse makes a Rehearsal of a configuration that Type().Validate has accepted.
func Rehearse(c channel.Config) (*Rehearsal, error) {
	opened, err := open(c, channel.Env{})
	if err != nil {
		return nil, err
	}
	return &Rehearsal{opened.(*driver)}, nil
}

// Request is the call for some deliveries of one message.
func (r *Rehearsal) Request(outs []channel.Outgoing, at Moment) (channel.Request, error) {
	return r.d.request(&scope{outs: outs, now: at.Now, uuid: at.UUID, token: at.Token, separator: r.d.separator})
}

// Results are what an answer to that call means.
func (r *Rehearsal) Results(outs []channel.Outgoing, a Answer) []channel.Result {
	reply := r.d.client.Answered(a.Status, a.Header, a.Body)
	return r.d.awaiting(r.d.read(&reply, outs))
}

// NeedsToken reports whether a token is got before a call.
func (r *Rehearsal) NeedsToken() bool { return r.d.token != nil }

// TokenRequest is the call for a token.
func (r *Rehearsal) TokenRequest(at Moment) (channel.Request, error) {
	return r.d.token.request(&scope{outs: make([]channel.Outgoing, 1), now: at.Now, uuid: at.UUID})
}

// Token is what an answer to that call gives, or the result of what needed it.
func (r *Rehearsal) Token(a Answer, now time.Time) (token string, lasts time.Duration, refused channel.Result) {
	reply := r.d.client.Answered(a.Status, a.Header, a.Body)
	token, lasts, err := r.d.readToken(&reply, now)
	var failed *access.Failed
	if errors.As(err, &failed) {
		return "", 0, failed.Result
	}
	return token, lasts, channel.Result{Class: posthouse.ClassOK}
}

// HasReceipts reports whether the provider may bring receipts.
func (r *Rehearsal) HasReceipts() bool { return r.d.receipt != nil }

// Receive reads a receipt.
func (r *Rehearsal) Receive(c channel.Callback) (channel.Heard, error) { return r.d.Receive(c) }

// Members are the members of a payload that the request names.
func (r *Rehearsal) Members() []string { return r.d.names() }
