package proxy

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// session is one connection of a client and the one to the server that belongs to it.
type session struct {
	proxy  *Proxy
	client net.Conn
	server net.Conn
	watch  watcher
	frozen atomic.Bool
	mute   atomic.Bool // the server's answer is swallowed, and its end is that of the session
	done   chan struct{}
	began  time.Time
	moved  atomic.Int64 // when something went either way, in Unix nanoseconds

	mu    sync.Mutex // guards server until it is set, and ended
	ended bool
}

func newSession(p *Proxy, client net.Conn) *session {
	s := &session{proxy: p, client: client, watch: p.options.Protocol.watcher(), done: make(chan struct{}), began: time.Now()}
	s.moved.Store(s.began.UnixNano())
	return s
}

// run connects to the server and carries bytes both ways until both have ended.
func (s *session) run(dial func() (net.Conn, error)) {
	defer s.abort()
	if !s.gate(true) {
		return
	}
	server, err := dial()
	if err != nil || !s.attach(server) {
		return
	}
	var ways sync.WaitGroup
	ways.Go(func() { s.pump(true, s.client, s.server) })
	ways.Go(func() { s.pump(false, s.server, s.client) })
	ways.Wait()
	s.close()
}

// attach keeps the connection to the server, or closes it where the session has ended meanwhile.
func (s *session) attach(server net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		shut(server, true)
		return false
	}
	s.server = server
	return true
}

// pieceSize is how much is read at once.
const pieceSize = 32 << 10

// pump carries one direction: pieces, then the end.
func (s *session) pump(up bool, from, to net.Conn) {
	piece := make([]byte, pieceSize)
	for {
		n, err := from.Read(piece)
		s.moved.Store(time.Now().UnixNano())
		if n > 0 && !s.carry(up, to, piece[:n]) {
			s.abort()
			return
		}
		if err == nil {
			continue
		}
		if !s.gate(up) || !errors.Is(err, io.EOF) {
			s.abort()
			return
		}
		hangUp(to)
		return
	}
}

// hangUp ends one direction and leaves the other open.
func hangUp(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // it has ended already, then
		return
	}
	c.Close()
}

// carry sees to one piece; false means that the session is over.
func (s *session) carry(up bool, to net.Conn, piece []byte) bool {
	if !up && s.mute.Load() {
		return !s.watch.answered(piece)
	}
	if up {
		switch s.proxy.judge(s.watch.commits(piece)) {
		case answerLost:
			s.mute.Store(true)
		case commitLost:
			return false
		}
	}
	return s.pass(up, to, piece)
}

// pass sends a piece as the faults of its way have it; false means that the session is over.
func (s *session) pass(up bool, to net.Conn, piece []byte) bool {
	way, _ := s.proxy.way(up)
	if !s.sleep(s.proxy.delay(way)) {
		return false
	}
	for len(piece) > 0 {
		if !s.gate(up) {
			return false
		}
		way, _ = s.proxy.way(up)
		n := len(piece)
		if way.Slice > 0 {
			n = min(n, way.Slice)
		}
		if _, err := to.Write(piece[:n]); err != nil {
			return false
		}
		if piece = piece[n:]; len(piece) > 0 && !s.sleep(way.Pause) {
			return false
		}
	}
	return true
}

// gate waits while there is a hole; false means that the session is over.
func (s *session) gate(up bool) bool {
	for {
		way, changed := s.proxy.way(up)
		if s.frozen.Load() {
			changed = nil
		} else if !way.Hole {
			return true
		}
		select {
		case <-changed:
		case <-s.done:
			return false
		}
	}
}

func (s *session) sleep(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.done:
		return false
	}
}

// abort ends the session so that both sides see a reset.
func (s *session) abort() { s.end(true) }

// close ends a session that both sides have ended.
func (s *session) close() { s.end(false) }

// end ends the session, and reports whether it had not ended.
func (s *session) end(reset bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.ended = true
	close(s.done)
	for _, c := range []net.Conn{s.client, s.server} {
		if c != nil {
			shut(c, reset)
		}
	}
	return true
}

// shut closes a connection; with reset, what is unsent is dropped and the peer is told.
func shut(c net.Conn, reset bool) {
	if tcp, ok := c.(*net.TCPConn); ok && reset {
		tcp.SetLinger(0)
	}
	c.Close()
}
