package simulator

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// tokenLasts is how long an access token is good for.
const tokenLasts = 2 * time.Hour

// tokens are the access tokens that a provider has given. The zero value has given none.
type tokens struct {
	mu    sync.Mutex
	byApp map[string]accessToken
	given int // how many were
}

type accessToken struct {
	token string
	until time.Time
}

// verify looks at the access token.
func (s *tokens) verify(r *http.Request, now time.Time) *refusal {
	_, ref := s.whose(r, now)
	return ref
}

// whose is the application that an access token was given to.
func (s *tokens) whose(r *http.Request, now time.Time) (app string, ref *refusal) {
	token := r.URL.Query().Get("access_token")
	if token == "" {
		return "", strange("41001", "access_token is missing")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for app, t := range s.byApp {
		if t.token == token {
			if now.After(t.until) {
				return app, strange("42001", "access_token has expired")
			}
			return app, nil
		}
	}
	return "", strange("40014", "access_token is not valid")
}

// give is the token of an application, the same while it lasts.
func (s *tokens) give(app string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.byApp == nil {
		s.byApp = map[string]accessToken{}
	}
	t := s.byApp[app]
	if now.After(t.until) {
		s.given++
		t.token = fmt.Sprintf("token-%d-%x", s.given, now.UnixNano())
	}
	t.until = now.Add(tokenLasts)
	s.byApp[app] = t
	return t.token
}

// has reports whether a token was given, and is not over.
func (s *tokens) has(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.byApp {
		if t.token == token {
			return time.Now().Before(t.until)
		}
	}
	return false
}

// drop makes the provider refuse all tokens it has given.
func (s *tokens) drop(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.byApp)
	w.WriteHeader(http.StatusNoContent)
}

// wrongSecret reports whether a secret is refused: one that is missing, or says so.
func wrongSecret(secret string) bool { return secret == "" || strings.HasPrefix(secret, "wrong") }
