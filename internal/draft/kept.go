package draft

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// holdsNUL is wrong with a text that PostgreSQL neither keeps nor compares with those it keeps.
const holdsNUL = "holds the character U+0000, which can not be stored"

// Unkept says what keeps a text from being stored or looked up in every database, "" for nothing.
func Unkept(text string) string {
	switch {
	case !utf8.ValidString(text):
		return "is not valid UTF-8"
	case strings.ContainsRune(text, 0):
		return holdsNUL
	}
	return ""
}

// UnkeptJSON says the same of the texts and names in valid JSON of valid UTF-8, which can hold it as escapes. PostgreSQL
// reads nothing of a payload that has one such in it.
func UnkeptJSON(text []byte) string {
	if !bytes.Contains(text, []byte(`\u`)) {
		return ""
	}
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		i++ // what is escaped; it may be a backslash
		if text[i] != 'u' {
			continue
		}
		r := Escaped(text[i+1:])
		i += 4
		switch {
		case r == 0:
			return holdsNUL
		case utf16.IsSurrogate(r):
			rest, paired := bytes.CutPrefix(text[i+1:], []byte(`\u`))
			if !paired || utf16.DecodeRune(r, Escaped(rest)) == utf8.RuneError {
				return `holds half of a surrogate pair (\ud800 to \udfff), which is no character`
			}
			i += 6
		}
	}
	return ""
}

// Escaped is the character that the four hexadecimal digits after a \u stand for.
func Escaped(digits []byte) rune {
	n, _ := strconv.ParseUint(string(digits[:4]), 16, 32) // the text is valid
	return rune(n)
}
