// Package machine says what machine figures were measured on: without it a figure means nothing. Tests
// and benchmarks print it beside what they have found; the product does not use it.
package machine

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// Describe names system, processor, Go and disk in one line.
func Describe() string { return fmt.Sprintf("%s, a sync of 4 KiB takes %s", Name(), SyncTime()) }

// Name names system, processor and Go.
func Name() string {
	return fmt.Sprintf("%s/%s, %d cores, %s, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), cpu(), runtime.Version())
}

func cpu() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown CPU"
	}
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown CPU"
}

// SyncTime is the mean of a hundred small synced writes: what a commit costs at least.
func SyncTime() time.Duration {
	f, err := os.CreateTemp("", "posthouse-sync-")
	if err != nil {
		return 0
	}
	defer os.Remove(f.Name())
	defer f.Close()
	block := make([]byte, 4096)
	const rounds = 100
	start := time.Now()
	for range rounds {
		if _, err := f.Write(block); err != nil || f.Sync() != nil {
			return 0
		}
	}
	return (time.Since(start) / rounds).Round(time.Microsecond)
}
