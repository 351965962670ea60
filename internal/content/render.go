package content

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/render"
)

// Render fills a template with a payload. Problems name the payload's missing fields, or the
// template where it cannot be read.
func Render(t posthouse.Template, payload json.RawMessage) (posthouse.Content, []posthouse.Problem) {
	return Prepare(t).Fill(payload)
}

// Prepared is a template that has been read, to be filled many times.
type Prepared struct {
	name        string
	mode        render.Mode
	kind        posthouse.ContentType
	title, text *render.Template
	extra       *render.JSON // nil for none
	params      []parameter
	names       []string            // of the members of a payload that title and text name
	problems    []posthouse.Problem // why it cannot be read
}

// parameter is one of a template of the provider's, and what fills it.
type parameter struct {
	name string
	text *render.Template
}

// Prepare reads a template.
func Prepare(t posthouse.Template) Prepared {
	p := Prepared{name: t.Name, mode: render.Strict, kind: t.Type}
	if t.Lenient {
		p.mode = render.Lenient
	}
	read := func(text string) *render.Template {
		parsed, err := render.Parse(text)
		if err != nil {
			p.problems = append(p.problems, posthouse.Problem{Path: "template", Message: fmt.Sprintf("%s: %v", t.Name, err)})
		}
		return parsed
	}
	p.title, p.text = read(t.Title), read(t.Text)
	if len(t.Extra) > 0 {
		var err error
		if p.extra, err = render.ParseJSON(t.Extra); err != nil {
			p.problems = append(p.problems, posthouse.Problem{Path: "template", Message: fmt.Sprintf("%s: its extra %v", t.Name, err)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Parameters)) {
		p.params = append(p.params, parameter{name, read(t.Parameters[name])})
	}
	if len(p.problems) > 0 {
		return p
	}
	for _, part := range []*render.Template{p.title, p.text} {
		for _, name := range part.Variables() {
			name, _, _ = strings.Cut(name, ".")
			p.names = append(p.names, name)
		}
	}
	return p
}

// Names are the members of a payload that the title and the text name.
func (p Prepared) Names() []string { return p.names }

// Leaves is what of a payload leaves for a provider that has templates of its own: the parameters of the template, where it has some,
// or else the members that its title and text name. What also names besides, such as the configuration of the channel, leaves too.
// Problems name what the payload lacks.
func (p Prepared) Leaves(payload json.RawMessage, also []string) (json.RawMessage, []posthouse.Problem) {
	if len(p.problems) > 0 || len(payload) == 0 && len(p.params) == 0 {
		return nil, dedupe(p.problems)
	}
	fields, err := render.Fields(payload)
	if err != nil {
		return nil, []posthouse.Problem{{Path: "payload", Message: err.Error()}}
	}
	leaves := map[string]json.RawMessage{}
	keep := func(names []string) {
		for _, name := range names {
			if value, is := fields[name]; is {
				leaves[name] = value
			}
		}
	}
	keep(also)
	var problems []posthouse.Problem
	if len(p.params) == 0 {
		keep(p.names)
	} else if problems, err = p.parameters(payload, leaves); err != nil {
		return nil, []posthouse.Problem{{Path: "payload", Message: err.Error()}}
	}
	object, err := render.Object(leaves)
	if err != nil {
		problems = append(problems, posthouse.Problem{Path: "payload", Message: err.Error()})
	}
	return object, problems
}

// parameters fills the parameters into an object.
func (p Prepared) parameters(payload json.RawMessage, into map[string]json.RawMessage) (problems []posthouse.Problem, err error) {
	values, err := render.ParseValues(payload)
	if err != nil {
		return nil, err
	}
	for _, param := range p.params {
		text, err := param.text.Execute(values, p.mode)
		if err != nil {
			problems = append(problems, renderProblems(p.name, err)...)
			continue
		}
		if into[param.name], err = json.Marshal(text); err != nil {
			return problems, err
		}
	}
	return dedupe(problems), nil
}

// Fill is Render for a template that has been read.
func (p Prepared) Fill(payload json.RawMessage) (posthouse.Content, []posthouse.Problem) {
	values, err := render.ParseValues(payload)
	if err != nil {
		return posthouse.Content{}, []posthouse.Problem{{Path: "payload", Message: err.Error()}}
	}
	var content posthouse.Content
	problems := slices.Clone(p.problems)
	if len(problems) > 0 {
		return content, dedupe(problems)
	}
	for _, part := range []struct {
		text *render.Template
		into *string
	}{{p.title, &content.Title}, {p.text, &content.Text}} {
		if *part.into, err = part.text.Execute(values, p.mode); err != nil {
			problems = append(problems, renderProblems(p.name, err)...)
		}
	}
	if content.Type = p.kind; p.extra != nil {
		if content.Extra, err = p.extra.Execute(values, p.mode); err != nil {
			problems = append(problems, renderProblems(p.name, err)...)
		}
	}
	for _, param := range p.params {
		if _, err := param.text.Execute(values, p.mode); err != nil {
			problems = append(problems, renderProblems(p.name, err)...)
		}
	}
	return content, dedupe(problems)
}

// dedupe drops a problem that title and text share.
func dedupe(list []posthouse.Problem) []posthouse.Problem {
	var out []posthouse.Problem
	for _, p := range list {
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// Variables lists the names that a template is filled with in any of its languages, in the order in which they first appear: those of title and
// text, of what only the provider knows, and then of the parameters. What cannot be read has none.
func Variables(t posthouse.Template) []string {
	names := []string{}
	add := func(more []string) {
		for _, name := range more {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	read := func(text string) {
		if parsed, err := render.Parse(text); err == nil {
			add(parsed.Variables())
		}
	}
	for _, one := range Texts(t) {
		read(one.Title)
		read(one.Text)
		if parsed, err := render.ParseJSON(one.Extra); err == nil {
			add(parsed.Variables())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Parameters)) {
		read(t.Parameters[name])
	}
	return names
}

// renderProblems names what a template could not insert.
func renderProblems(template string, err error) []posthouse.Problem {
	var values *render.ValuesError
	if errors.As(err, &values) {
		return values.Problems("payload")
	}
	return []posthouse.Problem{{Path: "template", Message: fmt.Sprintf("%s: %v", template, err)}}
}
