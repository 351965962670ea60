package registry

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// Presets are what an installation knows of providers besides what ships.
type Presets struct{ db *sqldb.DB }

var presetsTable = sqldb.NewTable("posthouse_presets", "tenant", "name", "version#", "body", "shapes", "updated_at#")

func readPreset(scan sqldb.Scanner) (p work.PresetRow, err error) {
	var version, updated int64
	err = scan(&p.Tenant, &p.Name, &version, &p.Body, &p.Shapes, &updated)
	p.Version, p.UpdatedAt = int(version), sqldb.TimeOf(updated)
	return p, err
}

// PutPreset stores a preset in the place of the one of its name. Its version is higher than that one's: a channel knows by it what it was
// made of.
func (s Presets) PutPreset(ctx context.Context, now time.Time, p work.PresetRow) error {
	return s.db.Change(ctx, now, "store a preset", func(t *sqldb.Tx) error {
		if err := t.Serialize(); err != nil {
			return err
		}
		at, err := t.Now()
		if err != nil {
			return err
		}
		old, found, err := s.preset(t.Query, p.Tenant, p.Name)
		switch {
		case err != nil:
			return err
		case found && old.Version >= p.Version && (old.Body != p.Body || old.Shapes != p.Shapes || old.Version > p.Version):
			return posthouse.Errorf(posthouse.CodeConflict, "the preset %q is stored with version %d: give what has changed a higher one", p.Name, old.Version)
		}
		return t.Put(presetsTable, 2, [][]any{{p.Tenant, p.Name, int64(p.Version), p.Body, p.Shapes, at}})
	})
}

func (s Presets) preset(from sqldb.Lookup, tenant, name string) (work.PresetRow, bool, error) {
	return sqldb.First(from, readPreset, "SELECT "+presetsTable.List+" FROM posthouse_presets WHERE tenant = ? AND name = ?", tenant, name)
}

// Preset reads one.
func (s Presets) Preset(ctx context.Context, tenant, name string) (work.PresetRow, bool, error) {
	p, found, err := s.preset(s.db.Reads(ctx), tenant, name)
	return p, found, s.db.Coded(err, "read a preset")
}

// Presets lists a tenant's, by name.
func (s Presets) Presets(ctx context.Context, tenant string) ([]work.PresetRow, error) {
	list, err := sqldb.All(s.db.Reads(ctx), readPreset, "SELECT "+presetsTable.List+" FROM posthouse_presets WHERE tenant = ? ORDER BY name", tenant)
	return list, s.db.Coded(err, "list the presets")
}

// DeletePreset removes one. Channels that were made of it stay as they are.
func (s Presets) DeletePreset(ctx context.Context, now time.Time, tenant, name string) error {
	return s.db.Change(ctx, now, "delete a preset", func(t *sqldb.Tx) error {
		n, err := t.Exec("DELETE FROM posthouse_presets WHERE tenant = ? AND name = ?", tenant, name)
		if err == nil && n == 0 {
			err = posthouse.Errorf(posthouse.CodeNotFound, "the installation has added no preset %.80q", name)
		}
		return err
	})
}
