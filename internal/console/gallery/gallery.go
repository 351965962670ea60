// Package gallery is the console's pages of what is known of providers: the gallery with its search, and the page of a preset with the
// form that makes a channel of it. What a preset is, is package preset's.
package gallery

import (
	"embed"
	"errors"
	"net/http"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/console/host"
	"github.com/posthouse/posthouse/internal/shellword"
	"github.com/posthouse/posthouse/wire"
)

//go:embed pages
var files embed.FS

// Pages are the pages of presets.
func Pages() host.Pages {
	return host.Pages{
		Files: files, Words: texts(),
		Routes: []host.Route{
			host.Looks("presets", "presets.read", showAll),
			host.Looks("presets/{name}", "presets.read", show),
			host.Acts("presets/{name}", "channels.put", makeChannel),
		},
	}
}

// shelf is what the gallery shows.
type shelf struct {
	Search string
	Groups []group
}

// group are presets that are for one thing.
type group struct {
	Name wire.PresetGroup
	List []wire.Preset
}

func showAll(v *host.Visit) error {
	s := shelf{Search: v.Query("q")}
	list, err := v.API.Presets.List(v.Ctx(), s.Search)
	if err != nil {
		return err
	}
	for _, name := range []wire.PresetGroup{"chat", "push", "sms", "alert"} {
		g := group{Name: name}
		for _, p := range list {
			if p.Group == name {
				g.List = append(g.List, p)
			}
		}
		if len(g.List) > 0 {
			s.Groups = append(s.Groups, g)
		}
	}
	return v.Show("presets", "presets", s)
}

// sheet is what the page of a preset shows.
type sheet struct {
	wire.Preset
	Asked    []asked
	Channel  string
	Origin   string
	Problems []posthouse.Problem
}

// asked is a field of the form.
type asked struct {
	wire.PresetField
	Value string
}

func show(v *host.Visit) error {
	s, err := sheetOf(v)
	if err != nil {
		return err
	}
	return v.Show("preset", "presets", s)
}

func sheetOf(v *host.Visit) (*sheet, error) {
	p, err := v.API.Presets.Get(v.Ctx(), v.R.PathValue("name"))
	if err != nil {
		return nil, err
	}
	s := &sheet{Preset: p, Channel: p.Name}
	for _, f := range p.Fields {
		s.Asked = append(s.Asked, asked{PresetField: f})
	}
	return s, nil
}

// makeChannel makes a channel of the form, or shows what is wrong with it. Secrets are typed again then.
func makeChannel(v *host.Visit) error {
	s, err := sheetOf(v)
	if err != nil {
		return err
	}
	s.Channel, s.Origin = v.Form("channel"), v.Form("config.origin")
	ch := posthouse.Channel{Name: s.Channel, Config: map[string]any{}}
	ch.Preset = s.Preset.Name
	for i := range s.Asked {
		text := v.Form("config." + s.Asked[i].Name)
		if !s.Asked[i].Secret {
			s.Asked[i].Value = text
		}
		if text != "" {
			ch.Config[s.Asked[i].Name] = text
		}
	}
	if s.Origin != "" {
		ch.Config["origin"] = s.Origin
	}
	if s.Channel == "" {
		s.Problems = []posthouse.Problem{{Path: "channel", Message: v.Say("name_missing")}}
		return v.Draw(http.StatusUnprocessableEntity, "preset", "presets", s)
	}
	_, _, err = v.API.Channels.Put(client.IfNew(v.Noted()), ch)
	if err == nil {
		return v.GoTo(v.At("channels", ch.Name) + "?said=stored")
	}
	if !s.refused(err) {
		return err
	}
	return v.Draw(http.StatusUnprocessableEntity, "preset", "presets", s)
}

// refused takes what the API refuses of the form, and reports whether it is of that kind.
func (s *sheet) refused(err error) bool {
	var coded *posthouse.Error
	if !errors.As(err, &coded) || coded.Code != posthouse.CodeInvalid && coded.Code != posthouse.CodeConflict && coded.Code != posthouse.CodeChanged {
		return false
	}
	if s.Problems = coded.Problems; len(s.Problems) == 0 {
		s.Problems = []posthouse.Problem{{Path: "channel", Message: coded.Message}}
	}
	return true
}

// Command is the command that makes the same channel.
func (s *sheet) Command() string {
	var b strings.Builder
	b.WriteString("posthouse channel set " + shellword.Quote(s.Preset.Name) + " --preset " + shellword.Quote(s.Preset.Name))
	for _, f := range s.Fields {
		switch {
		case f.Secret:
			b.WriteString(" --secret " + shellword.Quote(f.Name+"=@"+f.Name+".txt"))
		case f.Required:
			b.WriteString(" --field " + shellword.Quote(f.Name+"=…"))
		}
	}
	return b.String()
}
