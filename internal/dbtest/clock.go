package dbtest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// fakeClocks are where Debian's libfaketime lies. Programs of several threads take the second one.
const fakeClocks = "/usr/lib/*/faketime/libfaketimeMT.so.1"

// SkewedClocks ends a test where no server can be given a clock of its own, as it does where a server is not installed.
func SkewedClocks(t testing.TB) {
	t.Helper()
	_, err := fakeClock()
	require(t, err)
}

func fakeClock() (library string, err error) {
	found, err := filepath.Glob(fakeClocks)
	if err == nil && len(found) == 0 {
		err = &MissingError{Kind: "libfaketime", Program: filepath.Base(fakeClocks), Install: "libfaketime (apt)"}
	}
	if err != nil {
		return "", err
	}
	return found[0], nil
}

// skew has a program read another wall clock. What it measures by the monotonic one, as time-outs, stays true.
func skew(cmd *exec.Cmd, ahead time.Duration) error {
	if ahead == 0 {
		return nil
	}
	library, err := fakeClock()
	cmd.Env = append(cmd.Env, "LD_PRELOAD="+library, fmt.Sprintf("FAKETIME=%+.3f", ahead.Seconds()), "FAKETIME_DONT_FAKE_MONOTONIC=1", "FAKETIME_NO_CACHE=1", "FAKETIME_DONT_RESET=1", "FAKETIME_DISABLE_SHM=1")
	return err
}
