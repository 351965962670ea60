package draft

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// UnseenIn says that a text is not seen as it is, "" for one that is: two of them may look alike.
func UnseenIn(text string) string {
	if !utf8.ValidString(text) || strings.ContainsFunc(text, Unseen) {
		return "holds characters that nobody sees, or that turn the order of others"
	}
	return ""
}

// Unseen reports whether a character of a text is not seen as it is: it is a control, or turns the order of those around it.
func Unseen(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}
