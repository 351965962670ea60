package suppress

import (
	"errors"
	"fmt"
	"regexp"
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

// Everywhere is an address as it is suppressed in all channels, those that come later too, of which each may write it in its own way: in small
// letters, and a mobile number of home in E.164. It is asked of each message, so it knows no other numbers.
func Everywhere(address string) string {
	if home.MatchString(address) {
		return "+86" + address
	}
	return strings.ToLower(address)
}

// home is a mobile number as people at home write it.
var home = regexp.MustCompile(`^1[3-9][0-9]{9}$`)

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
