package campaign

import (
	"context"
	"errors"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/render"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// OwnTemplates begins the names of the templates that have the texts of single campaigns.
const OwnTemplates = "campaign:"

// ownTemplate names the template of a campaign's own text. It goes by the id: no other campaign's text changes with it, and a program of an
// earlier version sends it as it does any template.
func ownTemplate(id string) string { return OwnTemplates + id }

// ownText is a campaign's own text as a template, nil where that is still to be written.
func ownText(tenant, id string, t *wire.CampaignText, p *draft.Problems) *posthouse.Template {
	if t.Text == "" && t.Title == "" {
		return nil
	}
	if t.Text == "" {
		p.Add("own_text.text", "is required")
	}
	p.Word("own_text.title", t.Title, draft.MaxTitle)
	p.Text("own_text.text", t.Text, draft.MaxText)
	for _, part := range [][2]string{{"title", t.Title}, {"text", t.Text}} {
		if _, err := render.Parse(part[1]); err != nil {
			p.Add("own_text."+part[0], "%s", err)
		}
	}
	return &posthouse.Template{Tenant: tenant, Name: ownTemplate(id), Title: t.Title, Text: t.Text}
}

// keepText stores a campaign's own text as a new version of its template.
func (d *Desk) keepText(ctx context.Context, t *posthouse.Template) error {
	if t == nil {
		return nil
	}
	_, err := d.o.Templates.PutTemplate(ctx, time.Now(), *t)
	return err
}

// forgetText deletes the own text of a campaign that is deleted, where it ever had one. A text that stays behind since the process ended here
// is harmless: no other campaign has its id.
func (d *Desk) forgetText(ctx context.Context, c *work.Campaign) error {
	if err := d.o.Templates.DeleteTemplate(ctx, c.Tenant, ownTemplate(c.ID)); posthouse.CodeOf(err) != posthouse.CodeNotFound {
		return err
	}
	return nil
}

// sayAnew has a campaign say what a change names, and leaves it as it is where that names nothing. own is the text that is to be stored with it.
func (d *Desk) sayAnew(ctx context.Context, by work.Caller, c *work.Campaign, in *wire.CampaignChange, p *draft.Problems) (own *posthouse.Template, err error) {
	if in.Template == "" && in.Content == nil && in.OwnText == nil && in.Payload == nil {
		return nil, nil
	}
	next := wire.CampaignDraft{Template: in.Template, Content: in.Content, OwnText: in.OwnText, Payload: in.Payload}
	if next.Template == "" && next.Content == nil && next.OwnText == nil {
		next.Template, next.Content = c.Template, c.Content
	}
	if in.Payload == nil {
		next.Payload = c.Payload
	}
	if in.OwnText != nil && *in.OwnText == (wire.CampaignText{}) {
		p.Add("own_text.text", "is required")
	}
	own, err = d.checkContent(ctx, c.Tenant, by, &next, c.ID, d.o.Channel(c.Tenant, c.Channel), p)
	c.Template, c.Content, c.Payload = next.Template, next.Content, next.Payload
	return own, err
}

// mostShown is at how many of the first members one looks while a text is written: often, so at few.
const mostShown = 1000

// Samples says what the first members would get after a change of what a campaign says, which is not kept.
func (d *Desk) Samples(ctx context.Context, tenant string, by work.Caller, name string, in wire.CampaignChange) (wire.CampaignSamples, error) {
	out := wire.CampaignSamples{Missing: map[string]int64{}, Samples: []wire.CampaignSample{}, Mapping: []wire.CampaignParameter{}}
	c, err := d.named(ctx, tenant, name)
	if err == nil {
		_, err = Next(&c.Campaign, Change)
	}
	if err != nil {
		return out, err
	}
	p := &draft.Problems{}
	takeAway(&c, in.Remove, p)
	t, err := d.sayAnew(ctx, by, &c, &in, p)
	if err != nil {
		return out, err
	}
	if in.Parameters != nil {
		c.Parameters = in.Parameters
	}
	checkTerms(&terms{c.Priority, c.OnUnknown, c.Deadline, c.CampaignRules}, p)
	if err := posthouse.Invalid("the campaign cannot be changed", p.List); err != nil {
		return out, err
	}
	if t == nil {
		if t, err = d.templateOf(ctx, &c); posthouse.CodeOf(err) == posthouse.CodeNotFound { // it is not written yet
			return out, nil
		}
	}
	a, failed := d.audienceOf(ctx, &c)
	if err := errors.Join(err, failed); err != nil {
		return out, err
	}
	ch := d.o.Channel(tenant, c.Channel)
	if t = filledBy(&c, t); t != nil && a.Last > 0 {
		out.Missing = missing(t, c.Payload, &a)
	}
	own := keptAt(ctx, t, ch)
	first, err := d.try(ctx, &c, &a, t, ch, mostShown, own.id != "")
	out.Samples, out.Members, out.Bad = first.samples, first.members, first.bad
	out.ProviderTemplate, out.Title, out.Mapping = own.id, own.is.Title, mapping(t, own, ch)
	return out, err
}
