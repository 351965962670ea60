package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"
)

// The headers of Standard Webhooks.
const (
	headerID        = "Webhook-Id"
	headerTimestamp = "Webhook-Timestamp"
	headerSignature = "Webhook-Signature"
)

// parseSecret reads a signing key: 24 to 64 random bytes in Base64, usually with the prefix
// whsec_ (Standard Webhooks, "Signature scheme").
func parseSecret(s string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(s, "whsec_"))
	if err != nil || len(key) < 24 || len(key) > 64 {
		return nil, errors.New("give whsec_ and 24 to 64 random bytes in Base64, for example from: echo whsec_$(openssl rand -base64 32)")
	}
	return key, nil
}

// sign makes the signature header: one signature for each key, so that a receiver that knows any
// of them accepts.
func sign(keys [][]byte, id string, at time.Time, body []byte) string {
	out := make([]byte, 0, len(keys)*48)
	for i, key := range keys {
		if i > 0 {
			out = append(out, ' ')
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + timestamp(at) + "."))
		mac.Write(body)
		out = base64.StdEncoding.AppendEncode(append(out, "v1,"...), mac.Sum(nil))
	}
	return string(out)
}

// timestamp is Unix seconds in decimal.
func timestamp(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }
