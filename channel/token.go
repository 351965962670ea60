package channel

import (
	"context"
	"errors"
	"sync"
	"time"
)

// MemoryTokens keeps access tokens in the memory of one process and fetches each of them once at a
// time: whoever else needs it meanwhile gets what the one fetch gave, its error too. The zero value is
// ready to be used, from many goroutines.
type MemoryTokens struct {
	mu      sync.Mutex
	kept    map[string]keptToken
	fetches map[string]*tokenFetch
}

// keptToken is good until then: a while before its provider forgets it.
type keptToken struct {
	token string
	until time.Time
}

// tokenFetch is one that is under way; its answer may be read once done is closed.
type tokenFetch struct {
	done  chan struct{}
	token string
	err   error
}

// ErrStaleToken says that a provider gave out the very token that it had refused.
var ErrStaleToken = errors.New("the provider gives out the access token again that it has refused")

// errNoFetch is what others get of a fetch that panicked.
var errNoFetch = errors.New("the access token could not be fetched")

// Token is Tokens.Token.
func (m *MemoryTokens) Token(ctx context.Context, name, stale string, fetch func(context.Context) (string, time.Duration, error)) (string, error) {
	for {
		token, f, mine := m.look(name, stale)
		if f == nil {
			return token, nil
		}
		if mine {
			m.fetch(ctx, name, stale, f, fetch)
			return f.token, f.err
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return "", ctx.Err()
		}
		if f.err != nil && !gaveUp(f.err) {
			return "", f.err
		}
	}
}

// gaveUp reports whether a fetch ended because its caller had to leave: that says nothing to others.
func gaveUp(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// look finds a token that will do, or the fetch that is to give one: mine, where nobody else's is under way.
func (m *MemoryTokens) look(name, stale string) (token string, f *tokenFetch, mine bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k := m.kept[name]; k.token != "" && k.token != stale && time.Now().Before(k.until) {
		return k.token, nil, false
	}
	if f := m.fetches[name]; f != nil {
		return "", f, false
	}
	if m.kept == nil {
		m.kept, m.fetches = map[string]keptToken{}, map[string]*tokenFetch{}
	}
	f = &tokenFetch{done: make(chan struct{}), err: errNoFetch}
	m.fetches[name] = f
	return "", f, true
}

func (m *MemoryTokens) fetch(ctx context.Context, name, stale string, f *tokenFetch, fetch func(context.Context) (string, time.Duration, error)) {
	var lasts time.Duration
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.fetches, name)
		if f.err == nil {
			m.kept[name] = keptToken{f.token, time.Now().Add(lasts - margin(lasts))}
		}
		close(f.done)
	}()
	token, life, err := fetch(ctx)
	lasts = life
	switch {
	case err != nil:
		f.err = err
	case token == "" || token == stale:
		f.err = ErrStaleToken
	default:
		f.token, f.err = token, nil
	}
}

// margin is how long before its end a token is no longer used: five minutes of one that lasts hours.
func margin(lasts time.Duration) time.Duration { return min(lasts/5, 5*time.Minute) }
