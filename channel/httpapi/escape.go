package httpapi

import (
	"net/url"
	"strings"
	"unicode/utf8"
)

// place is where in a text a placeholder stands; it decides how a value is escaped.
type place int

const (
	plain      place = iota // as it is: plain text and headers
	jsonString              // between the quotes of a JSON string
	jsonValue               // where JSON wants a whole value
	urlPath
	urlQuery // and form bodies
	xmlText  // in XML text or a quoted attribute
)

// appendText appends a text, escaped for its place.
func (p place) appendText(dst []byte, s string) []byte {
	switch p {
	case jsonString:
		return appendJSON(dst, s)
	case jsonValue:
		dst = appendJSON(append(dst, '"'), s)
		return append(dst, '"')
	case urlPath:
		return append(dst, url.PathEscape(s)...)
	case urlQuery:
		return append(dst, url.QueryEscape(s)...)
	case xmlText:
		return appendXML(dst, s)
	}
	return append(dst, s...)
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
