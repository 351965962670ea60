package push

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/errcode"
)

// CodeNoAddress is our own code of a delivery whose recipient has no token of a device.
const CodeNoAddress = "NO_ADDRESS"

// longestToken is longer than any token of a device that a provider has given out, in bytes.
const longestToken = 1024

// DeviceToken is an address as a channel of a push service keeps it: the token that a device's app was given, without spaces around it.
func DeviceToken(_ channel.Config, text string) (string, error) {
	token := strings.TrimSpace(text)
	switch {
	case token == "":
		return "", errors.New("is empty: want the token that the app was given on the device")
	case len(token) > longestToken:
		return "", fmt.Errorf("has %d bytes: a device's token has at most %d", len(token), longestToken)
	case strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune("\"\\/?#%", c) }), strings.Trim(token, ".") == "":
		return "", errors.New("holds characters that no device's token has")
	}
	return token, nil
}

// Data are the members of a payload as texts, as an app gets them: a number as it is written, lists and objects as JSON.
func Data(payload json.RawMessage) (map[string]string, error) {
	data := map[string]string{}
	if len(payload) == 0 {
		return data, nil
	}
	var members map[string]errcode.Value
	if err := json.Unmarshal(payload, &members); err != nil {
		return nil, errors.New("the payload is no JSON object: its members are the app's data")
	}
	for name, value := range members {
		data[name] = string(value)
	}
	return data, nil
}

// Seconds is a time in whole seconds, as JSON's form of a duration has it: "3600s".
func Seconds(d time.Duration) string { return fmt.Sprintf("%ds", int64(d/time.Second)) }

// Place is a path below a provider's URL.
func Place(base string, path ...string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + "/"
	return u.JoinPath(path...), nil
}
