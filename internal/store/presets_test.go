package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// A preset is replaced by a higher version alone, and belongs to its tenant.
func TestPresetsAreReplacedByHigherVersions(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		ctx := t.Context()
		put := func(p work.PresetRow) error { return s.Presets.PutPreset(ctx, at(), p) }
		first := work.PresetRow{Tenant: "t1", Name: "gateway", Version: 2, Body: "预设 one", Shapes: "shapes"}
		for _, p := range []work.PresetRow{first, first, {Tenant: "t2", Name: "gateway", Version: 1, Body: "b", Shapes: "s"}} {
			if err := put(p); err != nil {
				t.Fatal(err)
			}
		}
		changed := first
		changed.Body = "another"
		wantCode(t, put(changed), posthouse.CodeConflict)
		lower := first
		lower.Version = 1
		wantCode(t, put(lower), posthouse.CodeConflict)
		changed.Version = 3
		if err := put(changed); err != nil {
			t.Fatal(err)
		}
		got, found, err := s.Presets.Preset(ctx, "t1", "gateway")
		if diff := cmp.Diff(changed, got, cmpopts.IgnoreFields(work.PresetRow{}, "UpdatedAt")); err != nil || !found || diff != "" {
			t.Errorf("%t, %v (-want +got):\n%s", found, err, diff)
		}
		list, err := s.Presets.Presets(ctx, "t1")
		if err != nil || len(list) != 1 || list[0].Version != 3 {
			t.Errorf("the list is %+v, %v", list, err)
		}
		if err := s.Presets.DeletePreset(ctx, at(), "t1", "gateway"); err != nil {
			t.Fatal(err)
		}
		if _, found, err := s.Presets.Preset(ctx, "t1", "gateway"); found || err != nil {
			t.Errorf("after it was deleted: %t, %v", found, err)
		}
		wantCode(t, s.Presets.DeletePreset(ctx, at(), "t1", "gateway"), posthouse.CodeNotFound)
	})
}
