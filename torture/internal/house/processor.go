package house

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Processor is the processor time of a server and of all processes that it has and had.
func Processor(t testing.TB, pid int) time.Duration {
	t.Helper()
	const user, ofChildren, tick = 11, 13, 10 * time.Millisecond // proc_pid_stat(5), from the state on
	sum := func(pid, first, n int) (ticks int64) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return 0 // it has ended, and counts among its parent's
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		for _, f := range strings.Fields(rest)[first : first+n] {
			one, _ := strconv.ParseInt(f, 10, 64)
			ticks += one
		}
		return ticks
	}
	all := sum(pid, user, ofChildren-user) + sum(pid, ofChildren, 2)
	list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range strings.Fields(string(list)) {
		if child, err := strconv.Atoi(word); err == nil {
			all += sum(child, user, 2)
		}
	}
	return time.Duration(all) * tick
}
