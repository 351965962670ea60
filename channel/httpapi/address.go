package httpapi

import (
	"errors"
	"strings"

	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/phone"
)

// What a channel's addresses are.
const (
	asWritten = "as_written"
	phones    = "phone"
	phonesCN  = "phone_cn"
	mail      = "mail"
)

// address is an address in the one form that it is kept and sent in.
func address(c channel.Config, text string) (string, error) {
	switch kind := c.String("addresses"); kind {
	case phones, phonesCN:
		n, err := phone.Parse(text, "CN")
		if err == nil && kind == phonesCN && n.Region == "CN" {
			return n.National, nil
		}
		return n.E164, err
	case mail:
		return mailbox(text)
	}
	return text, nil
}

// mailbox is a mail address whose domain is in small letters and without the dot of the root. What stands before the @ is the
// receiving server's to read, and stays as it is.
func mailbox(text string) (string, error) {
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
