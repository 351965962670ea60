package httpapi

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/render"
)

// scope is what the placeholders of one call are filled from.
type scope struct {
	outs      []channel.Outgoing // of one message; never empty
	now       time.Time
	separator string
	token     string
	body      []byte // of the request, once it is made
	uuid      string // made when it is first asked for
	example   bool   // a payload has whatever is asked of it

	callback *channel.Callback // of a receipt
	report   []byte
}

// heard is a part of a receipt.
func (s *scope) heard(p part) string {
	_, what, _ := strings.Cut(p.name, ".")
	switch p.heard {
	case "header":
		return s.callback.Header.Get(what)
	case "query":
		return s.callback.Query.Get(what)
	case "report":
		raw, _ := p.path.find(s.report)
		return text(raw)
	}
	return string(s.callback.Body)
}

// id is the UUID of the call, a random one of version 4.
func (s *scope) id() string {
	if s.uuid == "" {
		var b [16]byte
		_, _ = rand.Read(b[:]) // it never fails: the program would end
		b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
		s.uuid = fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
	}
	return s.uuid
}

// variable is one name a placeholder may have. One of its functions is set.
type variable struct {
	text   func(o *channel.Outgoing) string
	number func(s *scope) int64
	whole  func(s *scope) string            // of the call
	list   func(o *channel.Outgoing) string // one item a recipient
	each   bool                             // differs between the recipients of a batch
}

// variables are the names besides payload, payload.<key>, secret.<name>, value.<name> and token.
var variables = map[string]variable{
	"user":    {each: true, text: user},
	"address": {each: true, text: func(o *channel.Outgoing) string { return o.Recipient.Address }},
	"type":    {each: true, text: func(o *channel.Outgoing) string { return o.Recipient.Type }},
	"title":   {text: func(o *channel.Outgoing) string { return o.Content.Title }},
	"text":    {text: func(o *channel.Outgoing) string { return o.Content.Text }},
	"kind":    {text: func(o *channel.Outgoing) string { return o.Kind }},
	"ref":     {text: func(o *channel.Outgoing) string { return o.Ref }},

	"message":  {text: func(o *channel.Outgoing) string { return o.Message }},
	"delivery": {each: true, text: func(o *channel.Outgoing) string { return o.Delivery }},
	"channel":  {text: func(o *channel.Outgoing) string { return o.Channel }},
	"template": {text: func(o *channel.Outgoing) string { return o.Template }},
	"attempt":  {each: true, number: func(s *scope) int64 { return int64(s.outs[0].Attempt) }},
	"now_ms":   {number: func(s *scope) int64 { return s.now.UnixMilli() }},
	"now_s":    {number: func(s *scope) int64 { return s.now.Unix() }},
	"now":      {number: func(s *scope) int64 { return s.now.Unix() }},
	"uuid":     {whole: (*scope).id},
	"body":     {whole: func(s *scope) string { return string(s.body) }},

	"idempotency_key":  {whole: (*scope).key},
	"users":            {list: user},
	"addresses":        {list: func(o *channel.Outgoing) string { return o.Recipient.Address }},
	"deliveries":       {list: func(o *channel.Outgoing) string { return o.Delivery }},
	"idempotency_keys": {list: func(o *channel.Outgoing) string { return o.IdemKey }},
}

func variableNames() []string {
	return append(slices.Collect(maps.Keys(variables)), "payload", "payload.<key>", "secret.<name>", "value.<name>", "token")
}

func user(o *channel.Outgoing) string { return cmp.Or(o.Recipient.User, o.Recipient.Address) }

// key is the idempotency key of the call. Several recipients share one that is the same for the
// same recipients in any order, so a repetition of the whole call is recognised.
func (s *scope) key() string {
	if len(s.outs) == 1 {
		return s.outs[0].IdemKey
	}
	keys := make([]string, len(s.outs))
	for i := range s.outs {
		keys[i] = s.outs[i].IdemKey
	}
	slices.Sort(keys)
	sum := sha256.Sum256([]byte(strings.Join(keys, "\n")))
	return hex.EncodeToString(sum[:16])
}

// append fills one placeholder.
func (p part) append(dst []byte, at render.Segment, s *scope) ([]byte, error) {
	v := p.variable
	switch {
	case p.payload:
		return p.appendPayload(dst, at, s)
	case v.number != nil:
		return strconv.AppendInt(dst, v.number(s), 10), nil
	case v.list != nil && at.Place == render.JSONValue:
		return p.appendList(dst, s), nil
	}
	value, err := p.text(s)
	if err != nil {
		return dst, err
	}
	return at.Place.Append(dst, value), nil
}

// text is what a part stands for, as a text.
func (p part) text(s *scope) (string, error) {
	v := p.variable
	switch {
	case p.constant():
		return p.value, nil
	case p.call != nil:
		return p.call.text(s)
	case p.token:
		return s.token, nil
	case p.heard != "":
		return s.heard(p), nil
	case p.payload:
		raw, err := p.member(s)
		return text(raw), err
	case v.number != nil:
		return strconv.FormatInt(v.number(s), 10), nil
	case v.list != nil:
		items := make([]string, len(s.outs))
		for i := range s.outs {
			items[i] = v.list(&s.outs[i])
		}
		return strings.Join(items, s.separator), nil
	case v.whole != nil:
		return v.whole(s), nil
	}
	return v.text(&s.outs[0]), nil
}

// appendList writes an array where JSON wants a value.
func (p part) appendList(dst []byte, s *scope) []byte {
	dst = append(dst, '[')
	for i := range s.outs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = render.JSONValue.Append(dst, p.variable.list(&s.outs[i]))
	}
	return append(dst, ']')
}

// member is what the payload has at the part's path, as JSON.
func (p part) member(s *scope) ([]byte, error) {
	if s.example {
		return []byte("0"), nil
	}
	raw, ok := []byte(s.outs[0].Payload), len(s.outs[0].Payload) > 0
	if ok {
		raw, ok = p.path.find(raw)
	}
	if !ok {
		return nil, fmt.Errorf("the message has no %s", p.name)
	}
	return raw, nil
}

// appendPayload writes the payload's own JSON where JSON wants a value, else its text.
func (p part) appendPayload(dst []byte, at render.Segment, s *scope) ([]byte, error) {
	raw, err := p.member(s)
	if err != nil {
		return dst, err
	}
	if at.Place == render.JSONValue {
		return append(dst, raw...), nil
	}
	return at.Place.Append(dst, text(raw)), nil
}
