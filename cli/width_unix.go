//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// width is how many columns a terminal has, 0 for what is none.
func width(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
