//go:build unix

package sqldb

import (
	"os"
	"syscall"
)

// links is how many names a file has.
func links(file os.FileInfo) int {
	if of, ok := file.Sys().(*syscall.Stat_t); ok {
		return int(of.Nlink)
	}
	return 1
}
