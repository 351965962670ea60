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
	values, err := render.ParseValues(payload)
	if err != nil {
		return posthouse.Content{}, []posthouse.Problem{{Path: "payload", Message: err.Error()}}
	}
	mode := render.Strict
	if t.Lenient {
		mode = render.Lenient
	}
	var content posthouse.Content
	var problems []posthouse.Problem
	for _, part := range []struct {
		text string
		into *string
	}{{t.Title, &content.Title}, {t.Text, &content.Text}} {
		parsed, err := render.Parse(part.text)
		if err != nil {
			problems = append(problems, posthouse.Problem{Path: "template", Message: fmt.Sprintf("%s: %v", t.Name, err)})
			continue
		}
		if *part.into, err = parsed.Execute(values, mode); err != nil {
			problems = append(problems, renderProblems(t.Name, err)...)
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
