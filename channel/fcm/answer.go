package fcm

import (
	"encoding/json"
	"path"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/access"
	"github.com/posthouse/posthouse/channel/internal/errcode"
)

// unregistered is Google's code of a token whose app was removed, or that was replaced.
const unregistered = "UNREGISTERED"

// meanings are the codes of FcmError, and the statuses that come without one.
var meanings = errcode.Table{
	unregistered:             {Class: posthouse.ClassRecipient},
	"SENDER_ID_MISMATCH":     {Class: posthouse.ClassRecipient}, // the token is of another project
	"INVALID_ARGUMENT":       {Class: posthouse.ClassContent},
	"QUOTA_EXCEEDED":         {Class: posthouse.ClassRate, After: time.Minute},
	"THIRD_PARTY_AUTH_ERROR": {Class: posthouse.ClassAccount}, // Apple's key, which the project holds
	"UNAVAILABLE":            {Class: posthouse.ClassTransient},
	"INTERNAL":               {Class: posthouse.ClassUnknown}, // it does not say that nothing was accepted
	"UNKNOWN":                {Class: posthouse.ClassUnknown},
	"DEADLINE_EXCEEDED":      {Class: posthouse.ClassUnknown},
	"ABORTED":                {Class: posthouse.ClassUnknown},
	"CANCELLED":              {Class: posthouse.ClassUnknown},
	"DATA_LOSS":              {Class: posthouse.ClassUnknown},
	"UNAUTHENTICATED":        {Class: posthouse.ClassAuth},
	"PERMISSION_DENIED":      {Class: posthouse.ClassAccount},
	"NOT_FOUND":              {Class: posthouse.ClassAccount}, // the project
	"RESOURCE_EXHAUSTED":     {Class: posthouse.ClassRate, After: time.Minute},
}

// refusal is Google's answer to what it does not accept.
type refusal struct {
	Error struct {
		Status  string `json:"status"`
		Message string `json:"message"`
		Details []struct {
			Code string `json:"errorCode"`
		} `json:"details"`
	} `json:"error"`
}

// code is the most exact that the answer has.
func (r *refusal) code() string {
	for _, d := range r.Error.Details {
		if d.Code != "" && d.Code != "UNSPECIFIED_ERROR" {
			return d.Code
		}
	}
	return r.Error.Status
}

// read finds out what became of a message, and whether the token is good.
func (d *driver) read(r *channel.Reply) (channel.Result, access.Answer) {
	if r.OK() {
		var said struct {
			Name string `json:"name"`
		}
		if !r.Cut && json.Unmarshal(r.Body, &said) == nil && said.Name != "" {
			return r.Result(channel.Verdict{Class: posthouse.ClassOK, Ref: path.Base(said.Name)}), access.Fine
		}
		return r.Result(channel.Verdict{Class: posthouse.ClassUnknown, Message: "Google's answer could not be read, so it may have accepted"}), access.Fine
	}
	var said refusal
	if r.Err != nil || r.Status == 0 || json.Unmarshal(r.Body, &said) != nil || said.code() == "" {
		return r.Result(errcode.Ended(r, d.codes)), access.Fine
	}
	code := said.code()
	v := meanings.RefusedBy(r, "Google", code, said.Error.Message, d.codes)
	if wait := r.RetryAfter(); wait > 0 {
		v.After = wait
	}
	if _, own := d.codes[code]; !own && code == "INVALID_ARGUMENT" && strings.Contains(said.Error.Message, "registration token") {
		v.Class = posthouse.ClassRecipient
	}
	result := r.Result(v)
	result.Gone = code == unregistered && result.Class == posthouse.ClassRecipient
	if code == "UNAUTHENTICATED" {
		return result, access.Again
	}
	return result, access.Fine
}
