package local

import (
	"log/slog"
	"math"
	"runtime/debug"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// The process keeps below what its container may have, and is not bounded outside of one. Not parallel: the limit is the process's.
func TestMemoryIsBoundedByTheContainer(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	for _, c := range []struct {
		of   memlimit.Provider
		want int64
	}{
		{func() (uint64, error) { return 1000 << 20, nil }, 800 << 20},
		{func() (uint64, error) { return 0, memlimit.ErrNoLimit }, math.MaxInt64},
	} {
		limitMemory(slog.New(slog.DiscardHandler), c.of)
		if got := debug.SetMemoryLimit(-1); got != c.want {
			t.Errorf("the limit is %d, want %d", got, c.want)
		}
	}
}
