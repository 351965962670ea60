// Package errcode reads the answers of providers that say with a code in the body, and not with the HTTP status, how a call
// ended: {"errcode": 0, "errmsg": "ok"}.
package errcode

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// Meaning is what a provider's code says of an attempt.
type Meaning struct {
	Class posthouse.Class
	After time.Duration // the wait that the provider's documents name, 0 for none
	// AtOnce is whose calls were too many at the same time, where that is what the code says.
	AtOnce channel.Scope
}

// Table is the meanings of a provider's codes.
type Table map[string]Meaning

// Of is the meaning of a code: the channel's own, or else the table's. A provider that names an error
// has not accepted, so a code that stands in neither may be tried again.
func (t Table) Of(code string, own map[string]posthouse.Class) Meaning {
	m, known := t[code]
	if !known {
		m.Class = posthouse.ClassTransient
	}
	if class, ok := own[code]; ok && class != m.Class {
		m = Meaning{Class: class}
	}
	return m
}

// Refused is the verdict on an answer that names an error.
func (t Table) Refused(provider, code, text string, own map[string]posthouse.Class) channel.Verdict {
	m := t.Of(code, own)
	if text == "" {
		text = provider + " answered with code " + code
	}
	return channel.Verdict{Class: m.Class, After: m.After, AtOnce: m.AtOnce, Code: code, Message: text}
}

// RefusedBy is Refused for the reply that brought the code. A code that nobody has listed, with a status that says that the provider
// failed, does not say that nothing was accepted.
func (t Table) RefusedBy(r *channel.Reply, provider, code, text string, own map[string]posthouse.Class) channel.Verdict {
	v := t.Refused(provider, code, text, own)
	_, listed := t[code]
	if _, ours := own[code]; !listed && !ours && r.Status/100 == 5 {
		v.Class = posthouse.ClassUnknown
	}
	return v
}

// Read finds out what a reply means, and decodes it into a pointer. Its code is empty where there is no answer of this
// form. The verdict on success has no Ref yet.
func (t Table) Read(r *channel.Reply, provider string, own map[string]posthouse.Class, into any) (v channel.Verdict, code string) {
	var a struct {
		Code    Value  `json:"errcode"`
		Message string `json:"errmsg"`
	}
	whole := r.Status != 0 && r.Err == nil && !r.Cut && json.Unmarshal(r.Body, &a) == nil && json.Unmarshal(r.Body, into) == nil
	switch code = string(a.Code); {
	case whole && code == "0" && r.OK():
		return channel.Verdict{Class: posthouse.ClassOK, Code: "0"}, code
	case whole && code != "" && code != "0":
		return t.RefusedBy(r, provider, code, reason(a.Message), own), code
	case !r.OK():
		return Ended(r, own), ""
	}
	return channel.Verdict{Class: posthouse.ClassUnknown, Message: provider + "'s answer could not be read, so it may have accepted"}, ""
}

// reason is an error's text without what is appended to it for the provider's own staff:
// "…, hint: [1693…], from ip: …" or "… rid: 5f…".
func reason(text string) string {
	text, _, _ = strings.Cut(text, ", hint:")
	text, _, _ = strings.Cut(text, " rid:")
	return text
}

// Ended is the verdict on the end of a call without such an answer: by the channel's own codes, or by what the end itself means.
func Ended(r *channel.Reply, own map[string]posthouse.Class) channel.Verdict {
	if class, listed := r.ClassIn(own); listed {
		return channel.Verdict{Class: class}
	}
	return channel.Verdict{Class: r.Class()}
}

// Value is a JSON value of which documents and samples disagree whether it is a number or a string: 0 and
// "0" are the same, null and a missing one are empty.
type Value string

// UnmarshalJSON reads either.
func (v *Value) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(v))
	}
	*v = ""
	if string(b) != "null" {
		*v = Value(b)
	}
	return nil
}

// Encoded is a value as JSON, with < and > as they are: these providers count bytes.
func Encoded(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // texts, numbers and lists of them
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
