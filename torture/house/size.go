package house

import (
	"os"
	"testing"
)

// Full reports whether the long form runs: make torture sets POSTHOUSE_TORTURE=full.
func Full() bool { return os.Getenv("POSTHOUSE_TORTURE") == "full" }

// Size is how much of something a test does: small in make test, full in make torture.
func Size(small, full int) int {
	if Full() {
		return full
	}
	return small
}

// Alone says of a test that it times something: in the long form it has the machine to itself. In the short one it
// waits more than it works, and runs beside others, as those that time nothing always do: they say t.Parallel().
func Alone(t *testing.T) {
	t.Helper()
	if !Full() {
		t.Parallel()
	}
}
