package channel

import (
	"errors"
	"net"
	"slices"
	"strings"
	"syscall"
)

// localErrors are failures of our own machine: too many open files, no memory, no free port. They say nothing of a
// provider, so they must use up nobody's tries.
var localErrors = []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.EADDRNOTAVAIL, syscall.ENOMEM}

// localCode is the code of a call that failed by our own machine before a byte left, empty for any other.
func localCode(err error, written bool) string {
	var lookup *net.DNSError
	switch {
	case written:
		return "" // whatever happened then, it may have arrived
	case reason(err) != "":
		return CodeLocal
	case errors.As(err, &lookup) && unasked(lookup):
		return CodeLookup
	}
	return ""
}

// reason is what our machine lacks, empty where it is not at fault.
func reason(err error) string {
	var lookup *net.DNSError
	name := errors.As(err, &lookup)
	i := slices.IndexFunc(localErrors, func(e syscall.Errno) bool {
		return errors.Is(err, e) || name && strings.HasSuffix(lookup.Err, e.Error()) // a look-up keeps its cause as text
	})
	if i < 0 {
		return ""
	}
	return localErrors[i].Error()
}

// unasked reports whether a name server could not be asked, other than that it knows no such name or cannot find
// out: that is a matter of the name, and of the one channel that has it.
func unasked(e *net.DNSError) bool {
	asking := slices.ContainsFunc([]string{"dial ", "read ", "write "}, func(verb string) bool { return strings.HasPrefix(e.Err, verb) })
	return !e.IsNotFound && (e.IsTimeout || asking)
}
