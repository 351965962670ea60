// Package fronts is the resource of fronts: at which addresses senders of other makers hand in messages, and what came there last. What
// they speak is each one's own package; how it is taken is package inbound's.
package fronts

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/inbound"
	"github.com/posthouse/posthouse/internal/read"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Store keeps fronts.
type Store interface {
	reads
	PutFront(ctx context.Context, now time.Time, f posthouse.Front, hash string) (stored posthouse.Front, created bool, err error)
	SetFrontToken(ctx context.Context, now time.Time, tenant, name, hash string) error
	DeleteFront(ctx context.Context, now time.Time, tenant, name string) error
}

type reads interface {
	Front(ctx context.Context, tenant, name string) (posthouse.Front, error)
	Fronts(ctx context.Context, tenant, cursor string, limit int) (list []posthouse.Front, next string, err error)
	FrontCalls(ctx context.Context, tenant, front string) ([]work.FrontCall, error)
	FrontCall(ctx context.Context, tenant, front, id string) (work.FrontCall, error)
}

// Options are what the resource works on.
type Options struct {
	Store Store
	Forms []inbound.Form
	// Channel, Route, Digest and Template look for what a front names.
	Channel  func(ctx context.Context, tenant, name string) (posthouse.Channel, error)
	Route    func(ctx context.Context, tenant, name string, version int) (posthouse.Route, error)
	Digest   func(ctx context.Context, tenant, name string, version int) (posthouse.Digest, error)
	Template func(ctx context.Context, tenant, name string, version int) (posthouse.Template, error)
	// People are those whom recipients mean at a time, and what is missing of those that mean nobody. Doubts are the warnings about a route.
	People func(ctx context.Context, tenant string, to []posthouse.Recipient, now time.Time) (people []posthouse.Recipient, missing []posthouse.Problem, err error)
	Doubts func(ctx context.Context, r *posthouse.Route, now time.Time) ([]posthouse.Problem, error)
	// Open opens what is sealed.
	Open func(text, aad string) (string, error)
	// PublicURL is the server's as others see it. Defaults to the one that was asked.
	PublicURL string
	// Root is the URL of a kind of fronts that has a host name of its own, for a server's URL; empty for one that has none.
	Root func(kind, base string) string
}

// fronts is the resource.
type fronts struct{ Options }

var (
	putBody    = web.BodyOf[wire.PutFront]().Loose()
	revealBody = web.BodyOf[wire.Reveal]()
)

// Routes are the addresses of fronts.
func Routes(o Options) []web.Route {
	const reads, admin = posthouse.ScopeRead, posthouse.ScopeAdmin
	f := fronts{o}
	return web.Tagged("fronts",
		web.Get("/v1/front-kinds", reads, "List whose forms fronts can speak.", f.kinds),
		web.Get("/v1/fronts", reads, "List the fronts by name.", f.list).Paged(),
		web.Get("/v1/fronts/{name}", reads, "One front.", f.get),
		web.Put("/v1/fronts/{name}", admin, "Make a front, whose token is answered this once, or replace the settings of one.", putBody, f.put).Answers(http.StatusOK, http.StatusCreated).Whole(),
		web.Act("/v1/fronts/{name}/token", admin, "Give a front another token, which is answered this once. Within seconds the old one is refused.", f.rotate).Answers(http.StatusCreated).Whole(),
		web.Delete("/v1/fronts/{name}", admin, "Delete a front: who calls it is refused within seconds.", f.remove).Whole(),
		web.Get("/v1/fronts/{name}/calls", reads, "List the last ten calls at a front, the newest first, with the values of their bodies masked.", f.calls),
		web.Post("/v1/fronts/{name}/calls/{id}/reveal", admin, "Show the body of a call as it came. The audit log has who saw it and why; where that cannot be written nothing is shown.", revealBody, f.reveal).Witnessed(),
	)
}

func (f fronts) kinds(*web.Call) (wire.Page[wire.FrontKind], error) {
	page := wire.Page[wire.FrontKind]{Items: []wire.FrontKind{}}
	for i := range f.Forms {
		o := &f.Forms[i]
		page.Items = append(page.Items, wire.FrontKind{Kind: o.Kind, Title: o.Title, TitleZH: cmp.Or(o.TitleZH, o.Title), Groups: o.Groups, Signs: o.Signs, Expressions: o.Expressions, NamesRecipients: o.Names})
	}
	return page, nil
}

func (f fronts) list(c *web.Call) (wire.Page[posthouse.Front], error) {
	cursor, limit, err := c.Page()
	if err != nil {
		return wire.Page[posthouse.Front]{}, err
	}
	weight := func(one *posthouse.Front) int {
		return 1024 + len(one.Channel) + 200*(len(one.To)+len(one.Match)+len(one.Expressions)+len(one.Priorities))
	}
	list, next, err := read.Gather(cursor, limit, weight, func(cursor string, limit int) ([]posthouse.Front, string, error) {
		return f.Store.Fronts(c.Context(), c.Tenant(), cursor, limit)
	})
	if list == nil {
		list = []posthouse.Front{}
	}
	return wire.Page[posthouse.Front]{Items: list, Next: next}, err
}

func (f fronts) get(c *web.Call) (posthouse.Front, error) {
	return f.Store.Front(c.Context(), c.Tenant(), c.PathValue("name"))
}

func (f fronts) put(c *web.Call, in wire.PutFront) (wire.NewFront, error) {
	front := posthouse.Front{Tenant: c.Tenant(), Name: c.PathValue("name"), Kind: in.Kind, FrontSettings: in.FrontSettings}
	c.CheckName("name", front.Name)
	form := f.form(in.Kind)
	if form == nil {
		c.RefuseNew("kind", "%s", channel.Want(in.Kind, f.names()))
	}
	if err := f.check(c, form, &front); err != nil {
		return wire.NewFront{}, err
	}
	before, err := f.Store.Front(c.Context(), c.Tenant(), front.Name)
	if err != nil && posthouse.CodeOf(err) != posthouse.CodeNotFound {
		return wire.NewFront{}, err
	}
	token := inbound.NewToken()
	stored, created, err := f.Store.PutFront(c.Context(), time.Now(), front, inbound.HashToken(token))
	if err != nil {
		return wire.NewFront{}, err
	}
	out := wire.NewFront{Front: stored, Path: inbound.Path + stored.Kind}
	if created {
		c.Changed(nil, stored)
		c.Status = http.StatusCreated
		out = f.told(c, stored, token)
	} else {
		c.Changed(before, stored)
	}
	out.Warnings = f.warnings(c, &stored)
	return out, nil
}

// told is a front with its token, and with what to paste.
func (f fronts) told(c *web.Call, front posthouse.Front, token string) wire.NewFront {
	out := wire.NewFront{Front: front, Path: inbound.Path + front.Kind, Token: token}
	base := strings.TrimRight(f.PublicURL, "/")
	if base == "" {
		base = web.Origin(c.Request)
	}
	if form := f.form(front.Kind); form != nil && form.Setup != nil {
		for _, s := range form.Setup(inbound.Setup{URL: cmp.Or(f.Root(front.Kind, base), base+out.Path), Token: token, Front: front}) {
			out.Setup = append(out.Setup, wire.Snippet(s))
		}
	}
	return out
}

func (f fronts) form(kind string) *inbound.Form {
	if i := slices.IndexFunc(f.Forms, func(o inbound.Form) bool { return o.Kind == kind }); i >= 0 {
		return &f.Forms[i]
	}
	return nil
}

func (f fronts) names() []string {
	list := make([]string, len(f.Forms))
	for i := range f.Forms {
		list[i] = f.Forms[i].Kind
	}
	slices.Sort(list)
	return list
}

// Bounds of the settings of a front.
const (
	maxMatches     = 100
	maxPriorities  = 100
	maxDedupWindow = 24 * time.Hour
)

// check says everything that is wrong with the settings of a front.
func (f fronts) check(c *web.Call, form *inbound.Form, front *posthouse.Front) error {
	s := &front.FrontSettings
	if form != nil {
		checkKind(c, form, s)
	}
	if s.Language != "" && s.Language != "en" && s.Language != "zh" {
		c.RefuseNew("language", "is %.20q: want en or zh", s.Language)
	}
	if s.Format != "" && s.Format != posthouse.TextContent && s.Format != posthouse.MarkdownContent {
		c.RefuseNew("format", "is %.20q: want text or markdown", s.Format)
	}
	if w := s.DedupWindow.Std(); w < 0 || w > maxDedupWindow {
		c.RefuseNew("dedup_window", "is %s: want 0s to %s", s.DedupWindow, posthouse.Duration(maxDedupWindow))
	}
	for _, word := range slices.Sorted(maps.Keys(s.Priorities)) {
		if p := s.Priorities[word]; !p.Valid() {
			c.RefuseNew("priorities."+word, "is %.20q: want high, normal or low", p)
		}
		c.CheckWord("priorities", word, draft.MaxWord)
	}
	if len(s.Priorities) > maxPriorities {
		c.RefuseNew("priorities", "has %d entries: at most %d are allowed", len(s.Priorities), maxPriorities)
	}
	c.CheckWord("message_kind", s.MessageKind, draft.MaxWord)
	if err := f.checkTargets(c, form != nil && form.Names, s); err != nil {
		return err
	}
	return c.Wrong()
}

func checkKind(c *web.Call, form *inbound.Form, s *posthouse.FrontSettings) {
	switch {
	case s.Each == "":
	case !form.Groups:
		c.RefuseNew("each", "has no meaning for the kind %s: a call brings one thing", form.Kind)
	case s.Each != "group" && s.Each != "alert":
		c.RefuseNew("each", "is %.20q: want group or alert", s.Each)
	}
	if s.Signed && !form.Signs {
		c.RefuseNew("signed", "has no meaning for the kind %s: its senders do not sign", form.Kind)
	}
	if len(s.Expressions) > 0 && !form.Expressions {
		c.RefuseNew("expressions", "have no meaning for the kind %s", form.Kind)
	}
	if form.Check != nil {
		c.Add(form.Check(*s))
	}
}

// checkTargets checks the channels, recipients and the template. Where the sender names the recipients the front may have none.
func (f fronts) checkTargets(c *web.Call, named bool, s *posthouse.FrontSettings) error {
	to := s.To
	if named && len(to) == 0 {
		s.To, to = []posthouse.Recipient{}, []posthouse.Recipient{{Address: "x"}}
	}
	if s.To == nil {
		s.To = []posthouse.Recipient{}
	}
	if err := f.checkTarget(c, "", s.Channel, s.Route, to); err != nil {
		return err
	}
	if err := f.checkDigest(c, s); err != nil {
		return err
	}
	if len(s.Match) > maxMatches {
		c.RefuseNew("match", "has %d lines: at most %d are allowed", len(s.Match), maxMatches)
		return nil
	}
	for i, m := range s.Match {
		at := fmt.Sprintf("match[%d].", i)
		if len(m.If) == 0 {
			c.RefuseNew(at+"if", "is empty: it would fit everything")
		}
		channel, route := m.Channel, m.Route
		if channel == "" && route == "" {
			channel, route = s.Channel, s.Route
			if len(m.To) == 0 {
				c.RefuseNew(strings.TrimSuffix(at, "."), "changes nothing: want a channel, a route or recipients")
			}
		}
		if err := f.checkTarget(c, at, channel, route, either(m.To, to)); err != nil {
			return err
		}
	}
	if s.Template == "" {
		return nil
	}
	_, err := f.Template(c.Context(), c.Tenant(), s.Template, 0)
	return missing(c, err, "template", "there is no template %.80q", s.Template)
}

// checkDigest checks that there is the digest that a front names. A line of match may lead to a route all the same: what follows it is not gathered.
func (f fronts) checkDigest(c *web.Call, s *posthouse.FrontSettings) error {
	c.CheckWord("digest", s.Digest, draft.MaxWord)
	switch {
	case s.Digest == "":
		return nil
	case s.Route != "":
		c.RefuseNew("digest", "stands beside a route, which cannot keep it: name a channel, or leave it out")
		return nil
	}
	_, err := f.Digest(c.Context(), c.Tenant(), s.Digest, 0)
	return missing(c, err, "digest", "there is no digest %.80q", s.Digest)
}

// missing refuses a field that names what is not there; any other error is not the caller's.
func missing(c *web.Call, err error, path, format, name string) error {
	if posthouse.CodeOf(err) != posthouse.CodeNotFound {
		return err
	}
	c.RefuseNew(path, format, name)
	return nil
}

func either(a, b []posthouse.Recipient) []posthouse.Recipient {
	if len(a) > 0 {
		return a
	}
	return b
}

// checkTarget checks a channel or a route, and recipients as those of a message.
func (f fronts) checkTarget(c *web.Call, at, channel, route string, to []posthouse.Recipient) error {
	d := posthouse.Draft{Channel: channel, Route: route, To: to, Content: &posthouse.Content{Text: "x"}}
	p := draft.Problems{Path: at}
	draft.Check(&d, draft.MaxRecipients, time.Now(), &p)
	c.Add(p.List)
	if route != "" {
		return f.checkRoute(c, at, route, to)
	}
	if channel == "" {
		return nil
	}
	_, err := f.Channel(c.Context(), c.Tenant(), channel)
	return missing(c, err, at+"channel", "there is no channel %.80q", channel)
}

// checkRoute checks that there is a route, and that each of its steps has recipients where there are no others.
func (f fronts) checkRoute(c *web.Call, at, name string, to []posthouse.Recipient) error {
	r, err := f.Route(c.Context(), c.Tenant(), name, 0)
	if err != nil {
		return missing(c, err, at+"route", "there is no route %.80q", name)
	}
	if i := slices.IndexFunc(r.Steps, func(s posthouse.RouteStep) bool { return len(s.To) == 0 }); i >= 0 && len(to) == 0 {
		c.RefuseNew(at+"to", "is required: step %d of the route %s names no recipients of its own", i+1, name)
	}
	return nil
}

func (f fronts) rotate(c *web.Call) (wire.NewFront, error) {
	front, err := f.get(c)
	if err != nil {
		return wire.NewFront{}, err
	}
	token := inbound.NewToken()
	if err := f.Store.SetFrontToken(c.Context(), time.Now(), c.Tenant(), front.Name, inbound.HashToken(token)); err != nil {
		return wire.NewFront{}, err
	}
	return f.told(c, front, token), nil
}

func (f fronts) remove(c *web.Call) error {
	if before, err := f.get(c); err == nil {
		c.Changed(before, nil)
	}
	return f.Store.DeleteFront(c.Context(), time.Now(), c.Tenant(), c.PathValue("name"))
}

func (f fronts) calls(c *web.Call) (wire.Page[posthouse.FrontCall], error) {
	page := wire.Page[posthouse.FrontCall]{Items: []posthouse.FrontCall{}}
	front, err := f.get(c)
	if err != nil {
		return page, err
	}
	list, err := f.Store.FrontCalls(c.Context(), c.Tenant(), front.Name)
	for i := range list {
		page.Items = append(page.Items, list[i].FrontCall)
	}
	return page, err
}

func (f fronts) reveal(c *web.Call, in wire.Reveal) (wire.RevealedCall, error) {
	if strings.TrimSpace(in.Reason) == "" {
		c.RefuseNew("reason", "is required: it stands in the audit log")
	}
	c.CheckWord("reason", in.Reason, 255)
	if err := c.Wrong(); err != nil {
		return wire.RevealedCall{}, err
	}
	name, id := c.PathValue("name"), c.PathValue("id")
	c.Asked(in, 1)
	found, err := f.Store.FrontCall(c.Context(), c.Tenant(), name, id)
	if err != nil {
		return wire.RevealedCall{}, err
	}
	body, err := f.Open(found.Body, inbound.SealedFor(c.Tenant(), name, id))
	if err != nil {
		return wire.RevealedCall{}, posthouse.Errorf(posthouse.CodeConflict, "the body was sealed with a key that is gone")
	}
	return wire.RevealedCall{ID: id, Body: strings.ToValidUTF8(body, "\uFFFD")}, nil
}
