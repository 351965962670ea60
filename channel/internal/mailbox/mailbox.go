// Package mailbox reads mail addresses.
package mailbox

import (
	"errors"
	"net/mail"
	"strings"
)

// Fold is a mail address whose domain is in small letters and without the dot of the root. What stands before the @ is the
// receiving server's to read, and stays as it is.
func Fold(text string) (string, error) {
	text = strings.TrimSpace(text)
	at := strings.LastIndexByte(text, '@')
	if at < 1 || strings.ContainsAny(text, " \t\r\n,;<>") {
		return "", errors.New("is no mail address: want one such as duty@example.com")
	}
	domain := strings.ToLower(strings.TrimSuffix(text[at+1:], "."))
	if domain == "" {
		return "", errors.New("is no mail address: nothing follows its @")
	}
	return text[:at+1] + domain, nil
}

// The bounds of RFC 5321, 4.5.3.1, in bytes.
const (
	mostAddress = 254
	mostLocal   = 64
)

// Parse is Fold for an address that a mail server is to be given: what it would refuse, or read as more than one address, is none.
func Parse(text string) (string, error) {
	folded, err := Fold(text)
	if err != nil {
		return "", err
	}
	at := strings.LastIndexByte(folded, '@')
	parsed, err := mail.ParseAddress(folded)
	switch {
	case err != nil || parsed.Name != "" || parsed.Address != folded:
		return "", errors.New("is no mail address: want one such as duty@example.com")
	case len(folded) > mostAddress || at > mostLocal:
		return "", errors.New("is too long for a mail address: at most 64 bytes before the @, and 254 in all")
	case strings.ContainsFunc(folded[at:], func(r rune) bool { return r > 0x7e }):
		return "", errors.New("has a domain with letters other than ASCII: write it as its xn-- form")
	}
	return folded, nil
}
