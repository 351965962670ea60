//go:build unix

package agent

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lock keeps a journal for one app, until its file is closed or the process has ended, in whatever way. The file beside
// the journal stays: to take it away would let in whoever has it open.
func lock(journal string) (*os.File, error) {
	file, err := os.OpenFile(journal+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the journal: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another agent uses the journal %s: stop it, or name another journal", journal), file.Close())
	}
	return file, nil
}
