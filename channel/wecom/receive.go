package wecom

import (
	"encoding/xml"
	"fmt"

	"github.com/posthouse/posthouse/channel"
)

// Receive verifies an event of the application, such as a click on a template card. WeCom says of no message whether it
// arrived, so there is nothing in it for a delivery: it is answered and counted by its kind.
func (a *app) Receive(c channel.Callback) (channel.Heard, error) {
	text, once, err := a.lock.Open(c)
	if err != nil {
		return channel.Heard{}, err
	}
	if c.Method == "GET" {
		return channel.Heard{Kind: "check", Answer: string(text)}, nil
	}
	var in struct {
		Type  string `xml:"MsgType"`
		Event string `xml:"Event"`
	}
	if err := xml.Unmarshal(text, &in); err != nil {
		return channel.Heard{}, fmt.Errorf("%w: its XML cannot be read", channel.ErrForged)
	}
	if in.Event != "" {
		in.Type = in.Event
	}
	return channel.Heard{Kind: in.Type, Once: once}, nil
}
