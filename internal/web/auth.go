package web

import (
	"cmp"
	"context"
	"crypto/sha256"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/secret"
)

// Gate finds out who asks. It is for all front doors of a server, so that who guesses at one is slowed down
// at each. A verified key is remembered for two seconds: that long a revoked one may still work.
type Gate struct {
	keys Keys
	// passwords bounds what can be guessed, tokens what cannot: keys and links have 160 random bits and more. These are judged in any
	// case, so that nobody shuts out programs by showing wrong ones; only their answers are bounded.
	passwords, tokens *brake

	log      *slog.Logger
	failures *prometheus.CounterVec
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
	// UsedKey notes that a key was shown.
	UsedKey(ctx context.Context, now time.Time, id string) error
}

// GateOptions makes a Gate. Keys is required.
type GateOptions struct {
	Keys Keys
	// Log defaults to slog.Default().
	Log *slog.Logger
	// Metrics counts wrong keys and passwords. Defaults to not counting.
	Metrics prometheus.Registerer
}

// NewGate makes a gate that knows the keys of a store.
func NewGate(o GateOptions) *Gate {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	g := &Gate{
		keys: o.Keys, passwords: newBrake(), tokens: newBrake(), log: o.Log, verified: map[[sha256.Size]byte]verifiedKey{},
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "posthouse", Name: "failed_logins_total", Help: "Wrong API keys and passwords, by what was shown and the answer: refused, or slowed where there were too many.",
		}, []string{"what", "answer"}),
	}
	for _, what := range []string{apiKeys, passwords} {
		for _, answer := range []string{"refused", "slowed"} {
			g.failures.WithLabelValues(what, answer)
		}
	}
	if o.Metrics != nil {
		o.Metrics.MustRegister(g.failures)
	}
	return g
}

// The kinds of credentials.
const (
	apiKeys   = "API keys"
	passwords = "passwords"
)

// errNoKey says nothing about which part was wrong.
var errNoKey = posthouse.Errorf(posthouse.CodeUnauthorized, "no valid API key: send one as \"Authorization: Bearer ph_…\"")

// known is where a request within the process carries its key.
type known struct{}

// As is a context for requests within the process, on behalf of a person whose session was looked at already: they need no
// other key. Nobody outside of the process can make one.
func As(ctx context.Context, key posthouse.Key) context.Context {
	return context.WithValue(ctx, known{}, key)
}

// acting reports whether a request is one within the process, on behalf of a person.
func acting(ctx context.Context) bool {
	_, ok := ctx.Value(known{}).(posthouse.Key)
	return ok
}

// enter finds the key of a request.
func (g *Gate) enter(r *http.Request) (posthouse.Key, error) {
	if key, ok := r.Context().Value(known{}).(posthouse.Key); ok {
		return key, nil
	}
	scheme, shown, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if _, password, basic := r.BasicAuth(); basic && isCalendar(r) {
		shown = password
	} else if !strings.EqualFold(scheme, "Bearer") {
		return posthouse.Key{}, errNoKey
	}
	return g.Key(r.Context(), shown, AddressOf(r))
}

// CalendarSuffix ends the addresses that calendars subscribe to. They know user names and passwords only.
const CalendarSuffix = ".ics"

// isCalendar reports whether a request may show its key as a password (RFC 7617): where it only reads a calendar.
func isCalendar(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, CalendarSuffix)
}

// Key verifies the text of a key that came from an address.
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
	key, err := g.verify(ctx, id, text)
	if err == errNoKey { //nolint:errorlint // this very value
		return key, cmp.Or(g.slow(address, apiKeys, mark, now), err)
	}
	if err == nil {
		g.remember(mark, key, now)
		g.used(ctx, key, now)
	}
	return key, err
}

// Wrong notes that somebody at an address has shown something wrong that nobody guesses, or that is bounded elsewhere: a link, or a
// code. The error is for those who have shown too many of late. mark tells one thing from another.
func (g *Gate) Wrong(address string, mark [sha256.Size]byte) error {
	return g.slow(address, passwords, mark, time.Now())
}

// slow counts something wrong that was shown, and is an error where there were too many.
func (g *Gate) slow(address, what string, shown mark, now time.Time) error {
	return g.wrong(address, what, g.tokens.failed(address, shown, now))
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
	if !found || !same || !key.RevokedAt.IsZero() || expired(key, time.Now()) {
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

// ForgetTenant ends the memory of the keys of a tenant that was removed here.
func (g *Gate) ForgetTenant(tenant string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for mark, v := range g.verified {
		if v.key.Tenant == tenant {
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

// expired reports whether a key has ended by itself.
func expired(key posthouse.Key, now time.Time) bool {
	return !key.ExpiresAt.IsZero() && !now.Before(key.ExpiresAt)
}

// usedEvery is how often the use of a key is noted at most.
const usedEvery = time.Minute

// used notes that a key was shown. Who shows it need not hear that it could not be noted.
func (g *Gate) used(ctx context.Context, key posthouse.Key, now time.Time) {
	if now.Sub(key.LastUsedAt) < usedEvery {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = g.keys.UsedKey(ctx, now, key.ID)
}
