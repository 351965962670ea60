package preferences

import (
	"context"
	"embed"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// Path is where the page is.
const Path = "/preferences/"

// Valid is how long a link is: it stands in messages, which people look up again.
const Valid = 90 * 24 * time.Hour

// maxForm bounds what the form sends, in bytes.
const maxForm = 64 << 10

// Links makes links to the page, and shows it.
type Links struct {
	*Desk
	Sealer secret.Sealer
	// PublicURL is where people reach the server, without a slash at its end.
	PublicURL string
	Log       *slog.Logger
	// Audit keeps what users choose, beside what operators change for them. Defaults to nothing.
	Audit web.Book
}

// claim is what a link says.
type claim struct {
	Tenant string `json:"t"`
	User   string `json:"u"`
	Kind   string `json:"k,omitempty"` // of the message that has the link: the page offers it
	Count  int64  `json:"c"`           // of the user's links that were revoked before
	Until  int64  `json:"e"`           // seconds since 1970
}

// Fields are the claim as a token has it.
func (c *claim) Fields() []string {
	return []string{c.Tenant, c.User, c.Kind, strconv.FormatInt(c.Count, 36), strconv.FormatInt(c.Until, 36)}
}

// Read sets the claim to what a token has.
func (c *claim) Read(fields []string) bool {
	if len(fields) != 5 {
		return false
	}
	count, err := strconv.ParseInt(fields[3], 36, 64)
	until, err2 := strconv.ParseInt(fields[4], 36, 64)
	*c = claim{fields[0], fields[1], fields[2], count, until}
	return err == nil && err2 == nil
}

// purpose keeps the token of a link from serving for something else.
const purpose = "preferences"

// Link is the address at which a user chooses, in a message of a kind. Of the preferences the user and the count of revoked links count.
func (l *Links) Link(tenant, kind string, of posthouse.Preferences) (string, error) {
	url, _, err := l.link(tenant, kind, of)
	return url, err
}

func (l *Links) link(tenant, kind string, of posthouse.Preferences) (url string, until time.Time, err error) {
	until = time.Now().Add(Valid).Truncate(time.Second)
	token, err := secret.SealToken(l.Sealer, purpose, &claim{tenant, of.User, kind, of.Links, until.Unix()})
	return l.PublicURL + Path + token, until, err
}

//go:embed page.html
var files embed.FS

var page = web.NewLinkedPage(Path, files)

// choice is one box of the form.
type choice struct {
	Name     string // what the form sends
	Label    string
	Wanted   bool
	Locked   bool // it may not be switched off
	switches posthouse.Unwanted
}

// shown is what the page is drawn of.
type shown struct {
	T        map[string]string
	Lang     string
	State    string // one of the keys of T: ask, done, bad, broken
	Token    string
	User     string
	Nothing  bool
	Channels []choice
	Kinds    []choice
	Pairs    []choice
}

// ServeHTTP shows the page, and stores what its form says.
func (l *Links) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, ok := page.Begin(w, r)
	if !ok {
		return
	}
	s := shown{Lang: web.Language(r), Token: token}
	s.T = texts[s.Lang]
	var c claim
	if !secret.OpenToken(l.Sealer, purpose, token, &c) || time.Now().Unix() > c.Until {
		l.draw(w, http.StatusNotFound, s, "bad")
		return
	}
	state := "ask"
	err := l.read(r.Context(), c, &s)
	if err == nil && r.Method == http.MethodPost {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		if r.ParseForm() != nil || r.PostForm.Get("form") != "1" { // also what a program posts that knows no form
			l.draw(w, http.StatusBadRequest, s, "ask")
			return
		}
		state = "done"
		if err = l.store(r.Context(), c, &s, r.PostForm, web.AddressOf(r)); err == nil {
			l.Log.Info("a user has changed their preferences by their link", "tenant", c.Tenant, "user", c.User)
			err = l.read(r.Context(), c, &s)
		}
	}
	switch {
	case posthouse.CodeOf(err) == posthouse.CodeNotFound:
		l.draw(w, http.StatusNotFound, s, "bad")
	case err != nil:
		l.Log.Warn("preferences cannot be read or stored for a link", "tenant", c.Tenant, "user", c.User, "error", err)
		l.draw(w, http.StatusServiceUnavailable, s, "broken")
	default:
		l.draw(w, http.StatusOK, s, state)
	}
}

// read fills in what there is to choose. A link that was revoked, or whose user is gone, is one of nobody.
func (l *Links) read(ctx context.Context, c claim, s *shown) error {
	p, err := l.Store.Preferences(ctx, c.Tenant, c.User)
	if err == nil && p.Links != c.Count {
		err = posthouse.Errorf(posthouse.CodeNotFound, "the links of the user were revoked")
	}
	if err != nil {
		return err
	}
	u, err := l.Directory.User(ctx, c.Tenant, c.User)
	if err != nil {
		return err
	}
	if base, _, _ := strings.Cut(strings.ToLower(u.Language), "-"); texts[base] != nil { // else as the browser says
		s.Lang, s.T = base, texts[base]
	}
	t, err := l.tenant(ctx, c.Tenant)
	if err != nil {
		return err
	}
	s.User, s.Nothing = u.ID, p.Nothing
	if u.Name != "" {
		s.User = u.Name
	}
	channels := slices.Sorted(maps.Keys(u.Addresses))
	kinds := append(append(slices.Clone(t.MandatoryKinds), t.OptionalKinds...), c.Kind)
	s.Pairs = nil
	for _, off := range p.Off {
		switch {
		case off.Kind == "":
			channels = append(channels, off.Channel)
		case off.Channel == "":
			kinds = append(kinds, off.Kind)
		default:
			s.Pairs = append(s.Pairs, choice{Name: off.Kind + " · " + off.Channel, Label: off.Kind + " · " + off.Channel, switches: off})
		}
	}
	s.Channels, s.Kinds = nil, nil
	for _, name := range once(channels) {
		off := posthouse.Unwanted{Channel: name}
		s.Channels = append(s.Channels, choice{Name: name, Label: name, Wanted: !slices.Contains(p.Off, off), switches: off})
	}
	for _, name := range once(kinds) {
		off := posthouse.Unwanted{Kind: name}
		locked := slices.Contains(t.MandatoryKinds, name)
		s.Kinds = append(s.Kinds, choice{Name: name, Label: name, Wanted: locked || !slices.Contains(p.Off, off), Locked: locked, switches: off})
	}
	return nil
}

// once are names, each once, without the empty one.
func once(names []string) (list []string) {
	for _, name := range names {
		if name != "" && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// store takes over what the form says of the boxes that it had and that the page has now. What else the user has chosen stays, and so does a box
// that nobody has touched since the page was drawn: it may have been chosen on another page meanwhile.
func (l *Links) store(ctx context.Context, c claim, s *shown, form map[string][]string, from string) error {
	before, after, err := l.change(ctx, c.Tenant, c.User, posthouse.PreferredByLink, func(p *posthouse.Preferences) error {
		if p.Links != c.Count {
			return posthouse.Errorf(posthouse.CodeNotFound, "the links of the user were revoked")
		}
		seen := len(form["seen"]) > 0 // what a program posts says no more than what is wanted
		if now := len(form["nothing"]) > 0; !seen || now != (len(form["was_nothing"]) > 0) {
			p.Nothing = now
		}
		off := slices.Clone(p.Off)
		for group, boxes := range map[string][]choice{"channel": s.Channels, "kind": s.Kinds, "pair": s.Pairs} {
			for _, box := range boxes {
				wanted := slices.Contains(form[group], box.Name)
				if box.Locked || !slices.Contains(form["had_"+group], box.Name) || seen && wanted == slices.Contains(form["was_"+group], box.Name) {
					continue
				}
				off = slices.DeleteFunc(off, func(o posthouse.Unwanted) bool { return o == box.switches })
				if !wanted {
					off = append(off, box.switches)
				}
			}
		}
		p.Off = off[:min(len(off), mostOff)]
		return nil
	})
	if err == nil && (before.Nothing != after.Nothing || !same(before.Off, after.Off)) {
		l.Audit.Write(ctx, wire.AuditEntry{Tenant: c.Tenant, Key: byLink, KeyName: s.User, Source: from, Action: "users.put", Target: c.User}, map[string]any{"before": before, "after": after})
	}
	return err
}

// same reports whether two lists name the same, in whatever order.
func same(a, b []posthouse.Unwanted) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(one posthouse.Unwanted) bool { return !slices.Contains(b, one) })
}

// byLink stands in the audit log for the key of a user who has chosen on the page.
const byLink = "preferences:link"

func (l *Links) draw(w http.ResponseWriter, status int, s shown, state string) {
	s.State = state
	page.Draw(w, status, s, l.Log)
}

var texts = map[string]map[string]string{
	"zh": {
		"title": "消息偏好", "ask": "请选择您想接收的消息。保存后立即生效；紧急消息不受影响。", "done": "已保存。", "button": "保存",
		"nothing": "不接收任何消息（必收的除外）", "channels": "接收方式", "kinds": "消息类型", "pairs": "已单独关闭的组合", "locked": "必收",
		"unsubscribe": "邮件里的“退订”只停用那个邮箱地址；在这里可以按类型和方式选择。", "for": "收件人",
		"bad": "链接无效或已过期。请联系给您发消息的人，或使用最近一条消息里的链接。", "broken": "暂时无法打开或保存，请稍后再试。",
	},
	"en": {
		"title": "Message preferences", "ask": "Choose which messages you want. It holds as soon as it is saved; critical messages come all the same.", "done": "Saved.", "button": "Save",
		"nothing": "No messages at all, except those that are required", "channels": "Channels", "kinds": "Kinds of messages", "pairs": "Switched off by one channel", "locked": "required",
		"unsubscribe": "“Unsubscribe” in a mail stops that mail address alone; here you choose by kind and channel.", "for": "For",
		"bad":    "The link is not valid, or its time is over. Use the link in a newer message, or ask the sender.",
		"broken": "This cannot be opened or saved now. Try again in a moment.",
	},
}
