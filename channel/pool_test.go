package channel

import (
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// spare is an idle connection whose end can be seen.
func spare(t *testing.T, address string) (c *wireConn, closed func() bool) {
	t.Helper()
	near, far := net.Pipe()
	t.Cleanup(func() { near.Close(); far.Close() })
	return newWireConn(near, address), func() bool {
		far.SetReadDeadline(time.Now().Add(time.Nanosecond))
		_, err := far.Read(make([]byte, 1))
		return !errors.Is(err, os.ErrDeadlineExceeded)
	}
}

func TestThePoolGivesTheYoungestFirstAndByAddress(t *testing.T) {
	t.Parallel()
	var p pool
	a1, _ := spare(t, "a:80")
	a2, _ := spare(t, "a:80")
	b, _ := spare(t, "b:80")
	for _, c := range []*wireConn{a1, b, a2} {
		p.put(c)
	}
	for i, want := range []*wireConn{a2, a1, nil} {
		if got := p.take("a:80"); got != want {
			t.Errorf("take %d of a: got another connection", i)
		}
	}
	if p.take("b:80") != b || p.take("c:80") != nil {
		t.Error("b and c: got another connection")
	}
	p.close()
}

func TestThePoolIsBoundedForEachAddress(t *testing.T) {
	t.Parallel()
	var p pool
	for range idleConnections {
		c, _ := spare(t, "a:80")
		p.put(c)
	}
	more, closed := spare(t, "a:80")
	p.put(more)
	if n := len(p.idle["a:80"]); n != idleConnections || !closed() {
		t.Errorf("%d connections are kept, the last one closed: %t; want %d, true", n, closed(), idleConnections)
	}
	other, closed := spare(t, "b:80")
	if p.put(other); closed() {
		t.Error("another address has no room")
	}
	if p.close(); !closed() || len(p.idle) != 0 || p.sweep != nil {
		t.Error("close leaves something behind")
	}
}

// Nothing is idle for longer than idleTimeout, whether anybody calls or not.
func TestThePoolClosesWhatIsIdleForTooLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p pool
		old, oldClosed := spare(t, "a:80")
		p.put(old)
		<-time.After(idleTimeout / 2)
		young, youngClosed := spare(t, "a:80")
		p.put(young)
		<-time.After(idleTimeout/2 + time.Millisecond)
		synctest.Wait()
		if !oldClosed() || youngClosed() {
			t.Errorf("closed: old %t, young %t; want true, false", oldClosed(), youngClosed())
		}
		if p.take("a:80") != young {
			t.Error("the young one is not given")
		}
		p.put(young)
		young.since = time.Now().Add(-idleTimeout) // as if no timer had come in time
		if p.take("a:80") != nil {
			t.Error("one is given that is too old")
		}
		<-time.After(2 * idleTimeout)
		synctest.Wait()
		if !youngClosed() || len(p.idle) != 0 || p.sweep != nil {
			t.Errorf("after all: closed %t, %d addresses; want true, 0 and no timer", youngClosed(), len(p.idle))
		}
	})
}
