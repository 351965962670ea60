package api

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/render"
)

// Bounds of a template, in bytes.
const (
	maxTitle    = 1024
	maxText     = 64 << 10
	maxExternal = 255
)

func (a *api) templates(c *call) (answer, error) {
	list, err := a.Store.Templates(c.Context(), c.key.Tenant)
	if err != nil {
		return answer{}, err
	}
	for i := range list {
		list[i].Variables = variables(list[i])
	}
	return pageOf(list, "")
}

func (a *api) template(c *call) (answer, error) {
	version := c.number("version", 1, 1<<30)
	if err := c.wrong(); err != nil {
		return answer{}, err
	}
	t, err := a.Store.Template(c.Context(), c.key.Tenant, c.PathValue("name"), version)
	if err != nil {
		return answer{}, err
	}
	t.Variables = variables(t)
	return ok(t)
}

// variables lists the names a template is filled with, those of the title first.
func variables(t posthouse.Template) []string {
	names := []string{}
	for _, text := range []string{t.Title, t.Text} {
		parsed, err := render.Parse(text)
		if err != nil {
			continue
		}
		for _, name := range parsed.Variables() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

var templateReader = bodyOf[posthouse.Template]()

// putTemplate stores a new version. What the server keeps of a template is not looked at.
func (a *api) putTemplate(c *call) (answer, error) {
	t, err := loose(c, templateReader)
	if err != nil {
		return answer{}, err
	}
	c.sameName(&t.Name, t.Tenant)
	checkName(c, "name", t.Name)
	c.checkTemplate(t.Title, t.Text)
	checkWord(c, "external_id", t.ExternalID, maxExternal)
	if err := c.wrong(); err != nil {
		return answer{}, err
	}
	t.Tenant = c.key.Tenant
	if t, err = a.Store.PutTemplate(c.Context(), time.Now(), t); err != nil {
		return answer{}, err
	}
	t.Variables = variables(t)
	return ok(t)
}

func (c *call) checkTemplate(title, text string) {
	if text == "" && !c.concerns("text") {
		c.refuse("text", "is required")
	}
	checkWord(c, "title", title, maxTitle)
	checkText(c, "text", text, maxText)
	for _, part := range []struct{ path, text string }{{"title", title}, {"text", text}} {
		if _, err := render.Parse(part.text); err != nil && !c.concerns(part.path) {
			c.refuse(part.path, "%s", err)
		}
	}
}

func (a *api) deleteTemplate(c *call) (answer, error) {
	return none(a.Store.DeleteTemplate(c.Context(), c.key.Tenant, c.PathValue("name")))
}

// previewBody asks what a template makes of a payload.
type previewBody struct {
	Payload json.RawMessage  `json:"payload,omitempty" doc:"What the template is filled with, an object."`
	Clock   *posthouse.Clock `json:"clock,omitempty" doc:"Counts to now, as a message with it does when it is sent."`
	Channel string           `json:"channel,omitempty" doc:"A channel whose provider's bounds are looked at."`
	Title   string           `json:"title,omitempty" doc:"A title to try in place of the stored one."`
	Text    string           `json:"text,omitempty" doc:"A text to try in place of the stored one. With it the template need not exist."`
	Lenient bool             `json:"lenient,omitempty" doc:"With a text to try: leave what is missing as it is written."`
}

// previewView is a filled template.
type previewView struct {
	Content     posthouse.Content   `json:"content" doc:"What the recipient reads. Placeholders that could not be filled stay."`
	TitleLength render.Lengths      `json:"title_length"`
	TextLength  render.Lengths      `json:"text_length"`
	Variables   []string            `json:"variables"`
	Payload     json.RawMessage     `json:"payload,omitempty" doc:"What it was filled with: the payload, with the fields of a clock and platformUrl."`
	ExternalID  string              `json:"external_id,omitempty" doc:"What the provider calls the template."`
	Disabled    bool                `json:"disabled,omitempty" doc:"A message with it would be refused."`
	Problems    []posthouse.Problem `json:"problems" doc:"What the payload lacks; a message with it would be refused."`
	Warnings    []posthouse.Problem `json:"warnings" doc:"What the channel's provider would cut or refuse."`
}

var previewReader = bodyOf[previewBody]()

func (a *api) previewTemplate(c *call) (answer, error) {
	in, err := object(c, previewReader)
	if err != nil {
		return answer{}, err
	}
	t := posthouse.Template{Name: c.PathValue("name"), Title: in.Title, Text: in.Text, Lenient: in.Lenient}
	if in.Text == "" && in.Title == "" {
		if t, err = a.Store.Template(c.Context(), c.key.Tenant, t.Name, 0); err != nil {
			return answer{}, err
		}
	}
	if c.checkTemplate(t.Title, t.Text); c.wrong() != nil {
		return answer{}, c.wrong()
	}
	v := a.preview(t, in.Payload, in.Clock)
	if in.Channel != "" {
		warnings, err := a.Channels.Fit(c.Context(), c.key.Tenant, in.Channel, v.Content)
		if err != nil {
			return answer{}, err
		}
		v.Warnings = append(v.Warnings, warnings...)
	}
	return ok(v)
}

// preview fills a template twice: as it is for the problems, and leniently for what can be shown.
func (a *api) preview(t posthouse.Template, payload json.RawMessage, clock *posthouse.Clock) previewView {
	now := time.Time{}
	v := previewView{Variables: variables(t), ExternalID: t.ExternalID, Disabled: t.Disabled, Warnings: []posthouse.Problem{}}
	v.Content, v.Payload, v.Problems = a.Engine.Fill(t, payload, clock, now)
	if len(v.Problems) > 0 {
		t.Lenient = true
		v.Content, _, _ = a.Engine.Fill(t, payload, clock, now)
	} else {
		v.Problems = []posthouse.Problem{}
	}
	v.TitleLength, v.TextLength = render.Length(v.Content.Title), render.Length(v.Content.Text)
	return v
}

// templateTestBody is a message that is really sent and not queued.
type templateTestBody struct {
	Channel string              `json:"channel"`
	To      posthouse.Recipient `json:"to"`
	Payload json.RawMessage     `json:"payload,omitempty" doc:"What the template is filled with, an object."`
	Clock   *posthouse.Clock    `json:"clock,omitempty" doc:"Counts to now."`
}

var templateTestReader = bodyOf[templateTestBody]()

// testTemplate sends what a payload makes of a template, also of a disabled one.
func (a *api) testTemplate(c *call) (answer, error) {
	in, err := loose(c, templateTestReader)
	if err != nil {
		return answer{}, err
	}
	if in.Channel == "" && !c.concerns("channel") {
		c.refuse("channel", "is required: the name of a configured channel")
	}
	if in.To.User == "" && in.To.Address == "" && !c.concerns("to") {
		c.refuse("to", "names nobody: want a user or an address")
	}
	if err := c.wrong(); err != nil {
		return answer{}, err
	}
	t, err := a.Store.Template(c.Context(), c.key.Tenant, c.PathValue("name"), 0)
	if err != nil {
		return answer{}, err
	}
	content, payload, problems := a.Engine.Fill(t, in.Payload, in.Clock, time.Time{})
	if err := posthouse.Invalid("the payload does not fill the template", problems); err != nil {
		return answer{}, err
	}
	r, err := a.Channels.Test(c.Context(), c.key.Tenant, in.Channel, channel.Outgoing{
		Recipient: in.To, Content: content, Template: t.Name, TemplateID: t.ExternalID, Payload: payload,
	})
	if err != nil {
		return answer{}, err
	}
	return ok(testViewOf(r))
}
