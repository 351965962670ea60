package suppress

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/posthouse/posthouse/internal/audience"
)

// Fold is an address as it is suppressed: an e-mail address in small letters, whatever its hoster makes of them. A message keeps what
// was written before the @.
func Fold(address string) string {
	if strings.Index(address, "@") > 0 {
		return strings.ToLower(address)
	}
	return address
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
