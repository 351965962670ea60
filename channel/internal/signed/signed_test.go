package signed_test

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/signed"
)

// The values of the sample that comes with WeCom's own libraries for callbacks.
const (
	token    = "QDG6eK"
	aesKey   = "jWmYm7qr5nMoAUwZRjGtBxmz3KA1tkAj3ykkR6q2B2C"
	receiver = "wx5823bf96d3bd56c7"
	echo     = "P9nAzCzyDtyTWESHep1vC5X9xho/qYX3Zpb4yKa9SKld1DsH3Iyt3tP3zNdtp+4RPcs8TgAE7OaBO+FZXvnaqQ=="
)

func check() channel.Callback {
	return channel.Callback{Method: http.MethodGet, At: time.Unix(1409659589, 0), Query: url.Values{
		"msg_signature": {"5c45ff5e21c57e6ad56bac8758b79b1d9ac89fd3"}, "timestamp": {"1409659589"}, "nonce": {"263014780"}, "echostr": {echo},
	}}
}

func lock(t *testing.T, token, key, receiver string) *signed.Lock {
	t.Helper()
	l, err := signed.New(token, key, receiver)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestTheSampleOfTheProviderOpens(t *testing.T) {
	t.Parallel()
	text, _, err := lock(t, token, aesKey, receiver).Open(check())
	if err != nil || string(text) != "1616140317555161061" {
		t.Errorf("got %q, %v", text, err)
	}
}

// A callback is forged, whatever is wrong with it.
func TestForgedCallbacksAreRefused(t *testing.T) {
	t.Parallel()
	right := lock(t, token, aesKey, receiver)
	change := func(edit func(c *channel.Callback)) channel.Callback {
		c := check()
		edit(&c)
		return c
	}
	// sign gives a text that is no encrypted one a signature that is right.
	sign := func(c *channel.Callback, text string) {
		c.Query.Set("echostr", text)
		c.Query.Set("msg_signature", signed.Sum(token, c.Query.Get("timestamp"), c.Query.Get("nonce"), text))
	}
	long := strings.Repeat("A", 128)
	for name, c := range map[string]struct {
		lock *signed.Lock
		call channel.Callback
		want string
	}{
		"no token":            {lock(t, "", "", ""), check(), "callback_token"},
		"another token":       {lock(t, "another", aesKey, receiver), check(), "msg_signature"},
		"another key":         {lock(t, token, strings.Repeat("a", 43), receiver), check(), "another key"},
		"another receiver":    {lock(t, token, aesKey, "wx1"), check(), "is for"},
		"no key":              {lock(t, token, "", ""), check(), "callback_aes_key"},
		"a late one":          {right, change(func(c *channel.Callback) { c.At = c.At.Add(6 * time.Minute) }), "clock"},
		"an early one":        {right, change(func(c *channel.Callback) { c.At = c.At.Add(-6 * time.Minute) }), "clock"},
		"no time":             {right, change(func(c *channel.Callback) { c.Query.Del("timestamp") }), "number"},
		"another nonce":       {right, change(func(c *channel.Callback) { c.Query.Set("nonce", "1") }), "msg_signature"},
		"no signature":        {right, change(func(c *channel.Callback) { c.Query.Set("msg_signature", "") }), "msg_signature"},
		"a plain one":         {right, change(func(c *channel.Callback) { c.Query.Del("msg_signature") }), "signature"},
		"not encrypted":       {right, change(func(c *channel.Callback) { sign(c, "hello") }), "cannot be read"},
		"nothing encrypted":   {right, change(func(c *channel.Callback) { sign(c, "") }), "cannot be read"},
		"half a block":        {right, change(func(c *channel.Callback) { sign(c, base64.StdEncoding.EncodeToString(make([]byte, 40))) }), "cannot be read"},
		"rubbish":             {right, change(func(c *channel.Callback) { sign(c, long) }), "another key"},
		"a body in clear":     {right, change(func(c *channel.Callback) { c.Method, c.Body = http.MethodPost, []byte("<xml><A>1</A></xml>") }), "encrypted"},
		"a body that is none": {right, change(func(c *channel.Callback) { c.Method, c.Body = http.MethodPost, []byte("<xml") }), "encrypted"},
	} {
		if _, _, err := c.lock.Open(c.call); !errors.Is(err, channel.ErrForged) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want one that names %q", name, err, c.want)
		}
	}
}

func TestCallbacksInClearAreSigned(t *testing.T) {
	t.Parallel()
	l := lock(t, token, "", "")
	now := time.Now()
	stamp := strconv.FormatInt(now.Unix(), 10)
	c := channel.Callback{Method: http.MethodPost, At: now, Body: []byte("<xml/>"), Query: url.Values{
		"timestamp": {stamp}, "nonce": {"n"}, "signature": {signed.Sum(token, stamp, "n")},
	}}
	text, once, err := l.Open(c)
	if err != nil || string(text) != "<xml/>" || once != stamp+"/n" {
		t.Errorf("got %q %q %v", text, once, err)
	}
	c.Query.Set("signature", strings.Repeat("0", 40))
	if _, _, err := l.Open(c); !errors.Is(err, channel.ErrForged) {
		t.Errorf("a wrong signature: got %v", err)
	}
}

func TestKeysAreReadStrictly(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"", "short", strings.Repeat("a", 44), strings.Repeat("!", 43)} {
		if _, err := signed.KeyOf(key); err == nil {
			t.Errorf("%q is taken for a key", key)
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(echo, []byte("<xml><Encrypt>x</Encrypt></xml>"))
	l, err := signed.New(token, aesKey, receiver)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string, body []byte) {
		c := check()
		c.Query.Set("echostr", text)
		c.Query.Set("msg_signature", signed.Sum(token, c.Query.Get("timestamp"), c.Query.Get("nonce"), text))
		if got, _, err := l.Open(c); err == nil && text != echo {
			t.Errorf("%q opens as %q", text, got)
		}
		c.Method, c.Body = http.MethodPost, body
		if _, _, err := l.Open(c); err == nil {
			t.Errorf("%q is taken", body)
		}
	})
}
