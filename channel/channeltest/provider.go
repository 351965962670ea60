package channeltest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Arrival is a request that reached the provider.
type Arrival struct {
	Method string
	Target string // path and query
	Header http.Header
	Body   []byte
	From   string // the connection's other end
}

// Provider is a fake provider over real HTTP. It writes down what arrives before it answers, so
// that a test can count arrivals whatever the answer was.
type Provider struct {
	URL string

	server *httptest.Server
	aside  func(http.ResponseWriter, *http.Request) bool
	done   chan struct{}
	stop   sync.Once

	mu       sync.Mutex
	handler  http.Handler
	arrivals []Arrival
}

// NewProvider starts a provider that answers with handler until the test ends.
func NewProvider(t testing.TB, handler http.HandlerFunc) *Provider {
	t.Helper()
	p := newProvider(handler)
	p.server = httptest.NewServer(p)
	p.URL = p.server.URL
	t.Cleanup(p.Close)
	return p
}

func newProvider(handler http.HandlerFunc) *Provider {
	return &Provider{handler: handler, done: make(chan struct{})}
}

// Close lets hanging answers go and stops the provider. It may be called twice.
func (p *Provider) Close() {
	p.stop.Do(func() { close(p.done); p.server.Close() })
}

// Answer changes what the provider answers from now on.
func (p *Provider) Answer(handler http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handler = handler
}

// Arrivals lists what arrived so far.
func (p *Provider) Arrivals() []Arrival {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Arrival(nil), p.arrivals...)
}

// ServeHTTP writes down a request and answers it.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p.aside != nil && p.aside(w, r) {
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // it did not arrive
	}
	p.mu.Lock()
	p.arrivals = append(p.arrivals, Arrival{r.Method, r.URL.RequestURI(), r.Header.Clone(), body, r.RemoteAddr})
	handler := p.handler
	p.mu.Unlock()
	handler.ServeHTTP(w, r)
}

// Reply is a handler that answers with a status and a JSON body.
func Reply(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}
