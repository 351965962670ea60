package dingtalk

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// meaning is what a provider's code says of an attempt.
type meaning struct {
	class posthouse.Class
	after time.Duration // the wait that the provider's documents name, 0 for none
}

// codes is a table of meanings by code.
type codes map[string]meaning

// of is the meaning of a code: the channel's own, or else the table's. A provider that names an error
// has not accepted, so a code that stands in neither may be tried again.
func (c codes) of(code string, own map[string]posthouse.Class) meaning {
	m, known := c[code]
	if !known {
		m.class = posthouse.ClassTransient
	}
	if class, ok := own[code]; ok && class != m.class {
		m = meaning{class: class}
	}
	return m
}

// value is a JSON value of which documents and samples disagree whether it is a number or a string: 0 and
// "0" are the same, null and a missing one are empty.
type value string

// UnmarshalJSON reads either.
func (v *value) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(v))
	}
	*v = ""
	if string(b) != "null" {
		*v = value(b)
	}
	return nil
}

// answer is what DingTalk's older interface answers, with status 200 also for errors.
type answer struct {
	Code    value  `json:"errcode"`
	Message string `json:"errmsg"`
	SubCode value  `json:"sub_code"`
	SubText string `json:"sub_msg"`
	Task    value  `json:"task_id"`
	Status  value  `json:"status"` // of what stands before the interface: 1111 is a blocked address
	Token   string `json:"access_token"`
	Lasts   int    `json:"expires_in"` // seconds
	Result  result `json:"send_result"`
}

// Our own codes, beside those of package channel.
const (
	codeBlocked   = "1111"       // too many calls from our address; DingTalk names it in the body
	codeNoAddress = "NO_ADDRESS" // the recipient has no id at DingTalk
	codeTooLong   = "TOO_LONG"   // DingTalk would refuse a text of this length
	codeNoToken   = "NO_TOKEN"   // an access token could not be had
)

// blockedFor is how long DingTalk blocks an address after 10,000 calls in 20 seconds.
const blockedFor = 5 * time.Minute

// read finds out what a reply of the older interface means. The answer is empty where there is none.
func (c codes) read(r *channel.Reply, own map[string]posthouse.Class) (channel.Verdict, answer) {
	var a answer
	whole := r.Status != 0 && r.Err == nil && !r.Cut && json.Unmarshal(r.Body, &a) == nil
	switch {
	case r.Status == 0:
		return ofCode(r, own), answer{}
	case a.Status == codeBlocked || r.Status < 500 && isPage(r.Body):
		m := codes{codeBlocked: {posthouse.ClassRate, blockedFor}}.of(codeBlocked, own)
		return channel.Verdict{Class: m.class, After: m.after, Code: codeBlocked, Message: "DingTalk blocks our address: too many calls came from it"}, a
	case whole && a.Code == "0" && r.OK():
		return channel.Verdict{Class: posthouse.ClassOK, Code: "0"}, a
	case whole && a.Code != "" && a.Code != "0":
		return c.refused(a, own), a
	case !r.OK():
		return ofCode(r, own), answer{}
	}
	return channel.Verdict{Class: posthouse.ClassUnknown, Message: "DingTalk's answer could not be read, so it may have accepted"}, answer{}
}

// ofCode is the class of a call's end, or of an HTTP status.
func ofCode(r *channel.Reply, own map[string]posthouse.Class) channel.Verdict {
	if class, listed := r.ClassIn(own); listed {
		return channel.Verdict{Class: class}
	}
	return channel.Verdict{Class: r.Class()}
}

// refused reads an error. 88 only says that the sub-code tells more.
func (c codes) refused(a answer, own map[string]posthouse.Class) channel.Verdict {
	code, text := string(a.Code), a.Message
	if code == "88" && a.SubCode != "" {
		code = string(a.SubCode)
	}
	if a.SubText != "" {
		text = strings.TrimSpace(text + " " + a.SubText)
	}
	m := c.of(code, own)
	if text == "" {
		text = "DingTalk answered with code " + code
	}
	return channel.Verdict{Class: m.class, After: m.after, Code: code, Message: text}
}

// isPage reports whether a body is HTML, which no interface of DingTalk answers: something before it did.
func isPage(body []byte) bool {
	body = bytes.TrimLeft(body, " \t\r\n\ufeff")
	return len(body) > 0 && body[0] == '<'
}
