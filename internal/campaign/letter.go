package campaign

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/audience"
	"github.com/posthouse/posthouse/internal/content"
	"github.com/posthouse/posthouse/internal/render"
	"github.com/posthouse/posthouse/internal/work"
)

// Letter makes the content of each member of a campaign.
type Letter struct {
	campaign *work.Campaign
	template *posthouse.Template         // nil where all get the same content
	texts    map[string]content.Prepared // by language, the template's own by the empty one
}

// NewLetter makes a letter of a campaign and its template, which is nil where it has a content.
func NewLetter(c *work.Campaign, t *posthouse.Template) *Letter {
	l := &Letter{campaign: c, template: filledBy(c, t)}
	if t != nil {
		l.texts = map[string]content.Prepared{"": content.Prepare(*l.template)}
		for tag := range t.Texts {
			l.texts[tag] = content.Prepare(content.In(*l.template, tag))
		}
	}
	return l
}

// Speaks reports whether members may get texts of several languages.
func (l *Letter) Speaks() bool { return len(l.texts) > 1 }

// Read says in which language a member reads it, by the address: the language of the user whose address it is, where it is one user's alone,
// or else what the tenant's people read in general, or else the template's own.
func (l *Letter) Read(users map[string][]posthouse.User, general string) func(address string) string {
	known := map[string]string{} // by what a user reads
	return func(address string) string {
		own := ""
		if whose := users[address]; len(whose) == 1 {
			own = whose[0].Language
		}
		tag, is := known[own]
		if !is {
			tag = content.Choose(*l.template, own, general)
			known[own] = tag
		}
		return tag
	}
}

// filledBy is a template with the parameters of a campaign where that has its own.
func filledBy(c *work.Campaign, t *posthouse.Template) *posthouse.Template {
	if t == nil || len(c.Parameters) == 0 {
		return t
	}
	own := *t
	own.Parameters = c.Parameters
	return &own
}

// CallsEverybody names the field by which a campaign itself, without what is a member's own, calls everybody whom its channel reaches, in whatever
// language; empty for one that does not. calls says it of one delivery.
func (l *Letter) CallsEverybody(calls func(channel.Outgoing) string) (field string) {
	return callsEverybody(l.campaign.Content, l.campaign.Payload, l.template, calls)
}

func callsEverybody(c *posthouse.Content, payload json.RawMessage, t *posthouse.Template, calls func(channel.Outgoing) string) (field string) {
	out := channel.Outgoing{Payload: payload}
	if c != nil {
		out.Content = *c
	}
	if t != nil { // with its placeholders
		out.Content = posthouse.Content{Type: t.Type, Title: t.Title, Text: t.Text, Extra: t.Extra}
	}
	if field = calls(out); field != "" || t == nil {
		return field
	}
	for _, language := range slices.Sorted(maps.Keys(t.Texts)) {
		text := t.Texts[language]
		out.Content = posthouse.Content{Type: t.Type, Title: text.Title, Text: text.Text, Extra: text.Extra}
		if field = calls(out); field != "" {
			return field
		}
	}
	return ""
}

// Same reports whether all members get the same content.
func (l *Letter) Same() bool { return l.template == nil }

// Template names the template: by its own name, and as the provider calls it. Both are empty for none.
func (l *Letter) Template() (name, id string) {
	if l.template == nil {
		return "", ""
	}
	return l.template.Name, l.template.ExternalID
}

// For is what a member gets in a language that the template has, and what leaves of the columns and the campaign's payload: what the template names, and what also names
// besides. Nothing of the columns does where all get the same content.
func (l *Letter) For(m audience.Member, language string, also []string) (posthouse.Content, json.RawMessage, []posthouse.Problem) {
	if l.template == nil {
		return *l.campaign.Content, l.campaign.Payload, nil
	}
	payload, err := payloadFor(l.campaign.Payload, m.Variables)
	if err != nil {
		return posthouse.Content{}, nil, []posthouse.Problem{{Path: "payload", Message: err.Error()}}
	}
	text, has := l.texts[language]
	if !has {
		text = l.texts[""]
	}
	made, problems := text.Fill(payload)
	leaves, _ := text.Leaves(payload, also) // what it lacks, Fill has said
	return made, leaves, problems
}

// payloadFor is what is said for all, and what is said of a member, which wins.
func payloadFor(all, own json.RawMessage) (json.RawMessage, error) {
	if len(all) == 0 {
		return own, nil
	}
	fields, err := render.Fields(all)
	if err != nil {
		return nil, err
	}
	mine, err := render.Fields(own)
	if err != nil {
		return nil, err
	}
	maps.Copy(fields, mine)
	return render.Object(fields)
}
