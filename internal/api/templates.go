package api

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/content"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/read"
	"github.com/posthouse/posthouse/internal/render"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// Templates keeps templates.
type Templates interface {
	PutTemplate(ctx context.Context, now time.Time, t posthouse.Template) (posthouse.Template, error)
	Template(ctx context.Context, tenant, name string, version int) (posthouse.Template, error)
	Templates(ctx context.Context, tenant, cursor string, limit int) (list []posthouse.Template, next string, err error)
	DeleteTemplate(ctx context.Context, tenant, name string) error
}

// templates is the resource of texts that payloads fill.
type templates struct {
	store    Templates
	filler   read.Filler
	channels Channels
	tenants  Tenants
	used     templateUses
}

// Bounds of a template, in bytes.
const (
	maxTitle    = 1024
	maxText     = 64 << 10
	maxExternal = 255
)

var (
	templateBody     = web.BodyOf[posthouse.Template]().Loose()
	previewBody      = web.BodyOf[wire.Preview]()
	templateTestBody = web.BodyOf[wire.TemplateTest]().Loose()
)

func (t templates) routes() []web.Route {
	return web.Tagged("templates",
		web.Get("/v1/templates", reads, "List templates, the latest version of each.", t.list).Paged(),
		web.Get("/v1/templates/{name}", reads, "A template, its latest version or a given one.", t.get).Query("version"),
		web.Put("/v1/templates/{name}", admin, "Store a new version.", templateBody, t.put).Guarded(),
		web.Delete("/v1/templates/{name}", admin, "Delete a template, all versions.", t.remove),
		web.Post("/v1/templates/{name}/preview", reads, "What a payload makes of it.", previewBody, t.preview),
		web.Post("/v1/templates/{name}/test", admin, "Fill it and send it to one recipient, really and at once. Nothing is queued.", templateTestBody, t.test),
	)
}

func (t templates) list(c *web.Call) (wire.Page[posthouse.Template], error) {
	return paged(c, func(cursor string, limit int) ([]posthouse.Template, string, error) {
		list, next, err := t.store.Templates(c.Context(), c.Tenant(), cursor, limit)
		for i := range list {
			list[i].Variables = content.Variables(list[i])
		}
		return list, next, err
	})
}

func (t templates) get(c *web.Call) (posthouse.Template, error) {
	version := c.Number("version", 1, 1<<30)
	if err := c.Wrong(); err != nil {
		return posthouse.Template{}, err
	}
	found, err := t.version(c, version)
	c.Tag(found.Tag())
	return found, err
}

// version reads a version of the template that the path names, the latest for 0.
func (t templates) version(c *web.Call, version int) (posthouse.Template, error) {
	found, err := t.store.Template(c.Context(), c.Tenant(), c.PathValue("name"), version)
	found.Variables = content.Variables(found)
	return found, err
}

// put stores a new version. What the server keeps of a template is not looked at.
func (t templates) put(c *web.Call, in posthouse.Template) (posthouse.Template, error) {
	c.NameIn(&in.Name, in.Tenant)
	c.CheckName("name", in.Name)
	checkTemplate(c, &in)
	c.CheckWord("external_id", in.ExternalID, maxExternal)
	checkParameters(c, in.Parameters)
	checkTexts(c, &in)
	if err := c.Wrong(); err != nil {
		return in, err
	}
	in.Tenant = c.Tenant()
	if err := t.used.gathered(c, in); err != nil {
		return in, err
	}
	before, missing := t.store.Template(c.Context(), c.Tenant(), in.Name, 0)
	stored, err := t.store.PutTemplate(c.Context(), time.Now(), in)
	stored.Variables = content.Variables(stored)
	puts(c, missing == nil, before, stored)
	c.Tag(stored.Tag())
	return stored, err
}

// checkTemplate checks what a template says in its own language.
func checkTemplate(c *web.Call, t *posthouse.Template) {
	if t.Text == "" && !wordless(t.Type) {
		c.RefuseNew("text", "is required")
	}
	c.CheckWord("title", t.Title, maxTitle)
	c.CheckText("text", t.Text, maxText)
	for _, part := range []struct{ path, text string }{{"title", t.Title}, {"text", t.Text}} {
		if _, err := render.Parse(part.text); err != nil {
			c.RefuseNew(part.path, "%s", err)
		}
	}
	checkExtra(c, "extra", &t.Extra)
	switch {
	case t.Type != "" && (!t.Type.Valid() || t.Type.HasMedia()):
		c.RefuseNew("type", "%s", channel.Want(t.Type, slices.DeleteFunc(posthouse.ContentTypes(), posthouse.ContentType.HasMedia)))
	case wordless(t.Type) && len(t.Extra) == 0:
		c.RefuseNew("extra", "is required for a content of type %s: an object in the provider's own form", t.Type)
	}
}

// wordless reports whether a content of a type says everything in what only the provider knows.
func wordless(t posthouse.ContentType) bool {
	return t == posthouse.NewsContent || t == posthouse.TemplateContent
}

// checkExtra checks what only the provider knows, and writes it without spaces.
func checkExtra(c *web.Call, path string, extra *json.RawMessage) {
	var p draft.Problems
	p.Object(path, *extra, draft.MaxExtra)
	if c.Add(p.List); len(p.List) > 0 || len(*extra) == 0 {
		return
	}
	parsed, err := render.ParseJSON(*extra)
	if err != nil {
		c.RefuseNew(path, "%s", err)
		return
	}
	if *extra = parsed.Text(); string(*extra) == "null" {
		*extra = nil
	}
}

// maxTexts bounds the languages of a template, besides its own.
const maxTexts = 50

// checkTexts checks the texts in other languages, and writes their tags as the standard does.
func checkTexts(c *web.Call, t *posthouse.Template) {
	c.CheckLanguage("language", &t.Language)
	if n := len(t.Texts); n > maxTexts {
		c.RefuseNew("texts", "has %d languages: at most %d are allowed", n, maxTexts)
		return
	}
	texts := map[string]posthouse.TemplateText{}
	for _, given := range slices.Sorted(maps.Keys(t.Texts)) {
		tag, path, one := given, "texts."+given, t.Texts[given]
		if tag == "" {
			c.RefuseNew("texts", "has one without a language: want a tag such as zh, en or zh-Hant")
		}
		c.CheckLanguage(path, &tag)
		if _, twice := texts[tag]; twice || tag != "" && tag == t.Language {
			c.RefuseNew(path, "is %.80q, which stands there twice", tag)
		}
		checkExtra(c, path+".extra", &one.Extra)
		texts[tag] = one
		if one.Text == "" && !wordless(t.Type) {
			c.RefuseNew(path+".text", "is required")
		}
		c.CheckWord(path+".title", one.Title, maxTitle)
		c.CheckText(path+".text", one.Text, maxText)
		for _, part := range []struct{ path, text string }{{".title", one.Title}, {".text", one.Text}} {
			if _, err := render.Parse(part.text); err != nil {
				c.RefuseNew(path+part.path, "%s", err)
			}
		}
	}
	if len(texts) > 0 {
		t.Texts = texts
	}
}

// checkPayload bounds what a template is filled with as that of a message is.
func checkPayload(c *web.Call, payload json.RawMessage) {
	var p draft.Problems
	p.Payload(payload, draft.MaxPayload)
	c.Add(p.List)
}

// Bounds of the parameters of a template.
const (
	maxParameters = 100
	maxParameter  = 128
)

func checkParameters(c *web.Call, parameters map[string]string) {
	if n := len(parameters); n > maxParameters {
		c.RefuseNew("parameters", "has %d: the most is %d", n, maxParameters)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		path := "parameters." + name
		if name == "" {
			c.RefuseNew("parameters", "has one without a name")
		}
		c.CheckWord(path, name, maxParameter)
		c.CheckText(path, parameters[name], maxText)
		if _, err := render.Parse(parameters[name]); err != nil {
			c.RefuseNew(path, "%s", err)
		}
	}
}

func (t templates) remove(c *web.Call) error {
	before, err := t.store.Template(c.Context(), c.Tenant(), c.PathValue("name"), 0)
	deletes(c, before, err)
	if err == nil {
		err = t.used.unused(c, before.Name)
	}
	if err != nil {
		return err
	}
	return t.store.DeleteTemplate(c.Context(), c.Tenant(), c.PathValue("name"))
}

func (t templates) preview(c *web.Call, in wire.Preview) (out wire.Previewed, err error) {
	of := posthouse.Template{Name: c.PathValue("name"), Title: in.Title, Text: in.Text, Type: in.Type, Extra: in.Extra, Lenient: in.Lenient}
	if in.Text == "" && in.Title == "" && len(in.Extra) == 0 {
		if of, err = t.version(c, 0); err != nil {
			return out, err
		}
	}
	checkTemplate(c, &of)
	c.CheckLanguage("language", &in.Language)
	checkPayload(c, in.Payload)
	if err := c.Wrong(); err != nil {
		return out, err
	}
	if in.Language != "" {
		general := ""
		if tenant, err := t.tenants.Tenant(c.Context(), c.Tenant()); err == nil {
			general = tenant.Language
		}
		of = content.In(of, content.Choose(of, in.Language, general))
		of.Texts = nil // they have no say in this
	}
	out = read.Preview(t.filler, of, in.Payload, in.Clock)
	if in.Channel == "" {
		return out, nil
	}
	warnings, err := t.channels.Fit(c.Context(), c.Tenant(), in.Channel, out.Content)
	out.Warnings = append(out.Warnings, warnings...)
	return out, err
}

// test sends what a payload makes of a template, also of a disabled one.
func (t templates) test(c *web.Call, in wire.TemplateTest) (out wire.ChannelTested, err error) {
	if in.Channel == "" {
		c.RefuseNew("channel", "is required: the name of a configured channel")
	}
	if in.To.User == "" && in.To.Address == "" {
		c.RefuseNew("to", "names nobody: want a user or an address")
	}
	checkPayload(c, in.Payload)
	if err := c.Wrong(); err != nil {
		return out, err
	}
	of, err := t.version(c, 0)
	if err != nil {
		return out, err
	}
	made, payload, problems := t.filler.Fill(of, in.Payload, in.Clock, time.Time{})
	if err := posthouse.Invalid("the payload does not fill the template", problems); err != nil {
		return out, err
	}
	leaves, _ := content.Prepare(of).Leaves(payload, nil)
	message := channel.Outgoing{Recipient: in.To, Content: made, Template: of.Name, TemplateID: of.ExternalID, Payload: leaves}
	return try(c, in.Channel, message, func(out channel.Outgoing, anybody bool) (channel.Outgoing, channel.Result, error) {
		return t.channels.Test(c.Context(), c.Tenant(), in.Channel, out, c.Caller(), anybody)
	})
}
