// Package quiet is the console's pages of when people are left alone, and how many messages one person may get: of the tenant, and of each
// channel. What follows from either is internal/quiet's.
package quiet

import (
	"embed"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/console/host"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

//go:embed pages
var files embed.FS

// Pages are the pages of quiet hours and caps.
func Pages() host.Pages {
	reads := web.Use{Scope: posthouse.ScopeAdmin, Action: "tenants.put"}
	return host.Pages{
		Files: files, Words: texts(),
		Routes: []host.Route{
			{Method: http.MethodGet, Path: "quiet", Use: reads, Serve: func(v *host.Visit) error { return show(v, ofTenant{v}) }},
			host.Acts("quiet", "tenants.put", func(v *host.Visit) error { return change(v, ofTenant{v}) }),
			host.Looks("channels/{name}/quiet", "channels.read", func(v *host.Visit) error { return show(v, ofChannel{v}) }),
			host.Acts("channels/{name}/quiet", "channels.put", func(v *host.Visit) error { return change(v, ofChannel{v}) }),
		},
	}
}

// owner is what has quiet hours and caps.
type owner interface {
	// read returns what it has, with a tag. store takes the tag, and is errMoved where somebody has changed it since.
	read() (r rules, tag string, err error)
	store(r rules, tag string) error
	// address is that of its page, and about its name, empty of the tenant.
	address() string
	about() string
	// logged is of what the audit log has its changes.
	logged() (kind, name string)
}

// rules are quiet hours and caps.
type rules struct {
	hours []posthouse.QuietHours
	caps  []posthouse.Cap
}

// ofTenant are those of the tenant, which hold for all of its channels.
type ofTenant struct{ v *host.Visit }

func (o ofTenant) name() string    { return o.v.R.PathValue("tenant") }
func (o ofTenant) about() string   { return "" }
func (o ofTenant) address() string { return o.v.At("quiet") }

func (o ofTenant) logged() (kind, name string)  { return "tenants", o.name() }
func (o ofChannel) logged() (kind, name string) { return "channels", o.about() }

func (o ofTenant) read() (rules, string, error) {
	t, err := o.v.API.Tenants.Get(o.v.Ctx(), o.name())
	return rules{t.QuietHours, t.Caps}, t.Tag(), err
}

func (o ofTenant) store(r rules, tag string) error {
	t, err := o.v.API.Tenants.Get(o.v.Ctx(), o.name())
	if err != nil {
		return err
	}
	t.QuietHours, t.Caps = r.hours, r.caps
	_, err = o.v.API.Tenants.Put(client.IfMatch(o.v.Noted(), tag), t.Name, wire.PutTenantOf(t.Tenant))
	return moved(err)
}

// moved is errMoved where somebody else has changed what a form is over.
func moved(err error) error {
	if posthouse.CodeOf(err) == posthouse.CodeChanged {
		return errMoved
	}
	return err
}

// ofChannel are those of a channel.
type ofChannel struct{ v *host.Visit }

func (o ofChannel) about() string   { return o.v.R.PathValue("name") }
func (o ofChannel) address() string { return o.v.At("channels", o.about(), "quiet") }

func (o ofChannel) read() (rules, string, error) {
	ch, err := o.v.API.Channels.Get(o.v.Ctx(), o.about())
	return rules{ch.QuietHours, ch.Caps}, ch.Tag(), err
}

func (o ofChannel) store(r rules, tag string) error {
	ch, err := o.v.API.Channels.Get(o.v.Ctx(), o.about())
	if err != nil {
		return err
	}
	ch.QuietHours, ch.Caps = r.hours, r.caps
	_, _, err = o.v.API.Channels.Put(client.IfMatch(o.v.Noted(), tag), ch)
	return moved(err)
}

// errMoved says that another person has changed what was read.
var errMoved = errors.New("changed meanwhile")

// page is what a page shows.
type page struct {
	About    string // the channel, empty for the tenant
	Kind     string // whose settings they are, as the audit log has it: of the tenant, or of the channel
	Name     string // which of these
	Address  string
	Tag      string
	Hours    []hoursRow
	Caps     []capRow
	Rosters  []string
	Problems []posthouse.Problem
}

// hoursRow are quiet hours as a form has them: each text as it was typed.
type hoursRow struct {
	From, To, Days, Calendar, Kinds, Except, Users, Zone, Spread string
}

// capRow is a cap as a form has it.
type capRow struct{ Max, Per, Kinds, Then string }

// spare is how many empty rows a form has, for what is to be added.
const spare = 2

// mostRows bounds the rows of a form that are read.
const mostRows = 40

func show(v *host.Visit, o owner) error {
	r, tag, err := o.read()
	if err != nil {
		return err
	}
	p := page{Tag: tag}
	for _, h := range r.hours {
		p.Hours = append(p.Hours, hoursRow{h.From, h.To, string(h.Days), h.Calendar, listed(h.Kinds), listed(h.ExceptKinds), listed(h.Users), h.TimeZone, lasting(h.Spread)})
	}
	for _, c := range r.caps {
		p.Caps = append(p.Caps, capRow{strconv.Itoa(c.Max), lasting(c.Per), listed(c.Kinds), string(c.Then)})
	}
	return draw(v, o, p, http.StatusOK)
}

func draw(v *host.Visit, o owner, p page, status int) error {
	p.About, p.Address = o.about(), o.address()
	p.Kind, p.Name = o.logged()
	p.Hours = append(p.Hours, make([]hoursRow, spare)...)
	p.Caps = append(p.Caps, make([]capRow, spare)...)
	list, err := v.API.Rosters.List(v.Ctx())
	if err != nil {
		return err
	}
	for i := range list {
		p.Rosters = append(p.Rosters, list[i].Name)
	}
	return v.Draw(status, "quiet", "quiet", p)
}

// change stores what a form says, whole. Rows without anything in them are left out.
func change(v *host.Visit, o owner) error {
	p := page{Tag: v.Form("tag")}
	var r rules
	at := func(name string, i int) string { return v.Form(name + strconv.Itoa(i)) }
	for i := range mostRows {
		h := hoursRow{at("from", i), at("to", i), at("days", i), at("calendar", i), at("kinds", i), at("except", i), at("users", i), at("zone", i), at("spread", i)}
		if h.From+h.To+h.Kinds+h.Except+h.Users+h.Spread == "" {
			continue
		}
		spread, err := lasts(h.Spread)
		if err != nil {
			p.wrong(v, fmt.Sprintf("quiet_hours[%d].spread", len(p.Hours)))
		}
		p.Hours = append(p.Hours, h)
		r.hours = append(r.hours, posthouse.QuietHours{
			From: h.From, To: h.To, Days: posthouse.QuietDays(h.Days), Calendar: h.Calendar, Kinds: names(h.Kinds), ExceptKinds: names(h.Except), Users: names(h.Users),
			TimeZone: h.Zone, Spread: spread,
		})
	}
	for i := range mostRows {
		c := capRow{at("max", i), at("per", i), at("capkinds", i), at("then", i)}
		if c.Max+c.Per+c.Kinds == "" {
			continue
		}
		most, err := strconv.Atoi(c.Max)
		if err != nil {
			p.Problems = append(p.Problems, posthouse.Problem{Path: fmt.Sprintf("caps[%d].max", len(p.Caps)), Message: v.Say("quiet_want_number")})
		}
		per, err := lasts(c.Per)
		if err != nil {
			p.wrong(v, fmt.Sprintf("caps[%d].per", len(p.Caps)))
		}
		p.Caps = append(p.Caps, c)
		r.caps = append(r.caps, posthouse.Cap{Max: most, Per: per, Kinds: names(c.Kinds), Then: posthouse.CapThen(c.Then)})
	}
	if len(p.Problems) > 0 {
		return draw(v, o, p, http.StatusUnprocessableEntity)
	}
	err := o.store(r, p.Tag)
	var coded *posthouse.Error
	switch {
	case err == nil:
		return v.GoTo(o.address() + "?said=stored")
	case errors.Is(err, errMoved):
		if _, p.Tag, err = o.read(); err != nil {
			return err
		}
		p.Problems = []posthouse.Problem{{Message: v.Say("quiet_moved")}}
		return draw(v, o, p, http.StatusConflict)
	case errors.As(err, &coded) && coded.Code == posthouse.CodeInvalid:
		p.Problems = coded.Problems
		return draw(v, o, p, http.StatusUnprocessableEntity)
	}
	return err
}

// wrong says that a text is no span of time.
func (p *page) wrong(v *host.Visit, path string) {
	p.Problems = append(p.Problems, posthouse.Problem{Path: path, Message: v.Say("quiet_want_span")})
}

func listed(names []string) string { return strings.Join(names, ", ") }

// names are those of a list with commas, in either script.
func names(text string) []string {
	list := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '，' || r == '、' })
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	if list = slices.DeleteFunc(list, func(s string) bool { return s == "" }); len(list) == 0 {
		return nil // for all, where an empty list would be for none
	}
	return list
}

func lasting(d posthouse.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

func lasts(text string) (d posthouse.Duration, err error) {
	if text == "" {
		return 0, nil
	}
	return d, d.UnmarshalText([]byte(text))
}
