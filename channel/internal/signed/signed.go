// Package signed verifies the callbacks of WeChat and WeCom, which are signed in one way and may be encrypted in one way:
// the signature is the SHA-1 of sorted texts, and the body AES-256-CBC with the receiver's id at its end. SHA-1 is the
// providers' choice; each text that it is made of holds a secret token.
package signed

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha1" //nolint:gosec // what WeChat and WeCom sign with
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse/channel"
)

// skew is how far the provider's clock and a callback's way may be from ours. The providers repeat a callback within seconds.
const skew = 5 * time.Minute

// The sizes of an encrypted text: its key, the random bytes before it, the length after these, and what it is filled up to.
const (
	keyText  = 43 // Base64 without its padding
	ahead    = 16
	lengthIn = 4
	block    = 32
)

// Lock is what one account's callbacks are verified with.
type Lock struct {
	token    string
	key      []byte // nil where they come in clear
	receiver string
}

// New makes the lock of a token, an EncodingAESKey, empty where callbacks come in clear, and the id that the provider
// encrypts for. Without a token it is nil, which lets nothing pass.
func New(token, aesKey, receiver string) (*Lock, error) {
	if token == "" {
		return nil, nil //nolint:nilnil // as said
	}
	l := &Lock{token: token, receiver: receiver}
	if aesKey == "" {
		return l, nil
	}
	key, err := KeyOf(aesKey)
	l.key = key
	return l, err
}

// KeyOf reads an EncodingAESKey.
func KeyOf(text string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(text + "=") // its last letter may hold bits that mean nothing
	if err != nil || len(text) != keyText {
		return nil, fmt.Errorf("has %d characters: want the %d letters and digits of an EncodingAESKey", len(text), keyText)
	}
	return key, nil
}

func forged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", channel.ErrForged, fmt.Sprintf(format, args...))
}

// Open verifies a callback and returns what it says in clear, and what names it: the text of the check for a GET, the XML
// for a POST. Where there is a key, what comes in clear is refused, since its body is not signed.
func (l *Lock) Open(c channel.Callback) (text []byte, once string, err error) {
	if l == nil {
		return nil, "", forged("the channel has no callback_token")
	}
	if err := fresh(c.Query.Get("timestamp"), c.At); err != nil {
		return nil, "", err
	}
	if c.Method == "GET" {
		return l.check(c)
	}
	if l.key == nil {
		return c.Body, l.once(c), l.verify(c, "signature", "")
	}
	var in struct {
		Encrypted string `xml:"Encrypt"`
	}
	if err := xml.Unmarshal(c.Body, &in); err != nil || in.Encrypted == "" {
		return nil, "", forged("the body is not an encrypted one")
	}
	if err := l.verify(c, "msg_signature", in.Encrypted); err != nil {
		return nil, "", err
	}
	text, err = l.decrypt(in.Encrypted)
	return text, l.once(c), err
}

// check answers the provider's look at the address: WeCom's check is encrypted, WeChat's never is.
func (l *Lock) check(c channel.Callback) ([]byte, string, error) {
	said := c.Query.Get("echostr")
	if !c.Query.Has("msg_signature") {
		return []byte(said), "", l.verify(c, "signature", "")
	}
	if l.key == nil {
		return nil, "", forged("it is encrypted, and the channel has no callback_aes_key")
	}
	if err := l.verify(c, "msg_signature", said); err != nil {
		return nil, "", err
	}
	text, err := l.decrypt(said)
	return text, "", err
}

// once names a callback by what its signature covers besides the token.
func (l *Lock) once(c channel.Callback) string {
	return c.Query.Get("timestamp") + "/" + c.Query.Get("nonce")
}

// fresh refuses what is too old, or ahead of our clock.
func fresh(stamp string, now time.Time) error {
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return forged("its timestamp is no number")
	}
	if away := now.Sub(time.Unix(seconds, 0)).Abs(); away > skew {
		return forged("its timestamp is %s from the server's clock, more than %s", away.Round(time.Second), skew)
	}
	return nil
}

// verify compares the signature that the query names with ours.
func (l *Lock) verify(c channel.Callback, name, encrypted string) error {
	want := Sum(l.token, c.Query.Get("timestamp"), c.Query.Get("nonce"), encrypted)
	if subtle.ConstantTimeCompare([]byte(want), []byte(c.Query.Get(name))) != 1 {
		return forged("its %s is not that of the channel's callback_token", name)
	}
	return nil
}

// Sum is the signature over a token and what else is signed with it. What is empty is left out.
func Sum(parts ...string) string {
	slices.Sort(parts)
	sum := sha1.Sum([]byte(strings.Join(parts, ""))) //nolint:gosec // as above
	return hex.EncodeToString(sum[:])
}

// decrypt takes the text out of its padding, and refuses one that is meant for another receiver.
func (l *Lock) decrypt(encrypted string) ([]byte, error) {
	sealed, err := base64.StdEncoding.DecodeString(encrypted)
	if err != nil || len(sealed) < block || len(sealed)%aes.BlockSize != 0 {
		return nil, forged("the encrypted text cannot be read")
	}
	b, err := aes.NewCipher(l.key)
	if err != nil {
		return nil, err
	}
	plain := make([]byte, len(sealed))
	cipher.NewCBCDecrypter(b, l.key[:aes.BlockSize]).CryptBlocks(plain, sealed)
	fill := int(plain[len(plain)-1])
	if fill < 1 || fill > block || fill > len(plain)-ahead-lengthIn {
		return nil, forged("the text is encrypted with another key")
	}
	plain = plain[:len(plain)-fill]
	rest := plain[ahead+lengthIn:]
	n := uint64(binary.BigEndian.Uint32(plain[ahead:]))
	if n > uint64(len(rest)) {
		return nil, forged("the text is encrypted with another key")
	}
	if id := rest[n:]; string(id) != l.receiver {
		return nil, forged("the text is for %.64q, not for %q", id, l.receiver)
	}
	return rest[:n], nil
}
