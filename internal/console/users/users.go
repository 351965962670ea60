// Package users is the console's page of a user of the directory: what the user wants of messages, what comes all the same, when the user is
// left alone, and the zone, language and manager that decide more of it. What is sent is decided by internal/suppress and internal/quiet.
package users

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/console/host"
	"github.com/posthouse/posthouse/wire"
)

//go:embed pages
var files embed.FS

// Pages are the page of a user, with its two forms.
func Pages() host.Pages {
	return host.Pages{
		Files: files, Words: texts(),
		Routes: []host.Route{
			host.Looks("directory/{id}", "users.read", show),
			host.Acts("directory/{id}", "users.change", change),
			host.Acts("directory/{id}/preferences", "users.put", choose),
		},
	}
}

// sheet is what the page shows.
type sheet struct {
	posthouse.User
	wire.EffectivePreferences
	Reached  []reached
	Kinds    []box
	Ways     []box
	Off      []string // what the form has no box for: kinds on a channel
	Order    string   // of channels
	Tags     tags
	Problems []posthouse.Problem
	About    string // the form that the problems are of: entry or preferences
	Managed  string // how the manager is called, where that is known
}

// tags are the states that the forms are over.
type tags struct{ Entry, Preferences string }

// reached is an address of the user.
type reached struct{ Channel, Address string }

// box is one tick of the form: ticked is wanted.
type box struct {
	Name   string
	Wanted bool
	Locked bool // it is mandatory
}

func read(v *host.Visit) (s sheet, err error) {
	id := v.R.PathValue("id")
	if s.User, err = v.API.Users.Get(v.Ctx(), id); err != nil {
		return s, err
	}
	if s.EffectivePreferences, err = v.API.Users.EffectivePreferences(v.Ctx(), id); err != nil {
		return s, err
	}
	s.Tags = tags{s.User.Tag(), s.Preferences.Tag()}
	for _, name := range slices.Sorted(maps.Keys(s.User.Addresses)) {
		s.Reached = append(s.Reached, reached{name, s.User.Addresses[name]})
	}
	s.boxes()
	if s.User.Manager == "" {
		return s, nil
	}
	above, err := v.API.Users.Get(v.Ctx(), s.User.Manager)
	if posthouse.CodeOf(err) == posthouse.CodeNotFound {
		return s, nil // the entry's warnings say so
	}
	s.Managed = above.Name
	return s, err
}

// boxes makes the ticks: of the kinds that the tenant names, the channels in which the user has an address, and what is off.
func (s *sheet) boxes() {
	kinds, ways := slices.Concat(s.MandatoryKinds, s.OptionalKinds), slices.Sorted(maps.Keys(s.User.Addresses))
	ways = slices.DeleteFunc(ways, func(name string) bool { return !slices.Contains(s.Channels, name) }) // the others send nothing
	for _, off := range s.Preferences.Off {
		switch {
		case off.Kind == "":
			ways = append(ways, off.Channel)
		case off.Channel == "":
			kinds = append(kinds, off.Kind)
		default:
			s.Off = append(s.Off, off.Kind+"@"+off.Channel)
		}
	}
	for i, name := range kinds {
		if slices.Index(kinds, name) == i {
			locked := slices.Contains(s.MandatoryKinds, name)
			s.Kinds = append(s.Kinds, box{name, locked || !slices.Contains(s.Preferences.Off, posthouse.Unwanted{Kind: name}), locked})
		}
	}
	for i, name := range ways {
		if slices.Index(ways, name) == i {
			s.Ways = append(s.Ways, box{name, !slices.Contains(s.Preferences.Off, posthouse.Unwanted{Channel: name}), false})
		}
	}
	s.Order = strings.Join(s.Preferences.Prefer, ", ")
}

func show(v *host.Visit) error {
	s, err := read(v)
	if err != nil {
		return err
	}
	return v.Show("user", "directory", s)
}

// change stores zone, language and manager.
func change(v *host.Visit) error {
	zone, language, manager := v.Form("time_zone"), v.Form("language"), v.Form("manager")
	_, err := v.API.Users.Change(over(v), v.R.PathValue("id"), wire.UserChange{TimeZone: &zone, Language: &language, Manager: &manager})
	return answer(v, err, "entry", func(s *sheet) { s.User.TimeZone, s.User.Language, s.User.Manager = zone, language, manager })
}

// choose stores what the user wants. Boxes that are not ticked are off, and so is what the lines name. What the form did not have is not
// lost: it is stored over the state that the form was made of alone.
func choose(v *host.Visit) error {
	p := wire.PutPreferences{Nothing: v.Form("nothing") != "", Prefer: names(v.Form("prefer"))}
	for _, name := range v.R.PostForm["had_kind"] {
		if !slices.Contains(v.R.PostForm["kind"], name) {
			p.Off = append(p.Off, posthouse.Unwanted{Kind: name})
		}
	}
	for _, name := range v.R.PostForm["had_channel"] {
		if !slices.Contains(v.R.PostForm["channel"], name) {
			p.Off = append(p.Off, posthouse.Unwanted{Channel: name})
		}
	}
	for line := range strings.Lines(v.Form("off")) {
		kind, channel, _ := strings.Cut(strings.TrimSpace(line), "@")
		if kind+channel != "" {
			p.Off = append(p.Off, posthouse.Unwanted{Kind: kind, Channel: channel})
		}
	}
	_, err := v.API.Users.Choose(over(v), v.R.PathValue("id"), p)
	return answer(v, err, "preferences", func(s *sheet) {
		s.Preferences.Nothing, s.Preferences.Off, s.Preferences.Prefer = p.Nothing, p.Off, p.Prefer
		s.Kinds, s.Ways, s.Off = nil, nil, nil
		s.boxes()
	})
}

// over is for a call that stores over what the form was made of alone. A form that does not say what that was is over nothing.
func over(v *host.Visit) context.Context {
	return client.IfMatch(v.Noted(), cmp.Or(v.Form("tag"), "none"))
}

// answer leads on where a form was stored; else it shows the page with what is wrong and what was typed.
func answer(v *host.Visit, err error, form string, typed func(*sheet)) error {
	if err == nil {
		return v.GoTo(v.At("directory", v.R.PathValue("id")) + "?said=stored")
	}
	status := http.StatusUnprocessableEntity
	var problems []posthouse.Problem
	var coded *posthouse.Error
	switch {
	case posthouse.CodeOf(err) == posthouse.CodeChanged:
		status, problems = http.StatusConflict, []posthouse.Problem{{Message: v.Say("user_moved")}}
	case errors.As(err, &coded) && coded.Code == posthouse.CodeInvalid:
		problems = coded.Problems
	default:
		return err
	}
	s, err := read(v)
	if err != nil {
		return err
	}
	typed(&s)
	s.Problems, s.About = problems, form
	return v.Draw(status, "user", "directory", s)
}

// names are those of a list with commas, in either script.
func names(text string) (list []string) {
	for _, name := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '，' || r == '、' }) {
		if name = strings.TrimSpace(name); name != "" {
			list = append(list, name)
		}
	}
	return list
}
