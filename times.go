package posthouse

import "time"

// The first and the last year, in UTC, of every time that is handed in, by whatever door.
const (
	FirstYear = 1970
	LastYear  = 2999
)

// ValidTime reports whether a time may be handed in: in UTC, it is of a year from FirstYear to LastYear. Every
// database keeps such a time, and every answer can write it. The zero time is not one: a time that is not
// given is left out.
func ValidTime(t time.Time) bool {
	year := t.UTC().Year()
	return year >= FirstYear && year <= LastYear
}
