package simulator

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// feishuButton is what is read of a button of a card: one of a card of version 1.0 has its value, one of 2.0 a behaviour that calls back with it.
type feishuButton struct {
	Tag        string          `json:"tag"`
	Name       string          `json:"name"`
	Value      json.RawMessage `json:"value"`
	Behaviours []struct {
		Type  string          `json:"type"`
		Value json.RawMessage `json:"value"`
	} `json:"behaviors"`
}

// told is what the button tells back, nil where it tells nothing.
func (b *feishuButton) told() json.RawMessage {
	for _, on := range b.Behaviours {
		if on.Type == "callback" {
			return on.Value
		}
	}
	return b.Value
}

// feishuButtons are the buttons of a card that tell something back, in its order. Cards nest them in columns, forms and rows of actions, so that all of
// it is looked through.
func feishuButtons(part json.RawMessage) (list []feishuButton) {
	var b feishuButton
	if json.Unmarshal(part, &b) == nil && b.Tag == "button" {
		if b.told() != nil {
			list = append(list, b)
		}
		return list
	}
	var parts []json.RawMessage
	if json.Unmarshal(part, &parts) == nil {
		for _, p := range parts {
			list = append(list, feishuButtons(p)...)
		}
		return list
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(part, &members) != nil {
		return nil
	}
	for _, name := range []string{"body", "elements", "actions", "columns", "fields", "extra", "i18n_elements", "zh_cn", "en_us"} {
		if p := members[name]; p != nil {
			list = append(list, feishuButtons(p)...)
		}
	}
	return list
}

// pressFeishu has a person press a button of a card, of which Feishu tells as card.action.trigger.
func (s *Simulator) pressFeishu(f *fake, p *Press) error {
	for _, a := range slices.Backward(s.Arrivals(Filter{Provider: f.name, Limit: maxListed})) {
		own := a.User == p.User && p.TaskID == ""
		if !a.taken() || !own && (a.ID != p.TaskID || p.TaskID == "") {
			continue
		}
		buttons := feishuButtons(json.RawMessage(a.Text))
		if len(buttons) == 0 && own { // no card
			continue
		}
		at := slices.IndexFunc(buttons, func(b feishuButton) bool { return p.Key == "" || p.Key == b.Name })
		if at < 0 {
			var names []string
			for _, b := range buttons {
				names = append(names, b.Name)
			}
			return posthouse.Errorf(posthouse.CodeInvalid, "key is %q: the card has buttons of the names %s", p.Key, words(names))
		}
		for range p.Times {
			f.more.back.tell(pressedFeishu(&a, &buttons[at], p, time.Now()))
		}
		return nil
	}
	return posthouse.Errorf(posthouse.CodeNotFound, "%q has no card with the message id %q, of those that are kept", p.User, p.TaskID)
}

// pressedFeishu is the event that tells of a press, as Feishu's page of card.action.trigger has it. Of whoever has pressed an application that may see
// them gets all names; here the one that the card was sent to is the person's own, and the others are made of it.
func pressedFeishu(card *Arrival, b *feishuButton, p *Press, at time.Time) string {
	operator := map[string]string{"tenant_key": "1", "open_id": "ou_" + p.User, "user_id": p.User, "union_id": "on_" + p.User}
	for name, prefix := range map[string]string{"open_id": "ou_", "union_id": "on_"} {
		if bare, is := strings.CutPrefix(p.User, prefix); is {
			operator["open_id"], operator["union_id"], operator["user_id"] = "ou_"+bare, "on_"+bare, bare
			operator[name] = p.User
		}
	}
	chat := card.User
	if !strings.HasPrefix(chat, "oc_") {
		chat = "oc_" + card.ID
	}
	action := map[string]any{"tag": "button", "value": b.told()}
	if b.Name != "" {
		action["name"] = b.Name
	}
	return jsonLine(map[string]any{
		"schema": "2.0",
		"header": map[string]string{
			"event_id": posthouse.NewID(), "token": "v", "create_time": strconv.FormatInt(at.UnixMicro(), 10), "event_type": "card.action.trigger", "tenant_key": "1", "app_id": cmp.Or(card.Account, "cli_1"),
		},
		"event": map[string]any{
			"operator": operator, "token": "c-" + posthouse.NewID(), "action": action, "host": "im_message",
			"context": map[string]string{"open_message_id": card.ID, "open_chat_id": chat},
		},
	})
}

// checkFeishu sends a challenge that is to come back, encrypted and without a signature, as Feishu looks at an address.
func (t *Callback) checkFeishu(ctx context.Context) error {
	challenge := rand.Text()
	sealed, err := t.sealFeishu(jsonLine(map[string]string{"challenge": challenge, "token": "v", "type": "url_verification"}))
	if err != nil {
		return err
	}
	said, err := t.send(ctx, http.MethodPost, t.URL, sealed, http.Header{"Content-Type": {"application/json"}})
	if err != nil {
		return err
	}
	var answer struct {
		Challenge string `json:"challenge"`
	}
	if json.Unmarshal([]byte(said), &answer) != nil || answer.Challenge != challenge {
		return posthouse.Errorf(posthouse.CodeInvalid, "%s answers %.80q to the look at it", t.URL, said)
	}
	return nil
}

// postFeishu posts an event, encrypted and signed with the encrypt key: SHA-256 over time, nonce, key and body.
func (t *Callback) postFeishu(ctx context.Context, event string) error {
	body, err := t.sealFeishu(event)
	if err != nil {
		return err
	}
	stamp, nonce := strconv.FormatInt(time.Now().Unix(), 10), rand.Text()
	sum := sha256.Sum256([]byte(stamp + nonce + t.AESKey + body))
	_, err = t.send(ctx, http.MethodPost, t.URL, body, http.Header{
		"Content-Type": {"application/json"}, "X-Lark-Request-Timestamp": {stamp}, "X-Lark-Request-Nonce": {nonce}, "X-Lark-Signature": {hex.EncodeToString(sum[:])},
	})
	return err
}

// sealFeishu is a body with an event encrypted: AES-256-CBC with the SHA-256 of the encrypt key, the initial vector before it, filled up to whole blocks.
func (t *Callback) sealFeishu(event string) (string, error) {
	if t.AESKey == "" {
		return "", posthouse.Errorf(posthouse.CodeInvalid, "aes_key is required: the application's encrypt key")
	}
	key := sha256.Sum256([]byte(t.AESKey))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return "", err
	}
	fill := aes.BlockSize - len(event)%aes.BlockSize
	out := make([]byte, aes.BlockSize, 2*aes.BlockSize+len(event))
	_, _ = rand.Read(out)
	plain := append([]byte(event), slices.Repeat([]byte{byte(fill)}, fill)...)
	out = append(out, plain...)
	cipher.NewCBCEncrypter(block, out[:aes.BlockSize]).CryptBlocks(out[aes.BlockSize:], plain)
	return jsonLine(map[string]string{"encrypt": base64.StdEncoding.EncodeToString(out)}), nil
}
