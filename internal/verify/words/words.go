// Package words writes numbers and durations as people read them in the report of a check.
package words

import (
	"fmt"
	"strings"
	"time"
)

// Plural is a number with what it counts in the singular or plural.
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return Group(n) + " " + Many(what)
}

// Many is the plural of a noun.
func Many(what string) string {
	if strings.HasSuffix(what, "y") && !strings.HasSuffix(what, "ey") {
		what = strings.TrimSuffix(what, "y") + "ie"
	}
	return what + "s"
}

// Group writes a number with a comma before each three digits.
func Group(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Wait is a duration to three digits or so.
func Wait(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d >= 100*time.Millisecond:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(10 * time.Microsecond).String()
}
