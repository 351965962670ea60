package email

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/access"
)

// The bounds of a session. Servers close one that is idle after some minutes (RFC 5321, 4.5.3.2.7), many sooner, and some take no more
// than a hundred mails of one.
const (
	idleFor   = 20 * time.Second
	mostIdle  = 16
	mostMails = 100
)

// session is a connection to the server, signed in.
type session struct {
	smtp  *smtp.Client
	conn  *channel.StreamConn
	mails int
	since time.Time // idle
}

// sessions keeps those that are idle.
type sessions struct {
	mu     sync.Mutex
	idle   []*session // the youngest last
	sweep  *time.Timer
	closed bool
}

func (s *sessions) take() *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.idle) - 1
	if last < 0 || time.Since(s.idle[last].since) >= idleFor {
		return nil
	}
	taken := s.idle[last]
	s.idle = slices.Delete(s.idle, last, last+1)
	return taken
}

// put keeps a session for the next mail.
func (s *sessions) put(one *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one.mails >= mostMails || len(s.idle) >= mostIdle || s.closed {
		one.conn.Close()
		return
	}
	one.since = time.Now()
	s.idle = append(s.idle, one)
	if s.sweep == nil {
		s.sweep = time.AfterFunc(idleFor, s.age)
	}
}

// age closes what has been idle for too long, and comes again while there is any.
func (s *sessions) age() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep = nil
	s.idle = slices.DeleteFunc(s.idle, func(one *session) bool {
		old := time.Since(one.since) >= idleFor
		if old {
			one.conn.Close()
		}
		return old
	})
	if len(s.idle) > 0 {
		s.sweep = time.AfterFunc(idleFor/4, s.age)
	}
}

func (s *sessions) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed = true; s.sweep != nil {
		s.sweep.Stop()
	}
	for _, one := range s.idle {
		one.conn.Close()
	}
	s.idle = nil
}

// errClear is the cause where a server offers no TLS, or asks for a password in clear.
var errClear = errors.New("the server offers no TLS")

// connect opens a session: the connection, the greeting, TLS, the sign-in. A result with a class says why there is none.
func (d *driver) connect(ctx context.Context) (*session, channel.Result) {
	if d.access == nil {
		return d.dial(ctx, "")
	}
	var one *session
	var result channel.Result
	err := d.access.Call(ctx, func(token string) access.Answer {
		if one, result = d.dial(ctx, token); result.Class == posthouse.ClassAuth {
			return access.Again
		}
		return access.Fine
	})
	if err != nil {
		return nil, access.Without(err, d.http)
	}
	return one, result
}

func (d *driver) dial(ctx context.Context, token string) (*session, channel.Result) {
	conn, err := d.stream.Dial(ctx, net.JoinHostPort(d.host, strconv.Itoa(d.port)))
	if err != nil {
		return nil, d.stream.Unsent(d.host, err)
	}
	end := conn.Begin(ctx)
	defer end()
	client, result := d.greet(ctx, conn, token)
	if client == nil {
		conn.Close()
		return nil, result
	}
	return &session{smtp: client, conn: conn}, channel.Result{}
}

// greet speaks until mails may follow.
func (d *driver) greet(ctx context.Context, conn *channel.StreamConn, secret string) (*smtp.Client, channel.Result) {
	config := &tls.Config{ServerName: d.host, MinVersion: tls.VersionTLS12}
	var line net.Conn = conn
	encrypted := false
	if d.tls == implicit {
		secured := tls.Client(conn, config)
		if err := secured.HandshakeContext(ctx); err != nil {
			return nil, d.failed(err, "TLS failed")
		}
		line, encrypted = secured, true
	}
	client, err := smtp.NewClient(line, d.host)
	if err != nil {
		return nil, d.failedAt(err, atGreeting)
	}
	if err := client.Hello(d.hello); err != nil {
		return nil, d.failedAt(err, atGreeting)
	}
	if offered, _ := client.Extension("STARTTLS"); !encrypted && offered {
		if err := client.StartTLS(config); err != nil {
			return nil, d.failed(err, "TLS failed")
		}
		encrypted = true
	}
	if !encrypted && d.tls != opportunistic {
		return nil, channel.Result{Class: posthouse.ClassAccount, Code: codeNoTLS, Error: d.line(d.host + ": " + errClear.Error() + ", and the channel's tls is " + d.tls)}
	}
	if d.username == "" {
		return client, channel.Result{}
	}
	return d.signIn(client, secret, encrypted)
}

// Our own codes of servers that cannot be used.
const (
	codeNoTLS  = "NO_TLS"
	codeNoAuth = "NO_AUTH"
)

func (d *driver) signIn(client *smtp.Client, token string, encrypted bool) (*smtp.Client, channel.Result) {
	_, offered := client.Extension("AUTH")
	auth, err := d.authOf(offered, token, encrypted)
	if err != nil {
		return nil, channel.Result{Class: posthouse.ClassAccount, Code: codeNoAuth, Error: d.line(d.host + ": " + err.Error())}
	}
	if err := client.Auth(auth); err != nil {
		result := d.failedAt(err, atAuth)
		if token != "" && result.Class == posthouse.ClassAccount {
			result.Class = posthouse.ClassAuth // another token is fetched once
		}
		return nil, result
	}
	return client, channel.Result{}
}

// failedAt is the result where the server refused at a stage before the message, or the connection ended there: nothing was sent.
func (d *driver) failedAt(err error, at stage) channel.Result {
	if a, said := answerOf(err); said {
		return d.refused(a, at)
	}
	return d.failed(err, "the connection ended at "+string(at))
}

// failed is the result of a connection that ended before the end of the message.
func (d *driver) failed(err error, what string) channel.Result {
	if errors.Is(err, channel.ErrTooLate) || errors.Is(err, context.Canceled) {
		return channel.Result{Class: posthouse.ClassTransient, Code: channel.CodeCancelled, Error: "the call was given up before the mail was sent"}
	}
	code := channel.CodeNetwork
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		code = channel.CodeTimeout
	}
	return channel.Result{Class: posthouse.ClassTransient, Code: code, Error: d.line(d.host + ": " + what + ": " + err.Error())}
}

// authOf chooses how to sign in: the safest that the server offers, and a password in clear to none.
func (d *driver) authOf(offered, token string, encrypted bool) (smtp.Auth, error) {
	has := func(kind gomail.SMTPAuthType) bool {
		return slices.Contains(strings.Fields(offered), string(kind))
	}
	switch {
	case token != "" && has(gomail.SMTPAuthXOAUTH2):
		if !encrypted {
			return nil, errClear
		}
		return smtp.XOAuth2Auth(d.username, token), nil
	case token != "":
		return nil, errors.New("the server takes no XOAUTH2")
	case has(gomail.SMTPAuthSCRAMSHA256):
		return smtp.ScramSHA256Auth(d.username, d.password), nil
	case !encrypted:
		return nil, errors.New("the server offers no TLS, and no way to sign in without showing the password")
	case has(gomail.SMTPAuthPlain):
		return smtp.PlainAuth("", d.username, d.password, d.host, false), nil
	case has(gomail.SMTPAuthLogin):
		return smtp.LoginAuth(d.username, d.password, d.host, false), nil
	case has(gomail.SMTPAuthCramMD5):
		return smtp.CRAMMD5Auth(d.username, d.password), nil
	}
	return nil, errors.New("the server offers no way to sign in that this driver has: PLAIN, LOGIN, CRAM-MD5, SCRAM-SHA-256")
}
