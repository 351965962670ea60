package channel

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/posthouse/posthouse"
)

// PlainText says what of a content is more than a title and a text.
func PlainText(c posthouse.Content) []posthouse.Problem { return Sends(c, posthouse.TextContent) }

// Sends says what of a content is more than contents of some types, without mentions: the first part of a driver's own
// check. The paths are below "content".
func Sends(c posthouse.Content, types ...posthouse.ContentType) []posthouse.Problem {
	if !slices.Contains(types, c.Kind()) {
		names := make([]string, len(types))
		for i, t := range types {
			names[i] = string(t)
		}
		return []posthouse.Problem{{Path: "content.type", Message: fmt.Sprintf("is %s: the channel's driver sends %s", c.Kind(), strings.Join(names, ", "))}}
	}
	if len(types) > 1 {
		return nil
	}
	var problems []posthouse.Problem
	refuse := func(field string) {
		problems = append(problems, posthouse.Problem{Path: "content." + field, Message: "cannot be sent by the channel's driver, which sends a title and a text"})
	}
	if len(c.Mentions) > 0 {
		refuse("mentions")
	}
	if c.MentionAll {
		refuse("mention_all")
	}
	if len(c.Extra) > 0 {
		refuse("extra")
	}
	return problems
}

// WithinBytes says whether a text is longer than a provider takes, in the bytes of UTF-8. field is below "content".
func WithinBytes(field, text string, most int) []posthouse.Problem {
	if len(text) <= most {
		return nil
	}
	return []posthouse.Problem{{Path: "content." + field, Message: fmt.Sprintf("has %d bytes: the provider takes %d", len(text), most)}}
}

// Blank reports whether a text shows nothing: it has spaces and signs that nobody sees alone, such as U+200B, U+2060, U+00AD, U+3164 or a
// byte order mark. Providers refuse such a text, or take it and show an empty message.
func Blank(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsSpace(r) && r != '\u2800' && // a braille cell without a dot
			!unicode.In(r, unicode.Cc, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
	})
}
