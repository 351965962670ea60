package web

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// Marked shows what a page would obey and nobody would see: controls, and what turns the order of a text, so that a name reads as
// another. It leaves alone what stands in tags and in the text of a form: there it is edited, and goes back as it was.
func Marked(page []byte) []byte {
	if bytes.IndexFunc(page, obeyed) < 0 {
		return page
	}
	var out bytes.Buffer
	inTag, inForm := false, false
	for len(page) > 0 {
		switch {
		case bytes.HasPrefix(page, []byte("<textarea")):
			inForm = true
		case bytes.HasPrefix(page, []byte("</textarea")):
			inForm = false
		}
		r, n := utf8.DecodeRune(page)
		switch {
		case r == '<':
			inTag = true
		case r == '>':
			inTag = false
		}
		if obeyed(r) && !inTag && !inForm {
			fmt.Fprintf(&out, "[U+%04X]", r)
		} else {
			out.Write(page[:n])
		}
		page = page[n:]
	}
	return out.Bytes()
}

// obeyed reports whether a character of a page is one that it obeys.
func obeyed(r rune) bool {
	switch r {
	case '\n', '\r', '\t':
		return false
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}
