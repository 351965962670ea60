package webhook

import (
	"errors"
	"net/url"
	"strings"

	"github.com/posthouse/posthouse/channel"
)

// endpoint reads a recipient's address as a URL. Whether it may be called, the channel's egress says.
func endpoint(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return nil, errors.New("the recipient's address is not an http or https URL without a user name in it")
	}
	return u, nil
}

// address is a URL with scheme and host in small letters, which have no case, or any other as it is.
func address(_ channel.Config, text string) (string, error) {
	u, _ := endpoint(text)
	if u == nil {
		return text, nil // the channel has a URL of its own
	}
	head := len(u.Scheme) + len("://") + len(u.Host)
	if len(text) < head || !strings.EqualFold(text[:head], u.Scheme+"://"+u.Host) {
		return text, nil
	}
	return strings.ToLower(text[:head]) + text[head:], nil
}
