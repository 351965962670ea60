package house

import (
	"fmt"
	"os"
	"strconv"
	"testing"
)

// Full reports whether the long form runs: make torture sets POSTHOUSE_TORTURE=full.
func Full() bool { return os.Getenv("POSTHOUSE_TORTURE") == "full" }

// Form is one of two values that no share changes: how dense or slow something is, not how much of it there is.
func Form[T any](short, full T) T {
	if Full() {
		return full
	}
	return short
}

// Size is how much of something a test does: small in make test, full in make torture, or the share of that which
// POSTHOUSE_TORTURE_SHARE names, such as 0.25. What a row says of a zero follows from what was done.
func Size(small, full int) int {
	if !Full() {
		return small
	}
	if full <= small {
		return full
	}
	return max(small, int(share()*float64(full)))
}

func share() float64 {
	text := os.Getenv("POSTHOUSE_TORTURE_SHARE")
	if text == "" {
		return 1
	}
	of, err := strconv.ParseFloat(text, 64)
	if err != nil || !(of > 0 && of <= 1) {
		panic(fmt.Sprintf("POSTHOUSE_TORTURE_SHARE is %q: want a number above 0 and at most 1", text))
	}
	return of
}

// Alone says of a test that it times something: in the long form it has the machine to itself. In the short one it
// waits more than it works, and runs beside others, as those that time nothing always do: they say t.Parallel().
func Alone(t *testing.T) {
	t.Helper()
	if !Full() {
		t.Parallel()
	}
}
