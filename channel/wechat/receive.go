package wechat

import (
	"context"
	"encoding/xml"
	"fmt"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// awaited is how long WeChat's event is waited for. It comes within minutes, and nobody can ask for it.
const awaited = 24 * time.Hour

// taken is the answer that WeChat waits for; it repeats the event without it.
const taken = "success"

// event is what WeChat posts, in clear or taken out of its encryption.
type event struct {
	Type   string `xml:"MsgType"`
	Event  string `xml:"Event"`
	From   string `xml:"FromUserName"`
	ID     string `xml:"MsgID"`
	Status string `xml:"Status"`
	// Notices are what became of subscription notices.
	Notices []struct {
		ID     string `xml:"MsgID"`
		Code   string `xml:"ErrorCode"`
		Status string `xml:"ErrorStatus"`
	} `xml:"SubscribeMsgSentEvent>List"`
}

// Receive verifies an event of the account, and reads what became of a message, or who follows the account. Other events are answered and are not ours.
func (d *driver) Receive(c channel.Callback) (channel.Heard, error) {
	text, once, err := d.lock.Open(c)
	if err != nil {
		return channel.Heard{}, err
	}
	if c.Method == "GET" {
		return channel.Heard{Kind: "check", Answer: string(text)}, nil
	}
	var in event
	if err := xml.Unmarshal(text, &in); err != nil {
		return channel.Heard{}, fmt.Errorf("%w: its XML cannot be read", channel.ErrForged)
	}
	heard := channel.Heard{Kind: in.kind(), Answer: taken, Once: once}
	switch in.Event {
	case "TEMPLATESENDJOBFINISH":
		heard.Reports = []channel.Report{{Ref: in.ID, Address: in.From, Receipt: receiptOf(in.Status)}}
	case "subscribe", "unsubscribe": // of the account: who has left it cannot be sent anything
		heard.Consents = []channel.Consent{{Address: in.From, In: in.Event == "subscribe", Reason: in.Event}}
	case "subscribe_msg_sent_event":
		for _, n := range in.Notices {
			r := channel.Report{Ref: n.ID, Address: in.From, Receipt: channel.Receipt{Known: true, Delivered: n.Code == "0"}}
			if !r.Delivered {
				r.Code, r.Error = n.Code, n.Status
			}
			heard.Reports = append(heard.Reports, r)
		}
	}
	return heard, nil
}

func (e *event) kind() string {
	if e.Event != "" {
		return e.Event
	}
	return e.Type
}

// receiptOf reads a status such as "failed:user block".
func receiptOf(status string) channel.Receipt {
	if status == taken {
		return channel.Receipt{Known: true, Delivered: true}
	}
	why := strings.TrimSpace(strings.TrimPrefix(status, "failed:"))
	code := strings.ToUpper(strings.Join(strings.Fields(why), "_"))
	return channel.Receipt{Known: true, Code: code, Error: "WeChat did not deliver it: " + why}
}

// Resends reports whether WeChat failed by itself: one more send may arrive. Who has blocked the account has not asked for one.
func (d *driver) Resends(code string) bool { return code == "SYSTEM_FAILED" }

// Track answers nothing: WeChat says by itself what became of a message, or never.
func (d *driver) Track(_ context.Context, _ string, to []posthouse.Recipient) ([]channel.Receipt, error) {
	return make([]channel.Receipt, len(to)), nil
}
