package simulator

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // what WeChat and WeCom sign with
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
)

// Callback is where a provider tells its customer what became of messages, and what it signs with: what is entered at the
// provider's own pages.
type Callback struct {
	URL   string `json:"url"`
	Token string `json:"token"`
	// AESKey is the EncodingAESKey. Without one events go in clear. Of Feishu it is the encrypt key, which has to be there.
	AESKey string `json:"aes_key"`
	// Receiver is the app id, or the corporation's id, that events are encrypted for.
	Receiver string `json:"receiver"`
}

// The bounds of calling back.
const (
	callsAtOnce  = 64
	callTries    = 3
	callTimeout  = 5 * time.Second
	callInterval = 500 * time.Millisecond
)

// manner is how a provider calls back.
type manner struct {
	// check looks whether the address is the customer's, before anything is told; nil for a provider that does not look.
	check func(t *Callback, ctx context.Context) error
	post  func(t *Callback, ctx context.Context, event string) error
}

// The manners of WeChat and WeCom, of those who sign nothing and post JSON, of DingTalk and of Feishu.
var (
	inSignedXML = manner{(*Callback).check, (*Callback).post}
	inPlainJSON = manner{post: (*Callback).postJSON}
	inDingTalk  = manner{post: (*Callback).postDingTalk}
	inFeishu    = manner{(*Callback).checkFeishu, (*Callback).postFeishu}
	asMail      = manner{post: (*Callback).postMail} // a mailbox that hands on what it gets, with the token
)

// caller calls back for one provider.
type caller struct {
	manner
	gone  context.Context // ends with the simulator
	slots chan struct{}
	under sync.WaitGroup

	mu sync.Mutex
	to Callback
}

func newCaller(gone context.Context, by manner) *caller {
	return &caller{manner: by, gone: gone, slots: make(chan struct{}, callsAtOnce)}
}

// set looks whether the address is the customer's, as the providers do, and keeps it; one without URL ends the calls.
func (c *caller) set(ctx context.Context, to Callback) error {
	if to.URL != "" && c.check != nil {
		if err := c.check(&to, ctx); err != nil {
			return posthouse.Errorf(posthouse.CodeInvalid, "the callback cannot be used: %w", err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.to = to
	return nil
}

// calls reports whether somebody is called.
func (c *caller) calls() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.to.URL != ""
}

// tell posts an event at once.
func (c *caller) tell(event string) { c.tellAfter(0, event) }

// tellAfter posts an event after a wait, and again where it is not taken.
func (c *caller) tellAfter(wait time.Duration, event string) {
	c.mu.Lock()
	to := c.to
	c.mu.Unlock()
	if to.URL == "" || c.gone.Err() != nil {
		return
	}
	c.under.Go(func() {
		c.rest(wait)
		c.slots <- struct{}{}
		defer func() { <-c.slots }()
		for try := range callTries {
			if c.post(&to, c.gone, event) == nil {
				return
			}
			c.rest(callInterval << try)
		}
	})
}

// rest waits, unless the simulator ends.
func (c *caller) rest(wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.gone.Done():
	}
}

// check sends a text that is to come back.
func (t *Callback) check(ctx context.Context) error {
	echo := rand.Text()
	query, shown := t.signed("signature", ""), echo
	if t.AESKey != "" && !strings.HasPrefix(t.Receiver, "wx") { // only WeCom encrypts its look
		sealed, err := t.seal(echo)
		if err != nil {
			return err
		}
		query, shown = t.signed("msg_signature", sealed), sealed
	}
	query.Set("echostr", shown)
	said, err := t.call(ctx, http.MethodGet, query, "")
	if err == nil && said != echo {
		err = fmt.Errorf("%s answers %.80q to the look at it", t.URL, said)
	}
	return err
}

func (t *Callback) post(ctx context.Context, event string) error {
	if t.AESKey == "" {
		_, err := t.call(ctx, http.MethodPost, t.signed("signature", ""), event)
		return err
	}
	sealed, err := t.seal(event)
	if err != nil {
		return err
	}
	query := t.signed("msg_signature", sealed)
	query.Set("encrypt_type", "aes")
	_, err = t.call(ctx, http.MethodPost, query, "<xml><ToUserName>us</ToUserName><Encrypt>"+sealed+"</Encrypt></xml>")
	return err
}

// postMail posts a mail as it is.
func (t *Callback) postMail(ctx context.Context, event string) error {
	_, err := t.send(ctx, http.MethodPost, t.URL, event, http.Header{"Content-Type": {"message/rfc822"}, "Authorization": {"Bearer " + t.Token}})
	return err
}

// postJSON posts an event as it is.
func (t *Callback) postJSON(ctx context.Context, event string) error {
	_, err := t.send(ctx, http.MethodPost, t.URL, event, http.Header{"Content-Type": {"application/json"}})
	return err
}

func (t *Callback) call(ctx context.Context, method string, query url.Values, body string) (string, error) {
	return t.send(ctx, method, t.URL+"?"+query.Encode(), body, http.Header{"Content-Type": {"text/xml"}})
}

func (t *Callback) send(ctx context.Context, method, to, body string, header http.Header) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, to, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header = header
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	said, err := io.ReadAll(io.LimitReader(res.Body, 4<<10))
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s", t.URL, res.Status)
	}
	return string(said), err
}

// signed is a query with its signature.
func (t *Callback) signed(name, sealed string) url.Values {
	stamp, nonce := strconv.FormatInt(time.Now().Unix(), 10), rand.Text()
	parts := []string{t.Token, stamp, nonce, sealed}
	slices.Sort(parts)
	sum := sha1.Sum([]byte(strings.Join(parts, ""))) //nolint:gosec // as above
	return url.Values{"timestamp": {stamp}, "nonce": {nonce}, name: {hex.EncodeToString(sum[:])}}
}

// seal encrypts a text as WeChat and WeCom do: behind random bytes and its length, before the receiver's id, filled up to
// whole blocks of 32.
func (t *Callback) seal(text string) (string, error) {
	key, err := base64.StdEncoding.DecodeString(t.AESKey + "=")
	if err != nil || len(key) != 32 {
		return "", fmt.Errorf("aes_key is no EncodingAESKey: %w", err)
	}
	plain := make([]byte, 16, 64+len(text))
	_, _ = rand.Read(plain)
	plain = binary.BigEndian.AppendUint32(plain, uint32(len(text)))
	plain = append(append(plain, text...), t.Receiver...)
	fill := 32 - len(plain)%32
	plain = append(plain, slices.Repeat([]byte{byte(fill)}, fill)...)
	block, err := aes.NewCipher(key)
	if err != nil {
		return "", err
	}
	cipher.NewCBCEncrypter(block, key[:16]).CryptBlocks(plain, plain)
	return base64.StdEncoding.EncodeToString(plain), nil
}

// CallBack has a provider tell what becomes of messages from now on, after a look at the address where the provider makes one: wechat,
// sms_aliyun and sms_tencent whether they arrived, wecom, feishu and dingtalk_card what is pressed on cards (Press), and mail what recipients reply
// (Reply).
func (s *Simulator) CallBack(ctx context.Context, provider string, to Callback) error {
	f, err := s.fake(provider)
	if err != nil {
		return err
	}
	if f.more == nil || f.more.back == nil {
		return posthouse.Errorf(posthouse.CodeInvalid, "the provider %q calls nobody back", provider)
	}
	return f.more.back.set(ctx, to)
}

func (p panel) putCallback(w http.ResponseWriter, r *http.Request) error {
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	var to Callback
	if err := json.Unmarshal(body, &to); err != nil {
		return posthouse.Errorf(posthouse.CodeInvalid, "the body is no callback: %w", err)
	}
	if err := p.CallBack(r.Context(), r.PathValue("provider"), to); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
