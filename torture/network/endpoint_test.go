package network

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
)

// endpoint is a provider of the test's own that listens on bare TCP, so that it can break every rule
// of HTTP, and counts what it has read, by the key each request carries.
type endpoint struct {
	URL string

	done     chan struct{} // closed when the test ends
	mu       sync.Mutex
	open     map[net.Conn]bool
	arrivals map[string]int // by key
	paths    map[string]int
	serving  sync.WaitGroup
}

// visit is one connection to an endpoint.
type visit struct {
	*net.TCPConn
	endpoint *endpoint
	in       *bufio.Reader
	requests int // read so far
}

// listen serves each connection with serve, in a goroutine of its own, until the test ends.
func listen(t *testing.T, address string, serve func(v *visit)) *endpoint {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	e := &endpoint{URL: "http://" + l.Addr().String(), done: make(chan struct{}), open: map[net.Conn]bool{}, arrivals: map[string]int{}, paths: map[string]int{}}
	e.serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			e.serve(c.(*net.TCPConn), serve)
		}
	})
	t.Cleanup(func() {
		l.Close()
		close(e.done)
		e.hangUp()
		e.serving.Wait()
	})
	return e
}

// hangUp closes all connections.
func (e *endpoint) hangUp() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for c := range e.open {
		c.Close()
	}
}

// connections is how many are open.
func (e *endpoint) connections() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.open)
}

func (e *endpoint) serve(c *net.TCPConn, serve func(v *visit)) {
	e.mu.Lock()
	e.open[c] = true
	e.mu.Unlock()
	e.serving.Go(func() {
		serve(&visit{TCPConn: c, endpoint: e, in: bufio.NewReader(c)})
		c.Close()
		e.mu.Lock()
		delete(e.open, c)
		e.mu.Unlock()
	})
}

// keyHeaders are where drivers put the key of a delivery.
var keyHeaders = []string{"Idempotency-Key", "X-Idempotency-Key", "Webhook-Id"}

// read reads one request to its end and counts it; false means that there is none.
func (v *visit) read() bool {
	r, err := http.ReadRequest(v.in)
	if err != nil {
		return false
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return false
	}
	v.requests++
	key := ""
	for _, name := range keyHeaders {
		if key == "" {
			key = r.Header.Get(name)
		}
	}
	v.endpoint.mu.Lock()
	defer v.endpoint.mu.Unlock()
	v.endpoint.arrivals[key]++
	v.endpoint.paths[r.URL.Path]++
	return true
}

// say writes an answer as it is.
func (v *visit) say(text string) { io.WriteString(v, text) }

// reset makes the end of the connection a reset.
func (v *visit) reset() { v.SetLinger(0) }

// wait holds the connection until its peer has gone.
func (v *visit) wait() { io.Copy(io.Discard, v.in) }

// counts is how many requests came, and the most for one key.
func (e *endpoint) counts() (requests, most int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, n := range e.arrivals {
		requests += n
		most = max(most, n)
	}
	return requests, most
}

func (e *endpoint) visits(path string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.paths[path]
}

const fine = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{\"id\":\"1\"}"
