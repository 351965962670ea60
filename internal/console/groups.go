package console

import (
	"context"
	"io"
	"maps"

	"github.com/posthouse/posthouse/internal/console/digests"
	"github.com/posthouse/posthouse/internal/console/doctor"
	"github.com/posthouse/posthouse/internal/console/fronts"
	"github.com/posthouse/posthouse/internal/console/gallery"
	"github.com/posthouse/posthouse/internal/console/host"
	"github.com/posthouse/posthouse/internal/console/notifications"
	"github.com/posthouse/posthouse/internal/console/quiet"
	"github.com/posthouse/posthouse/internal/console/removal"
	"github.com/posthouse/posthouse/internal/console/rosters"
	"github.com/posthouse/posthouse/internal/console/suppressions"
	"github.com/posthouse/posthouse/internal/console/users"
	"github.com/posthouse/posthouse/internal/web"
)

// groups are the groups of pages that are packages of their own.
func groups() []host.Pages {
	return []host.Pages{rosters.Pages(), gallery.Pages(), fronts.Pages(), notifications.Pages(), digests.Pages(), quiet.Pages(), doctor.Pages(), users.Pages(), suppressions.Pages(), removal.Pages()}
}

// Removal is the form that deletes a thing, nil for who may not.
func (f frame) Removal(of string, names ...string) *removal.Form {
	form, use, ok := removal.FormOf(f.v.at, of, names...)
	if !ok || web.Permit(f.v.key, use) != nil {
		return nil
	}
	form.Uses = naming(f.v, of, form.Name)
	return &form
}

// groupRoutes are their routes.
func groupRoutes() (list []route) {
	for _, g := range groups() {
		for _, r := range g.Routes {
			list = append(list, route{r.Method, r.Path, r.Use, func(v *visit) error { return r.Serve(v.hosted()) }})
		}
	}
	return list
}

// groupWords are their texts.
func groupWords() map[string]word {
	all := map[string]word{}
	for _, g := range groups() {
		maps.Copy(all, g.Words)
	}
	return all
}

// hosted is a visit as groups of pages see it.
func (v *visit) hosted() *host.Visit {
	return &host.Visit{Frame: surroundings{v}, W: v.w, R: v.r, API: v.api, Zone: v.o.Zone, Local: zoneFor(v)}
}

// surroundings are a host.Frame.
type surroundings struct{ v *visit }

func (s surroundings) Ctx() context.Context      { return s.v.ctx() }
func (s surroundings) Noted() context.Context    { return withNote(s.v.ctx(), s.v.form("note")) }
func (s surroundings) Form(name string) string   { return s.v.form(name) }
func (s surroundings) Query(name string) string  { return s.v.query(name) }
func (s surroundings) Say(name string) string    { return say(name, s.v.zh) }
func (s surroundings) At(parts ...string) string { return s.v.at(parts...) }
func (s surroundings) GoTo(address string) error { return s.v.goTo(address) }

func (s surroundings) Draw(status int, name, title string, data any) error {
	return s.v.draw(status, name, title, data)
}

func (s surroundings) Save(name string, write func(io.Writer) error) error {
	w := downloadOf(s.v, name)
	return w.end(write(w))
}
