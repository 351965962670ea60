package webhook

import (
	"errors"
	"net/url"
)

// endpoint reads a recipient's address as a URL. Whether it may be called, the channel's egress says.
func endpoint(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return nil, errors.New("the recipient's address is not an http or https URL without a user name in it")
	}
	return u, nil
}
