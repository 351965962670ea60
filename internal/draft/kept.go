package draft

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// holdsNUL is wrong with a text that PostgreSQL neither keeps nor compares with those it keeps.
const holdsNUL = "holds the character U+0000, which cannot be stored"

// UnkeptJSON says the same of valid JSON of valid UTF-8: its texts and names can hold such characters as escapes, and its
// numbers and nesting can be more than a database reads. PostgreSQL reads nothing of a payload that has one such in it.
func UnkeptJSON(text []byte) string {
	return cmp.Or(unkeptEscape(text), unkeptShape(text))
}

// The bounds of a JSON text that every database reads: PostgreSQL expands numbers to all their digits, and walks nested values on its
// stack.
const (
	maxDigits = 1000
	maxNested = 500
)

// unkeptShape looks at numbers and nesting.
func unkeptShape(text []byte) string {
	nested := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			for i++; text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case c == '{' || c == '[':
			if nested++; nested > maxNested {
				return "nests deeper than " + strconv.Itoa(maxNested) + " levels"
			}
		case c == '}' || c == ']':
			nested--
		case c == '-' || '0' <= c && c <= '9':
			from := i
			for i++; i < len(text) && strings.IndexByte("0123456789+-.eE", text[i]) >= 0; i++ {
			}
			if tooLong(string(text[from:i])) {
				return "holds a number of more than " + strconv.Itoa(maxDigits) + " digits"
			}
			i--
		}
	}
	return ""
}

// tooLong reports whether a number has too many digits, or would have without its exponent.
func tooLong(number string) bool {
	if len(number) > maxDigits {
		return true
	}
	at := strings.IndexAny(number, "eE")
	if at < 0 {
		return false
	}
	n, err := strconv.Atoi(number[at+1:])
	return err != nil || max(n, -n)+at > maxDigits
}

// HalfPair is the field of a JSON object, with a dot before each field within another, that holds half of a surrogate pair in a text or
// in a name, "" for none: whoever reads it has another character in its place.
func HalfPair(text []byte) string {
	if unkeptEscape(text) != halfPair {
		return ""
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if unkeptEscape(fields[name]) == halfPair {
			return strings.TrimSuffix(name+"."+HalfPair(fields[name]), ".")
		}
	}
	return ""
}

// halfPair is wrong with a text that is not all of Unicode's characters.
const halfPair = `holds half of a surrogate pair (\ud800 to \udfff), which is no character`

func unkeptEscape(text []byte) string {
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
				return halfPair
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
