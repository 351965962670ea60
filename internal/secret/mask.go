package secret

import "strings"

const (
	hidden = "********"
	// longEnough is the length, in characters, from which four of them give
	// little away.
	longEnough = 16
	shown      = 4
)

// Mask is a secret as it may be shown: its first four characters where it has
// at least 16, none where it is shorter. It does not tell the length.
func Mask(s string) string {
	if s == "" {
		return ""
	}
	runes := []rune(strings.ToValidUTF8(s, "\uFFFD"))
	if len(runes) < longEnough {
		return hidden
	}
	return string(runes[:shown]) + hidden
}
