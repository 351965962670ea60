//go:build unix

package server

import "syscall"

// files is how many files this process may have open, 0 where that is not known.
func files() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return int(min(limit.Cur, 1<<30)) //nolint:unconvert // its type differs between systems
}
