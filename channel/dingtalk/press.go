package dingtalk

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/errcode"
)

// skew is how far DingTalk's clock and a callback's way may be from ours. Its documents say nothing of it.
const skew = 5 * time.Minute

// pressEvent is DingTalk's word for a button that was pressed.
const pressEvent = "actionCallback"

func forged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", channel.ErrForged, fmt.Sprintf(format, args...))
}

// told is what DingTalk posts of a card. One of its pages calls the content "value".
type told struct {
	Type    string `json:"type"`
	Track   string `json:"outTrackId"`
	Corp    string `json:"corpId"`
	User    string `json:"userId"`
	Content string `json:"content"` // JSON in a text
	Value   string `json:"value"`
}

// pressed is what a button tells back.
type pressed struct {
	Private struct {
		Actions []string                   `json:"actionIds"`
		Params  map[string]json.RawMessage `json:"params"`
	} `json:"cardPrivateData"`
	Params map[string]json.RawMessage `json:"params"` // by the page that says "value"
}

// Receive verifies what DingTalk tells of cards, and reads what was pressed on them. DingTalk says of no card here whether it arrived. What
// else it tells, such as that it wants data of ours, is answered and counted.
func (w *work) Receive(c channel.Callback) (channel.Heard, error) {
	at, err := w.verify(c)
	if err != nil {
		return channel.Heard{}, err
	}
	var in told
	if err := json.Unmarshal(c.Body, &in); err != nil {
		return channel.Heard{}, forged("its JSON cannot be read")
	}
	// The signature is the same for all that is told in a millisecond: the body tells them apart.
	heard := channel.Heard{Kind: in.Type, Once: strconv.FormatInt(at.UnixMilli(), 10) + "\n" + string(c.Body), Answer: "{}"}
	if in.Type != "" && in.Type != pressEvent {
		return heard, nil
	}
	event, err := in.press(at)
	if err != nil {
		return channel.Heard{}, err
	}
	heard.Kind, heard.Events = pressEvent, []channel.Event{event}
	return heard, nil
}

// verify looks at the signature: HMAC-SHA256 of the time in milliseconds, with the apiSecret under which the address was registered. It does
// not cover the body.
func (w *work) verify(c channel.Callback) (time.Time, error) {
	if w.callbackSecret == "" {
		return time.Time{}, forged("the channel has no callback_secret")
	}
	if c.Method != "POST" {
		return time.Time{}, forged("what is pressed is posted")
	}
	stamp := c.Header.Get("X-Ddpaas-Signature-Timestamp")
	milliseconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return time.Time{}, forged("its time is %.40q", stamp)
	}
	at := time.UnixMilli(milliseconds).UTC()
	if age := c.At.Sub(at); age > skew || age < -skew {
		return time.Time{}, forged("it is %s old", posthouse.Duration(age.Round(time.Second)))
	}
	mac := hmac.New(sha256.New, []byte(w.callbackSecret))
	mac.Write([]byte(stamp))
	if want := base64.StdEncoding.EncodeToString(mac.Sum(nil)); !hmac.Equal([]byte(want), []byte(c.Header.Get("X-Ddpaas-Signature"))) {
		return time.Time{}, forged("its signature is not ours")
	}
	return at, nil
}

// press is what was pressed, for whoever follows what happens.
func (t *told) press(at time.Time) (channel.Event, error) {
	var in pressed
	content := t.Content
	if content == "" {
		content = t.Value
	}
	if err := json.Unmarshal([]byte(content), &in); err != nil {
		return channel.Event{}, forged("its content cannot be read")
	}
	e := channel.Event{Delivery: t.Track, Once: strings.Join([]string{t.Track, t.User, strconv.FormatInt(at.UnixMilli(), 10), content}, "\n"), CallbackEvent: posthouse.CallbackEvent{
		Event: pressEvent, Address: t.User, At: at, TaskID: t.Track, Fields: map[string]string{},
	}}
	if len(in.Private.Actions) > 0 {
		e.Key = in.Private.Actions[0]
	}
	if t.Corp != "" {
		e.Fields["corpId"] = t.Corp
	}
	for _, params := range []map[string]json.RawMessage{in.Params, in.Private.Params} {
		for _, name := range slices.Sorted(maps.Keys(params)) {
			var v errcode.Value
			if v.UnmarshalJSON(params[name]) == nil {
				e.Fields["params."+name] = string(v)
			}
		}
	}
	return e, nil
}
