package httpapi

import (
	"cmp"
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
}

// variable is one name a placeholder may have. One of its functions is set.
type variable struct {
	text   func(o *channel.Outgoing) string
	number func(s *scope) int64
	list   func(o *channel.Outgoing) string // one item a recipient
	each   bool                             // differs between the recipients of a batch
}

// variables are the names besides payload, payload.<key> and secret.<name>.
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

	"idempotency_key":  {}, // needs all recipients: see scope.key
	"users":            {list: user},
	"addresses":        {list: func(o *channel.Outgoing) string { return o.Recipient.Address }},
	"deliveries":       {list: func(o *channel.Outgoing) string { return o.Delivery }},
	"idempotency_keys": {list: func(o *channel.Outgoing) string { return o.IdemKey }},
}

func variableNames() []string {
	return append(slices.Collect(maps.Keys(variables)), "payload", "payload.<key>", "secret.<name>")
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
	case p.secret:
		return at.Place.Append(dst, p.value), nil
	case p.payload:
		return p.appendPayload(dst, at, s)
	case v.number != nil:
		return strconv.AppendInt(dst, v.number(s), 10), nil
	case v.list != nil:
		return p.appendList(dst, at.Place, s), nil
	case v.text != nil:
		return at.Place.Append(dst, v.text(&s.outs[0])), nil
	}
	return at.Place.Append(dst, s.key()), nil
}

// appendList writes an array where JSON wants a value, else a joined text.
func (p part) appendList(dst []byte, at render.Place, s *scope) []byte {
	if at != render.JSONValue {
		items := make([]string, len(s.outs))
		for i := range s.outs {
			items[i] = p.variable.list(&s.outs[i])
		}
		return at.Append(dst, strings.Join(items, s.separator))
	}
	dst = append(dst, '[')
	for i := range s.outs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = render.JSONValue.Append(dst, p.variable.list(&s.outs[i]))
	}
	return append(dst, ']')
}

// appendPayload writes the payload's own JSON where JSON wants a value, else its text.
func (p part) appendPayload(dst []byte, at render.Segment, s *scope) ([]byte, error) {
	raw, ok := []byte(s.outs[0].Payload), len(s.outs[0].Payload) > 0
	if ok {
		raw, ok = p.path.find(raw)
	}
	if !ok {
		return dst, fmt.Errorf("the message has no %s", at.Name)
	}
	if at.Place == render.JSONValue {
		return append(dst, raw...), nil
	}
	return at.Place.Append(dst, text(raw)), nil
}
