package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"github.com/posthouse/posthouse/internal/inbound"
)

// session is one sender, until it says EHLO or STARTTLS anew. The calls of one come one after the other, but that of Reset may come
// while a mail is read.
type session struct {
	door   *Door
	conn   *conn
	secure bool   // by TLS, or since nobody can listen
	from   string // the sender's address in the network
	user   string // the token that it showed by AUTH

	mu       sync.Mutex
	token    string     // whose front the mail is for
	envelope url.Values // who it is from and to
}

// begin is called when a sender says who it is.
func (d *Door) begin(c *smtp.Conn) (smtp.Session, error) {
	at := c.Conn()
	_, secure := c.TLSConnectionState()
	if over, is := at.(*tls.Conn); is {
		at = over.NetConn()
	}
	own, ours := at.(*conn)
	if !ours {
		return nil, errors.New("the connection is not the door's")
	}
	s := &session{door: d, conn: own, secure: secure || d.o.AllowPlain, from: own.RemoteAddr().String(), envelope: url.Values{}}
	if host, _, err := net.SplitHostPort(s.from); err == nil {
		s.from = host
	}
	if ip := net.ParseIP(s.from); ip != nil && ip.IsLoopback() {
		s.secure = true
	}
	return s, nil
}

func say(code int, enhanced smtp.EnhancedCode, text string) *smtp.SMTPError {
	return &smtp.SMTPError{Code: code, EnhancedCode: enhanced, Message: text}
}

// What senders are told.
var (
	errPlain     = say(530, smtp.EnhancedCode{5, 7, 0}, "must issue a STARTTLS command first: tokens and mails of other machines come by TLS")
	errPlainAuth = say(538, smtp.EnhancedCode{5, 7, 11}, "encryption is required: issue a STARTTLS command first")
	errStops     = say(421, smtp.EnhancedCode{4, 3, 2}, "the server stops or the connection has lasted too long: come again")
	errUnsure    = say(451, smtp.EnhancedCode{4, 3, 0}, "the recipient cannot be looked up now: come again")
	errUnsureWho = say(454, smtp.EnhancedCode{4, 7, 0}, "the token cannot be looked up now: come again")
	errWrongWho  = say(535, smtp.EnhancedCode{5, 7, 8}, "the token is not known: it is the password, or the user")
	errNobody    = say(550, smtp.EnhancedCode{5, 1, 1}, "no such recipient: want NAME+TOKEN@ of a front, or AUTH with its token; nothing is relayed")
	errOneFront  = say(452, smtp.EnhancedCode{4, 5, 3}, "a mail is for one front: send it once more for this recipient")
	errSyntax    = say(501, smtp.EnhancedCode{5, 5, 2}, "the answer is not one of this mechanism")
)

// AuthMechanisms are those that may be used on this connection.
func (s *session) AuthMechanisms() []string {
	if !s.secure {
		return nil
	}
	return []string{sasl.Plain, sasl.Login}
}

// Auth begins with a mechanism.
func (s *session) Auth(mechanism string) (sasl.Server, error) {
	switch {
	case !s.secure:
		return nil, errPlainAuth
	case mechanism == sasl.Plain:
		return answers{sasl.NewPlainServer(func(_, user, password string) error { return s.shows(user, password) })}, nil
	case mechanism == sasl.Login:
		return &login{shows: s.shows}, nil
	}
	return nil, smtp.ErrAuthUnknownMechanism
}

// shows takes a token that stands in place of the password or of the user.
func (s *session) shows(user, password string) error {
	token := password
	if !inbound.IsToken(token) {
		token = user
	}
	found, err := s.knows(token)
	switch {
	case err != nil:
		return errUnsureWho
	case !found:
		return errWrongWho
	}
	s.user = token
	return nil
}

// knows reports whether a token is that of a front, and hangs up on a sender that shows too many which are not.
func (s *session) knows(token string) (bool, error) {
	if s.conn.wrong >= maxWrong {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(s.door.life, commitWait)
	defer cancel()
	found, err := s.door.o.Desk.Knows(ctx, inbound.Call{Kind: Kind, Token: token, From: s.from})
	if err == nil && !found {
		if s.conn.wrong++; s.conn.wrong >= maxWrong {
			s.conn.hangUp()
		}
	}
	return found, err
}

// Mail begins with a mail.
func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	if !s.secure {
		return errPlain
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token, s.envelope = "", url.Values{"from": {from}}
	return nil
}

// Rcpt takes a recipient. An address without a token stands for the front whose token the sender showed: nothing goes to the address.
func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	name, token := recipient(to)
	if token == "" {
		token = s.user
	}
	if token != s.user || token == "" { // what AUTH took is looked up again with the mail
		found, err := s.knows(token)
		switch {
		case err != nil:
			return errUnsure
		case !found:
			return errNobody
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token != "" && s.token != token {
		return errOneFront
	}
	s.token = token
	s.envelope.Add("to", name)
	return nil
}

// Data takes the mail, and answers once it is committed.
func (s *session) Data(r io.Reader) error {
	s.mu.Lock()
	call := inbound.Call{Kind: Kind, Token: s.token, From: s.from, Envelope: url.Values{}, Type: inbound.Letter, Body: source{r, s.door.smtp.MaxMessageBytes}}
	for name, list := range s.envelope {
		call.Envelope[name] = list
	}
	s.mu.Unlock()
	if !s.conn.enter() {
		return errStops
	}
	ctx, cancel := context.WithTimeout(s.door.life, commitWait)
	defer cancel()
	return answer(s.door.o.Desk.Take(ctx, call))
}

// answer is what a sender is told of what became of a mail. go-smtp takes an error of the code 250 for what it says.
func answer(out inbound.Result) error {
	switch out.Status {
	case inbound.Accepted:
		return say(250, smtp.EnhancedCode{2, 0, 0}, "accepted as "+out.ID())
	case inbound.Unauthorized:
		return errNobody
	case inbound.TooLarge:
		return say(552, smtp.EnhancedCode{5, 3, 4}, line(out.Reason))
	case inbound.Refused:
		return say(554, smtp.EnhancedCode{5, 6, 0}, line(out.Reason))
	default:
		return say(451, smtp.EnhancedCode{4, 3, 0}, line(out.Reason))
	}
}

// line is a reason as it may stand in an answer: one line of ASCII.
func line(reason string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, inbound.Cut(inbound.OneLine(reason), 400))
}

// Reset forgets the mail.
func (s *session) Reset() {
	s.mu.Lock()
	s.token, s.envelope = "", url.Values{}
	s.mu.Unlock()
	s.conn.leave()
}

// Logout is told that the sender has left.
func (s *session) Logout() error { return nil }

// source is what a mail is read from, whose errors the desk understands.
type source struct {
	from io.Reader
	most int64
}

func (l source) Read(p []byte) (int, error) {
	n, err := l.from.Read(p)
	switch {
	case errors.Is(err, smtp.ErrDataTooLarge):
		err = &http.MaxBytesError{Limit: l.most}
	case errors.Is(err, smtp.ErrTooLongLine):
		err = inbound.Unreadable("a line of it is longer than 32768 bytes")
	}
	return n, err
}

// answers is a mechanism whose errors senders understand.
type answers struct{ sasl.Server }

// Next takes an answer.
func (a answers) Next(response []byte) ([]byte, bool, error) {
	challenge, done, err := a.Server.Next(response)
	var told *smtp.SMTPError
	if err != nil && !errors.As(err, &told) {
		err = errSyntax
	}
	return challenge, done, err
}

// login is the mechanism LOGIN, which the library has for clients alone: it asks for the user, and then for the password.
type login struct {
	shows func(user, password string) error
	asked int
	user  string
}

// Next takes an answer.
func (l *login) Next(response []byte) (challenge []byte, done bool, err error) {
	switch l.asked++; {
	case l.asked == 1 && response == nil:
		return []byte("Username:"), false, nil
	case l.user == "" && l.asked <= 2:
		l.user = string(response)
		l.asked = 2
		return []byte("Password:"), false, nil
	case l.asked == 3:
		return nil, true, l.shows(l.user, string(response))
	}
	return nil, false, errSyntax
}
