package sms

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/posthouse/posthouse/internal/render"
)

// Fill puts the parameters of a query string, such as code=123456&name=%E5%BC%A0, where a template has
// {code} and {name}. Values go in as they are: one that holds a {name} of its own is not filled again. Of a
// parameter given twice the first counts, one that the template does not name is left over, and one that it
// names must be given, if empty. Errors tell the place in the query by its character, from 1.
func Fill(template, query string) (string, error) {
	values, err := parameters(query)
	if err != nil {
		return "", err
	}
	parsed := render.ParseBraces(template)
	for _, name := range parsed.Variables() {
		if _, given := values[name]; !given {
			return "", fmt.Errorf("content does not give %q, which the template needs: add %s=…", name, name)
		}
	}
	return parsed.Fill(func(name string) (string, bool) { return values[name], true })
}

// Placeholders lists the names that a template asks for, each once, in the order they stand.
func Placeholders(template string) []string { return render.ParseBraces(template).Variables() }

// parameters reads a query string: pairs between &, a + is a space, and % stands before two hex digits.
func parameters(query string) (map[string]string, error) {
	values := make(map[string]string)
	at := 0 // in bytes
	for pair := range strings.SplitSeq(query, "&") {
		if pair != "" {
			if err := parameter(values, query, at, pair); err != nil {
				return nil, err
			}
		}
		at += len(pair) + len("&")
	}
	return values, nil
}

// parameter adds the pair that begins at byte at of the query.
func parameter(values map[string]string, query string, at int, pair string) error {
	name, value, found := strings.Cut(pair, "=")
	if !found {
		return fmt.Errorf("content has no = in the parameter at place %d: write name=value, and %%26 for an & inside of a value", place(query, at))
	}
	plainName, err := unescape(query, at, name)
	if err != nil {
		return err
	}
	plainValue, err := unescape(query, at+len(name)+len("="), value)
	if err != nil {
		return err
	}
	if _, given := values[plainName]; !given {
		values[plainName] = plainValue
	}
	return nil
}

// unescape reads one side of a pair, which begins at byte at of the query.
func unescape(query string, at int, escaped string) (string, error) {
	var plain strings.Builder
	for i := 0; i < len(escaped); i++ {
		switch c := escaped[i]; c {
		case '+':
			plain.WriteByte(' ')
		case '%':
			b, ok := hexByte(escaped[i+1:])
			if !ok {
				return "", fmt.Errorf("content has a %% at place %d without two hexadecimal digits behind it: write %%25 for a percent sign", place(query, at+i))
			}
			plain.WriteByte(b)
			i += 2
		default:
			plain.WriteByte(c)
		}
	}
	if !utf8.ValidString(plain.String()) {
		return "", fmt.Errorf("content is not UTF-8 once its escapes are read, in the parameter at place %d", place(query, at))
	}
	return plain.String(), nil
}

// hexByte reads the two digits that a text begins with.
func hexByte(text string) (byte, bool) {
	if len(text) < 2 {
		return 0, false
	}
	high, okHigh := hexDigit(text[0])
	low, okLow := hexDigit(text[1])
	return high<<4 | low, okHigh && okLow
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// place is which character of the query begins at a byte, from 1.
func place(query string, at int) int { return utf8.RuneCountInString(query[:at]) + 1 }
