package sms

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/phone"
)

// reports are the members of what a provider posts: a list of them, or one alone.
func reports[R any](body []byte) (list []R, err error) {
	if body = bytes.TrimSpace(body); len(body) > 0 && body[0] == '{' {
		body = slices.Concat([]byte("["), body, []byte("]"))
	}
	if json.Unmarshal(body, &list) != nil || len(list) == 0 {
		return nil, errNoReport
	}
	return list, nil
}

// once knows a post again: the providers repeat what was not taken as it was.
func once(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// said is a provider's word of why: its text where there is one.
func said(code, message string) string {
	if message == "" {
		return code
	}
	return message
}

// numberOf is a number of a report in E.164. One that was sent elsewhere has the code of its country without a plus sign, which the echo
// of our own id says; empty for what is no number.
func numberOf(number, echo string) string {
	number = strings.TrimPrefix(strings.TrimPrefix(number, "+"), "00")
	if !strings.HasPrefix(echo, "+") && len(number) == 11 {
		number = "86" + number
	}
	n, err := phone.Parse("+"+number, "")
	if err != nil {
		return ""
	}
	return n.E164
}

// leaving are the replies that end messages: those of 工信部's rule for senders (退订 by T, TD or the like), and of other countries.
var leaving = []string{"T", "TD", "N", "R", "QX", "0000", "退订", "拒收", "取消", "STOP", "UNSUBSCRIBE"}

// consents says whether a reply ends messages to its number.
func consents(number, echo, text string) []channel.Consent {
	word := strings.ToUpper(strings.TrimSpace(text))
	address := numberOf(number, echo)
	if address == "" || !slices.Contains(leaving, word) {
		return nil
	}
	return []channel.Consent{{Address: address, Reason: "replied " + word}}
}

// replied adds what somebody replied: the end of messages, or an answer to one.
func replied(heard *channel.Heard, number, echo, text, id string, at time.Time) {
	if left := consents(number, echo, text); len(left) > 0 {
		heard.Consents = append(heard.Consents, left...)
		return
	}
	if address := numberOf(number, echo); address != "" {
		heard.Inbound = append(heard.Inbound, channel.Inbound{Way: channel.InboundSMS, Address: address, Text: text, ID: id, At: at})
	}
}
