package simulator

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/mail"
	"strings"
	"time"

	"github.com/emersion/go-smtp"
)

// mailProvider is a mail server. Mails arrive by SMTP, at the address of StartMail, and by POST as they are written.
func mailProvider(back *caller) provider {
	read := func(_ *http.Request, body []byte) (order, *refusal) {
		m, err := readMail(body, "")
		if err != nil {
			return order{}, malformed("the body is no mail: %v", err)
		}
		return order{messages: []message{m}}, nil
	}
	return provider{"mail", "Mail", "邮件", "/mail/", "ma", read, statusOr(http.StatusOK), answerPlainly, &more{settle: func([]*refusal) {}, forget: func() {}, back: back}}
}

// StartMail serves SMTP on an address such as 127.0.0.1:8025 until Stop; an empty one means a free port of 127.0.0.1. It asks for no TLS
// and no password, and answers where it listens.
func (s *Simulator) StartMail(ctx context.Context, addr string) (string, error) {
	f, err := s.fake("mail")
	if err != nil {
		return "", err
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", cmp.Or(addr, "127.0.0.1:0"))
	if err != nil {
		return "", fmt.Errorf("simulator: listen on %s: %w", addr, err)
	}
	server := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) { return &mailSession{of: s, f: f, conn: c}, nil }))
	server.Domain, server.MaxMessageBytes, server.MaxRecipients = "simulator", 32<<20, 1
	server.ReadTimeout, server.WriteTimeout = 5*time.Minute, time.Minute
	server.ErrorLog = log.New(io.Discard, "", 0)             // what a client does wrong is in its answer
	context.AfterFunc(s.gone, func() { _ = server.Close() }) // it ends with the process
	go func() {
		if err := server.Serve(listener); err != nil && !errors.Is(err, smtp.ErrServerClosed) {
			s.log.Error("the simulator no longer takes mail", "error", err)
		}
	}()
	return reachable(listener.Addr()), nil
}

// mailSession is one connection to the mail server.
type mailSession struct {
	of   *Simulator
	f    *fake
	conn *smtp.Conn
	to   string
}

func (m *mailSession) Reset()                                    { m.to = "" }
func (m *mailSession) Logout() error                             { return nil }
func (m *mailSession) Mail(string, *smtp.MailOptions) error      { return nil }
func (m *mailSession) Rcpt(to string, _ *smtp.RcptOptions) error { m.to = to; return nil }

// errCut has been said where the connection was cut: nobody hears it.
var errCut = errors.New("cut")

// Data takes a mail through the provider, as carry does a request.
func (m *mailSession) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	at := time.Now().UTC()
	msg, err := readMail(raw, m.to)
	if err != nil {
		return &smtp.SMTPError{Code: 554, EnhancedCode: smtp.EnhancedCode{5, 6, 0}, Message: "the message cannot be read"}
	}
	ord := order{messages: []message{msg}}
	v := m.f.decide(at, ord)
	stayed := m.wait(v.delay)
	if v.fault.Kind == CutBefore {
		m.of.ledger.cut(m.f.name)
		_ = m.conn.Close() // cut on purpose
		return errCut
	}
	a := []Arrival{{At: at, Provider: m.f.name, Path: "smtp", Key: msg.key, User: msg.user, Title: msg.title, Text: msg.text}}
	v.judge(&a[0], 0, m.f.status, stayed)
	m.of.record(m.f, entry{violated: v.violated, arrivals: a})
	return m.answer(&v, &a[0], stayed)
}

// wait reports whether the simulator stayed that long.
func (m *mailSession) wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-m.of.gone.Done():
		return false
	}
}

// mailAnswers are what a mail server says for a refusal.
var mailAnswers = map[Code]*smtp.SMTPError{
	UnknownUser:    {Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such user here"},
	RefusedContent: {Code: 554, EnhancedCode: smtp.EnhancedCode{5, 7, 1}, Message: "the message was refused as spam"},
	TooFast:        {Code: 450, EnhancedCode: smtp.EnhancedCode{4, 7, 28}, Message: "too many messages, come again later"},
	Busy:           {Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 2}, Message: "the system is busy, come again later"},
}

func (m *mailSession) answer(v *verdict, a *Arrival, stayed bool) error {
	switch v.fault.Kind {
	case Hang:
		<-m.of.gone.Done()
		stayed = false
	case RateLimited:
		return mailAnswers[TooFast]
	case ServerError:
		return mailAnswers[Busy]
	case Redirect:
		return &smtp.SMTPError{Code: 551, EnhancedCode: smtp.EnhancedCode{5, 1, 6}, Message: "the user has moved"}
	case CutAfter, Garbage:
		stayed = false
	}
	if !stayed {
		_ = m.conn.Close() // cut on purpose
		return errCut
	}
	if a.Answer == Refused {
		return cmp.Or(mailAnswers[a.Code], mailAnswers[Busy])
	}
	return nil
}

// readMail reads a mail as its recipient does: the subject, the text, and its Message-ID as the sender's key. A recipient acts as the name
// before the @ of its address says.
func readMail(raw []byte, to string) (message, error) {
	m, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		return message{}, err
	}
	title, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if err != nil {
		return message{}, err
	}
	if to == "" {
		to = strings.Trim(m.Header.Get("To"), "<> ")
	}
	text, err := plainText(m.Header.Get("Content-Type"), m.Header.Get("Content-Transfer-Encoding"), m.Body)
	if err != nil {
		return message{}, err
	}
	acts, _, _ := strings.Cut(to, "@")
	return message{user: to, title: title, text: text, key: strings.Trim(m.Header.Get("Message-Id"), "<> "), acts: acts}, nil
}

// plainText is the first text of a body.
func plainText(kind, encoding string, body io.Reader) (string, error) {
	is, params, err := mime.ParseMediaType(cmp.Or(kind, "text/plain"))
	if err != nil {
		return "", err
	}
	if strings.EqualFold(encoding, "quoted-printable") {
		body = quotedprintable.NewReader(body)
	}
	if !strings.HasPrefix(is, "multipart/") {
		text, err := io.ReadAll(body)
		return strings.TrimSuffix(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n"), err
	}
	part, err := multipart.NewReader(body, params["boundary"]).NextPart()
	if err != nil {
		return "", err
	}
	return plainText(part.Header.Get("Content-Type"), "", part)
}
