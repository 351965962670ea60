package suppress

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/posthouse/posthouse/internal/audience"
	"github.com/posthouse/posthouse/internal/phone"
)

// Fold is an address as it is suppressed: an e-mail address in small letters, whatever its hoster makes of them. A message keeps what
// was written before the @.
func Fold(address string) string {
	if strings.Index(address, "@") > 0 {
		return strings.ToLower(address)
	}
	return address
}

// Everywhere is an address as it is suppressed in all channels, those that come later too, of which each may write it in its own way: a number
// with its country, a mobile number of home with that of home, and all else in small letters. It is asked of each message, so it knows no numbering
// plan.
func Everywhere(address string) string {
	if n := number(address); n != "" {
		return n
	}
	return strings.ToLower(address)
}

// number is a number with its country, empty for what is none or does not say its country and is no mobile number of home.
func number(text string) string {
	var digits [24]byte
	n, plus := 0, strings.HasPrefix(text, "+")
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '0' && c <= '9' && n < len(digits):
			digits[n], n = c, n+1
		case c == ' ', c == '-', c == '.', c == '(', c == ')', c == '+' && i == 0:
		default:
			return ""
		}
	}
	all := string(digits[:n])
	if !plus && strings.HasPrefix(all, "00") {
		all, plus = all[2:], true
	}
	switch {
	case plus && len(all) >= shortest:
		return "+" + all
	case mobile(all):
		return "+86" + all
	case strings.HasPrefix(all, "86") && mobile(all[2:]):
		return "+" + all
	}
	return ""
}

// shortest is the shortest number that has a country.
const shortest = 7

// mobile reports whether digits are a mobile number as people at home dial it.
func mobile(digits string) bool {
	return len(digits) == 11 && digits[0] == '1' && digits[1] >= '3'
}

// everywhere are the forms in which an address is suppressed in all channels: a number that is written in any other way in two.
func everywhere(address string) []string {
	list := []string{Everywhere(address)}
	if n, err := phone.Parse(address, phone.Home); err == nil && n.E164 != list[0] {
		list = append(list, n.E164)
	}
	return list
}

// Plain is an address without the spaces around it, and says why a text is none.
func Plain(text string) (string, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return "", errors.New("is required")
	case len(text) > audience.MaxAddress:
		return "", fmt.Errorf("has %d bytes: at most %d are allowed", len(text), audience.MaxAddress)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return "", errors.New("holds characters that no address has")
	}
	return text, nil
}
