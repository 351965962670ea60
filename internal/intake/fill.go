package intake

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	texts "github.com/posthouse/posthouse/internal/content"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/state"
)

// fill puts the content into the message: as given, or rendered from a template. With a clock that is
// how it would read when it can first be sent.
func (in *Intake) fill(ctx context.Context, r *state.Channel, d *posthouse.Draft, m *posthouse.Message, now time.Time, p *draft.Problems) error {
	if d.Content != nil {
		m.Content = *d.Content
		if err := in.hold(ctx, m, now, p); err != nil {
			return err
		}
		if len(p.List) == 0 { // else its own problems say it
			for _, problem := range sendable(r, m.Content) {
				p.Add(problem.Path, "%s", problem.Message)
			}
		}
		return nil
	}
	t, found, err := in.templateOf(ctx, m.Tenant, d, p)
	if err != nil || !found {
		return err
	}
	content, payload, problems := in.o.Contents.Stored(t, d.Payload, d.Clock, later(now, m.NotBefore))
	for _, problem := range problems {
		p.Add(problem.Path, "%s", problem.Message)
	}
	m.Template, m.Version, m.TemplateID, m.Content, m.Payload, m.Clock = t.Name, t.Version, t.ExternalID, content, payload, d.Clock
	in.fits(r, content, p)
	for _, other := range texts.Texts(t)[1:] { // each recipient may get another: which, an attempt says
		content, _, problems := in.o.Contents.Stored(other, d.Payload, d.Clock, later(now, m.NotBefore))
		for _, problem := range problems {
			if !slices.Contains(p.List, posthouse.Problem{Path: p.Path + problem.Path, Message: problem.Message}) {
				p.Add(problem.Path, "%s", problem.Message)
			}
		}
		in.fits(r, content, p)
	}
	return nil
}

// fits checks what a template makes against the bounds of messages, and of the channel's driver.
func (in *Intake) fits(r *state.Channel, content posthouse.Content, p *draft.Problems) {
	p.Word("template", content.Title, draft.MaxTitle)
	p.Text("template", content.Text, draft.MaxText)
	p.Object("template", content.Extra, draft.MaxExtra)
	for _, problem := range sendable(r, content) {
		p.Add("template", "makes a content whose %s %s", strings.TrimPrefix(problem.Path, "content."), problem.Message)
	}
}

// sendable says what the channel's driver cannot send of a content.
func sendable(r *state.Channel, c posthouse.Content) []posthouse.Problem {
	if r.Opened.Content == nil {
		return nil
	}
	return r.Opened.Content(c)
}

// templateOf looks up the template that a draft names, or that its kind has: one for its channel, or
// else one for all. Found is false where there is none; the problem says what was looked for.
func (in *Intake) templateOf(ctx context.Context, tenant string, d *posthouse.Draft, p *draft.Problems) (t posthouse.Template, found bool, err error) {
	field, names := "template", []string{d.Template}
	if d.Template == "" {
		if d.Kind == "" {
			return t, false, nil // said already
		}
		field, names = "content", []string{d.Kind + "." + d.Channel, d.Kind}
	}
	for _, name := range names {
		t, err = in.o.Store.Template(ctx, tenant, name, 0)
		if posthouse.CodeOf(err) == posthouse.CodeNotFound {
			continue
		}
		if err == nil && t.Disabled {
			p.Add(field, "the template %q is disabled: enable it, or name another", name)
		}
		return t, err == nil && !t.Disabled, err
	}
	if field == "template" {
		p.Add(field, "there is no template %q", d.Template)
	} else {
		p.Add(field, "is required: there is no template %q or %q, which the kind would be told with", names[0], names[1])
	}
	return t, false, nil
}
