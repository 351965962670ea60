package proxy

import (
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// wire is a proxy between two pipes, for tests in a bubble: its time is not real.
type wire struct {
	*Proxy
	client, server net.Conn
}

func newWire(o Options) *wire {
	w := &wire{Proxy: newProxy(o)}
	w.client, w.server = w.connect()
	return w
}

func (w *wire) connect() (client, server net.Conn) {
	client, near := net.Pipe()
	far, server := net.Pipe()
	w.running.Go(func() { w.serve(near, func() (net.Conn, error) { return far, nil }) })
	synctest.Wait()
	return client, server
}

func (w *wire) close() {
	w.Reset()
	w.running.Wait()
}

// piece is what came at once, and when.
type piece struct {
	text  string
	after time.Duration
}

// collect writes down what comes until the connection ends.
func collect(c net.Conn, into *[]piece) {
	begin := time.Now()
	buf := make([]byte, 1<<10)
	for {
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		*into = append(*into, piece{string(buf[:n]), time.Since(begin)})
	}
}

func want(t *testing.T, collected *[]piece, want ...piece) {
	t.Helper()
	synctest.Wait()
	got := *collected
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("piece %d: got %v, want %v", i, got[i], want[i])
		}
	}
}

func TestWaysAreSlowOrNarrowByThemselves(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name     string
		faults   Faults
		up, down []piece
	}{
		{"a good link", Faults{}, []piece{{"question", 0}}, []piece{{"answer", 0}}},
		{"latency up", Faults{Up: Way{Latency: 2 * time.Second}}, []piece{{"question", 2 * time.Second}}, []piece{{"answer", 0}}},
		{"latency down", Faults{Down: Way{Latency: time.Second}}, []piece{{"question", 0}}, []piece{{"answer", time.Second}}},
		{"latency both ways", Both(Way{Latency: time.Second}), []piece{{"question", time.Second}}, []piece{{"answer", time.Second}}},
		{
			"slices down", Faults{Down: Way{Slice: 2, Pause: 10 * time.Millisecond}}, []piece{{"question", 0}},
			[]piece{{"an", 0}, {"sw", 10 * time.Millisecond}, {"er", 20 * time.Millisecond}},
		},
		{
			"latency and slices", Faults{Up: Way{Latency: time.Second, Slice: 4, Pause: time.Second}},
			[]piece{{"ques", time.Second}, {"tion", 2 * time.Second}}, []piece{{"answer", 0}},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWire(Options{})
				defer w.close()
				w.Set(c.faults)
				var up, down []piece
				go collect(w.server, &up)
				go collect(w.client, &down)
				go io.WriteString(w.client, "question")
				go io.WriteString(w.server, "answer")
				<-time.After(time.Minute)
				want(t, &up, c.up...)
				want(t, &down, c.down...)
			})
		})
	}
}

func TestJitterStaysWithinItsBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWire(Options{Seed: 7})
		defer w.close()
		w.Set(Faults{Up: Way{Latency: time.Second, Jitter: time.Second}})
		seen := map[time.Duration]bool{}
		for range 20 {
			begin := time.Now()
			go io.WriteString(w.client, "x")
			if _, err := w.server.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			took := time.Since(begin)
			if took < time.Second || took > 2*time.Second {
				t.Errorf("a piece took %s, want 1s to 2s", took)
			}
			seen[took] = true
		}
		if len(seen) < 10 {
			t.Errorf("20 pieces had only %d different latencies", len(seen))
		}
	})
}

func TestAHoleKeepsWhatComesUntilItIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWire(Options{})
		defer w.close()
		w.Set(Faults{Up: Way{Hole: true}})
		var up, down []piece
		go collect(w.server, &up)
		go collect(w.client, &down)
		io.WriteString(w.client, "question")
		io.WriteString(w.server, "answer")
		<-time.After(time.Minute)
		want(t, &up)
		want(t, &down, piece{"answer", 0})
		w.Set(Faults{})
		synctest.Wait()
		want(t, &up, piece{"question", time.Minute})
	})
}

func TestAHoleSwallowsTheEndOfAConnectionToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWire(Options{})
		defer w.close()
		w.Set(Both(Way{Hole: true}))
		var ended error
		go func() { _, ended = w.server.Read(make([]byte, 1)) }()
		w.client.Close()
		<-time.After(time.Hour)
		synctest.Wait()
		if ended != nil {
			t.Fatalf("the server heard of the end through the hole: %v", ended)
		}
		w.Set(Faults{})
		synctest.Wait()
		if !errors.Is(ended, io.EOF) {
			t.Errorf("the end after the hole: got %v, want EOF", ended)
		}
	})
}

func TestANewConnectionThroughAHoleDoesNotReachTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWire(Options{})
		defer w.close()
		w.Set(Faults{Up: Way{Hole: true}})
		client, near := net.Pipe()
		dialed := false
		w.running.Go(func() {
			w.serve(near, func() (net.Conn, error) { dialed = true; return nil, net.ErrClosed })
		})
		<-time.After(time.Minute)
		synctest.Wait()
		if dialed {
			t.Error("the server was dialled through the hole")
		}
		w.Set(Faults{})
		synctest.Wait()
		if !dialed {
			t.Error("the server was not dialled after the hole")
		}
		client.Close()
	})
}

func TestAFrozenConnectionStaysSilentAndANewOneWorks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWire(Options{})
		defer w.close()
		if n := w.Freeze(); n != 1 {
			t.Errorf("%d connections were frozen, want 1", n)
		}
		var before, after []piece
		go collect(w.server, &before)
		io.WriteString(w.client, "old")
		client, server := w.connect()
		go collect(server, &after)
		io.WriteString(client, "new")
		w.Set(Faults{})
		<-time.After(time.Hour)
		want(t, &before)
		want(t, &after, piece{"new", 0})
	})
}
