package console

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/console/form"
	"github.com/posthouse/posthouse/wire"
)

// formed is what people make and change by a form.
type formed interface {
	// shown is the form of what is stored.
	shown() form.Form
	// put stores what is read of a form. Where the reader has found a problem, it stores nothing and says what the API finds besides.
	put(ctx context.Context, r *form.Reader) error
	// taken reports whether there is one of a name.
	taken(name string) bool
	// again is the thing as it is stored now.
	again() (formed, error)
	// address is its page.
	address() string
}

// dressed shows more on the page of a form than the form.
type dressed interface{ dress(f form.Form) any }

// made goes on after something new was stored, elsewhere than to its page.
type made interface{ whenMade() error }

// drawnForm is what the page of a form shows.
func drawnForm(of formed, f form.Form) any {
	if d, ok := of.(dressed); ok {
		return d.dress(f)
	}
	return f
}

// newForm and editForm are the titles of forms of channels: of one that makes something, and of one that changes it.
const (
	newForm  = "new_channel"
	editForm = "edit_channel"
)

// unnamed stands for a name that is missing, for the API to look at the rest.
const unnamed = "unnamed"

// drawForm shows the form of what is stored.
func (v *visit) drawForm(of formed) error {
	f := of.shown()
	return v.show(formPage(&f), formTitle(&f), drawnForm(of, f))
}

// formPage is the page of a form.
func formPage(f *form.Form) string { return cmp.Or(f.Of, "channel") + "-form" }

func formTitle(f *form.Form) string {
	switch {
	case f.New && f.Of != "":
		return "new_" + f.Of
	case f.Of != "":
		return f.Of + "s"
	case f.New && f.Channel != "":
		return "new_account"
	case f.New:
		return newForm
	}
	return editForm
}

// storeForm stores what a form says, or shows it again with what is wrong.
func (v *visit) storeForm(of formed) error {
	f := of.shown()
	f.Refill(v.form)
	ctx := client.IfMatch(v.ctx(), f.Version)
	if f.New {
		f.Name, ctx = v.form("name"), client.IfNew(v.ctx())
	}
	if !f.New && v.form("version") != f.Version {
		return v.bothForms(of)
	}
	r := form.Reader{Sent: v.form, Has: v.has, Say: func(name string) string { return say(name, v.zh) }}
	switch {
	case f.New && f.Name == "":
		r.Problems = problemAt("name", say("name_missing", v.zh))
	case f.New && of.taken(f.Name):
		r.Problems = problemAt("name", say("name_taken", v.zh))
	}
	err := of.put(withNote(ctx, v.form("note")), &r)
	var coded *posthouse.Error
	switch {
	case len(r.Problems) > 0 && (err == nil || posthouse.CodeOf(err) == posthouse.CodeInvalid):
		return v.refuseForm(of, f, allProblems(r.Problems, err))
	case err == nil && f.New:
		if m, ok := of.(made); ok {
			return m.whenMade()
		}
		return v.goTo(of.address() + "?said=stored")
	case err == nil:
		return v.goTo(of.address() + "?said=stored")
	case posthouse.CodeOf(err) == posthouse.CodeChanged && f.New:
		return v.refuseForm(of, f, problemAt("name", say("name_taken", v.zh)))
	case posthouse.CodeOf(err) == posthouse.CodeChanged:
		return v.bothForms(of)
	case errors.As(err, &coded) && coded.Code == posthouse.CodeInvalid:
		return v.refuseForm(of, f, coded.Problems)
	}
	return err
}

// allProblems are those that a form's reader found, and behind them those that the API found in other fields.
func allProblems(read []posthouse.Problem, err error) []posthouse.Problem {
	var coded *posthouse.Error
	if !errors.As(err, &coded) {
		return read
	}
	all := slices.Clone(read)
	for _, p := range coded.Problems {
		if !slices.ContainsFunc(read, func(r posthouse.Problem) bool { return r.Path == p.Path }) {
			all = append(all, p)
		}
	}
	return all
}

func (v *visit) refuseForm(of formed, f form.Form, problems []posthouse.Problem) error {
	f.Problems = problems
	v.filled = &f
	return v.draw(http.StatusUnprocessableEntity, formPage(&f), formTitle(&f), drawnForm(of, f))
}

// bothForms shows a form as it was sent, and beside each field what somebody else has stored meanwhile.
func (v *visit) bothForms(of formed) error {
	now, err := of.again()
	if err != nil {
		return err
	}
	f := now.shown()
	f.Refill(v.form)
	f.Compare(now.shown(), say("yes", v.zh), say("no", v.zh))
	return v.draw(http.StatusConflict, formPage(&f), formTitle(&f), drawnForm(now, f))
}

// channelForm is a channel that is made or changed by a form.
type channelForm struct {
	v *visit
	d wire.Driver
	posthouse.Channel
}

func (c channelForm) shown() form.Form { return form.OfChannel(c.d, c.Channel) }

func (c channelForm) put(ctx context.Context, r *form.Reader) error {
	in := r.Channel(c.d, c.Channel)
	if in.Name = cmp.Or(in.Name, c.v.form("name"), unnamed); len(r.Problems) > 0 {
		return c.v.call().Channels.Check(c.v.ctx(), in)
	}
	if c.Name != "" && alike(in, c.Channel) && c.v.form("note") == "" {
		return nil // a version and a line of the audit log would say that something has changed
	}
	_, _, err := c.v.call().Channels.Put(ctx, in)
	return err
}

// alike reports whether two channels are stored alike.
func alike(a, b posthouse.Channel) bool {
	one, err := json.Marshal(a)
	other, err2 := json.Marshal(b)
	return err == nil && err2 == nil && bytes.Equal(one, other)
}

func (c channelForm) taken(name string) bool {
	_, err := c.v.call().Channels.Get(c.v.ctx(), name)
	return err == nil
}

func (c channelForm) again() (formed, error) { return channelOf(c.v, c.Name) }

func (c channelForm) address() string { return c.v.at("channels", cmp.Or(c.Name, c.v.form("name"))) }

// channelOf is a stored channel with the driver that it is made of.
func channelOf(v *visit, name string) (c channelForm, err error) {
	c.v = v
	if c.Channel, err = v.call().Channels.Get(v.ctx(), name); err == nil {
		c.d, err = v.driver(c.Driver)
	}
	return c, err
}

func showDrivers(v *visit) error {
	list, err := v.call().Channels.Drivers(v.ctx())
	if err != nil {
		return err
	}
	return v.show("drivers", newForm, list)
}

// driver is the one of a name.
func (v *visit) driver(name string) (wire.Driver, error) {
	list, err := v.call().Channels.Drivers(v.ctx())
	if err != nil {
		return wire.Driver{}, err
	}
	i := slices.IndexFunc(list, func(d wire.Driver) bool { return d.Name == name })
	if i < 0 {
		return wire.Driver{}, nowhere(v)
	}
	return list[i], nil
}

// onNewChannel does something with the form of a new channel.
func onNewChannel(do func(*visit, formed) error) func(*visit) error {
	return func(v *visit) error {
		d, err := v.driver(v.r.PathValue("driver"))
		if err != nil {
			return err
		}
		return do(v, channelForm{v, d, posthouse.Channel{Driver: d.Name}})
	}
}

// onChannel does something with the form of a channel.
func onChannel(do func(*visit, formed) error) func(*visit) error {
	return func(v *visit) error {
		c, err := channelOf(v, v.r.PathValue("name"))
		if err != nil {
			return err
		}
		return do(v, c)
	}
}

// Say is the text of a driver in the visitor's language.
func (f frame) Say(en, zh string) string {
	if f.v.zh {
		return cmp.Or(zh, en)
	}
	return en
}
