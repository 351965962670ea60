// Package lockfile keeps something for one process, by a lock on a file beside it: a journal, a database.
//
// The system lifts the lock when its process has ended, in whatever way, so there are no stale ones. The file stays: to take it
// away would let in another process beside the one that has it open. What stands in it is for people, and counts for nothing.
// Where the system has no such locks (it is no Unix), nothing is kept from anybody.
package lockfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// Lock is held until Release, or until the process ends.
type Lock struct{ file *os.File }

// Held says that another process, or another part of this one, has the lock.
type Held struct {
	Path string
	// Holder is what that process wrote about itself; empty where it has just begun.
	Holder string
}

// Error is for people.
func (h *Held) Error() string {
	if h.Holder == "" {
		return h.Path + " is locked by another process"
	}
	return h.Path + " is locked by " + h.Holder
}

// Self is what a process writes about itself: its number, its machine and since when.
func Self(now time.Time) string {
	host, err := os.Hostname()
	if err != nil {
		host = "an unknown machine"
	}
	return fmt.Sprintf("process %d on %s, since %s", os.Getpid(), host, now.UTC().Format(time.RFC3339))
}

// maxHolder bounds what is read of a file that somebody may have written into.
const maxHolder = 200

// Take locks a file, which is made where there is none, and writes into it who has it. The error is a *Held where
// somebody else does.
func Take(path, holder string) (*Lock, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the path is the operator's own setting
	if err != nil {
		return nil, err
	}
	got, err := lock(file)
	if err == nil && !got {
		text, _ := io.ReadAll(io.LimitReader(file, maxHolder)) // else the holder is not named
		err = &Held{path, strings.TrimSpace(string(text))}
	}
	if err == nil {
		err = write(file, holder)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &Lock{file}, nil
}

func write(file *os.File, holder string) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt([]byte(holder+"\n"), 0)
	return err
}

// Release gives the lock back.
func (l *Lock) Release() error {
	return errors.Join(l.file.Truncate(0), unlock(l.file), l.file.Close())
}
