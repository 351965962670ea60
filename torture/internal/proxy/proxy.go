package proxy

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// Options says what a proxy stands before.
type Options struct {
	// Target is the server's address, host:port. Required.
	Target string
	// Protocol is what is spoken, for the faults of commits. Defaults to Opaque, which has none.
	Protocol Protocol
	// Seed makes draws the same from run to run, for commits that come in the same order. Defaults to 1.
	Seed uint64
}

// Proxy is a link to one server. It may be used from many goroutines.
type Proxy struct {
	options  Options
	listener net.Listener
	running  sync.WaitGroup

	mu       sync.Mutex // guards all below
	faults   Faults
	changed  chan struct{} // closed at the next Set
	random   *rand.Rand
	sessions map[*session]bool
	stats    Stats
	closed   bool
}

// Start listens on a free port of 127.0.0.1 until Close.
func Start(o Options) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the clients of %s: %w", o.Target, err)
	}
	p := newProxy(o)
	p.listener = listener
	p.running.Go(p.accept)
	return p, nil
}

func newProxy(o Options) *Proxy {
	return &Proxy{
		options: o, changed: make(chan struct{}), sessions: map[*session]bool{},
		random: rand.New(rand.NewPCG(cmp.Or(o.Seed, 1), 0)),
	}
}

// Addr is where clients connect to, host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Set replaces the faults, for open connections too. What waits in a hole goes on, if that is gone.
func (p *Proxy) Set(f Faults) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = f
	close(p.changed)
	p.changed = make(chan struct{})
}

// Faults is what is set, less the strikes that have hit.
func (p *Proxy) Faults() Faults {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.faults
}

// Stats counts what happened so far.
func (p *Proxy) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Open = int64(len(p.sessions))
	return s
}

// Reset resets every open connection, on both sides, and says how many there were.
func (p *Proxy) Reset() int {
	open := p.open()
	for _, s := range open {
		s.abort()
	}
	return len(open)
}

// Freeze lets nothing pass on the open connections ever again, as a firewall that has forgotten
// them: only new ones work. It says how many there were.
func (p *Proxy) Freeze() int {
	open := p.open()
	for _, s := range open {
		s.frozen.Store(true)
	}
	return len(open)
}

// Cut resets the connections over which nothing went for as long as idle, or which are older than life, as load balancers do and proxies
// that allow no long ones; 0 spares them. It says how many there were.
func (p *Proxy) Cut(idle, life time.Duration) (n int) {
	now := time.Now()
	for _, s := range p.open() {
		quiet, old := now.Sub(time.Unix(0, s.moved.Load())), now.Sub(s.began)
		if (idle > 0 && quiet >= idle || life > 0 && old >= life) && s.end(true) {
			n++
		}
	}
	return n
}

func (p *Proxy) open() []*session {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]*session, 0, len(p.sessions))
	for s := range p.sessions {
		out = append(out, s)
	}
	return out
}

// Close resets all connections and returns when nothing of the proxy runs any more.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	err := p.listener.Close()
	p.Reset()
	p.running.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed: nothing else ends a listener on the loopback
		}
		p.running.Go(func() { p.serve(client, p.dial) })
	}
}

func (p *Proxy) dial() (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var d net.Dialer
	return d.DialContext(ctx, "tcp", p.options.Target)
}

// serve carries one connection until it ends.
func (p *Proxy) serve(client net.Conn, dial func() (net.Conn, error)) {
	s := newSession(p, client)
	if !p.admit(s) {
		s.abort()
		return
	}
	defer p.forget(s)
	s.run(dial)
}

func (p *Proxy) admit(s *session) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	if p.faults.Refuse {
		p.stats.Refused++
		return false
	}
	p.stats.Connections++
	p.sessions[s] = true
	return true
}

func (p *Proxy) forget(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.sessions, s)
}

// way is one direction now, and a channel that is closed when it changes.
func (p *Proxy) way(up bool) (Way, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if up {
		return p.faults.Up, p.changed
	}
	return p.faults.Down, p.changed
}

func (p *Proxy) delay(w Way) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return w.delay(p.random)
}

// judge decides what becomes of commits that came in one piece.
func (p *Proxy) judge(commits int) verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	for range commits {
		p.stats.Commits++
		switch {
		case p.faults.AnswerLost.hits(p.random):
			p.stats.AnswersLost++
			return answerLost
		case p.faults.CommitLost.hits(p.random):
			p.stats.CommitsLost++
			return commitLost
		}
	}
	return spared
}
