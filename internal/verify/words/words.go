// Package words writes numbers, durations and spans of time as people read them in the report of a check.
package words

import (
	"fmt"
	"strings"
	"time"
)

// Span is a span of time, empty for none.
func Span(from, to time.Time) string {
	if from.IsZero() {
		return ""
	}
	return fmt.Sprintf(", %s to %s UTC", from.UTC().Format(time.DateTime), to.UTC().Format(time.DateTime))
}

// Count is a number with what it counts.
type Count struct {
	n    int
	what string
}

// Of makes a Count.
func Of(n int, what string) Count { return Count{n, what} }

// Counts lists those that are not 0.
func Counts(list ...Count) string {
	var out []string
	for _, c := range list {
		if c.n != 0 {
			out = append(out, Group(c.n)+" "+c.what)
		}
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}

// Plural is a number with what it counts in the singular or plural.
func Plural(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "y") && !strings.HasSuffix(what, "ey"):
		what = strings.TrimSuffix(what, "y") + "ie"
	}
	return Group(n) + " " + what + "s"
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
