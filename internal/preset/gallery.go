package preset

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/presets"
)

// Builtin are the presets that ship, by name. They are read once, and nobody changes them.
func Builtin() ([]*Preset, error) { return builtin() }

var builtin = sync.OnceValues(func() ([]*Preset, error) { return Read(presets.Files()) })

// Read reads the presets of a folder, by name: NAME.yaml with NAME.shapes beside it.
func Read(files fs.FS) ([]*Preset, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var list []*Preset
	for _, file := range names {
		p, err := One(files, strings.TrimSuffix(file, ".yaml"))
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

// One reads one preset of a folder. The error wraps fs.ErrNotExist where there is none of this name.
func One(files fs.FS, name string) (*Preset, error) {
	if !presetName.MatchString(name) {
		return nil, fmt.Errorf("%.80q is no name of a preset: %w", name, fs.ErrNotExist)
	}
	text, err := fs.ReadFile(files, name+".yaml")
	if err != nil {
		return nil, fmt.Errorf("read the preset %s: %w", name, err)
	}
	shapes, err := fs.ReadFile(files, name+".shapes")
	if err != nil {
		return nil, fmt.Errorf("read the shapes of the preset %s: %w", name, err)
	}
	p, err := Parse(string(text), string(shapes))
	if err != nil {
		return nil, fmt.Errorf("the preset %s: %w", name, err)
	}
	if p.Name != name {
		return nil, fmt.Errorf("the preset in %s.yaml calls itself %q", name, p.Name)
	}
	return p, nil
}

// Rows keeps the presets that tenants have added.
type Rows interface {
	PutPreset(ctx context.Context, now time.Time, p work.PresetRow) error
	Preset(ctx context.Context, tenant, name string) (work.PresetRow, bool, error)
	Presets(ctx context.Context, tenant string) ([]work.PresetRow, error)
	DeletePreset(ctx context.Context, now time.Time, tenant, name string) error
}

// Gallery has the presets that ship, and those that a tenant has added.
type Gallery struct {
	ship []*Preset
	rows Rows
}

// NewGallery makes a Gallery.
func NewGallery(rows Rows) (*Gallery, error) {
	ship, err := Builtin()
	return &Gallery{ship, rows}, err
}

// List lists all of a tenant's, by name. One that was added by another version of the program and cannot be read now is left out.
func (g *Gallery) List(ctx context.Context, tenant string) ([]*Preset, error) {
	list := slices.Clone(g.ship)
	rows, err := g.rows.Presets(ctx, tenant)
	for _, row := range rows {
		if p, err := own(row); err == nil && g.shipped(row.Name) == nil {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b *Preset) int { return strings.Compare(a.Name, b.Name) })
	return list, err
}

func own(row work.PresetRow) (*Preset, error) {
	p, err := Parse(row.Body, row.Shapes)
	if err == nil {
		p.Own = true
	}
	return p, err
}

func (g *Gallery) shipped(name string) *Preset {
	for _, p := range g.ship {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// Get finds one.
func (g *Gallery) Get(ctx context.Context, tenant, name string) (*Preset, error) {
	if p := g.shipped(name); p != nil {
		return p, nil
	}
	row, found, err := g.rows.Preset(ctx, tenant, name)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, posthouse.Errorf(posthouse.CodeNotFound, "there is no preset %.80q", name)
	}
	return own(row)
}

// Put adds a tenant's own, once it does what its shapes say.
func (g *Gallery) Put(ctx context.Context, tenant, name, text, shapes string) (*Preset, error) {
	p, err := Parse(text, shapes)
	if err != nil {
		return nil, err
	}
	problems := p.Try()
	switch {
	case p.Name != name:
		problems = append(problems, posthouse.Problem{Path: "preset", Message: fmt.Sprintf("is %q, and it is stored as %.80q", p.Name, name)})
	case g.shipped(name) != nil:
		problems = append(problems, posthouse.Problem{Path: "preset", Message: fmt.Sprintf("is %q, which ships: give yours another name", name)})
	}
	if err := posthouse.Invalid("the preset cannot be stored", problems); err != nil {
		return nil, err
	}
	if err := g.room(ctx, tenant, name); err != nil {
		return nil, err
	}
	p.Own = true
	return p, g.rows.PutPreset(ctx, time.Now(), work.PresetRow{Tenant: tenant, Name: name, Version: p.Version, Body: text, Shapes: shapes})
}

// mostOwn is how many presets a tenant may have of its own.
const mostOwn = 200

func (g *Gallery) room(ctx context.Context, tenant, name string) error {
	rows, err := g.rows.Presets(ctx, tenant)
	if err == nil && len(rows) >= mostOwn && !slices.ContainsFunc(rows, func(r work.PresetRow) bool { return r.Name == name }) {
		err = posthouse.Errorf(posthouse.CodeConflict, "there are %d presets, the most there may be: delete one that no channel is to be made of", mostOwn)
	}
	return err
}

// Delete removes a tenant's own.
func (g *Gallery) Delete(ctx context.Context, tenant, name string) error {
	return g.rows.DeletePreset(ctx, time.Now(), tenant, name)
}
