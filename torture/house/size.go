package house

import "os"

// Full reports whether the long form runs: make torture sets POSTHOUSE_TORTURE=full.
func Full() bool { return os.Getenv("POSTHOUSE_TORTURE") == "full" }

// Size is how much of something a test does: small in make test, full in make torture.
func Size(small, full int) int {
	if Full() {
		return full
	}
	return small
}
