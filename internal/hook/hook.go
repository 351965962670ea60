// Package hook signs what is posted to others, as Standard Webhooks (standardwebhooks.com) describes it. It posts nothing itself.
package hook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"
)

// The headers of Standard Webhooks.
const (
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp"
	HeaderSignature = "Webhook-Signature"
)

// ParseSecret reads a signing key: 24 to 64 random bytes in Base64, usually with the prefix
// whsec_ (Standard Webhooks, "Signature scheme").
func ParseSecret(s string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(s, "whsec_"))
	if err != nil || len(key) < 24 || len(key) > 64 {
		return nil, errors.New("give whsec_ and 24 to 64 random bytes in Base64, for example from: echo whsec_$(openssl rand -base64 32)")
	}
	return key, nil
}

// Sign makes the signature header: one signature for each key, so that a receiver that knows any
// of them accepts.
func Sign(keys [][]byte, id string, at time.Time, body []byte) string {
	out := make([]byte, 0, len(keys)*48)
	for i, key := range keys {
		if i > 0 {
			out = append(out, ' ')
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + Timestamp(at) + "."))
		mac.Write(body)
		out = base64.StdEncoding.AppendEncode(append(out, "v1,"...), mac.Sum(nil))
	}
	return string(out)
}

// Timestamp is Unix seconds in decimal.
func Timestamp(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }

// NewSecret draws a signing key.
func NewSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return "whsec_" + base64.StdEncoding.EncodeToString(b[:])
}
