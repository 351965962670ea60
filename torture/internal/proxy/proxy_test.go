package proxy

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"
)

// server listens and gives out the connections that came.
func server(t *testing.T) (addr string, came <-chan *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conns := make(chan *net.TCPConn, 16)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns <- c.(*net.TCPConn)
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
		close(conns)
		for c := range conns {
			c.Close()
		}
	})
	return l.Addr().String(), conns
}

func start(t *testing.T, o Options) *Proxy {
	t.Helper()
	p, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func dial(t *testing.T, p *Proxy) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(30 * time.Second))
	return c.(*net.TCPConn)
}

// readAll reads to the end of the connection and says what that was.
func readAll(c net.Conn) (string, error) {
	b, err := io.ReadAll(c)
	return string(b), err
}

// wantReset opens a connection that is reset, at once or when it is read.
func wantReset(t *testing.T, p *Proxy) {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err == nil {
		defer c.Close()
		_, err = readAll(c)
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a new connection saw %v, want a reset", err)
	}
}

func TestBytesAndTheEndPassBothWays(t *testing.T) {
	t.Parallel()
	addr, came := server(t)
	p := start(t, Options{Target: addr})
	client := dial(t, p)
	io.WriteString(client, "question")
	client.CloseWrite()
	peer := <-came
	if got, err := readAll(peer); got != "question" || err != nil {
		t.Errorf("the server read %q, %v", got, err)
	}
	io.WriteString(peer, "answer")
	peer.Close()
	if got, err := readAll(client); got != "answer" || err != nil {
		t.Errorf("the client read %q, %v", got, err)
	}
}

func TestResetCutsBothSides(t *testing.T) {
	t.Parallel()
	addr, came := server(t)
	p := start(t, Options{Target: addr})
	client := dial(t, p)
	peer := <-came
	defer peer.Close()
	if n := p.Reset(); n != 1 {
		t.Errorf("%d connections were reset, want 1", n)
	}
	for side, c := range map[string]net.Conn{"client": client, "server": peer} {
		if _, err := readAll(c); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the %s saw %v, want a reset", side, err)
		}
	}
}

func TestRefuseResetsNewConnectionsAlone(t *testing.T) {
	t.Parallel()
	addr, came := server(t)
	p := start(t, Options{Target: addr})
	old := dial(t, p)
	peer := <-came
	p.Set(Faults{Refuse: true})
	wantReset(t, p)
	io.WriteString(old, "still here")
	old.Close()
	if got, err := readAll(peer); got != "still here" || err != nil {
		t.Errorf("the old connection carried %q, %v", got, err)
	}
	peer.Close()
	if s := p.Stats(); s.Refused != 1 || s.Connections != 1 {
		t.Errorf("stats: %+v, want 1 refused and 1 connection", s)
	}
}

func TestATargetThatIsGoneResetsTheClient(t *testing.T) {
	t.Parallel()
	wantReset(t, start(t, Options{Target: "127.0.0.1:1"}))
}

func TestCloseEndsWhatWaitsInAHole(t *testing.T) {
	t.Parallel()
	addr, came := server(t)
	p, err := Start(Options{Target: addr})
	if err != nil {
		t.Fatal(err)
	}
	client := dial(t, p)
	peer := <-came
	defer peer.Close()
	p.Set(Both(Way{Hole: true, Latency: time.Hour}))
	io.WriteString(client, "lost")
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, err := readAll(client); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the client saw %v, want a reset", err)
	}
	if s := p.Stats(); s.Open != 0 {
		t.Errorf("%d connections are open after Close", s.Open)
	}
}

func TestIdleAndOldConnectionsAreCut(t *testing.T) {
	t.Parallel()
	addr, came := server(t)
	p := start(t, Options{Target: addr})
	c := dial(t, p)
	defer (<-came).Close()
	if n := p.Cut(time.Hour, time.Hour); n != 0 {
		t.Errorf("%d of one young connection were cut", n)
	}
	if n := p.Cut(0, 1); n != 1 {
		t.Errorf("%d of one old connection were cut", n)
	}
	if _, err := readAll(c); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the client met %v, want a reset", err)
	}
	second := dial(t, p)
	defer (<-came).Close()
	if n := p.Cut(1, 0); n != 1 {
		t.Errorf("%d of one idle connection were cut", n)
	}
	if _, err := readAll(second); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the client met %v, want a reset", err)
	}
}
