package dingtalk

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/errcode"
)

// codes is a table of the meanings of DingTalk's codes.
type codes errcode.Table

func (c codes) of(code string, own map[string]posthouse.Class) errcode.Meaning {
	return errcode.Table(c).Of(code, own)
}

// answer is what DingTalk's older interface answers, with status 200 also for errors.
type answer struct {
	Code    errcode.Value `json:"errcode"`
	Message string        `json:"errmsg"`
	SubCode errcode.Value `json:"sub_code"`
	SubText string        `json:"sub_msg"`
	Task    errcode.Value `json:"task_id"`
	Status  errcode.Value `json:"status"` // of what stands before the interface: 1111 is a blocked address
	Token   string        `json:"access_token"`
	Lasts   int           `json:"expires_in"` // seconds
	Result  result        `json:"send_result"`
}

// Our own codes, beside those of package channel.
const (
	codeBlocked   = "1111"       // too many calls from our address; DingTalk names it in the body
	codeNoAddress = "NO_ADDRESS" // the recipient has no id at DingTalk
	codeTooLong   = "TOO_LONG"   // DingTalk would refuse a text of this length
)

// blockedFor is how long DingTalk blocks an address after 10,000 calls in 20 seconds.
const blockedFor = 5 * time.Minute

// read finds out what a reply of the older interface means. The answer is empty where there is none.
func (c codes) read(r *channel.Reply, own map[string]posthouse.Class) (channel.Verdict, answer) {
	var a answer
	whole := r.Status != 0 && r.Err == nil && !r.Cut && json.Unmarshal(r.Body, &a) == nil
	switch {
	case r.Status == 0:
		return errcode.Ended(r, own), answer{}
	case a.Status == codeBlocked || r.Status < 500 && isPage(r.Body):
		m := codes{codeBlocked: {Class: posthouse.ClassRate, After: blockedFor}}.of(codeBlocked, own)
		return channel.Verdict{Class: m.Class, After: m.After, Code: codeBlocked, Message: "DingTalk blocks our address: too many calls came from it"}, a
	case whole && a.Code == "0" && r.OK():
		return channel.Verdict{Class: posthouse.ClassOK, Code: "0"}, a
	case whole && a.Code != "" && a.Code != "0":
		return c.refused(a, own), a
	case !r.OK():
		return errcode.Ended(r, own), answer{}
	}
	return channel.Verdict{Class: posthouse.ClassUnknown, Message: "DingTalk's answer could not be read, so it may have accepted"}, answer{}
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
	return errcode.Table(c).Refused("DingTalk", code, text, own)
}

// isPage reports whether a body is HTML, which no interface of DingTalk answers: something before it did.
func isPage(body []byte) bool {
	body = bytes.TrimLeft(body, " \t\r\n\ufeff")
	return len(body) > 0 && body[0] == '<'
}
