package mail_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	stdsmtp "net/smtp"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/front/mail"
	"github.com/posthouse/posthouse/internal/inbound"
)

// Two tokens of fronts, and one of nobody.
var (
	token  = strings.Repeat("a", 64)
	second = strings.Repeat("b", 64)
	wrong  = strings.Repeat("0", 64)
)

const limit = 100_000

// desk takes what comes.
type desk struct {
	mu     sync.Mutex
	taken  []string
	calls  []inbound.Call
	asked  int
	out    inbound.Result // where it is not zero
	away   error
	before func() // each answer, if anything
}

func (d *desk) Knows(_ context.Context, c inbound.Call) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked++
	return c.Kind == mail.Kind && (c.Token == token || c.Token == second), d.away
}

func (d *desk) Limit(string) int64 { return limit }

func (d *desk) Take(_ context.Context, c inbound.Call) inbound.Result {
	body, err := io.ReadAll(c.Body)
	var large *http.MaxBytesError
	var bad inbound.Unreadable
	switch {
	case errors.As(err, &large):
		return inbound.Result{Status: inbound.TooLarge, Reason: fmt.Sprint("more than ", large.Limit)}
	case errors.As(err, &bad):
		return inbound.Result{Status: inbound.Refused, Reason: string(bad)}
	case err != nil:
		return inbound.Result{Status: inbound.Unavailable, Reason: "the body could not be read"}
	}
	if d.before != nil {
		d.before()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.out.Status != inbound.Accepted {
		return d.out
	}
	d.taken, d.calls = append(d.taken, string(body)), append(d.calls, c)
	return inbound.Result{Accepted: []posthouse.Accepted{{ID: "01M"}}}
}

// door is one that a test knocks at.
type door struct {
	*testing.T
	*desk
	*mail.Door
	addr  string
	ended chan error
}

// far makes connections look as if they came from another machine.
type far struct{ net.Listener }

type farConn struct{ net.Conn }

func (f far) Accept() (net.Conn, error) {
	c, err := f.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return farConn{c}, nil
}

func (farConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1} }

func open(t *testing.T, away bool, with ...func(*mail.Options)) *door {
	t.Helper()
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &door{T: t, desk: &desk{}, addr: at.Addr().String(), ended: make(chan error, 1)}
	o := mail.Options{Desk: d.desk, Log: slog.New(slog.DiscardHandler)}
	for _, change := range with {
		change(&o)
	}
	d.Door = mail.New(o)
	if away {
		at = far{at}
	}
	go func() { d.ended <- d.Serve(at) }()
	t.Cleanup(func() { _ = d.Door.Close() })
	return d
}

// certified gives a door a certificate.
func certified(t *testing.T) func(*mail.Options) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text := x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	made, err := x509.CreateCertificate(rand.Reader, &text, &text, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return func(o *mail.Options) {
		o.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{Certificate: [][]byte{made}, PrivateKey: key}}}
	}
}

var anyTLS = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // the test made the certificate

// line is a connection that speaks as it is told.
type wire struct {
	*testing.T
	net.Conn
	text *textproto.Reader
}

func (d *door) dial() *wire {
	d.Helper()
	c, err := net.Dial("tcp", d.addr)
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { c.Close() })
	w := &wire{d.T, c, textproto.NewReader(bufio.NewReader(c))}
	return w
}

// greeted is a connection that has said EHLO.
func (d *door) greeted() *wire {
	d.Helper()
	w := d.dial()
	w.want(220, "")
	w.say("EHLO test\r\n", 250, "")
	return w
}

func (w *wire) send(text string) {
	w.Helper()
	if _, err := w.Write([]byte(text)); err != nil {
		w.Fatal(err)
	}
}

// want reads an answer.
func (w *wire) want(code int, says string) {
	w.Helper()
	got, text, err := w.text.ReadResponse(0)
	if err != nil && got == 0 {
		w.Fatalf("got %v, want %d", err, code)
	}
	if got != code || !strings.Contains(text, says) {
		w.Fatalf("got %d %q, want %d %q", got, text, code, says)
	}
}

func (w *wire) say(text string, code int, says string) {
	w.Helper()
	w.send(text)
	w.want(code, says)
}

// ends waits until the other side has closed.
func (w *wire) ends() {
	w.Helper()
	if _, err := io.Copy(io.Discard, w.text.R); err != nil && !strings.Contains(err.Error(), "reset") {
		w.Errorf("the connection ends with %v", err)
	}
}

const letter = "Subject: Disk\r\n\r\nfull\r\n"

// A sender shows the token of its front as password, as user, or in the recipient.
func TestSendersShowTheirTokens(t *testing.T) {
	t.Parallel()
	d := open(t, false)
	login := func(user, password string) sasl.Client { return sasl.NewLoginClient(user, password) }
	plain := func(user, password string) sasl.Client { return sasl.NewPlainClient("", user, password) }
	for name, c := range map[string]struct {
		auth sasl.Client
		to   string
		code int // 0 where it is taken
	}{
		"the password":                   {plain("disks", token), "ops@example.com", 0},
		"the user":                       {plain(token, "x"), "ops@example.com", 0},
		"the password, by LOGIN":         {login("disks", token), "ops@example.com", 0},
		"the user, by LOGIN":             {login(token, ""), "ops@example.com", 0},
		"the recipient":                  {nil, "disks+" + token + "@example.com", 0},
		"the recipient in large letters": {nil, "Disks+" + strings.ToUpper(token) + "@example.com", 0},
		"all of the recipient":           {nil, token + "@example.com", 0},
		"a wrong one":                    {plain("disks", wrong), "ops@example.com", 535},
		"a wrong one, by LOGIN":          {login("disks", wrong), "ops@example.com", 535},
		"none":                           {nil, "ops@example.com", 550},
		"a wrong recipient":              {nil, "disks+" + wrong + "@example.com", 550},
		"a wrong recipient after AUTH":   {plain("disks", token), "disks+" + wrong + "@example.com", 550},
		"a token cut short":              {nil, "disks+" + token[1:] + "@example.com", 550},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c2, err := smtp.Dial(d.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer c2.Close()
			if c.auth != nil {
				err = c2.Auth(c.auth)
			}
			if err == nil {
				err = c2.SendMail("cron@db1", []string{c.to}, strings.NewReader(letter))
			}
			var told *smtp.SMTPError
			switch {
			case c.code == 0 && err != nil:
				t.Error(err)
			case c.code != 0 && (!errors.As(err, &told) || told.Code != c.code):
				t.Errorf("got %v, want %d", err, c.code)
			}
		})
	}
}

// What is told to the desk: the envelope without the token, and the mail as it is.
func TestWhatIsHandedIn(t *testing.T) {
	t.Parallel()
	d := open(t, false)
	if err := stdsmtp.SendMail(d.addr, stdsmtp.PlainAuth("", "disks", token, "127.0.0.1"), "cron@db1", []string{"disks+" + token + "@post", "ops@example.com"}, []byte(letter+".dot\r\n")); err != nil {
		t.Fatal(err)
	}
	c := d.calls[0]
	if d.taken[0] != letter+".dot\r\n" || c.Token != token || c.Envelope.Get("from") != "cron@db1" || strings.Join(c.Envelope["to"], " ") != "disks ops" || c.From != "127.0.0.1" || c.Type != inbound.Letter {
		t.Errorf("the call is %+v, %q", c, d.taken)
	}
}

// How a mail ended is told by its code.
func TestCodesOfWhatBecameOfIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		out  inbound.Result
		code int
		says string
	}{
		"taken":      {inbound.Result{}, 250, "accepted as 01M"},
		"come again": {inbound.Result{Status: inbound.Unavailable, Reason: "it could not be committed: 渠道\r\n250 ok"}, 451, "it could not be committed: ?? 250 ok"},
		"no mail":    {inbound.Result{Status: inbound.Refused, Reason: "it is no mail"}, 554, "it is no mail"},
		"too large":  {inbound.Result{Status: inbound.TooLarge, Reason: "more"}, 552, "more"},
		"gone":       {inbound.Result{Status: inbound.Unauthorized}, 550, "no such recipient"},
	} {
		d := open(t, false)
		d.out = c.out
		w := d.greeted()
		w.say("MAIL FROM:<a@b>\r\n", 250, "")
		w.say("RCPT TO:<"+token+"@post>\r\n", 250, "")
		w.say("DATA\r\n", 354, "")
		w.send(letter + ".\r\n")
		if w.want(c.code, c.says); t.Failed() {
			t.Log(name)
		}
		w.say("MAIL FROM:<a@b>\r\n", 250, "") // the session goes on
	}
	d := open(t, false)
	d.away = errors.New("away")
	w := d.greeted()
	w.say("MAIL FROM:<a@b>\r\n", 250, "")
	w.say("RCPT TO:<"+token+"@post>\r\n", 451, "come again")
	w.say("AUTH PLAIN AHgAYWFh\r\n", 454, "come again")
	w.say("AUTH PLAIN eA==\r\n", 501, "not one of this mechanism")
	w.say("AUTH CRAM-MD5\r\n", 504, "")
}

// A mail is for one front, so that one answer says what became of it.
func TestAMailIsForOneFront(t *testing.T) {
	t.Parallel()
	d := open(t, false)
	w := d.greeted()
	w.say("MAIL FROM:<a@b>\r\n", 250, "")
	w.say("RCPT TO:<x+"+token+"@post>\r\n", 250, "")
	w.say("RCPT TO:<y+"+second+"@post>\r\n", 452, "one front")
	w.say("RCPT TO:<z+"+token+"@post>\r\n", 250, "")
	w.say("DATA\r\n", 354, "")
	w.say(letter+".\r\n", 250, "")
	if got := strings.Join(d.calls[0].Envelope["to"], " "); got != "x z" {
		t.Errorf("it is for %q", got)
	}
}

// Other machines show their tokens by TLS alone, unless a setting says otherwise.
func TestTokensOfOthersComeByTLS(t *testing.T) {
	t.Parallel()
	d := open(t, true, certified(t))
	w := d.dial()
	w.want(220, "")
	w.send("EHLO test\r\n")
	if _, text, err := w.text.ReadResponse(250); err != nil || strings.Contains(text, "AUTH") || !strings.Contains(text, "STARTTLS") {
		t.Errorf("it offers %q, %v", text, err)
	}
	w.say("AUTH PLAIN AGEAYWFh\r\n", 538, "STARTTLS")
	w.say("MAIL FROM:<a@b>\r\n", 530, "STARTTLS")
	w.say("RCPT TO:<"+token+"@post>\r\n", 502, "")
	if d.asked > 0 {
		t.Error("the token was looked up")
	}
	c, err := smtp.DialStartTLS(d.addr, anyTLS)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Auth(sasl.NewLoginClient("disks", token)); err != nil {
		t.Error(err)
	}
	if err := c.SendMail("a@b", []string{"ops@example.com"}, strings.NewReader(letter)); err != nil || len(d.taken) != 1 {
		t.Errorf("by TLS: %v, %q", err, d.taken)
	}
	open := open(t, true, func(o *mail.Options) { o.AllowPlain = true }).greeted()
	open.say("MAIL FROM:<a@b>\r\n", 250, "")
}

// What comes before the encryption counts for nothing after it.
func TestCommandsBeforeTheEncryptionAreDropped(t *testing.T) {
	t.Parallel()
	d := open(t, false, certified(t))
	w := d.greeted()
	w.send("STARTTLS\r\nMAIL FROM:<evil@b>\r\nRCPT TO:<" + token + "@post>\r\nDATA\r\nSubject: evil\r\n\r\nx\r\n.\r\n")
	w.want(220, "")
	over := tls.Client(w.Conn, anyTLS)
	if err := over.Handshake(); err != nil {
		t.Fatal(err)
	}
	in := &wire{t, over, textproto.NewReader(bufio.NewReader(over))}
	in.say("NOOP\r\n", 250, "nothing")
	in.say("MAIL FROM:<a@b>\r\n", 502, "introduce yourself")
	in.say("EHLO test\r\n", 250, "")
	in.say("DATA\r\n", 502, "")
	if len(d.taken) > 0 {
		t.Errorf("it took %q", d.taken)
	}
}

// A mail ends with CRLF.CRLF and with nothing else, so that no other mail can hide in one.
func TestNoMailHidesInAnother(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"\n.\n", "\r\n.\n", "\n.\r\n", "\r.\r", "\r\n.\r", "\r\r\n.\r\n "} {
		d := open(t, false)
		w := d.greeted()
		w.say("MAIL FROM:<a@b>\r\n", 250, "")
		w.say("RCPT TO:<"+token+"@post>\r\n", 250, "")
		w.say("DATA\r\n", 354, "")
		w.send("Subject: one\r\n\r\none" + end + "MAIL FROM:<evil@b>\r\nRCPT TO:<" + second + "@post>\r\nDATA\r\nSubject: two\r\n\r\ntwo\r\n.\r\n")
		w.want(250, "accepted")
		w.say("NOOP\r\n", 250, "nothing")
		if len(d.taken) != 1 || !strings.Contains(d.taken[0], "Subject: two") || d.calls[0].Token != token {
			t.Errorf("%q ends a mail: %q", end, d.taken)
		}
	}
}

// What one sender can take of the door is bounded.
func TestBoundsOfASender(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	begin := func(d *door) *wire {
		w := d.greeted()
		w.say("MAIL FROM:<a@b>\r\n", 250, "")
		w.say("RCPT TO:<"+token+"@post>\r\n", 250, "")
		return w
	}
	data := func(d *door) *wire {
		w := begin(d)
		w.say("DATA\r\n", 354, "")
		return w
	}
	for name, test := range map[string]func(d *door){
		"a command of 1 MB": func(d *door) {
			w := d.greeted()
			_, _ = w.Write([]byte(long)) // it need not go out whole
			w.want(500, "Too long line")
			w.ends()
		},
		"a line of 1 MB": func(d *door) {
			w := data(d)
			_, _ = w.Write([]byte(long + "\r\n.\r\n"))
			w.want(554, "a line of it is longer than 32768 bytes")
			w.ends()
		},
		"a large mail": func(d *door) {
			w := data(d)
			w.send(strings.Repeat("xxxxxxxxx\r\n", limit/10) + ".\r\n")
			w.want(552, "more than 100000")
			w.say("NOOP\r\n", 250, "")
		},
		"a mail said to be large": func(d *door) { d.greeted().say("MAIL FROM:<a@b> SIZE=100001\r\n", 552, "size") },
		"a large mail in chunks": func(d *door) {
			w := begin(d)
			w.send("BDAT 60000\r\n" + long[:60_000])
			w.want(250, "")
			w.send("BDAT 60000 LAST\r\n" + long[:60_000])
			w.want(552, "size")
		},
		"ten thousand recipients": func(d *door) {
			w := begin(d)
			go func() {
				for range 10_000 {
					if _, err := w.Write([]byte("RCPT TO:<" + token + "@post>\r\n")); err != nil {
						return
					}
				}
			}()
			for i := range 10_000 {
				if i < 99 {
					w.want(250, "")
				} else {
					w.want(452, "100 recipients")
				}
			}
		},
		"ten thousand wrong recipients": func(d *door) {
			w := d.greeted()
			w.say("MAIL FROM:<a@b>\r\n", 250, "")
			go func() {
				for range 10_000 {
					if _, err := w.Write([]byte("RCPT TO:<" + wrong + "@post>\r\n")); err != nil {
						return
					}
				}
			}()
			w.ends()
			if d.asked != 10 {
				t.Errorf("%d of them were looked up", d.asked)
			}
		},
		"wrong passwords": func(d *door) {
			w := d.greeted()
			for range 10 {
				w.say("AUTH PLAIN AGEAYWFh\r\n", 535, "")
			}
			w.want(421, "")
			w.ends()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t, false)
			test(d)
			if len(d.taken) > 0 {
				t.Errorf("it took %.100q", d.taken)
			}
		})
	}
}

// A sender who says little, or much and nothing that counts, is let go.
func TestSlowSendersAreLetGo(t *testing.T) {
	t.Parallel()
	t.Run("who says nothing", func(t *testing.T) {
		t.Parallel()
		w := open(t, false, func(o *mail.Options) { o.CommandWait = 20 * time.Millisecond }).dial()
		w.want(220, "")
		w.want(421, "")
		w.ends()
	})
	t.Run("who begins a mail", func(t *testing.T) {
		t.Parallel()
		d := open(t, false, func(o *mail.Options) { o.MailWait = 20 * time.Millisecond })
		w := d.greeted()
		w.say("MAIL FROM:<a@b>\r\n", 250, "")
		w.say("RCPT TO:<"+token+"@post>\r\n", 250, "")
		w.say("DATA\r\n", 354, "")
		w.send("Subject: ")
		w.want(451, "could not be read")
	})
	t.Run("who never ends", func(t *testing.T) {
		t.Parallel()
		w := open(t, false, func(o *mail.Options) { o.Life = 50 * time.Millisecond }).dial()
		w.want(220, "")
		for {
			if _, err := w.Write([]byte("NOOP\r\n")); err != nil {
				return
			}
			if code, _, err := w.text.ReadResponse(0); err != nil || code != 250 {
				break
			}
		}
		w.ends()
	})
	t.Run("who are many", func(t *testing.T) {
		t.Parallel()
		d := open(t, false, func(o *mail.Options) { o.MaxConnections = 1 })
		first := d.greeted()
		w := d.dial()
		w.want(421, "too many connections")
		w.ends()
		first.say("NOOP\r\n", 250, "")
	})
}

// A stop tells those who are silent to come again, and lets those through whose mail is being handed in.
func TestAStopLetsMailsThrough(t *testing.T) {
	t.Parallel()
	d := open(t, false)
	began, goOn := make(chan struct{}), make(chan struct{})
	d.before = func() { close(began); <-goOn }
	silent, busy := d.greeted(), d.greeted()
	busy.say("MAIL FROM:<a@b>\r\n", 250, "")
	busy.say("RCPT TO:<"+token+"@post>\r\n", 250, "")
	busy.say("DATA\r\n", 354, "")
	busy.send(letter + ".\r\n")
	<-began
	stopped := make(chan error, 1)
	go func() { stopped <- d.Shutdown(t.Context()) }()
	silent.want(421, "")
	silent.ends()
	close(goOn)
	busy.want(250, "accepted")
	busy.want(421, "")
	busy.ends()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if err := <-d.ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
	if _, err := net.Dial("tcp", d.addr); err == nil {
		t.Error("it still listens")
	}
}

// A stop that is not waited for cuts what is left.
func TestAStopEnds(t *testing.T) {
	t.Parallel()
	d := open(t, false)
	goOn := make(chan struct{})
	began := make(chan struct{})
	d.before = func() { close(began); <-goOn }
	w := d.greeted()
	w.say("MAIL FROM:<a@b>\r\n", 250, "")
	w.say("RCPT TO:<"+token+"@post>\r\n", 250, "")
	w.say("DATA\r\n", 354, "")
	w.send(letter + ".\r\n")
	<-began
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := d.Door.Close(); err != nil {
		t.Error(err)
	}
	w.ends()
	close(goOn)
}
