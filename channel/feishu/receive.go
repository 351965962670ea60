package feishu

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/errcode"
)

// skew is how far Feishu's clock and a callback's way may be from ours.
const skew = 5 * time.Minute

func forged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", channel.ErrForged, fmt.Sprintf(format, args...))
}

// told is what Feishu posts, version 2.0 of its events.
type told struct {
	Type      string `json:"type"` // of the look at the address
	Challenge string `json:"challenge"`
	Header    struct {
		ID    string        `json:"event_id"`
		Event string        `json:"event_type"`
		At    errcode.Value `json:"create_time"` // microseconds of a card, milliseconds of other events
	} `json:"header"`
	Event json.RawMessage `json:"event"`
}

// pressed is what was pressed on a card.
type pressed struct {
	Operator struct {
		Open  string `json:"open_id"`
		User  string `json:"user_id"`
		Union string `json:"union_id"`
	} `json:"operator"`
	Action struct {
		Tag    string                     `json:"tag"`
		Name   string                     `json:"name"`
		Option string                     `json:"option"`
		Value  map[string]json.RawMessage `json:"value"`
		Form   map[string]json.RawMessage `json:"form_value"`
	} `json:"action"`
	Context struct {
		Message string `json:"open_message_id"`
		Chat    string `json:"open_chat_id"`
	} `json:"context"`
}

// Receive verifies what Feishu tells of the application, and reads what was pressed on its cards. Feishu says of no message here whether
// it arrived. Other events are answered and counted.
func (d *driver) Receive(c channel.Callback) (channel.Heard, error) {
	if d.encryptKey == "" {
		return channel.Heard{}, forged("the channel has no encrypt_key")
	}
	if c.Method != "POST" {
		return channel.Heard{}, forged("an event is posted")
	}
	var sealed struct {
		Encrypted string `json:"encrypt"`
	}
	if err := json.Unmarshal(c.Body, &sealed); err != nil || sealed.Encrypted == "" {
		return channel.Heard{}, forged("the body is not an encrypted one")
	}
	text, err := d.decrypt(sealed.Encrypted)
	if err != nil {
		return channel.Heard{}, err
	}
	var in told
	if err := json.Unmarshal(text, &in); err != nil {
		return channel.Heard{}, forged("its JSON cannot be read")
	}
	if in.Type == "url_verification" { // the one call that is not signed: who can encrypt it has the key
		return channel.Heard{Kind: "check", Answer: string(errcode.Encoded(map[string]string{"challenge": in.Challenge}))}, nil
	}
	stamp, nonce := c.Header.Get("X-Lark-Request-Timestamp"), c.Header.Get("X-Lark-Request-Nonce")
	if err := d.verify(c, stamp, nonce); err != nil {
		return channel.Heard{}, err
	}
	heard := channel.Heard{Kind: in.Header.Event, Once: stamp + "/" + nonce, Answer: "{}"}
	if in.Header.Event == "card.action.trigger" {
		event, err := in.press()
		if err != nil {
			return channel.Heard{}, err
		}
		heard.Events = []channel.Event{event}
	}
	return heard, nil
}

// verify looks at the signature: SHA-256 over time, nonce, key and body.
func (d *driver) verify(c channel.Callback, stamp, nonce string) error {
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return forged("its time is %.40q", stamp)
	}
	if age := c.At.Sub(time.Unix(seconds, 0)); age > skew || age < -skew {
		return forged("it is %s old", posthouse.Duration(age.Round(time.Second)))
	}
	sum := sha256.Sum256([]byte(stamp + nonce + d.encryptKey + string(c.Body)))
	if subtle.ConstantTimeCompare([]byte(hex.EncodeToString(sum[:])), []byte(c.Header.Get("X-Lark-Signature"))) != 1 {
		return forged("its signature is not ours")
	}
	return nil
}

// decrypt opens what is sealed by AES-256-CBC with the SHA-256 of the key; the first block is the initial vector.
func (d *driver) decrypt(text string) ([]byte, error) {
	sealed, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(sealed) < 2*aes.BlockSize || len(sealed)%aes.BlockSize != 0 {
		return nil, forged("what is encrypted has a length that it cannot have")
	}
	key := sha256.Sum256([]byte(d.encryptKey))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	open := make([]byte, len(sealed)-aes.BlockSize)
	cipher.NewCBCDecrypter(block, sealed[:aes.BlockSize]).CryptBlocks(open, sealed[aes.BlockSize:])
	filled := int(open[len(open)-1])
	if filled == 0 || filled > aes.BlockSize {
		return nil, forged("it was encrypted with another key")
	}
	return open[:len(open)-filled], nil
}

// refusal is shown to a person whose press of a card counts for nothing.
const refusal = `{"toast":{"type":"warning","content":"This card was sent to somebody else: your press does not count.","i18n":{"zh_cn":"这张卡片是发给别人的，您的操作不算数。","en_us":"This card was sent to somebody else: your press does not count."}}}`

// over is shown to a person who has pressed a card of what is over.
const over = `{"toast":{"type":"info","content":"This is over: nobody else is told of it. That you have taken note is kept.","i18n":{"zh_cn":"此事已结束，不再通知其他人。您的确认已记录。","en_us":"This is over: nobody else is told of it. That you have taken note is kept."}}}`

// void is shown to a person who has pressed a button that acknowledges nothing any more.
const void = `{"toast":{"type":"warning","content":"This button is no longer valid: your press does not count.","i18n":{"zh_cn":"此按钮已失效，您的操作不算数。","en_us":"This button is no longer valid: your press does not count."}}}`

// presser is channel.Type's. Feishu has three names of a person, and tells those that the application may see; mail addresses it never tells.
func presser(address string, e *posthouse.CallbackEvent) channel.Presser {
	name := ""
	switch idKind(address) {
	case "chat_id":
		return channel.PresserMember
	case "open_id":
		name = e.Address
	case "union_id":
		name = e.Fields["union_id"]
	case "user_id":
		name = e.Fields["user_id"]
	}
	switch {
	case name == "" || address == "":
		return channel.PresserUnknown
	case name == address:
		return channel.PresserSame
	}
	return channel.PresserOther
}

// press is what was pressed, for whoever follows what happens.
func (t *told) press() (channel.Event, error) {
	var in pressed
	if err := json.Unmarshal(t.Event, &in); err != nil {
		return channel.Event{}, forged("its event cannot be read")
	}
	e := channel.Event{Once: t.Header.ID, Refusal: refusal, Over: over, Void: void, CallbackEvent: posthouse.CallbackEvent{
		Event: t.Header.Event, Address: in.Operator.Open, Key: in.Action.Name, CardType: in.Action.Tag, Fields: map[string]string{},
	}}
	if at, err := strconv.ParseInt(string(t.Header.At), 10, 64); err == nil && at > 0 {
		e.At = time.UnixMicro(at).UTC()
		if at < 1e14 { // in milliseconds
			e.At = time.UnixMilli(at).UTC()
		}
	}
	for name, value := range map[string]string{"message_id": in.Context.Message, "chat_id": in.Context.Chat, "user_id": in.Operator.User, "union_id": in.Operator.Union, "option": in.Action.Option} {
		if value != "" {
			e.Fields[name] = value
		}
	}
	for prefix, members := range map[string]map[string]json.RawMessage{"value.": in.Action.Value, "form_value.": in.Action.Form} {
		for name, raw := range members {
			var v errcode.Value
			if v.UnmarshalJSON(raw) == nil {
				e.Fields[prefix+name] = string(v)
			}
		}
	}
	return e, nil
}
