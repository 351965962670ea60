package email

import (
	"cmp"
	"context"
	"errors"
	"net/mail"
	"net/url"
	"strings"
	"time"
	"unicode"

	gomail "github.com/wneessen/go-mail"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/access"
)

type driver struct {
	stream *channel.Stream
	http   *channel.Client // of tokens
	access *access.Access  // nil where the server asks for no token
	files  channel.Files
	codes  map[string]posthouse.Class
	keeps  bool // what the server answered

	host               string
	port               int
	tls                string
	hello              string
	username, password string

	from, replyTo *mail.Address
	dkim          *gomail.DKIMSigner
	unsubscribe   string
	callback      *url.URL
	token         string // of the callbacks
	oldToken      string // of links in mails that were sent before

	sessions sessions
}

// The ports of mail: of servers, of submission, and of submission within TLS; and those of relays in a house.
var ports = []uint16{25, 465, 587}

func open(c channel.Config, env channel.Env) (channel.Driver, error) {
	if err := posthouse.Invalid("the email driver cannot be opened", check(c)); err != nil {
		return nil, err
	}
	secrets := []string{c.String("password"), c.String("oauth_client_secret"), c.String("oauth_refresh_token"), c.String("dkim_key"), c.String("callback_token"), c.String("old_callback_token")}
	d := &driver{
		stream: channel.NewStream(env, ports, secrets...), files: env.Files, codes: env.Codes, keeps: env.KeepAnswers,
		host: c.String("host"), tls: c.String("tls"), hello: c.String("hello"), username: c.String("username"), password: c.String("password"),
		unsubscribe: c.String("unsubscribe"), callback: parsed(c.String("callback_url")), token: c.String("callback_token"), oldToken: c.String("old_callback_token"),
	}
	d.port = cmp.Or(c.Int("port"), map[string]int{implicit: 465}[d.tls], 587)
	var err error
	if d.from, err = sender(c.String("from")); err != nil {
		return nil, err
	}
	if c.Has("reply_to") {
		if d.replyTo, err = sender(c.String("reply_to")); err != nil {
			return nil, err
		}
	}
	_, domain, _ := strings.Cut(d.from.Address, "@")
	if c.Has("dkim_key") {
		key, err := gomail.PrivKeyFromPEM([]byte(c.String("dkim_key")))
		if err != nil {
			return nil, err
		}
		d.dkim = gomail.NewDKIMSigner(cmp.Or(c.String("dkim_domain"), domain), c.String("dkim_selector"), key)
	}
	if c.Has("oauth_url") {
		d.http = channel.NewClient(env, channel.ClientOptions{Secrets: secrets, MaxBody: 64 << 10})
		d.access = tokens(c, env, d.http)
	}
	return d, nil
}

// Close closes the sessions that are idle.
func (d *driver) Close() error {
	d.sessions.close()
	if d.http != nil {
		return d.http.Close()
	}
	return nil
}

// Test connects and signs in, and sends nothing.
func (d *driver) Test(ctx context.Context) channel.Result {
	s, result := d.connect(ctx)
	if s == nil {
		return result
	}
	d.sessions.put(s)
	return channel.Result{Class: posthouse.ClassOK, Code: "220", Response: d.host + " is ready for mail"}
}

// awaited is how long a mail may come back: so long do mail servers try again, by RFC 5321, 4.5.4.1.
const awaited = 5 * 24 * time.Hour

// Track answers nothing: a mail comes back by itself, or never.
func (d *driver) Track(_ context.Context, _ string, to []posthouse.Recipient) ([]channel.Receipt, error) {
	return make([]channel.Receipt, len(to)), nil
}

// Send sends one mail.
func (d *driver) Send(ctx context.Context, out channel.Outgoing) channel.Result {
	l, result := d.compose(ctx, out)
	if result.Class != "" {
		return result
	}
	if s := d.sessions.take(); s != nil {
		if result, stale := d.mail(ctx, s, l); !stale {
			return result
		}
	}
	s, result := d.connect(ctx)
	if s == nil {
		return result
	}
	result, _ = d.mail(ctx, s, l)
	return result
}

// mail gives a letter to the server. A session that was idle is stale where the server had closed it: nothing was sent on it.
func (d *driver) mail(ctx context.Context, s *session, l letter) (_ channel.Result, stale bool) {
	used := s.mails > 0
	end := s.conn.Begin(ctx)
	s.mails++
	at, err := d.hand(s, l)
	said, answered := answerOf(err)
	fit := err == nil || answered && said.code != 421 && s.smtp.Reset() == nil // for another mail
	if end() && fit {
		d.sessions.put(s)
	} else {
		s.conn.Close() // never by QUIT: within a message that would end it
	}
	switch {
	case err == nil:
		result := channel.Result{Class: posthouse.ClassOK, Code: "250", Ref: l.id}
		if d.token != "" {
			result.Await = awaited
		}
		return result, false
	case answered:
		return d.refused(said, at), used && at == atMail && said.code == 421
	case at == atEnd && !errors.Is(err, channel.ErrTooLate):
		return channel.Result{Class: posthouse.ClassUnknown, Code: d.failed(err, "").Code, Ref: l.id,
			Error: d.line(d.host + " has the whole mail and did not answer: it may have taken it")}, false
	}
	return d.failedAt(err, at), used && at == atMail && ctx.Err() == nil
}

// hand speaks the mail, and says how far it came.
func (d *driver) hand(s *session, l letter) (stage, error) {
	// The header is ASCII, so only an address can ask for SMTPUTF8, which not every server on the way has.
	s.smtp.SkipSMTPUTF8(ascii(d.from.Address) && ascii(l.to))
	if err := s.smtp.Mail(path(d.from.Address)); err != nil {
		return atMail, err
	}
	if err := s.smtp.Rcpt(path(l.to)); err != nil {
		return atRcpt, err
	}
	w, err := s.smtp.Data()
	if err != nil {
		return atData, err
	}
	if _, err := w.Write(l.text); err != nil {
		return atData, err // without its end it is none
	}
	return atEnd, w.Close()
}

// path is an address as commands have it: RFC 5321, 4.1.2.
func path(address string) string { return "<" + address + ">" }

func ascii(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return c > unicode.MaxASCII })
}
