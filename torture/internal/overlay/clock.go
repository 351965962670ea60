package overlay

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// ClockOff is the variable of the environment by which a command built with WrongClock has a wall clock
// that is off by so many whole seconds, such as -5. Its monotonic clock is right.
const ClockOff = "POSTHOUSE_TORTURE_CLOCK_OFF"

// WrongClock are the edits, of Go's own package time, that let a process have a wall clock of its own.
// The first build with them builds everything anew.
func WrongClock(t testing.TB) []Edit {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(strings.TrimSpace(string(out)), "src", "time")
	const reads = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	return []Edit{
		{File: filepath.Join(dir, "time.go"), Old: reads, New: reads + "\tsec += clockOff\n"},
		{File: filepath.Join(dir, "zz_clock_off.go"), New: clockOffFile},
	}
}

// clockOffFile stands in package time, which may import next to nothing.
const clockOffFile = `package time

import "syscall"

var clockOff = func() (seconds int64) {
	text, _ := syscall.Getenv("` + ClockOff + `")
	sign := int64(1)
	for _, c := range text {
		if c == '-' {
			sign = -1
		} else {
			seconds = 10*seconds + int64(c-'0')
		}
	}
	return sign * seconds
}()
`
