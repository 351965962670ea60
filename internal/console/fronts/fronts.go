// Package fronts is the console's pages of fronts: the list with what came last, and the page of a front with the last calls, the lines to
// paste at its sender and the forms that change it. What a front does with a call is package inbound's.
package fronts

import (
	"cmp"
	"embed"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/console/host"
	"github.com/posthouse/posthouse/internal/fronttext"
	"github.com/posthouse/posthouse/wire"
)

//go:embed pages
var files embed.FS

// Pages are the pages of fronts.
func Pages() host.Pages {
	return host.Pages{
		Files: files, Words: texts(),
		Routes: []host.Route{
			host.Looks("fronts", "fronts.read", showAll),
			host.Acts("fronts", "fronts.put", add),
			host.Looks("fronts/{name}", "fronts.read", show),
			host.Acts("fronts/{name}", "fronts.put", change),
			host.Acts("fronts/{name}/token", "fronts.token", rotate),
			host.Acts("fronts/{name}/calls/{id}/reveal", "fronts.reveal", reveal),
		},
	}
}

// line is one front of the list.
type line struct {
	posthouse.Front
	Title string
	For   string
	Last  posthouse.FrontOutcome // empty where nothing came
	Bad   int                    // of the last calls, those that became nothing
}

// list is what the page of all fronts shows.
type list struct {
	Fronts []line
	New    settings
}

// settings are the form of a front as somebody typed it.
type settings struct {
	Name  string
	Kinds []wire.FrontKind
	posthouse.Front
	Recipients, Matches, Priority, Expression, Window string
	Problems                                          []posthouse.Problem
}

// mostAsked bounds for how many fronts of the list the last calls are read.
const mostAsked = 100

func showAll(v *host.Visit) error {
	l, err := listOf(v)
	if err != nil {
		return err
	}
	return v.Show("fronts", "fronts", l)
}

func listOf(v *host.Visit) (l list, err error) {
	if l.New.Kinds, err = v.API.Fronts.Kinds(v.Ctx()); err != nil {
		return l, err
	}
	all, err := v.API.Fronts.List(v.Ctx())
	if err != nil {
		return l, err
	}
	for i, f := range all {
		one := line{Front: f, Title: l.New.title(v, f.Kind), For: l.New.forWhom(v, f)}
		if i < mostAsked && !f.LastAt.IsZero() {
			calls, err := v.API.Fronts.Calls(v.Ctx(), f.Name)
			if err != nil && posthouse.CodeOf(err) != posthouse.CodeNotFound { // it was deleted meanwhile
				return l, err
			}
			one.Last, one.Bad = sumOf(calls)
		}
		l.Fronts = append(l.Fronts, one)
	}
	return l, nil
}

// forWhom are the recipients of a front in words.
func (s *settings) forWhom(v *host.Visit, f posthouse.Front) string {
	named := slices.ContainsFunc(s.Kinds, func(k wire.FrontKind) bool { return k.Kind == f.Kind && k.NamesRecipients })
	switch {
	case len(f.To) == 0 && named:
		return v.Say("front_named")
	case len(f.To) == 0:
		return v.Say("told_route_names")
	}
	return strings.Join(fronttext.OfRecipients(f.To), ", ")
}

// sumOf is the outcome of the last call, and how many of all became nothing.
func sumOf(calls []posthouse.FrontCall) (last posthouse.FrontOutcome, bad int) {
	for i := range calls {
		last = cmp.Or(last, calls[i].Outcome)
		if calls[i].Outcome == posthouse.FrontRefused || calls[i].Outcome == posthouse.FrontUnavailable {
			bad++
		}
	}
	return last, bad
}

// title is what a kind is called in the person's language.
func (s *settings) title(v *host.Visit, kind string) string {
	for _, k := range s.Kinds {
		if k.Kind == kind {
			if v.Say("front_lang") == "zh" {
				return k.TitleZH
			}
			return k.Title
		}
	}
	return kind
}

// Is reports whether the kind of the form has an ability, of a new front whether any kind has.
func (s settings) Is(ability string) bool {
	for _, k := range s.Kinds {
		has := map[string]bool{"groups": k.Groups, "signs": k.Signs, "expressions": k.Expressions, "names": k.NamesRecipients}[ability]
		if has && (s.Kind == "" || s.Kind == k.Kind || s.CreatedAt.IsZero()) {
			return true
		}
	}
	return false
}

// sheet is what the page of a front shows.
type sheet struct {
	settings
	Title    string
	For      string
	Calls    []posthouse.FrontCall
	Bad      int
	Setup    []wire.Snippet      // after the token was drawn
	Warnings []posthouse.Problem // of what was just stored
	Revealed *wire.RevealedCall
}

// Fleeting reports whether the page has a token, or what a caller said.
func (s *sheet) Fleeting() bool { return len(s.Setup) > 0 || s.Revealed != nil }

// Form is what the form of the page shows.
func (s *sheet) Form() settings { return s.settings }

func sheetOf(v *host.Visit) (s *sheet, err error) {
	s = &sheet{}
	if s.Front, err = v.API.Fronts.Get(v.Ctx(), v.R.PathValue("name")); err != nil {
		return nil, err
	}
	if s.Kinds, err = v.API.Fronts.Kinds(v.Ctx()); err != nil {
		return nil, err
	}
	if s.Calls, err = v.API.Fronts.Calls(v.Ctx(), s.Front.Name); err != nil {
		return nil, err
	}
	_, s.Bad = sumOf(s.Calls)
	s.settings.Name, s.Title, s.For = s.Front.Name, s.title(v, s.Kind), s.forWhom(v, s.Front)
	s.write()
	return s, nil
}

// write fills in the form what is stored.
func (s *settings) write() {
	s.Recipients = strings.Join(fronttext.OfRecipients(s.To), "\n")
	var lines []string
	for _, m := range s.Match {
		lines = append(lines, fronttext.OfMatch(m))
	}
	s.Matches, s.Priority, s.Expression = strings.Join(lines, "\n"), fronttext.OfPairs(s.Priorities), fronttext.OfPairs(s.Expressions)
	if s.DedupWindow != 0 {
		s.Window = s.DedupWindow.String()
	}
}

func show(v *host.Visit) error {
	s, err := sheetOf(v)
	if err != nil {
		return err
	}
	return v.Show("front", "fronts", s)
}

// read takes the form.
func (s *settings) read(v *host.Visit) {
	s.Name = cmp.Or(v.R.PathValue("name"), v.Form("name"))
	kind := cmp.Or(s.Kind, v.Form("kind"))
	s.Front = posthouse.Front{Name: s.Name, Kind: kind, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt, LastAt: s.LastAt}
	s.Route, s.Digest = v.Form("route"), v.Form("digest")
	s.Channel, s.Template, s.MessageKind, s.Language, s.Each, s.Signed = v.Form("channel"), v.Form("template"), v.Form("message_kind"), v.Form("language"), v.Form("each"), v.Form("signed") != ""
	s.Format = posthouse.ContentType(v.Form("format"))
	s.Recipients, s.Matches, s.Priority, s.Expression, s.Window = v.Form("recipients"), v.Form("match"), v.Form("priorities"), v.Form("expressions"), v.Form("dedup_window")
	s.To = fronttext.Recipients(strings.FieldsFunc(s.Recipients, func(r rune) bool { return strings.ContainsRune("\r\n,， \t", r) }))
	for text := range lines(s.Matches) {
		m, err := fronttext.Match(text)
		s.wrong("match", err)
		s.Match = append(s.Match, m)
	}
	s.Priorities, s.Expressions = map[string]posthouse.Priority{}, map[string]string{}
	for text := range lines(s.Priority) {
		word, p, err := fronttext.Pair(text, "warning=high")
		s.wrong("priorities", err)
		s.Priorities[word] = posthouse.Priority(p)
	}
	for text := range lines(s.Expression) {
		name, source, err := fronttext.Pair(text, "title=build.name")
		s.wrong("expressions", err)
		s.Expressions[name] = source
	}
	if s.Window != "" {
		s.wrong("dedup_window", s.DedupWindow.UnmarshalText([]byte(s.Window)))
	}
}

func (s *settings) wrong(path string, err error) {
	if err != nil {
		s.Problems = append(s.Problems, posthouse.Problem{Path: path, Message: err.Error()})
	}
}

// lines are those of a text that are not empty.
func lines(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for one := range strings.Lines(text) {
			if one = strings.TrimSpace(one); one != "" && !yield(one) {
				return
			}
		}
	}
}

// put stores the form, or says what is wrong with it; an error is of another kind.
func (s *settings) put(v *host.Visit, change func(settings) (wire.NewFront, error)) (made wire.NewFront, err error) {
	if len(s.Problems) > 0 {
		return made, nil
	}
	made, err = change(*s)
	var coded *posthouse.Error
	if errors.As(err, &coded) && (coded.Code == posthouse.CodeInvalid || coded.Code == posthouse.CodeConflict || coded.Code == posthouse.CodeChanged) {
		s.Problems = coded.Problems
		if len(s.Problems) == 0 {
			s.Problems = []posthouse.Problem{{Path: "name", Message: coded.Message}}
		}
		return made, nil
	}
	return made, err
}

// add makes a front and shows what to paste, with the token, this once.
func add(v *host.Visit) error {
	l, err := listOf(v)
	if err != nil {
		return err
	}
	l.New.read(v)
	l.New.Name = cmp.Or(l.New.Name, l.New.Kind)
	if l.New.Kind == "" {
		l.New.Problems = append(l.New.Problems, posthouse.Problem{Path: "kind", Message: v.Say("front_of_no_kind")})
	}
	for i := range l.Fronts {
		if l.Fronts[i].Name == l.New.Name {
			l.New.Problems = append(l.New.Problems, posthouse.Problem{Path: "name", Message: v.Say("front_taken")})
		}
	}
	made, err := l.New.put(v, func(s settings) (wire.NewFront, error) {
		return v.API.Fronts.Put(v.Noted(), s.Name, wire.PutFront{Kind: s.Kind, FrontSettings: s.FrontSettings})
	})
	if err != nil {
		return err
	}
	if len(l.New.Problems) > 0 {
		return v.Draw(http.StatusUnprocessableEntity, "fronts", "fronts", l)
	}
	v.R.SetPathValue("name", made.Name)
	return drawn(v, made)
}

// drawn shows a front with what to paste, the token in it.
func drawn(v *host.Visit, made wire.NewFront) error {
	s, err := sheetOf(v)
	if err != nil {
		return err
	}
	s.Setup, s.Warnings = made.Setup, made.Warnings
	return v.Show("front", "fronts", s)
}

func change(v *host.Visit) error {
	s, err := sheetOf(v)
	if err != nil {
		return err
	}
	s.read(v)
	made, err := s.put(v, func(f settings) (wire.NewFront, error) {
		return v.API.Fronts.Put(v.Noted(), f.Name, wire.PutFront{Kind: f.Kind, FrontSettings: f.FrontSettings})
	})
	switch {
	case err != nil:
		return err
	case len(s.Problems) > 0:
		return v.Draw(http.StatusUnprocessableEntity, "front", "fronts", s)
	case len(made.Warnings) > 0:
		return drawn(v, made) // only this answer has them
	}
	return v.GoTo(v.At("fronts", s.Name) + "?said=stored")
}

// still is an error where a front has changed since the page was drawn: a second click decides nothing.
func still(v *host.Visit) error {
	f, err := v.API.Fronts.Get(v.Ctx(), v.R.PathValue("name"))
	if err == nil && v.Form("state") != stateOf(f) {
		err = posthouse.Errorf(posthouse.CodeConflict, "the front has changed meanwhile: load the page again")
	}
	return err
}

// stateOf tells a front from what it was before.
func stateOf(f posthouse.Front) string { return f.UpdatedAt.UTC().Format(time.RFC3339Nano) }

// State is that of the front that the page shows.
func (s *sheet) State() string { return stateOf(s.Front) }

func rotate(v *host.Visit) error {
	if err := still(v); err != nil {
		return err
	}
	made, err := v.API.Fronts.Rotate(v.Noted(), v.R.PathValue("name"))
	if err != nil {
		return err
	}
	return drawn(v, made)
}

// reveal shows the body of a call, this once and for a reason.
func reveal(v *host.Visit) error {
	s, err := sheetOf(v)
	if err != nil {
		return err
	}
	found, err := v.API.Fronts.Reveal(v.Ctx(), s.Front.Name, v.R.PathValue("id"), v.Form("reason"))
	if err != nil {
		return err
	}
	s.Revealed = &found
	return v.Show("front", "fronts", s)
}
