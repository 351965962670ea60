package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel/pull"
	"github.com/posthouse/posthouse/internal/channels"
	"github.com/posthouse/posthouse/internal/front/lksms"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/web"
)

// SMS is the front door for senders of text messages and for the phones that fetch them. It is open where
// Username and Password are set, under /api/v1/ and /health of the server's address.
type SMS struct {
	// Username and Password are the pair that senders, phones and operators may share, by HTTP Basic. API keys
	// work besides it. A password that everybody knows is refused.
	Username, Password string
	// Addr is where the front door, and nothing else, is served besides. Defaults to nowhere.
	Addr string
	// Channel is the channel whose deliveries are the tasks. One that does not exist is made, of the driver
	// pull. Defaults to sms.
	Channel string
	// Format of the tasks that are handed out: list, or page with {total_count, app_id, tasks}. Defaults to list.
	Format string
	// PageAgents are the beginnings of the User-Agents of apps that are answered in the form page. Defaults to none.
	PageAgents []string
	// Origins are the web pages that may call the front door, such as https://desk.example.com; "*" is all of them.
	// Defaults to none.
	Origins []string
	// MaxRetries is how often a task that failed is tried again; negative is never. Defaults to 3 for a channel
	// that is made, and to what it has for others.
	MaxRetries int
	// RetryDelay is the wait before each of them. Defaults to 5m, as MaxRetries does.
	RetryDelay time.Duration
	// Timeout is how long a phone may hold a task without a report. Defaults to 30m, as MaxRetries does.
	Timeout time.Duration
	// FairAfter is how long a retry that is due lets new tasks go before it. Defaults to 10m, as MaxRetries does.
	FairAfter time.Duration
	// LogKeep is how long the logs of requests, hand-outs and reports are kept. Defaults to 90 days; negative
	// keeps all.
	LogKeep time.Duration
	// Sensitive keeps every text sealed and hides it from all but the phone that sends it. Defaults to those
	// texts whose request says so.
	Sensitive bool
}

// knownPasswords are those of examples, and the first ones that guessers try. Small letters.
var knownPasswords = []string{
	"your_password_here", "your_secure_password", "your_password", "password", "passwd", "admin", "admin123", "administrator", "changeme", "change_me",
	"change-me", "secret", "default", "test", "root", "user", "lksms", "posthouse", "sms", "postgres", "letmein", "qwerty", "123456", "1234567", "12345678",
	"123456789", "1234567890", "111111", "000000", "888888", "666666", "abc123", "password123", "p@ssw0rd", "example",
}

func (o SMS) on() bool { return o.Username != "" && o.Password != "" }

// check refuses half a pair, and a password that is none.
func (o SMS) check() error {
	switch {
	case o.Username == "" && o.Password == "":
		return nil
	case o.Username == "" || strings.TrimSpace(o.Password) == "":
		return errors.New("the SMS front door needs a user name and a password: set BASIC_AUTH_USERNAME and BASIC_AUTH_PASSWORD, or neither")
	case slices.Contains(knownPasswords, strings.ToLower(strings.TrimSpace(o.Password))):
		return errors.New("BASIC_AUTH_PASSWORD is one that everybody knows from examples and lists: choose another, such as what `openssl rand -base64 24` prints")
	case strings.EqualFold(o.Username, o.Password):
		return errors.New("BASIC_AUTH_PASSWORD is the user name: choose another, such as what `openssl rand -base64 24` prints")
	case strings.Contains(o.Username, ":"):
		return errors.New("BASIC_AUTH_USERNAME has a colon: HTTP Basic cannot carry it")
	}
	return nil
}

// minPassword is the length below which the shared password can be found by trying: what bounds guesses lets some 200 a minute pass.
const minPassword = 12

// Weak says why a password that is taken should be another, empty for a good one.
func (o SMS) Weak() string {
	if n := utf8.RuneCountInString(o.Password); o.on() && n < minPassword {
		return fmt.Sprintf("BASIC_AUTH_PASSWORD has %d characters: want %d at least, such as what `openssl rand -base64 24` prints", n, minPassword)
	}
	return ""
}

func (o SMS) warn(log *slog.Logger) {
	if weak := o.Weak(); weak != "" {
		log.Warn("the password of the SMS front door is short", "why", weak)
	}
}

func (o SMS) channel() string { return cmp.Or(o.Channel, "sms") }

// smsHandler makes the front door.
func (s *Server) smsHandler() (http.Handler, error) {
	o := s.o.SMS
	return lksms.New(lksms.Options{
		Reader: s.reader(), Engine: desk{s.engine.Intake, s.engine.Pull, s.engine.Rescuer}, Store: received{s.store.Handouts, s.store.Answers, s.store.Logs, s.store.DB}, Agents: met{s.store.Agents, s.store.Reports}, Texts: s.store.Texts, Gate: s.gate, Rates: s.quotas, Username: o.Username, Password: o.Password, Channel: o.channel(), Format: lksms.Format(o.Format),
		PageAgents: o.PageAgents, Origins: o.Origins, Audit: s.book(),
		Sensitive: o.Sensitive, Rules: smsChannel{o, s.channels, s.book()}.rules, TimeZone: s.zone, MaxBody: s.o.MaxBody, Bodies: s.bodies, Log: s.o.Log,
	})
}

// smsChannel is the channel of the SMS front door, among all.
type smsChannel struct {
	o    SMS
	set  *channels.Set
	book web.Book
}

// rules are what the channel's settings say of retries.
func (c smsChannel) rules(ctx context.Context, tenant string) (lksms.Rules, error) {
	ch, err := c.set.Get(ctx, tenant, c.o.channel())
	if err != nil {
		return lksms.Rules{}, err
	}
	r := lksms.Rules{MaxRetries: ch.Tries - 1, Timeout: ch.Timeout.Std(), FairAfter: cmp.Or(ch.FairAfter.Std(), state.DefaultFairAfter)}
	if len(ch.Backoff) > 0 {
		r.RetryDelay = ch.Backoff[0].Std()
	}
	return r, nil
}

// prepare makes the channel of the front door where there is none, and gives the one there is what was
// said of it at start.
func (c smsChannel) prepare(ctx context.Context) error {
	name := c.o.channel()
	before, err := c.set.Get(ctx, posthouse.DefaultTenant, name)
	switch {
	case posthouse.CodeOf(err) == posthouse.CodeNotFound:
		before = posthouse.Channel{Name: name, Driver: pull.Name, ChannelSettings: smsSettings()}
	case err != nil:
		return fmt.Errorf("read the channel %s of the SMS front door: %w", name, err)
	case !c.set.Pulled(before):
		return fmt.Errorf("the channel %s of the SMS front door is pushed by the driver %s: name another with sms_channel, or set pull on it", name, before.Driver)
	}
	after := c.o.applied(before)
	if err == nil && reflect.DeepEqual(before, after) {
		return nil
	}
	stored, created, err := c.set.Put(ctx, posthouse.DefaultTenant, after)
	if err != nil {
		return fmt.Errorf("store the channel %s of the SMS front door: %w", name, err)
	}
	c.book.Write(ctx, putEntry(posthouse.DefaultTenant, name, atStart), changeOf(before, stored, created))
	return nil
}

// smsSettings are the document's: four hand-outs, five minutes apart, of thirty minutes each. A hand-out
// counts as a start there, so that a phone that went silent may have sent; the document tries again. What was
// cancelled meanwhile is not tried again, and fails after as long.
func smsSettings() posthouse.ChannelSettings {
	none := 0.0
	return posthouse.ChannelSettings{
		Tries: 4, Backoff: []posthouse.Duration{posthouse.Duration(5 * time.Minute)}, Jitter: &none, OnUnknown: posthouse.Retry,
		Timeout: posthouse.Duration(30 * time.Minute), HoldTimeout: posthouse.Duration(30 * time.Minute),
	}
}

// applied is a channel with what was said at start.
func (o SMS) applied(ch posthouse.Channel) posthouse.Channel {
	if o.MaxRetries != 0 {
		ch.Tries = 1 + max(0, o.MaxRetries)
	}
	if o.RetryDelay != 0 {
		ch.Backoff = []posthouse.Duration{posthouse.Duration(o.RetryDelay)}
	}
	if o.Timeout != 0 {
		ch.Timeout = posthouse.Duration(o.Timeout)
	}
	if o.FairAfter != 0 {
		ch.FairAfter = posthouse.Duration(o.FairAfter)
	}
	return ch
}
