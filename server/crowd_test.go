package server

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// visitor is a connection from an address.
type visitor struct {
	net.Conn
	from   net.Addr
	closed bool
}

func (v *visitor) RemoteAddr() net.Addr { return v.from }
func (v *visitor) Close() error         { v.closed = true; return nil }

func from(address string) *visitor {
	return &visitor{from: net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address))}
}

func crowdOf(most, each int) *crowd {
	return newCrowd(most, each, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
}

func TestTheConnectionThatIsIdleForLongestMakesRoom(t *testing.T) {
	t.Parallel()
	c := crowdOf(3, 0)
	var all []*visitor
	for i := range 3 {
		all = append(all, from(fmt.Sprintf("203.0.113.%d:1", i)))
		if !c.admit(all[i]) {
			t.Fatalf("connection %d found no room", i)
		}
	}
	c.changed(all[0], http.StateActive)
	c.changed(all[0], http.StateIdle)   // now all[1] is idle for longest
	c.changed(all[2], http.StateActive) // and all[2] is not idle
	late := []*visitor{from("203.0.113.9:1"), from("203.0.113.9:2"), from("203.0.113.9:3")}
	if !c.admit(late[0]) || !all[1].closed || all[0].closed || all[2].closed {
		t.Errorf("the first new one: closed are %v %v %v, want the second alone", all[0].closed, all[1].closed, all[2].closed)
	}
	c.changed(late[0], http.StateActive)
	c.changed(all[1], http.StateClosed) // what was closed for room says so later, and counts no more
	if !c.admit(late[1]) || !all[0].closed {
		t.Error("the second new one found no room, or not that of the idle one")
	}
	c.changed(late[1], http.StateActive)
	if c.admit(late[2]) {
		t.Error("where none is idle, a new one found room")
	}
	c.changed(all[2], http.StateClosed)
	if !c.admit(late[2]) || len(c.conns) != 3 {
		t.Errorf("after one has ended there is no room for another: %d are open", len(c.conns))
	}
}

func TestOneAddressHasItsShareAndNoMore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		address func(i int) string
		want    int
	}{
		"one address":             {func(i int) string { return fmt.Sprintf("203.0.113.7:%d", i+1) }, 2},
		"a subscriber's IPv6":     {func(i int) string { return fmt.Sprintf("[2001:db8::%x]:1", i+1) }, 2},
		"many":                    {func(i int) string { return fmt.Sprintf("203.0.113.%d:1", i) }, 5},
		"a proxy on this machine": {func(i int) string { return fmt.Sprintf("127.0.0.1:%d", i+1) }, 5},
		"a trusted proxy":         {func(i int) string { return fmt.Sprintf("10.0.0.5:%d", i+1) }, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			crowd, other := crowdOf(100, 2), from("198.51.100.1:1")
			crowd.admit(other) // idle, and nobody else's to close
			admitted := 0
			for i := range 5 {
				v := from(c.address(i))
				if crowd.admit(v) {
					admitted++
				}
				crowd.changed(v, http.StateActive)
			}
			if admitted != c.want || other.closed {
				t.Errorf("%d were let in, want %d; another's was closed: %v", admitted, c.want, other.closed)
			}
		})
	}
}
