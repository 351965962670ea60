package render

import (
	"net/url"
	"strings"
	"unicode/utf8"
)

// Place is what surrounds a placeholder: a value is escaped for it, so that it cannot end the string that it is in.
type Place int

// The places.
const (
	Plain      Place = iota // as it is: plain text and headers
	JSONString              // between the quotes of a JSON string
	JSONValue               // where JSON wants a whole value
	URLPath
	URLQuery // and form bodies
	XMLText  // in XML text or a quoted attribute
)

// Append appends a value, escaped for its place.
func (p Place) Append(dst []byte, value string) []byte {
	switch p {
	case JSONString:
		return appendJSON(dst, value)
	case JSONValue:
		dst = appendJSON(append(dst, '"'), value)
		return append(dst, '"')
	case URLPath:
		return append(dst, url.PathEscape(value)...)
	case URLQuery:
		return append(dst, url.QueryEscape(value)...)
	case XMLText:
		return appendXML(dst, value)
	}
	return append(dst, value...)
}

// after is the place behind literal text: within JSON it follows the quotes, and in a URL the question mark.
func (p Place) after(literal string) Place {
	switch p {
	case URLPath:
		if strings.Contains(literal, "?") {
			return URLQuery
		}
	case JSONString, JSONValue:
		for i := 0; i < len(literal); i++ {
			switch {
			case literal[i] == '\\' && p == JSONString:
				i++
			case literal[i] == '"' && p == JSONString:
				p = JSONValue
			case literal[i] == '"':
				p = JSONString
			}
		}
	}
	return p
}

const hexDigits = "0123456789abcdef"

// appendJSON appends the inside of a JSON string. What is not UTF-8 becomes U+FFFD, as in encoding/json.
func appendJSON(dst []byte, s string) []byte {
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(append(dst, s[from:i]...), "\uFFFD"...)
				from = i + 1
			}
			i += size
			continue
		}
		i++
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i-1]...)
		from = i
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(dst, s[from:]...)
}

// appendXML appends text for XML 1.0; characters it does not allow become U+FFFD.
func appendXML(dst []byte, s string) []byte {
	for _, r := range s {
		switch {
		case r == '&':
			dst = append(dst, "&amp;"...)
		case r == '<':
			dst = append(dst, "&lt;"...)
		case r == '>':
			dst = append(dst, "&gt;"...)
		case r == '"':
			dst = append(dst, "&#34;"...)
		case r == '\'':
			dst = append(dst, "&#39;"...)
		case r < 0x20 && !strings.ContainsRune("\t\n\r", r), r == 0xFFFE, r == 0xFFFF:
			dst = utf8.AppendRune(dst, utf8.RuneError)
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst
}
