package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/render"
)

// Bounds of a draft, in bytes. They keep every value inside its column on every database.
const (
	maxWord    = 128 // channel, kind, source, template, recipient type
	maxKey     = 255 // ref, dedup_key, user
	maxAddress = 512
	maxTitle   = 1024
	maxText    = 64 << 10
	maxPayload = 256 << 10
	maxAhead   = 366 * 24 * time.Hour // of not_before
)

// problemList collects what is wrong with one draft.
type problemList struct {
	path string
	list []posthouse.Problem
}

func (p *problemList) add(field, format string, args ...any) {
	p.list = append(p.list, posthouse.Problem{Path: p.path + field, Message: fmt.Sprintf(format, args...)})
}

// text checks that a value is text that every database keeps as it is.
func (p *problemList) text(field, value string, max int) {
	switch {
	case len(value) > max:
		p.add(field, "has %d bytes: at most %d are allowed", len(value), max)
	case !utf8.ValidString(value):
		p.add(field, "is not valid UTF-8")
	case strings.ContainsRune(value, 0):
		p.add(field, "holds the character U+0000, which can not be stored")
	}
}

// word is text of one line.
func (p *problemList) word(field, value string, max int) {
	p.text(field, value, max)
	if strings.ContainsAny(value, "\r\n") {
		p.add(field, "holds a line break: one line is allowed")
	}
}

func checkDraft(d *posthouse.Draft, maxRecipients int, now time.Time, p *problemList) {
	if d.Channel == "" {
		p.add("channel", "is required: the name of a configured channel")
	}
	p.word("channel", d.Channel, maxWord)
	p.word("kind", d.Kind, maxWord)
	p.word("ref", d.Ref, maxKey)
	p.word("source", d.Source, maxWord)
	p.word("template", d.Template, maxWord)
	p.word("dedup_key", d.DedupKey, maxKey)
	if d.Priority != "" && !d.Priority.Valid() {
		p.add("priority", "is %q: want high, normal or low", d.Priority)
	}
	if d.OnUnknown != "" && !d.OnUnknown.Valid() {
		p.add("on_unknown", "is %q: want retry, hold, query or assume_sent", d.OnUnknown)
	}
	checkTimes(d, now, p)
	checkRecipients(d, maxRecipients, p)
	checkContent(d, p)
}

func checkTimes(d *posthouse.Draft, now time.Time, p *problemList) {
	if d.NotBefore.After(now.Add(maxAhead)) {
		p.add("not_before", "is %s: at most 366 days ahead are allowed", d.NotBefore.Format(time.RFC3339))
	}
	if d.Deadline.IsZero() {
		return
	}
	if !d.Deadline.After(now) {
		p.add("deadline", "is %s, which has passed", d.Deadline.Format(time.RFC3339))
	} else if !d.Deadline.After(d.NotBefore) {
		p.add("deadline", "must be later than not_before")
	}
}

func checkRecipients(d *posthouse.Draft, most int, p *problemList) {
	if n := len(d.To); n == 0 {
		p.add("to", "is required: 1 to %d recipients", most)
	} else if n > most {
		p.add("to", "has %d recipients: at most %d are allowed in one message", n, most)
		return
	}
	for i := range d.To {
		field := fmt.Sprintf("to[%d]", i)
		if d.To[i].User == "" && d.To[i].Address == "" {
			p.add(field, "names nobody: want a user or an address")
		}
		p.word(field+".user", d.To[i].User, maxKey)
		p.word(field+".address", d.To[i].Address, maxAddress)
		p.word(field+".type", d.To[i].Type, maxWord)
	}
}

func checkContent(d *posthouse.Draft, p *problemList) {
	switch {
	case d.Content == nil && d.Template == "":
		p.add("content", "is required, or a template with a payload")
	case d.Content != nil && d.Template != "":
		p.add("content", "stands beside a template: give one of them")
	case d.Content != nil && d.Content.Text == "" && d.Content.Title == "":
		p.add("content.text", "is required")
	}
	if d.Content != nil {
		p.word("content.title", d.Content.Title, maxTitle)
		p.text("content.text", d.Content.Text, maxText)
	}
	if len(d.Payload) > maxPayload {
		p.add("payload", "has %d bytes: at most %d are allowed", len(d.Payload), maxPayload)
	}
	var object map[string]json.RawMessage
	if len(d.Payload) > 0 && string(d.Payload) != "null" && json.Unmarshal(d.Payload, &object) != nil {
		p.add("payload", "must be a JSON object")
	}
}

// fill puts the content into the message: as given, or rendered from a template, once.
func (e *Engine) fill(ctx context.Context, tenant string, d *posthouse.Draft, m *posthouse.Message, p *problemList) error {
	if d.Template == "" {
		if d.Content != nil {
			m.Content = *d.Content
		}
		return nil
	}
	t, err := e.o.Store.Template(ctx, tenant, d.Template, 0)
	if posthouse.CodeOf(err) == posthouse.CodeNotFound {
		p.add("template", "there is no template %q", d.Template)
		return nil
	}
	if err != nil {
		return err
	}
	content, problems := Render(t, d.Payload)
	for _, problem := range problems {
		p.add(problem.Path, "%s", problem.Message)
	}
	m.Template, m.Version, m.Content = t.Name, t.Version, content
	p.word("template", content.Title, maxTitle)
	p.text("template", content.Text, maxText)
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
