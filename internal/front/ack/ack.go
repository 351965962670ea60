// Package ack is the page behind the link by which a person acknowledges a notification: one page, no sign-in, one button. Looking at it
// changes nothing, so that a preview of the link by a chat or a scanner of mails acknowledges nothing: that takes the button.
//
// A link is bound to one person and one notification, and sealed by the keyring: nobody can make one. It is worth nothing after its time. A
// notification that has ended, or was cancelled, is acknowledged all the same: whoever says so has read it.
//
// The other words of people end here too: buttons of cards (Pressed), answers (Answered), and texts
// that agents got (Texted). What is an acknowledgement is decided nowhere else.
package ack

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/route"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
)

// Path is where the page is.
const Path = "/ack/"

// Valid is how long a link is.
const Valid = 7 * 24 * time.Hour

// Book has the notifications.
type Book interface {
	Get(ctx context.Context, v work.Viewer, id string) (posthouse.Notification, error)
	Acknowledge(ctx context.Context, v work.Viewer, id, by string, via posthouse.AckVia, evidence json.RawMessage) (posthouse.Notification, error)
}

// Links makes links and takes them.
type Links struct {
	Sealer secret.Sealer
	// PublicURL is where people reach the server, without a slash at its end.
	PublicURL string
	Book      Book
	// Deliveries are those that are answered.
	Deliveries Deliveries
	// Sent are those that may be, by their address.
	Sent Sent
	// Meant keeps what texts mean.
	Meant Meant
	// Fetched is a sender's number as a channel keeps it that agents fetch from; false for another channel, and for what is no number
	// there. Texted needs it.
	Fetched func(tenant, channel, sender string) (number string, is bool)
	// Directory names whoever pressed a card as a user, and says what language a person reads and where that person lives. Defaults to
	// none: the provider's name stands, and the page goes by the browser and by Zone.
	Directory Directory
	// Messages say what a notification is about. Defaults to none: its kind and ref stand alone.
	Messages Messages
	// Read is a message as its recipient reads it, in the recipient's language. Defaults to as it was accepted.
	Read func(ctx context.Context, m *posthouse.Message, to posthouse.Recipient) (*posthouse.Message, error)
	// Channel is what people call a channel. Defaults to its name.
	Channel func(tenant, name string) string
	// Presser says how whoever an event names stands to an address of a channel. Defaults to not known.
	Presser func(tenant, channel, address string, e *posthouse.CallbackEvent) channel.Presser
	// Zone is of the times on the page for whoever has none. Defaults to UTC.
	Zone *time.Location
	Log  *slog.Logger
}

// claim is what a link says.
type claim struct {
	Tenant       string `json:"t"`
	Notification string `json:"n"`
	User         string `json:"u"`
	Until        int64  `json:"e"` // seconds since 1970
}

// Fields are the claim as a token has it.
func (c *claim) Fields() []string {
	return []string{c.Tenant, c.Notification, c.User, strconv.FormatInt(c.Until, 36)}
}

// Read sets the claim to what a token has.
func (c *claim) Read(fields []string) bool {
	if len(fields) != 4 {
		return false
	}
	until, err := strconv.ParseInt(fields[3], 36, 64)
	*c = claim{fields[0], fields[1], fields[2], until}
	return err == nil
}

// revoked reports whether a link or a key was made before those of its notification were revoked. Both times are whole seconds: of one that was
// made in the second of the revocation nobody knows, and it is void.
func (c *claim) revoked(n *posthouse.Notification) bool {
	made := time.Unix(c.Until, 0).Add(-Valid)
	return !n.LinksRevokedAt.IsZero() && !made.After(n.LinksRevokedAt)
}

// asLink keeps the token of a link from serving for something else.
const asLink = "acknowledgement"

// Link is the address at which somebody acknowledges a notification.
func (l *Links) Link(tenant, notification, user string) (string, error) {
	token, err := secret.SealToken(l.Sealer, asLink, &claim{tenant, notification, user, time.Now().Add(Valid).Unix()})
	return l.PublicURL + Path + token, err
}

//go:embed page.html
var files embed.FS

var page = web.NewLinkedPage(Path, files)

// shown is what the page is drawn of.
type shown struct {
	T     map[string]string
	Lang  string
	State string // one of the keys of T: ask, done, ended, over, bad, broken
	About string
	By    string
	At    string
	Title string // of the message that was sent
	Words string // the first of its text, where it has no title
	From  string // which system or tenant has sent it
	Sent  string // when, and by which channel
	Over  string // since when it is over, empty for not
	Ended string // since when nobody is told any more, of one that is over by itself or was cancelled
	Token string
}

// Messages are read for their titles.
type Messages interface {
	Message(ctx context.Context, tenant, id string) (m posthouse.Message, recipients int, err error)
}

// ServeHTTP shows the page, and acknowledges where its button was pressed.
func (l *Links) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, ok := page.Begin(w, r)
	if !ok {
		return
	}
	s := shown{Lang: web.Language(r), Token: token}
	s.T = texts[s.Lang]
	var c claim
	if !secret.OpenToken(l.Sealer, asLink, token, &c) || time.Now().Unix() > c.Until {
		l.draw(w, http.StatusNotFound, s, "bad")
		return
	}
	lang, zone := l.lives(r.Context(), &c, s.Lang)
	s.Lang, s.T = lang, texts[lang]
	v := work.Viewer{Tenant: c.Tenant, Sight: work.SeeAll()}
	n, err := l.Book.Get(r.Context(), v, c.Notification)
	if err == nil && c.revoked(&n) {
		l.draw(w, http.StatusNotFound, s, "bad")
		return
	}
	if err == nil && r.Method == http.MethodPost && n.Ack == nil {
		evidence, _ := json.Marshal(map[string]string{"address": hostOf(r.RemoteAddr), "agent": state.Plain(r.UserAgent(), 300)}) // texts: cannot fail
		n, err = l.Book.Acknowledge(r.Context(), v, c.Notification, c.User, posthouse.AckLink, evidence)
		if err == nil {
			l.Log.Info("a notification was acknowledged by its link", "tenant", c.Tenant, "notification", c.Notification, "user", c.User)
		}
	}
	switch {
	case posthouse.CodeOf(err) == posthouse.CodeNotFound:
		l.draw(w, http.StatusNotFound, s, "bad")
		return
	case err != nil:
		l.Log.Warn("a notification cannot be read for its link", "notification", c.Notification, "error", err)
		l.draw(w, http.StatusServiceUnavailable, s, "broken")
		return
	}
	s.By, s.About = l.called(r.Context(), c.Tenant, c.User), strings.TrimSpace(n.Kind+" "+n.Ref)
	s.At = at(n.CreatedAt, zone)
	l.tells(r.Context(), &s, &c, &n, zone)
	if !n.ResolvedAt.IsZero() {
		s.Over = at(n.ResolvedAt, zone)
	} else if n.State == posthouse.NotificationNotTold && !n.UpdatedAt.Equal(n.LinksRevokedAt) {
		s.Ended = at(n.UpdatedAt, zone)
	}
	switch {
	case n.Ack != nil:
		s.By, s.At = l.called(r.Context(), c.Tenant, n.Ack.By), at(n.Ack.At, zone)
		l.draw(w, http.StatusOK, s, "done")
	case n.State == posthouse.NotificationNotTold && n.Reason == route.ReasonCancelled:
		l.draw(w, http.StatusOK, s, "ended")
	case n.State == posthouse.NotificationNotTold && s.Over == "":
		l.draw(w, http.StatusOK, s, "late")
	case s.Over != "": // whoever says so has read it: it counts all the same
		l.draw(w, http.StatusOK, s, "over")
	default:
		l.draw(w, http.StatusOK, s, "ask")
	}
}

// lives is the language that a person reads, as far as the page has it, and the zone of the place where the person lives. What is not known,
// or cannot be read now, is as the browser and the server say.
func (l *Links) lives(ctx context.Context, c *claim, browser string) (language string, zone *time.Location) {
	if l.Directory == nil {
		return browser, l.Zone
	}
	u, err := l.Directory.User(ctx, c.Tenant, c.User)
	if err != nil {
		return browser, l.Zone
	}
	language, zone = browser, l.Zone
	if base, _, _ := strings.Cut(strings.ToLower(u.Language), "-"); texts[base] != nil {
		language = base
	}
	if own, err := time.LoadLocation(u.TimeZone); err == nil && u.TimeZone != "" {
		zone = own
	}
	return language, zone
}

// called is the name of a user with the id behind it, the id alone where the directory has no name for it.
func (l *Links) called(ctx context.Context, tenant, id string) string {
	if l.Directory == nil {
		return id
	}
	u, err := l.Directory.User(ctx, tenant, id)
	if err != nil || u.Name == "" || u.Name == id {
		return id
	}
	return u.Name + " (" + id + ")"
}

// tells says of the message which the person was sent last by which channel it came and when, from which system or else which tenant, and its title or
// the first words of its text: the link was in that very text. Of one that is sensitive it says no word, and of one that cannot be read now the way alone.
func (l *Links) tells(ctx context.Context, s *shown, c *claim, n *posthouse.Notification, zone *time.Location) {
	if c.Tenant != posthouse.DefaultTenant {
		s.From = c.Tenant
	}
	for _, d := range slices.Backward(n.Deliveries) {
		if d.User != c.User {
			continue
		}
		by := d.Channel
		if l.Channel != nil {
			by = l.Channel(c.Tenant, d.Channel)
		}
		s.Sent = at(d.At, zone) + ", " + by
		if l.Messages == nil {
			return
		}
		m, _, err := l.Messages.Message(ctx, c.Tenant, posthouse.MessageID(d.ID))
		if err != nil {
			return
		}
		if s.From = cmp.Or(m.Source, s.From); m.Sensitive {
			return
		}
		read := &m
		if l.Read != nil {
			if own, err := l.Read(ctx, &m, posthouse.Recipient{User: c.User}); err == nil {
				read = own
			}
		}
		if s.Title = secret.MaskTokens(read.Content.Title); s.Title == "" {
			s.Words = firstWords(read.Content.Text)
		}
		return
	}
}

// mostWords bounds the first words of a text, in characters.
const mostWords = 80

// ourLink is an address of ours in a text that is masked: the page is behind it.
var ourLink = regexp.MustCompile(`https?://\S+/\*\*\*`)

// firstWords are those of a text, in one line and without links that act for a person.
func firstWords(text string) string {
	line := []rune(strings.Join(strings.Fields(ourLink.ReplaceAllString(secret.MaskTokens(text), "")), " "))
	if len(line) > mostWords {
		return strings.TrimSpace(string(line[:mostWords])) + "…"
	}
	return string(line)
}

// at is a time with its offset: letters such as CST mean several zones.
func at(t time.Time, zone *time.Location) string {
	if zone != nil {
		t = t.In(zone)
	}
	return t.Format("2006-01-02 15:04:05 -07:00")
}

func (l *Links) draw(w http.ResponseWriter, status int, s shown, state string) {
	s.State = state
	page.Draw(w, status, s, l.Log)
}

var texts = map[string]map[string]string{
	"zh": {
		"title": "确认收到", "ask": "请确认您已收到并知晓这条通知。", "button": "我已知晓", "done": "已确认。", "ended": "这条通知已经取消。如果您已收到并知晓，仍可确认。",
		"late": "各步骤均已结束，不会再通知其他人。如果您已收到并知晓，仍可确认。",
		"over": "已恢复，无需再处理。如果您已收到并知晓，仍可确认。", "since": "恢复时间", "ended_at": "结束时间",
		"bad": "链接无效或已过期。请联系给您发通知的人。", "broken": "暂时无法确认，请稍后再试。", "by": "确认人", "at": "时间", "about": "事由", "subject": "标题", "for": "收件人", "words": "内容", "from": "来源", "sent": "发送",
	},
	"en": {
		"title": "Acknowledge", "ask": "Please confirm that you have received this notification and taken note of it.", "button": "I have taken note", "done": "Acknowledged.",
		"ended": "This notification was cancelled. If you have received it and taken note of it, you can still say so.", "bad": "The link is not valid, or its time is over. Ask whoever notified you.",
		"late": "All steps have passed: nobody else is notified any more. If you have received the notification and taken note of it, you can still say so.",
		"over": "This is over: whoever sent it has said so. If you have received the notification and taken note of it, you can still say so.", "since": "Over since", "ended_at": "Over since",
		"broken": "This cannot be acknowledged now. Try again in a moment.", "by": "Acknowledged by", "at": "At", "about": "About", "subject": "Subject", "for": "For", "words": "Text", "from": "From", "sent": "Sent",
	},
}

func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}
