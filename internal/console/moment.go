package console

import (
	"fmt"
	"time"
)

// inField is a time as a field of a form has it, in the visitor's zone.
const inField = "2006-01-02T15:04:05"

// momentOf reads a time that was chosen in a field, in the visitor's zone, or that stands in a link with its own. A length such
// as 24h is so long ago.
func momentOf(text string, zone *time.Location) (time.Time, error) {
	for _, form := range []string{inField, "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(form, text, zone); err == nil {
			return t, nil
		}
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return time.Now().Add(-d).Truncate(time.Second), nil
	}
	return time.Time{}, fmt.Errorf("is %.40q: want a time such as 2026-10-01 08:30, or a length such as 24h", text)
}
