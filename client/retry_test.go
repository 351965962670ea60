package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/wire"
)

// script answers calls one after the other; the last one stays.
type script struct {
	answers []answer
	calls   []*http.Request
	at      []time.Time
}

// answer is a status with a body and Retry-After, or an error of the network.
type answer struct {
	status      int
	body, after string
	err         error
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	next := s.answers[min(len(s.calls), len(s.answers)-1)]
	s.calls, s.at = append(s.calls, r), append(s.at, time.Now())
	if next.err != nil {
		return nil, next.err
	}
	header := http.Header{}
	if next.after != "" {
		header.Set("Retry-After", next.after)
	}
	return &http.Response{StatusCode: next.status, Header: header, Body: io.NopCloser(strings.NewReader(next.body))}, nil
}

func (s *script) client(t *testing.T) *client.Client {
	t.Helper()
	c, err := client.New(client.Options{URL: "http://posthouse.test/", Key: "ph_key", HTTP: &http.Client{Transport: s}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var (
	busy    = answer{status: 503, body: `{"code":"unavailable","detail":"the server is stopping: try again"}`, after: "3"}
	lost    = answer{status: 503, body: `{"code":"outcome_unknown","detail":"repeat with the same key"}`, after: "1"}
	gateway = answer{status: 502, body: `<html>`}
	cut     = answer{err: io.ErrUnexpectedEOF}
	invalid = answer{status: 422, body: `{"code":"invalid","detail":"no","problems":[{"path":"to","message":"is required"}]}`}
	braked  = answer{status: 429, body: `{"code":"unavailable","detail":"too many wrong API keys: try again later"}`, after: "60"}
	fine    = answer{status: 202, body: `{"messages":[{"id":"m"}],"items":[]}`}
)

func TestOnlySafeCallsAreRepeated(t *testing.T) {
	t.Parallel()
	send := func(ctx context.Context, c *client.Client) error {
		_, err := c.Messages.Send(ctx, posthouse.Draft{})
		return err
	}
	list := func(ctx context.Context, c *client.Client) error { _, err := c.Keys.List(ctx); return err }
	notice := func(ctx context.Context, c *client.Client) error {
		_, err := c.Notices.Send(ctx, wire.NewNotice{})
		return err
	}
	cancel := func(ctx context.Context, c *client.Client) error { _, err := c.Messages.Cancel(ctx, "m"); return err }
	replay := func(ctx context.Context, c *client.Client) error {
		_, err := c.Deliveries.Replay(ctx, "d", false)
		return err
	}
	for name, test := range map[string]struct {
		call    func(context.Context, *client.Client) error
		answers []answer
		calls   int
		fails   bool
	}{
		"send, the server is busy":         {send, []answer{busy, fine}, 2, false},
		"send, the commit is in doubt":     {send, []answer{lost, lost, fine}, 3, false},
		"send, the connection is cut":      {send, []answer{cut, fine}, 2, false},
		"send, a gateway answers":          {send, []answer{gateway, fine}, 2, false},
		"send, never":                      {send, []answer{gateway}, 4, true},
		"send, invalid":                    {send, []answer{invalid, fine}, 1, true},
		"send, asked to wait for too long": {send, []answer{braked, fine}, 1, true},
		"notice, the connection is cut":    {notice, []answer{cut, fine}, 2, false},
		"read, the server is busy":         {list, []answer{busy, fine}, 2, false},
		"cancel, the server is busy":       {cancel, []answer{busy, fine}, 1, true},
		"replay, the connection is cut":    {replay, []answer{cut, fine}, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &script{answers: test.answers}
				err := test.call(t.Context(), s.client(t))
				if len(s.calls) != test.calls || (err != nil) != test.fails {
					t.Errorf("got %d calls and %v, want %d, an error: %t", len(s.calls), err, test.calls, test.fails)
				}
				for _, r := range s.calls {
					if got, want := r.Header.Get("Idempotency-Key"), s.calls[0].Header.Get("Idempotency-Key"); got != want {
						t.Errorf("a repetition has the Idempotency-Key %q, the first call %q", got, want)
					}
				}
			})
		})
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []answer{busy, lost, gateway, fine}}
		if _, err := s.client(t).Messages.Send(t.Context(), posthouse.Draft{}); err != nil {
			t.Fatal(err)
		}
		least := []time.Duration{3 * time.Second, time.Second, 400 * time.Millisecond}
		most := []time.Duration{3 * time.Second, time.Second, 800 * time.Millisecond}
		for i := range least {
			if wait := s.at[i+1].Sub(s.at[i]); wait < least[i] || wait > most[i] {
				t.Errorf("wait %d was %s, want %s to %s", i+1, wait, least[i], most[i])
			}
		}
	})
}

func TestACallerWhoLeavesIsNotKeptWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		s := &script{answers: []answer{busy}}
		_, err := s.client(t).Keys.List(ctx)
		if posthouse.CodeOf(err) != posthouse.CodeUnavailable || time.Since(began) != time.Second || len(s.calls) != 1 {
			t.Errorf("got %v after %s and %d calls, want the server's error after 1s and one call", err, time.Since(began), len(s.calls))
		}
	})
}

// Another place that is named has to be asked there.
func TestACallForAnotherPlaceIsNotRepeatedHere(t *testing.T) {
	t.Parallel()
	s := &script{answers: []answer{{status: 503, body: `{"code":"unavailable","detail":"the place b holds the database now: try there","place":{"name":"b","url":"https://b.example"}}`, after: "1"}}}
	_, err := s.client(t).Keys.List(t.Context())
	var said *posthouse.Error
	if !errors.As(err, &said) || said.Place == nil || *said.Place != (posthouse.Place{Name: "b", URL: "https://b.example"}) || len(s.calls) != 1 {
		t.Errorf("got %+v after %d calls", err, len(s.calls))
	}
}

func TestErrorsHaveTheServersCodeAndProblems(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer answer
		want   posthouse.Error
	}{
		"of the API":       {invalid, posthouse.Error{Code: posthouse.CodeInvalid, Message: "no", Problems: []posthouse.Problem{{Path: "to", Message: "is required"}}}},
		"of a proxy":       {answer{status: 403, body: "<html>"}, posthouse.Error{Code: posthouse.CodeForbidden, Message: "the server answered HTTP 403 Forbidden"}},
		"no Posthouse":     {answer{status: 404, body: "404 page not found"}, posthouse.Error{Code: posthouse.CodeNotFound, Message: "the server answered HTTP 404 Not Found"}},
		"of a login page":  {answer{status: 302, body: ""}, posthouse.Error{Code: posthouse.CodeInternal, Message: "the server answered HTTP 302 Found"}},
		"a strange status": {answer{status: 418, body: `{"code":7}`}, posthouse.Error{Code: posthouse.CodeInternal, Message: "the server answered HTTP 418 I'm a teapot"}},
	} {
		s := &script{answers: []answer{test.answer}}
		_, err := s.client(t).Messages.Cancel(t.Context(), "m")
		var got *posthouse.Error
		if !errors.As(err, &got) {
			t.Errorf("%s: got %v, want a *posthouse.Error", name, err)
			continue
		}
		if diff := cmp.Diff(&test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAnAnswerThatIsNoneIsAnError(t *testing.T) {
	t.Parallel()
	s := &script{answers: []answer{{status: 200, body: "<html>welcome"}}}
	c := s.client(t)
	if _, err := c.Keys.List(t.Context()); err == nil || !strings.Contains(err.Error(), "not what the API promises") {
		t.Errorf("a list: got %v", err)
	}
	if _, err := c.Ready(t.Context()); err == nil {
		t.Error("readiness: got no error")
	}
	if _, err := c.Messages.SendJSON(t.Context(), "", []byte(`{}`)); err == nil {
		t.Error("send: got no error")
	}
}

func TestNewRefusesWhatCannotBeCalled(t *testing.T) {
	t.Parallel()
	for _, o := range []client.Options{
		{}, {URL: "127.0.0.1:8080"}, {URL: "ftp://host"}, {URL: "http://"}, {URL: "http://[::1"},
		{URL: "http://host", Key: "ph_a b"}, {URL: "http://host", Key: "ph_\n"}, {URL: "http://host", Key: "驿站"},
	} {
		if _, err := client.New(o); err == nil {
			t.Errorf("%+v: got no error", o)
		} else if o.Key != "" && strings.Contains(err.Error(), o.Key) {
			t.Errorf("the error shows the key: %v", err)
		}
	}
}
