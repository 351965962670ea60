package wecom

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// said is what WeCom posts, taken out of its encryption.
type said struct {
	Type     string `xml:"MsgType"`
	Event    string `xml:"Event"`
	From     string `xml:"FromUserName"`
	At       string `xml:"CreateTime"` // in seconds
	Key      string `xml:"EventKey"`
	Task     string `xml:"TaskId"`
	Card     string `xml:"CardType"`
	Code     string `xml:"ResponseCode"`
	Selected []struct {
		Question string   `xml:"QuestionKey"`
		Options  []string `xml:"OptionIds>OptionId"`
	} `xml:"SelectedItems>SelectedItem"`
	To   string    `xml:"ToUserName"` // the corporation
	More []element `xml:",any"`
}

// element is what WeCom says by another name.
type element struct {
	XMLName xml.Name
	Text    string    `xml:",chardata"`
	Inner   []element `xml:",any"`
}

// Receive verifies what WeCom tells of the application, and reads its events: what was pressed on a template card, who has entered
// the application and the like. WeCom says of no message whether it arrived. What members write is not ours: it is
// answered and counted.
func (a *app) Receive(c channel.Callback) (channel.Heard, error) {
	text, once, err := a.lock.Open(c)
	if err != nil {
		return channel.Heard{}, err
	}
	if c.Method == "GET" {
		return channel.Heard{Kind: "check", Answer: string(text)}, nil
	}
	var in said
	if err := xml.Unmarshal(text, &in); err != nil {
		return channel.Heard{}, fmt.Errorf("%w: its XML cannot be read", channel.ErrForged)
	}
	if in.Event == "" {
		return channel.Heard{Kind: in.Type, Once: once}, nil
	}
	return channel.Heard{Kind: in.Event, Once: once, Events: []channel.Event{in.event()}}, nil
}

// event is what happened. WeCom tells it again where it is not answered within five seconds, and advises to know it again by the
// member and the time.
func (s *said) event() channel.Event {
	e := channel.Event{
		Once: strings.Join([]string{s.From, s.At, s.Event, s.Key, s.Task}, "\n"), Delivery: deliveryOf(s.Task),
		CallbackEvent: posthouse.CallbackEvent{
			Event: s.Event, Address: s.From, Key: s.Key, TaskID: s.Task, CardType: s.Card, ResponseCode: s.Code, Fields: map[string]string{},
		},
	}
	if seconds, err := strconv.ParseInt(s.At, 10, 64); err == nil && seconds > 0 {
		e.At = time.Unix(seconds, 0).UTC()
	}
	for _, one := range s.Selected {
		e.Selected = append(e.Selected, posthouse.Selection{Question: one.Question, Options: one.Options})
	}
	collect(e.Fields, "", s.More)
	return e
}

// collect flattens elements by the paths of their names. Of those with one path the first counts.
func collect(into map[string]string, path string, list []element) {
	for i := range list {
		name := path + list[i].XMLName.Local
		if len(list[i].Inner) > 0 {
			collect(into, name+".", list[i].Inner)
			continue
		}
		if text := strings.TrimSpace(list[i].Text); text != "" && into[name] == "" {
			into[name] = text
		}
	}
}
