package web

import (
	"context"
	"crypto/sha256"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/secret"
)

// Gate finds out who asks. It is for all front doors of a server, so that who guesses at one is slowed down
// at each. A verified key is remembered for two seconds: that long a revoked one may still work.
type Gate struct {
	keys     Keys
	brake    *brake
	mu       sync.Mutex
	verified map[[sha256.Size]byte]verifiedKey // by the hash of what the caller showed
}

type verifiedKey struct {
	key   posthouse.Key
	until time.Time
}

const (
	keyMemory   = 2 * time.Second
	maxVerified = 10_000
)

// Keys finds API keys of any tenant, revoked or not.
type Keys interface {
	KeyHash(ctx context.Context, id string) (key posthouse.Key, hash string, found bool, err error)
}

// NewGate makes a gate that knows the keys of a store.
func NewGate(keys Keys) *Gate {
	return &Gate{keys: keys, brake: newBrake(), verified: map[[sha256.Size]byte]verifiedKey{}}
}

// errNoKey says nothing about which part was wrong.
var errNoKey = posthouse.Errorf(posthouse.CodeUnauthorized, "no valid API key: send one as \"Authorization: Bearer ph_…\"")

// enter finds the key of a request.
func (g *Gate) enter(r *http.Request) (posthouse.Key, error) {
	scheme, shown, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return posthouse.Key{}, errNoKey
	}
	return g.Key(r.Context(), shown, AddressOf(r))
}

// Key is the key that somebody at an address shows as its text.
func (g *Gate) Key(ctx context.Context, shown, address string) (posthouse.Key, error) {
	id, text, ok := secret.ParseKey(strings.TrimSpace(shown))
	if !ok {
		return posthouse.Key{}, errNoKey
	}
	now := time.Now()
	mark := sha256.Sum256([]byte(id + "_" + text))
	if key, ok := g.remembered(mark, now); ok {
		return key, nil
	}
	from := suspect{id, address}
	if err := g.slow(from, "API keys", now); err != nil {
		return posthouse.Key{}, err
	}
	key, err := g.verify(ctx, id, text)
	if err == errNoKey { //nolint:errorlint // this very value
		g.brake.failed(from, mark, now)
	}
	if err == nil {
		g.remember(mark, key, now)
	}
	return key, err
}

// Try lets somebody at an address show a user name and a password, unless too many were wrong of late.
// mark tells one password from another.
func (g *Gate) Try(user, address string, mark [sha256.Size]byte, right bool) (bool, error) {
	now, from := time.Now(), suspect{user, address}
	if err := g.slow(from, "passwords", now); err != nil {
		return false, err
	}
	if !right {
		g.brake.failed(from, mark, now)
	}
	return right, nil
}

// slow is an error while a suspect has to wait.
func (g *Gate) slow(from suspect, what string, now time.Time) error {
	wait := g.brake.wait(from, now)
	if wait <= 0 {
		return nil
	}
	f := Faultf(http.StatusTooManyRequests, posthouse.CodeUnavailable, "too many wrong %s: try again later", what)
	f.after = int(wait/time.Second) + 1
	return f
}

// verify compares a secret with the stored hash. A key that does not exist takes as long.
func (g *Gate) verify(ctx context.Context, id, text string) (posthouse.Key, error) {
	key, hash, found, err := g.keys.KeyHash(ctx, id)
	if err != nil {
		return posthouse.Key{}, err
	}
	if !found {
		hash = strings.Repeat("0", 2*sha256.Size) // the hash of nothing, as long as any
	}
	same := secret.Equal(hash, secret.HashKey(text))
	if !found || !same || !key.RevokedAt.IsZero() {
		return posthouse.Key{}, errNoKey
	}
	return key, nil
}

func (g *Gate) remembered(mark [sha256.Size]byte, now time.Time) (posthouse.Key, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	v, ok := g.verified[mark]
	return v.key, ok && now.Before(v.until)
}

func (g *Gate) remember(mark [sha256.Size]byte, key posthouse.Key, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.verified) >= maxVerified {
		clear(g.verified)
	}
	g.verified[mark] = verifiedKey{key, now.Add(keyMemory)}
}

// Forget ends the memory of a tenant's key that was revoked here.
func (g *Gate) Forget(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for mark, v := range g.verified {
		if v.key.ID == id {
			delete(g.verified, mark)
		}
	}
}

// AddressOf is the address that a request came from, without its port.
func AddressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
