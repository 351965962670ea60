package email_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"log/slog"
	"maps"
	"net"
	"net/mail"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/email"
	"github.com/posthouse/posthouse/channel/internal/trusted"
)

var certificate tls.Certificate

// TestMain has the process trust the mail servers of the tests.
func TestMain(m *testing.M) { trusted.Run(m, func(c tls.Certificate) { certificate = c }) }

// arrival is a mail that a server has taken.
type arrival struct {
	from, to string
	raw      []byte
	session  int
}

// post is a mail server.
type post struct {
	host     string
	port     int
	listener net.Listener

	mu       sync.Mutex
	arrivals []arrival
	sessions int
	starts   int // of DATA
	// refuse answers at a stage. Nil takes everything.
	refuse func(stage, of string) error
	// tokens are the bearer tokens that sign in.
	tokens []string
}

type options struct {
	implicit, clear bool // TLS from the first byte, or none at all
	auth            []string
	wrap            func(net.Listener) net.Listener
}

const user, password = "desk@example.com", "an application's password"

func open(t *testing.T, o options) *post {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{certificate}}
	p := &post{host: "127.0.0.1", port: l.Addr().(*net.TCPAddr).Port, listener: l}
	if o.wrap != nil {
		l = o.wrap(l)
	}
	if o.implicit {
		l = tls.NewListener(l, config)
	}
	s := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.sessions++
		return &visit{post: p, auth: o.auth, number: p.sessions}, nil
	}))
	s.Domain, s.ErrorLog = "mail.example.com", log.New(io.Discard, "", 0)
	s.AllowInsecureAuth = o.clear
	if !o.clear && !o.implicit {
		s.TLSConfig = config
	}
	done := make(chan struct{})
	go func() { defer close(done); s.Serve(l) }()
	t.Cleanup(func() { s.Close(); l.Close(); <-done })
	return p
}

func (p *post) taken() []arrival {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.arrivals
}

// begun is how often a mail was begun.
func (p *post) begun() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts
}

func (p *post) answer(stage, of string) error {
	p.mu.Lock()
	refuse := p.refuse
	p.mu.Unlock()
	if refuse == nil {
		return nil
	}
	return refuse(stage, of)
}

func (p *post) refuses(f func(stage, of string) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = f
}

// visit is a session at the server.
type visit struct {
	*post
	auth     []string
	number   int
	from, to string
}

func (v *visit) AuthMechanisms() []string { return v.auth }

func (v *visit) Auth(mechanism string) (sasl.Server, error) {
	if mechanism == "XOAUTH2" {
		return sasl.Server(oauth{v}), nil
	}
	check := func(name, word string) error {
		if name != user || word != password {
			return &smtp.SMTPError{Code: 535, EnhancedCode: smtp.EnhancedCode{5, 7, 8}, Message: "bad credentials"}
		}
		return nil
	}
	return sasl.NewPlainServer(func(_, name, word string) error { return check(name, word) }), nil
}

// oauth is the server's side of XOAUTH2.
type oauth struct{ v *visit }

func (o oauth) Next(said []byte) ([]byte, bool, error) {
	if said == nil {
		return []byte{}, false, nil
	}
	o.v.mu.Lock()
	defer o.v.mu.Unlock()
	for _, token := range o.v.tokens {
		if string(said) == "user="+user+"\x01auth=Bearer "+token+"\x01\x01" {
			return nil, true, nil
		}
	}
	return nil, true, &smtp.SMTPError{Code: 535, EnhancedCode: smtp.EnhancedCode{5, 7, 8}, Message: "token refused"}
}

func (v *visit) Mail(from string, _ *smtp.MailOptions) error {
	v.from = from
	return v.answer("mail", from)
}

func (v *visit) Rcpt(to string, _ *smtp.RcptOptions) error {
	v.to = to
	return v.answer("rcpt", to)
}

func (v *visit) Data(r io.Reader) error {
	v.mu.Lock()
	v.starts++
	v.mu.Unlock()
	if err := v.answer("data", v.to); err != nil {
		return err
	}
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	v.mu.Lock()
	v.arrivals = append(v.arrivals, arrival{v.from, v.to, raw, v.number})
	v.mu.Unlock()
	return v.answer("end", v.to)
}

func (v *visit) Reset()        {}
func (v *visit) Logout() error { return nil }

// config is a channel's configuration for the server.
func (p *post) config(more map[string]any) map[string]any {
	c := map[string]any{"host": p.host, "port": p.port, "from": "值班台 <desk@example.com>"}
	maps.Copy(c, more)
	return c
}

type files map[string]channel.File

func (f files) File(_ context.Context, id string) (channel.File, error) {
	if file, ok := f[id]; ok {
		return file, nil
	}
	return channel.File{}, &posthouse.Error{Code: posthouse.CodeNotFound, Message: "no such file"}
}

func driver(t *testing.T, raw map[string]any, change ...func(*channel.Env)) channel.Driver {
	t.Helper()
	c, problems := email.Type().Validate(raw)
	if len(problems) > 0 {
		t.Fatalf("the configuration is refused: %+v", problems)
	}
	env := channel.Env{
		Tenant: "t1", Channel: "mail", Log: slog.New(slog.DiscardHandler), Network: channel.Network{AllowPrivate: true}, Timeout: 20 * time.Second, KeepAnswers: true,
		Files: files{"f1": {Name: "值班表.pdf", Type: "application/pdf", Body: []byte("%PDF-1.4 of ours")}},
	}
	for _, f := range change {
		f(&env)
	}
	d, err := email.Type().Open(c, env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.(io.Closer).Close() })
	return d
}

func outgoing(n int, c posthouse.Content) channel.Outgoing {
	id := "01M8TESTTESTTESTTEST" + strconv.Itoa(1000+n)
	if c.Title == "" {
		c.Title = "值班提醒"
	}
	if c.Text == "" {
		c.Text = "今天 18:00 起由您值班。\n.\nA line that begins with a dot is text."
	}
	return channel.Outgoing{
		Tenant: "t1", Channel: "mail", Message: id, Delivery: id, IdemKey: id, Attempt: 1, Content: c,
		Recipient: posthouse.Recipient{User: "li.na", Address: "li.na@example.org"},
	}
}

func read(t *testing.T, a arrival) *mail.Message {
	t.Helper()
	m, err := mail.ReadMessage(bytes.NewReader(a.raw))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, a.raw)
	}
	return m
}

var errCut = errors.New("cut")
