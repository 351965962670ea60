// Package presets is the resource of what is known of providers.
package presets

import (
	"context"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel/httpapi"
	"github.com/posthouse/posthouse/internal/preset"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// Gallery has them. *preset.Gallery satisfies it.
type Gallery interface {
	List(ctx context.Context, tenant string) ([]*preset.Preset, error)
	Get(ctx context.Context, tenant, name string) (*preset.Preset, error)
	Put(ctx context.Context, tenant, name, text, shapes string) (*preset.Preset, error)
	Delete(ctx context.Context, tenant, name string) error
}

// Channels know what each was made of.
type Channels interface {
	PresetOf(ctx context.Context, tenant, name string) (posthouse.Channel, *preset.Preset, error)
}

// presets is the resource.
type presets struct {
	Gallery
	channels Channels
}

// Routes are the addresses of presets.
func Routes(gallery Gallery, channels Channels) []web.Route {
	const reads, admin = posthouse.ScopeRead, posthouse.ScopeAdmin
	p := presets{gallery, channels}
	return append(web.Tagged("presets",
		web.Get("/v1/presets", reads, "List what is known of providers, or look for some of them.", p.list).Query("search"),
		web.Get("/v1/presets/{name}", reads, "One preset, with its files as they are written.", p.show),
		web.Put("/v1/presets/{name}", admin, "Add a preset of the installation's own, or a new version of it. It must do what its shapes say.", web.BodyOf[wire.PresetFile](), p.put),
		web.Delete("/v1/presets/{name}", admin, "Delete a preset of the installation's own. Channels that were made of it stay as they are.", p.remove),
	), web.Tagged("channels",
		web.Get("/v1/channels/{name}/preset", reads, "How a channel stands to the preset that it was made of, and what would change with its latest version.", p.state).OfChannel("name"),
	)...)
}

func (p presets) list(c *web.Call) (wire.Page[wire.Preset], error) {
	list, err := p.List(c.Context(), c.Tenant())
	page := wire.Page[wire.Preset]{Items: []wire.Preset{}}
	for _, one := range list {
		if matches(one, c.Query.Get("search")) {
			page.Items = append(page.Items, shown(one))
		}
	}
	return page, err
}

// matches reports whether each word of a search stands in what a preset is called or does.
func matches(p *preset.Preset, search string) bool {
	text := strings.ToLower(strings.Join([]string{p.Name, p.Title, p.TitleZH, p.Doc, p.DocZH, string(p.Group)}, "\n"))
	for _, word := range strings.Fields(strings.ToLower(search)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

func shown(p *preset.Preset) wire.Preset {
	out := wire.Preset{
		Name: p.Name, Version: p.Version, Group: wire.PresetGroup(p.Group), Title: p.Title, TitleZH: p.TitleZH, Doc: p.Doc, DocZH: p.DocZH, Own: p.Own,
		Links: p.Links, Notes: p.Notes, NotesZH: p.NotesZH, Unverified: p.Unverified, UnverifiedZH: p.UnverifiedZH, Fields: []wire.PresetField{}, Batch: 1,
	}
	for _, f := range p.Fields {
		out.Fields = append(out.Fields, wire.PresetField{
			Name: f.Name, Kind: wire.PresetFieldKind(f.Kind), Label: f.Label, LabelZH: f.LabelZH, Help: f.Help, HelpZH: f.HelpZH,
			Secret: f.Secret, Required: f.Default == "", Default: f.Default, Example: f.Example,
		})
	}
	for _, l := range p.Limits {
		out.Limits = append(out.Limits, wire.PresetLimit{Limit: l.Limit, Of: l.Of, Source: l.Source, Date: l.Date, Unverified: l.Unverified})
	}
	if config, problems := p.Fill(p.Examples(), nil); len(problems) == 0 {
		if checked, problems := httpapi.Type().Validate(config); len(problems) == 0 {
			out.Receipts, out.Batch, out.Codes = checked.Has("receipt_id"), checked.Int("batch"), len(checked.Map("codes"))
			if d := checked.Duration("idempotency_window"); d > 0 {
				out.Window = posthouse.Duration(d).String()
			}
		}
	}
	for i := range p.Shapes.List {
		switch p.Shapes.List[i].Evidence {
		case preset.Documented:
			out.Evidence.Documented++
		case preset.FromSDK:
			out.Evidence.SDK++
		default:
			out.Evidence.Unverified++
		}
	}
	return out
}

// whole is a preset with its files.
func whole(p *preset.Preset) wire.Preset {
	out := shown(p)
	out.Text, out.Shapes = p.Text, p.ShapesText
	return out
}

func (p presets) show(c *web.Call) (wire.Preset, error) {
	one, err := p.Get(c.Context(), c.Tenant(), c.PathValue("name"))
	if err != nil {
		return wire.Preset{}, err
	}
	return whole(one), nil
}

func (p presets) put(c *web.Call, in wire.PresetFile) (wire.Preset, error) {
	name := c.PathValue("name")
	var before any
	if old, err := p.Get(c.Context(), c.Tenant(), name); err == nil && old.Own {
		before = wire.PresetFile{Text: old.Text, Shapes: old.ShapesText}
	}
	one, err := p.Put(c.Context(), c.Tenant(), name, in.Text, in.Shapes)
	if err != nil {
		return wire.Preset{}, err
	}
	c.Changed(before, in)
	return whole(one), nil
}

func (p presets) remove(c *web.Call) error {
	name := c.PathValue("name")
	if old, err := p.Get(c.Context(), c.Tenant(), name); err == nil && old.Own {
		c.Changed(wire.PresetFile{Text: old.Text, Shapes: old.ShapesText}, nil)
	}
	return p.Delete(c.Context(), c.Tenant(), name)
}

func (p presets) state(c *web.Call) (wire.PresetState, error) {
	ch, now, err := p.channels.PresetOf(c.Context(), c.Tenant(), c.PathValue("name"))
	out := wire.PresetState{Preset: ch.Preset, Version: ch.PresetVersion, Changes: []wire.PresetChange{}}
	if err != nil || now == nil {
		return out, err
	}
	out.Latest = now.Version
	for _, d := range now.Difference(ch.Config) {
		out.Changes = append(out.Changes, wire.PresetChange{Field: d.Field, Was: d.Was, Is: d.Is})
	}
	return out, nil
}
