//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package channel

import "syscall"

// canPeek says whether an idle connection can be looked at without reading from it.
const canPeek = true

// peek notes whether nothing has come on the socket. It never waits.
func (c *wireConn) peek(fd uintptr) bool {
	var one [1]byte
	_, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	c.quiet = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK //nolint:errorlint // a system call's own error
	return true
}
