package email

import (
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"net"
	"net/mail"
	"strings"
	"unicode"

	gomail "github.com/wneessen/go-mail"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/mailbox"
)

const (
	leastToken = 16   // characters of a callback's token
	leastBits  = 1024 // of an RSA key: RFC 8301 lets verifiers ignore less
)

func check(c channel.Config) []posthouse.Problem {
	var problems []posthouse.Problem
	add := func(path, format string, args ...any) {
		problems = append(problems, posthouse.Problem{Path: path, Message: fmt.Sprintf(format, args...)})
	}
	for _, name := range []string{"host", "hello", "dkim_domain", "dkim_selector"} {
		if text := c.String(name); text != "" && !isName(text) {
			add(name, "%.100q is not a name or an address of a host", text)
		}
	}
	for _, name := range []string{"from", "reply_to"} {
		if text := c.String(name); text != "" {
			if _, err := sender(text); err != nil {
				add(name, "%v", err)
			}
		}
	}
	if text := c.String("unsubscribe"); text != "" {
		if _, err := mailbox.Parse(text); err != nil {
			add("unsubscribe", "%v", err)
		}
	}
	if c.Has("password") && !c.Has("username") {
		add("username", "is missing: there is a password")
	}
	if c.Has("oauth_url") {
		for _, name := range []string{"username", "oauth_client_id", "oauth_client_secret"} {
			if !c.Has(name) {
				add(name, "is missing: oauth_url signs in with it")
			}
		}
		if c.Has("password") {
			add("password", "has no effect beside oauth_url; leave one of them out")
		}
	}
	if c.Has("dkim_key") != c.Has("dkim_selector") {
		add("dkim_selector", "goes with dkim_key: give both or none")
	} else if c.Has("dkim_key") {
		if _, err := gomail.PrivKeyFromPEM([]byte(c.String("dkim_key"))); err != nil {
			add("dkim_key", "is no private key in PEM, RSA or Ed25519")
		} else if weak(c.String("dkim_key")) {
			add("dkim_key", "is too short: receivers ignore RSA keys of fewer than %d bits", leastBits)
		}
	}
	if u := parsed(c.String("callback_url")); c.Has("callback_url") && (u == nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "") {
		add("callback_url", "is no URL of https with a host")
	}
	if c.Has("callback_url") && !c.Has("callback_token") {
		add("callback_token", "is missing: the links of callback_url are signed with it")
	}
	if token := c.String("callback_token"); token != "" && token != channel.Mask && len(token) < leastToken {
		add("callback_token", "has %d characters, want at least %d", len(token), leastToken)
	}
	if c.Has("old_callback_token") && !c.Has("callback_token") {
		add("old_callback_token", "goes with the callback_token that has replaced it")
	}
	return problems
}

func weak(key string) bool {
	parsed, err := gomail.PrivKeyFromPEM([]byte(key))
	if err != nil {
		return true
	}
	r, is := parsed.(*rsa.PrivateKey)
	return is && r.N.BitLen() < leastBits
}

// isName reports whether a text is a host's name or address, and nothing that would add a word to a command.
func isName(text string) bool {
	if net.ParseIP(text) != nil {
		return true
	}
	return len(text) <= 253 && !strings.ContainsFunc(text, func(r rune) bool {
		return r > 0x7e || r != '-' && r != '.' && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// sender reads an address with or without a name before it.
func sender(text string) (*mail.Address, error) {
	parsed, err := mail.ParseAddress(text)
	if err != nil || strings.ContainsFunc(parsed.Name, unicode.IsControl) {
		return nil, fmt.Errorf("%.100q is no mail address: want duty@example.com, or Duty Desk <duty@example.com>", text)
	}
	if parsed.Address, err = mailbox.Parse(parsed.Address); err != nil {
		return nil, err
	}
	return parsed, nil
}

// extra is what a content says beside a title, a text and a file.
type extra struct {
	// HTML is the text for programs that show HTML. The text is then for those that do not.
	HTML string `json:"html,omitempty"`
}

func extraOf(raw json.RawMessage) (extra, error) {
	var e extra
	if len(raw) == 0 {
		return e, nil
	}
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&e)
	return e, err
}

// content says what cannot be sent as a mail. Paths are below "content".
func content(_ channel.Config, c posthouse.Content) []posthouse.Problem {
	problems := channel.Sends(c, posthouse.TextContent, posthouse.MarkdownContent, posthouse.ImageContent, posthouse.FileContent, posthouse.VideoContent, posthouse.VoiceContent)
	add := func(path, format string, args ...any) {
		problems = append(problems, posthouse.Problem{Path: "content." + path, Message: fmt.Sprintf(format, args...)})
	}
	if channel.Blank(c.Title) {
		add("title", "is missing: it is the subject of the mail")
	}
	if strings.ContainsFunc(c.Title, unicode.IsControl) {
		add("title", "has a line break or another control character: a subject is one line")
	}
	if len(c.Mentions) > 0 {
		add("mentions", "cannot be sent by mail")
	}
	e, err := extraOf(c.Extra)
	if err != nil {
		add("extra", "has html for a mail and nothing else: %v", err)
	}
	problems = append(problems, channel.WithinBytes("text", c.Text, mostBytes)...)
	problems = append(problems, channel.WithinBytes("extra.html", e.HTML, mostBytes)...)
	for i, m := range c.Media {
		switch path := fmt.Sprintf("media[%d]", i); {
		case m.Upload == "":
			add(path+".upload", "is missing: a mail takes files that were handed in by POST /v1/media")
		case m.Size > mostBytes:
			add(path+".upload", "names a file of %d bytes: a mail takes %d", m.Size, mostBytes)
		}
	}
	return problems
}
