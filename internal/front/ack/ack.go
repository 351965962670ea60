// Package ack is the page behind the link by which a person acknowledges a notification: one page, no sign-in, one button. Looking at it
// changes nothing, so that a preview of the link by a chat or a scanner of mails acknowledges nothing: that takes the button.
//
// A link is bound to one person and one notification, and sealed by the keyring: nobody can make one. It is worth nothing after its time,
// or once the notification has ended.
package ack

import (
	"bytes"
	"context"
	"embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
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

// Sealer seals links and opens them.
type Sealer interface {
	Seal(plain, aad string) (string, error)
	Open(text, aad string) (string, error)
}

// Links makes links and takes them.
type Links struct {
	Sealer Sealer
	// PublicURL is where people reach the server, without a slash at its end.
	PublicURL string
	Book      Book
	// Zone is of the times on the page. Defaults to UTC.
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

// sealedAs binds a link to its purpose.
var sealedAs = secret.AAD("acknowledgement")

// Link is the address at which somebody acknowledges a notification.
func (l *Links) Link(tenant, notification, user string) (string, error) {
	text, err := json.Marshal(claim{tenant, notification, user, time.Now().Add(Valid).Unix()})
	if err != nil {
		return "", err
	}
	sealed, err := l.Sealer.Seal(string(text), sealedAs)
	return l.PublicURL + Path + base64.RawURLEncoding.EncodeToString([]byte(sealed)), err
}

// open reads a link's token; false is one that is none.
func (l *Links) open(token string) (claim, bool) { return l.claimOf(token, sealedAs) }

// claimOf reads a token that was sealed for a purpose.
func (l *Links) claimOf(token, purpose string) (c claim, ok bool) {
	if len(token) > 2000 {
		return c, false
	}
	sealed, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return c, false
	}
	text, err := l.Sealer.Open(string(sealed), purpose)
	return c, err == nil && json.Unmarshal([]byte(text), &c) == nil
}

//go:embed page.html style.css
var files embed.FS

var page = template.Must(template.ParseFS(files, "page.html"))

// shown is what the page is drawn of.
type shown struct {
	T     map[string]string
	Lang  string
	State string // one of the keys of T: ask, done, ended, bad, broken
	About string
	By    string
	At    string
	Token string
}

// ServeHTTP shows the page, and acknowledges where its button was pressed.
func (l *Links) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	web.LinkedPage(h)
	s := shown{Lang: web.Language(r), Token: strings.TrimPrefix(r.URL.Path, Path)}
	s.T = texts[s.Lang]
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost:
	default:
		h.Set("Allow", "GET, HEAD, POST")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	if s.Token == "style.css" {
		http.ServeFileFS(w, r, files, "style.css")
		return
	}
	c, ok := l.open(s.Token)
	if !ok || time.Now().Unix() > c.Until {
		l.draw(w, http.StatusNotFound, s, "bad")
		return
	}
	v := work.Viewer{Tenant: c.Tenant, Sight: work.SeeAll()}
	n, err := l.Book.Get(r.Context(), v, c.Notification)
	if err == nil && r.Method == http.MethodPost && n.Ack == nil && n.Reason != "cancelled" {
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
	s.By, s.About = c.User, strings.TrimSpace(n.Kind+" "+n.Ref)
	s.At = l.at(n.CreatedAt)
	switch {
	case n.Ack != nil:
		s.By, s.At = n.Ack.By, l.at(n.Ack.At)
		l.draw(w, http.StatusOK, s, "done")
	case n.Reason == "cancelled":
		l.draw(w, http.StatusOK, s, "ended")
	default:
		l.draw(w, http.StatusOK, s, "ask")
	}
}

func (l *Links) at(t time.Time) string {
	if l.Zone != nil {
		t = t.In(l.Zone)
	}
	return t.Format("2006-01-02 15:04:05 MST")
}

func (l *Links) draw(w http.ResponseWriter, status int, s shown, state string) {
	s.State = state
	var out bytes.Buffer
	if err := page.Execute(&out, s); err != nil {
		l.Log.Error("the page of an acknowledgement cannot be drawn", "error", err)
		http.Error(w, "", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = out.WriteTo(w) // who has left is told nothing
}

var texts = map[string]map[string]string{
	"zh": {
		"title": "确认收到", "ask": "请确认您已收到并知晓这条通知。", "button": "我已知晓", "done": "已确认。", "ended": "这条通知已经取消，不用再确认。",
		"bad": "链接无效或已过期。请联系给您发通知的人。", "broken": "暂时无法确认，请稍后再试。", "by": "确认人", "at": "时间", "about": "事由", "for": "收件人",
	},
	"en": {
		"title": "Acknowledge", "ask": "Please confirm that you have received this notification and taken note of it.", "button": "I have taken note", "done": "Acknowledged.",
		"ended": "This notification was cancelled: there is nothing to acknowledge.", "bad": "The link is not valid, or its time is over. Ask whoever notified you.",
		"broken": "This cannot be acknowledged now. Try again in a moment.", "by": "Acknowledged by", "at": "At", "about": "About", "for": "For",
	},
}

func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}
