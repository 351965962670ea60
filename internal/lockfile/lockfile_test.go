//go:build unix

package lockfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestALockIsHeldOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "it.lock")
	first, err := Take(path, "the first")
	if err != nil {
		t.Fatal(err)
	}
	var held *Held
	if _, err := Take(path, "the second"); !errors.As(err, &held) || held.Holder != "the first" || held.Path != path {
		t.Fatalf("the second got %v, want that the first has it", err)
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	second, err := Take(path, "the second")
	if err != nil {
		t.Fatalf("after a release: %v", err)
	}
	if err := second.Release(); err != nil {
		t.Fatal(err)
	}
}

// A process that is being started has a copy of every open file until it runs its own program, and a lock lives as long as any
// copy. What is released is free at once all the same.
func TestAReleaseNeedsNoOtherCopyOfTheFileClosed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "it.lock")
	held, err := Take(path, "the first")
	if err != nil {
		t.Fatal(err)
	}
	duplicate, err := syscall.Dup(int(held.file.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(duplicate) //nolint:errcheck // nothing was written
	if err := held.Release(); err != nil {
		t.Fatal(err)
	}
	again, err := Take(path, "the second")
	if err != nil {
		t.Fatalf("after a release: %v", err)
	}
	if err := again.Release(); err != nil {
		t.Fatal(err)
	}
}

// A process that was killed leaves its file with its name in it, and no lock.
func TestAKilledProcessHoldsNothing(t *testing.T) {
	t.Parallel()
	if path := os.Getenv("LOCKFILE_TEST"); path != "" {
		lock, err := Take(path, "the child")
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("locked")
		_, _ = io.ReadAll(os.Stdin) // until it is killed; to wait for nothing at all would end a program as deadlocked
		runtime.KeepAlive(lock)     // a collected file is closed, and its lock gone
	}
	path := filepath.Join(t.TempDir(), "it.lock")
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAKilledProcessHoldsNothing$")
	child.Env = append(os.Environ(), "LOCKFILE_TEST="+path)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := child.StdinPipe(); err != nil { // which stays open
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, len("locked"))
	if _, err := out.Read(said); err != nil || string(said) != "locked" {
		t.Fatalf("the child said %q, %v", said, err)
	}
	var held *Held
	if _, err := Take(path, "we"); !errors.As(err, &held) || held.Holder != "the child" {
		t.Errorf("beside the child we got %v", err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // it was killed
	lock, err := Take(path, "we")
	if err != nil {
		t.Fatalf("after it was killed: %v", err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
}

func TestAProcessSaysWhoItIs(t *testing.T) {
	t.Parallel()
	got := Self(time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC))
	if !strings.HasPrefix(got, fmt.Sprintf("process %d on ", os.Getpid())) || !strings.HasSuffix(got, ", since 2026-11-23T08:00:00Z") {
		t.Errorf("got %q", got)
	}
}
