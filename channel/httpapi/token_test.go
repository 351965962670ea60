package httpapi

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// tokenProvider gives tokens, and takes those alone that it gave last.
type tokenProvider struct {
	*httptest.Server
	given atomic.Int64
	gives func(n int64) (status int, body string)
}

func newTokenProvider(t *testing.T, gives func(n int64) (int, string)) *tokenProvider {
	p := &tokenProvider{gives: gives}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			status, body := p.gives(p.given.Add(1))
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
			return
		}
		if r.Header.Get("X-Token") != fmt.Sprintf("token-%d", p.given.Load()) {
			_, _ = io.WriteString(w, `{"code":401,"msg":"bad `+r.Header.Get("X-Token")+`"}`)
			return
		}
		_, _ = io.WriteString(w, `{"code":0}`)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *tokenProvider) driver(t *testing.T, tokens channel.Tokens, timeout time.Duration) channel.Driver {
	t.Helper()
	config, problems := Type().Validate(map[string]any{
		"url": p.URL + "/send", "headers": map[string]any{"X-Token": "${token}"}, "secrets": map[string]any{"key": "s3cr3t"},
		"success_path": "$.code", "success_values": []any{"0"}, "message_path": "$.msg", "codes": map[string]any{"401": "auth", "500": "account"},
		"token_url": p.URL + "/token", "token_body": `{"key":"${secret.key}","at":${now_ms}}`, "token_path": "$.data.token", "token_lasts_path": "$.data.expires",
	})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	d, err := open(config, channel.Env{Network: channel.Network{AllowPrivate: true}, Tokens: tokens, Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.(io.Closer).Close() })
	return d
}

func lasting(seconds int) func(n int64) (int, string) {
	return func(n int64) (int, string) {
		return 200, fmt.Sprintf(`{"code":0,"data":{"token":"token-%d","expires":%d}}`, n, seconds)
	}
}

// Two processes that share their tokens fetch one, however many calls begin at once; and one more when it is refused.
func TestATokenIsFetchedOnceForAll(t *testing.T) {
	t.Parallel()
	p, shared := newTokenProvider(t, lasting(7200)), new(channel.MemoryTokens)
	one, other := p.driver(t, shared, time.Minute), p.driver(t, shared, time.Minute)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			d := one
			if i%2 == 1 {
				d = other
			}
			if r := d.Send(t.Context(), outTo("a")); r.Class != posthouse.ClassOK {
				t.Errorf("got %+v", r)
			}
		})
	}
	all.Wait()
	if n := p.given.Load(); n != 1 {
		t.Fatalf("%d tokens were fetched", n)
	}
	p.given.Add(1) // the provider knows the first no more
	r := one.Send(t.Context(), outTo("a"))
	if r.Class != posthouse.ClassOK || p.given.Load() != 3 {
		t.Errorf("after it was voided: %+v, %d fetches", r, p.given.Load())
	}
}

// A token is shown nowhere, though the provider echoes it.
func TestATokenIsMasked(t *testing.T) {
	t.Parallel()
	p := newTokenProvider(t, func(n int64) (int, string) {
		return 200, fmt.Sprintf(`{"data":{"token":"unheard-of-%d","expires":60}}`, n)
	})
	r := p.driver(t, nil, time.Minute).Send(t.Context(), outTo("a"))
	if r.Class != posthouse.ClassAuth || strings.Contains(fmt.Sprint(r), "unheard-of") {
		t.Errorf("got %+v", r)
	}
}

func TestTokenEndpointsThatGoWrong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		class  posthouse.Class
		code   string
		says   string
	}{
		"200 with an error":        {200, `{"code":500,"msg":"no such app"}`, posthouse.ClassAccount, "500", "no access token: no such app"},
		"an error nobody listed":   {200, `{"code":9,"msg":"odd"}`, posthouse.ClassTransient, "9", "no access token: odd"},
		"rubbish":                  {200, `<html>`, posthouse.ClassTransient, "", "no token where token_path says"},
		"nothing":                  {200, ``, posthouse.ClassTransient, "", "no token where token_path says"},
		"a life of 0":              {200, `{"data":{"token":"t","expires":0}}`, posthouse.ClassTransient, CodeTokenLife, "over at once"},
		"a life that is no number": {200, `{"data":{"token":"t","expires":"soon"}}`, posthouse.ClassTransient, CodeTokenLife, "no number"},
		"401":                      {401, ``, posthouse.ClassAccount, "HTTP_401", "no access token"},
		"503":                      {503, ``, posthouse.ClassTransient, "HTTP_503", "no access token"},
		"500":                      {500, ``, posthouse.ClassAccount, "HTTP_500", "no access token"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newTokenProvider(t, func(int64) (int, string) { return c.status, c.body })
			r := p.driver(t, nil, time.Minute).Send(t.Context(), outTo("a"))
			if r.Class != c.class || r.Code != c.code || !strings.Contains(r.Error, c.says) {
				t.Errorf("got %s, %s: %s", r.Class, r.Code, r.Error)
			}
		})
	}
}

// A token endpoint that does not answer makes the delivery wait, and nothing unknown: no message has left.
func TestASlowTokenEndpointIsTransient(t *testing.T) {
	t.Parallel()
	left := make(chan struct{})
	p := newTokenProvider(t, func(int64) (int, string) { <-left; return 200, "" })
	t.Cleanup(func() { close(left) })
	r := p.driver(t, nil, 50*time.Millisecond).Send(t.Context(), outTo("a"))
	if r.Class != posthouse.ClassTransient || r.Code != channel.CodeTimeout {
		t.Errorf("got %+v", r)
	}
}

func TestTheLifeOfATokenInItsUnits(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	for unit, c := range map[string]struct {
		says string
		want time.Duration
	}{
		inSeconds:      {"7200", 2 * time.Hour},
		inMilliseconds: {"86400000", 24 * time.Hour},
		untilSeconds:   {"1700003600", time.Hour},
		untilMillis:    {"1700003600000", time.Hour},
	} {
		r := rehearse(t, map[string]any{"url": "https://h/", "token_url": "https://h/t", "token_path": "$.t", "token_lasts_path": "$.e", "token_lasts_in": unit})
		body := []byte(`{"t":"x","e":` + c.says + `}`)
		if token, lasts, _ := r.Token(Answer{Status: 200, Body: body}, now); token != "x" || lasts != c.want {
			t.Errorf("%s: %q, %s", unit, token, lasts)
		}
		if _, lasts, _ := r.Token(Answer{Status: 200, Body: []byte(`{"t":"x","e":1e18}`)}, now); lasts != longestLife {
			t.Errorf("%s: a number that is far too large lasts %s", unit, lasts)
		}
	}
	past := rehearse(t, map[string]any{"url": "https://h/", "token_url": "https://h/t", "token_path": "$.t", "token_lasts_path": "$.e", "token_lasts_in": untilMillis})
	if _, _, r := past.Token(Answer{Status: 200, Body: []byte(`{"t":"x","e":1700000000000}`)}, now.Add(20*time.Minute)); r.Code != CodeTokenLife || !strings.Contains(r.Error, "clock") {
		t.Errorf("a clock that is 20 minutes off: %+v", r)
	}
}
