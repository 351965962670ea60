package limittext

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Syntax is why a text is no JSON. Package json names the first byte of a character of several as if it were one by itself, which nobody has
// typed; here it is the character.
func Syntax(text []byte, err *json.SyntaxError) string {
	said := err.Error()
	at := int(err.Offset) - 1
	if at < 0 || at >= len(text) || text[at] < utf8.RuneSelf {
		return said
	}
	r, _ := utf8.DecodeRune(text[at:])
	return strings.Replace(said, quoted(rune(text[at])), quoted(r), 1)
}

// quoted is a character as package json quotes it.
func quoted(r rune) string {
	q := strconv.Quote(string(r))
	return "'" + q[1:len(q)-1] + "'"
}
