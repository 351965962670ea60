package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/render"
)

// fill puts the content into the message: as given, or rendered from a template, once.
func (e *Engine) fill(ctx context.Context, tenant string, d *posthouse.Draft, m *posthouse.Message, p *draft.Problems) error {
	if d.Template == "" {
		if d.Content != nil {
			m.Content = *d.Content
		}
		return nil
	}
	t, err := e.o.Store.Template(ctx, tenant, d.Template, 0)
	if posthouse.CodeOf(err) == posthouse.CodeNotFound {
		p.Add("template", "there is no template %q", d.Template)
		return nil
	}
	if err != nil {
		return err
	}
	content, problems := Render(t, d.Payload)
	for _, problem := range problems {
		p.Add(problem.Path, "%s", problem.Message)
	}
	m.Template, m.Version, m.Content = t.Name, t.Version, content
	p.Word("template", content.Title, draft.MaxTitle)
	p.Text("template", content.Text, draft.MaxText)
	return nil
}

// Render fills a template with a payload. Problems name the payload's missing fields, or the
// template where it can not be read.
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

// oneOf says which names are allowed.
func oneOf(what string, names []string) string {
	if len(names) == 0 {
		return "no " + what + " are configured yet"
	}
	slices.Sort(names)
	if len(names) > 20 {
		names = append(names[:20:20], "…")
	}
	return "the " + what + " are " + strings.Join(names, ", ")
}

func (r *route) queries() bool {
	_, ok := r.opened.Driver.(channel.Querier)
	return ok
}

// renderProblems names what a template could not insert.
func renderProblems(template string, err error) []posthouse.Problem {
	var values *render.ValuesError
	if errors.As(err, &values) {
		return values.Problems("payload")
	}
	return []posthouse.Problem{{Path: "template", Message: fmt.Sprintf("%s: %v", template, err)}}
}
