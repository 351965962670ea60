package catalog

import (
	"regexp"
	"time"
)

// WithTimes is a sentence of the server with its times as show has them, such as in the reader's zone: the server says them in UTC, since it
// knows no reader. It is for sentences about what happens; errors of input have times as examples of how they are written.
func WithTimes(text string, show func(time.Time) string) string {
	return instant.ReplaceAllStringFunc(text, func(at string) string {
		t, err := time.Parse(time.RFC3339, at)
		if err != nil {
			return at
		}
		return show(t)
	})
}

// instant is a time as sentences of the server have it.
var instant = regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z`)
