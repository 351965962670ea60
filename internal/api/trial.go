package api

import (
	"encoding/json"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// maxTest bounds what a test says, in bytes of JSON: all of it goes into the audit log.
const maxTest = 32 << 10

// maySend reports whether a caller may send messages: a test of whoever may not goes only to the addresses that the channel lists for
// tests.
func maySend(c *web.Call) bool {
	return web.Permit(c.Key, web.Use{Scope: posthouse.ScopeSend, Action: "messages.create", Sight: true}) == nil
}

// trial is a test as the audit log keeps it: whom it went to, what it said, and how the provider answered.
type trial struct {
	Channel  string              `json:"channel,omitempty"`
	To       posthouse.Recipient `json:"to,omitzero"`
	Content  posthouse.Content   `json:"content,omitzero"`
	Template string              `json:"template,omitempty"`
	Payload  json.RawMessage     `json:"payload,omitempty"`
	Class    posthouse.Class     `json:"class,omitempty"`
	Code     string              `json:"code,omitempty"`
	Ref      string              `json:"provider_ref,omitempty"`
}

// try sends a test by send and writes all of it to the audit log. What it says is bounded, or the log would not hold it.
func try(c *web.Call, name string, out channel.Outgoing, send func(out channel.Outgoing, anybody bool) (channel.Outgoing, channel.Result, error)) (wire.ChannelTested, error) {
	said := trial{Channel: name, To: out.Recipient, Content: out.Content, Template: out.Template, Payload: out.Payload}
	if text, err := json.Marshal(said); err != nil || len(text) > maxTest {
		return wire.ChannelTested{}, posthouse.Invalid("the test cannot be sent", []posthouse.Problem{{
			Path: "content", Message: fmt.Sprintf("has %d bytes with all that belongs to it: a test has at most %d", len(text), maxTest),
		}})
	}
	sent, r, err := send(out, maySend(c))
	if err != nil {
		return wire.ChannelTested{}, err
	}
	if said.To = sent.Recipient; said.To == (posthouse.Recipient{}) {
		said.Content = posthouse.Content{} // the driver's own check sends nothing
	}
	said.Class, said.Code, said.Ref = r.Class, r.Code, r.Ref
	c.Asked(said, 1)
	return wire.ChannelTested{
		OK: r.Class == posthouse.ClassOK, Class: r.Class, Code: r.Code, Error: r.Error, Ref: r.Ref, Request: r.Request, Response: r.Response,
	}, nil
}
