package inbound

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/posthouse/posthouse/channel"
)

// Clean is a text of a stranger as it may stand in a message: valid, without control characters but line breaks and tabs, and without
// what calls everybody in a group.
func Clean(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) {
			return r
		}
		return -1
	}, strings.ReplaceAll(text, "\r\n", "\n"))
	if channel.CallsEverybody(text) {
		text = strings.NewReplacer("<", "‹", "＜", "‹", "﹤", "‹").Replace(text)
	}
	return text
}

// OneLine is a text on one line.
func OneLine(text string) string { return strings.Join(strings.Fields(Clean(text)), " ") }

// Cut shortens a text to so many bytes, at the end of a character, and says so by an ellipsis.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most - len("…")
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
