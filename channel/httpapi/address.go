package httpapi

import (
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/mailbox"
	"github.com/posthouse/posthouse/internal/phone"
)

// What a channel's addresses are.
const (
	asWritten = "as_written"
	phones    = "phone"
	phonesCN  = "phone_cn"
	mail      = "mail"
)

// addressesOf is what the channel's addresses are.
func addressesOf(c channel.Config) channel.AddressKind {
	switch c.String("addresses") {
	case phones, phonesCN:
		return channel.AddressPhone
	case mail:
		return channel.AddressMail
	}
	return ""
}

// address is an address in the one form that it is kept and sent in.
func address(c channel.Config, text string) (string, error) {
	switch kind := c.String("addresses"); kind {
	case phones, phonesCN:
		n, err := phone.Parse(text, phone.Home)
		if err == nil && kind == phonesCN && n.Region == phone.Home {
			return n.National, nil
		}
		return n.E164, err
	case mail:
		return mailbox.Fold(text)
	}
	return text, nil
}
