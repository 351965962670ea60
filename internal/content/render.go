package content

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

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
	title, text *render.Template
	problems    []posthouse.Problem // why it cannot be read
}

// Prepare reads a template.
func Prepare(t posthouse.Template) Prepared {
	p := Prepared{name: t.Name, mode: render.Strict}
	if t.Lenient {
		p.mode = render.Lenient
	}
	for _, part := range []struct {
		text string
		into **render.Template
	}{{t.Title, &p.title}, {t.Text, &p.text}} {
		var err error
		if *part.into, err = render.Parse(part.text); err != nil {
			p.problems = append(p.problems, posthouse.Problem{Path: "template", Message: fmt.Sprintf("%s: %v", t.Name, err)})
		}
	}
	return p
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

// renderProblems names what a template could not insert.
func renderProblems(template string, err error) []posthouse.Problem {
	var values *render.ValuesError
	if errors.As(err, &values) {
		return values.Problems("payload")
	}
	return []posthouse.Problem{{Path: "template", Message: fmt.Sprintf("%s: %v", template, err)}}
}
