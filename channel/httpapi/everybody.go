package httpapi

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/posthouse/posthouse/channel"
)

// everyone names the field that has one of the words by which the provider calls everybody: by itself, and not as a part of another, such as the
// host of a mail address.
func everyone(c channel.Config, out channel.Outgoing) (field string) {
	words := c.List("everybody")
	if len(words) == 0 {
		return ""
	}
	for _, part := range []struct{ field, text string }{
		{"content.title", out.Content.Title}, {"content.text", out.Content.Text}, {"content.extra", string(out.Content.Extra)}, {"payload", string(out.Payload)},
	} {
		text := plain(part.text)
		for _, word := range words {
			if standsIn(text, plain(word)) {
				return part.field
			}
		}
	}
	return ""
}

// plain is a text in one case and width, without signs that nobody sees.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Variation_Selector) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFKC.String(text))
}

// standsIn reports whether a word stands in a text by itself.
func standsIn(text, word string) bool {
	part := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }
	for word != "" {
		at := strings.Index(text, word)
		if at < 0 {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(word):])
		if !part(before) && !part(after) {
			return true
		}
		text = text[at+len(word):]
	}
	return false
}
