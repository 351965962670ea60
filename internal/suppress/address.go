package suppress

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/posthouse/posthouse/internal/audience"
)

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
