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
)

// script is a server that answers by the list, and keeps when and with which key it was asked.
type script struct {
	answers []answer
	asked   []time.Time
	keys    map[string]bool
}

type answer struct {
	status int
	after  string // Retry-After
	body   string
	err    error // of the network, in place of an answer
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	n := min(len(s.asked), len(s.answers)-1)
	s.asked = append(s.asked, time.Now())
	if s.keys == nil {
		s.keys = map[string]bool{}
	}
	s.keys[r.Header.Get("Idempotency-Key")] = true
	a := s.answers[n]
	if a.err != nil {
		return nil, a.err
	}
	res := &http.Response{StatusCode: a.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(a.body))}
	if a.after != "" {
		res.Header.Set("Retry-After", a.after)
	}
	return res, nil
}

// scripted is a client of a script.
func scripted(t *testing.T, o client.Options, answers ...answer) (*client.Client, *script) {
	t.Helper()
	s := &script{answers: answers}
	o.URL, o.Key, o.HTTP = "http://posthouse.example", "ph_key", &http.Client{Transport: s}
	c, err := client.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c, s
}

var (
	errReset  = errors.New("connection reset by peer")
	committed = answer{status: 202, body: `{"messages":[{"id":"m1","created_at":"2026-10-01T00:00:00Z","deliveries":[]}]}`}
	restarts  = answer{status: 503, after: "3", body: `{"code":"unavailable","detail":"the server is stopping: try again"}`}
	lostReply = answer{status: 503, body: `{"code":"outcome_unknown","detail":"the commit's answer was lost"}`}
	invalid   = answer{status: 422, body: `{"code":"invalid","detail":"no","problems":[{"path":"messages[0].to[0].user","message":"is required"}]}`}
)

func TestSendGoesOnWithTheSameKeyUntilItIsAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := scripted(t, client.Options{}, answer{err: errReset}, lostReply, restarts, committed)
		sent, err := c.Send(t.Context(), draft("out", "u"))
		if err != nil || len(sent.Accepted) != 1 {
			t.Fatalf("Send: %+v, %v", sent, err)
		}
		if len(s.asked) != 4 || len(s.keys) != 1 || s.keys[""] {
			t.Errorf("asked %d times with the keys %v, want 4 times with one key", len(s.asked), s.keys)
		}
		if waited := s.asked[3].Sub(s.asked[2]); waited < 3*time.Second {
			t.Errorf("waited %s, want the 3s that the server asked for", waited)
		}
	})
}

func TestOnlyWhatIsSafeAndMayPassIsRepeated(t *testing.T) {
	t.Parallel()
	read := func(ctx context.Context, c *client.Client) error {
		_, err := c.Channels(ctx)
		return err
	}
	send := func(ctx context.Context, c *client.Client) error {
		_, err := c.Send(ctx, draft("out", "u"))
		return err
	}
	write := func(ctx context.Context, c *client.Client) error {
		_, err := c.Replay(ctx, "d1", false)
		return err
	}
	for name, test := range map[string]struct {
		answer answer
		do     func(context.Context, *client.Client) error
		want   int
	}{
		"a read, the network fails":         {answer{err: errReset}, read, 4},
		"a read, the server restarts":       {restarts, read, 4},
		"a send, a proxy finds no server":   {answer{status: 502, body: "<html>"}, send, 4},
		"a send, it is invalid":             {invalid, send, 1},
		"a send, the server asks too much":  {answer{status: 503, after: "60"}, send, 1},
		"a send, the server has no room":    {answer{status: 507, body: `{"code":"storage_full","detail":"full"}`}, send, 1},
		"a send, something went wrong":      {answer{status: 500, body: `{"code":"internal","detail":"?"}`}, send, 1},
		"a write without a key, a reset":    {answer{err: errReset}, write, 1},
		"a write without a key, unanswered": {lostReply, write, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, s := scripted(t, client.Options{}, test.answer)
				if err := test.do(t.Context(), c); err == nil {
					t.Error("got no error")
				}
				if len(s.asked) != test.want {
					t.Errorf("asked %d times, want %d", len(s.asked), test.want)
				}
			})
		})
	}
}

func TestACallerWhoLeavesIsNotKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := scripted(t, client.Options{Tries: 100, MaxWait: time.Hour}, restarts)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		began := time.Now()
		_, err := c.Send(ctx, draft("out", "u"))
		if posthouse.CodeOf(err) != posthouse.CodeUnavailable {
			t.Errorf("the error is %v, want what the server said last", err)
		}
		if len(s.asked) != 2 || time.Since(began) != 5*time.Second {
			t.Errorf("asked %d times in %s, want 2 and no longer than the caller stays", len(s.asked), time.Since(began))
		}
	})
}

func TestErrorsKeepTheirCodeAndProblems(t *testing.T) {
	t.Parallel()
	plain := answer{status: 404, body: "404 page not found"}
	for name, test := range map[string]struct {
		answer answer
		want   posthouse.Error
	}{
		"the server's own": {invalid, posthouse.Error{Code: posthouse.CodeInvalid, Message: "no", Problems: []posthouse.Problem{{Path: "messages[0].to[0].user", Message: "is required"}}}},
		"another server's": {plain, posthouse.Error{Code: posthouse.CodeNotFound, Message: "the server answered HTTP 404 Not Found"}},
		"a login page":     {answer{status: 401, body: "<html>"}, posthouse.Error{Code: posthouse.CodeUnauthorized, Message: "the server answered HTTP 401 Unauthorized"}},
	} {
		c, _ := scripted(t, client.Options{}, test.answer)
		_, err := c.Send(t.Context(), draft("out", "u"))
		var got *posthouse.Error
		if !errors.As(err, &got) {
			t.Fatalf("%s: %v is not a *posthouse.Error", name, err)
		}
		if diff := cmp.Diff(test.want, *got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestAnAnswerThatIsNotJSONIsAnError(t *testing.T) {
	t.Parallel()
	c, _ := scripted(t, client.Options{}, answer{status: 200, body: "<html>It works!</html>"})
	if _, err := c.Channels(t.Context()); err == nil || !strings.Contains(err.Error(), "not what the API promises") {
		t.Errorf("Channels: %v", err)
	}
	if _, err := c.Ready(t.Context()); err == nil {
		t.Error("Ready: got no error")
	}
	if _, err := c.SendJSON(t.Context(), "k", []byte(`{}`)); err == nil {
		t.Error("SendJSON: got no error")
	}
}

func TestAServerThatIsNotReadyIsAnAnswer(t *testing.T) {
	t.Parallel()
	c, s := scripted(t, client.Options{}, answer{status: 503, body: `{"ready":false,"checks":[{"name":"database","ok":false,"detail":"the database does not answer"}]}`})
	got, err := c.Ready(t.Context())
	if err != nil || got.Ready || len(got.Checks) != 1 || len(s.asked) != 1 {
		t.Errorf("Ready: %+v, %v after %d calls", got, err, len(s.asked))
	}
}
