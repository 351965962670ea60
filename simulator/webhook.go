package simulator

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Secret is the key of a webhook's signatures.
type Secret []byte

// The bounds Standard Webhooks sets: the length of a secret, and how far the
// clocks of sender and receiver may be apart.
const (
	minSecret        = 24
	maxSecret        = 64
	webhookTolerance = 5 * time.Minute
)

// ParseSecret reads a secret in the form whsec_ and 24 to 64 bytes in Base64.
func ParseSecret(s string) (Secret, error) {
	coded, ok := strings.CutPrefix(s, "whsec_")
	if !ok {
		return nil, fmt.Errorf("webhook secret: it must begin with whsec_")
	}
	key, err := base64.StdEncoding.DecodeString(coded)
	if err != nil {
		return nil, fmt.Errorf("webhook secret: after whsec_ it must be Base64: %w", err)
	}
	if len(key) < minSecret || len(key) > maxSecret {
		return nil, fmt.Errorf("webhook secret: it has %d bytes, %d to %d are allowed", len(key), minSecret, maxSecret)
	}
	return key, nil
}

// webhookReader reads what a Standard Webhooks sender posts; the signature is
// checked where there are secrets.
func webhookReader(secrets []Secret) func(*http.Request, []byte) (order, *refusal) {
	return func(r *http.Request, body []byte) (order, *refusal) {
		if len(secrets) > 0 {
			if err := verify(secrets, r.Header, body, time.Now()); err != nil {
				return order{}, &refusal{code: Unauthorized, text: err.Error()}
			}
		}
		msg := readEvent(body)
		msg.user = cmp.Or(msg.user, strings.TrimPrefix(r.URL.Path, "/webhook/"))
		msg.key = cmp.Or(r.Header.Get("webhook-id"), msg.key)
		return order{messages: []message{msg}, idempotent: msg.key != ""}, nil
	}
}

// readEvent finds the message in an event's data, in the object itself, or takes the body as it is.
func readEvent(body []byte) message {
	var in struct {
		Data json.RawMessage `json:"data"`
		anyObject
	}
	if json.Unmarshal(body, &in) != nil {
		return message{text: string(body)}
	}
	var inner anyObject
	if len(in.Data) > 0 && json.Unmarshal(in.Data, &inner) == nil {
		return inner.message(body)
	}
	return in.message(body)
}

func verify(secrets []Secret, h http.Header, body []byte, now time.Time) error {
	id, stamp := h.Get("webhook-id"), h.Get("webhook-timestamp")
	if id == "" {
		return fmt.Errorf("webhook-id is missing")
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return fmt.Errorf("webhook-timestamp is %q; it must be the Unix time in seconds", stamp)
	}
	if age := now.Sub(time.Unix(seconds, 0)).Abs(); age > webhookTolerance {
		return fmt.Errorf("webhook-timestamp is %s away from our clock, at most %s is allowed", age.Round(time.Second), webhookTolerance)
	}
	for _, secret := range secrets {
		if signed(secret, h.Get("webhook-signature"), id, stamp, body) {
			return nil
		}
	}
	return fmt.Errorf("webhook-signature holds no v1 signature of this body by a known secret")
}

// signed looks for the secret's signature among those of the header.
func signed(secret Secret, header, id, stamp string, body []byte) bool {
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "%s.%s.%s", id, stamp, body)
	want := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	for part := range strings.FieldsSeq(header) {
		if hmac.Equal([]byte(part), want) {
			return true
		}
	}
	return false
}
