package channel

import (
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/posthouse/posthouse"
)

// dialled is an error as net.Dialer gives it.
func dialled(call string, errno syscall.Errno) error {
	return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError(call, errno)}
}

func TestFailuresOfOurOwnMachineAreToldFromAProviders(t *testing.T) {
	t.Parallel()
	lookup := func(e net.DNSError) error { return &net.OpError{Op: "dial", Net: "tcp", Err: &e} }
	for _, c := range []struct {
		name    string
		err     error
		written bool
		want    string
	}{
		{"too many open files", dialled("socket", syscall.EMFILE), false, CodeLocal},
		{"too many in the system", dialled("socket", syscall.ENFILE), false, CodeLocal},
		{"no buffers", dialled("connect", syscall.ENOBUFS), false, CodeLocal},
		{"no free port", dialled("connect", syscall.EADDRNOTAVAIL), false, CodeLocal},
		{"no memory", dialled("socket", syscall.ENOMEM), false, CodeLocal},
		{"wrapped", fmt.Errorf("call: %w", dialled("socket", syscall.EMFILE)), false, CodeLocal},
		{"a byte had left", dialled("write", syscall.ENOBUFS), true, ""},
		{"refused", dialled("connect", syscall.ECONNREFUSED), false, ""},
		{"no way", dialled("connect", syscall.ENETUNREACH), false, ""},
		{"a look-up without files", lookup(net.DNSError{Err: "dial udp 10.0.0.2:53: socket: too many open files", IsTemporary: true}), false, CodeLocal},
		{"a name server that refuses", lookup(net.DNSError{Err: "read udp 10.0.0.1:5->10.0.0.2:53: read: connection refused"}), false, CodeLookup},
		{"a name server that is away", lookup(net.DNSError{Err: "dial udp 10.0.0.2:53: connect: network is unreachable"}), false, CodeLookup},
		{"a name server that is mute", lookup(net.DNSError{Err: "i/o timeout", IsTimeout: true}), false, CodeLookup},
		{"no such name", lookup(net.DNSError{Err: "no such host", IsNotFound: true}), false, ""},
		{"a broken zone", lookup(net.DNSError{Err: "server misbehaving", IsTemporary: true}), false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := localCode(c.err, c.written); got != c.want {
				t.Errorf("code %q, want %q", got, c.want)
			}
			r := Reply{Code: localCode(c.err, c.written), Written: c.written, Err: c.err, host: "a.example"}
			if local := r.Class() == posthouse.ClassLocal; local != (c.want != "") {
				t.Errorf("class %q with code %q", r.Class(), r.Code)
			}
			if says := r.explain(); c.want == CodeLocal && !strings.HasPrefix(says, "this machine has no room") || c.want == CodeLookup && !strings.Contains(says, "name server") {
				t.Errorf("it says %q", says)
			}
		})
	}
}
