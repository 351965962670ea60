package local

import (
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/work"
)

func TestDoctorSaysWhichPlaceHoldsTheDatabase(t *testing.T) {
	t.Parallel()
	of := func(place string, phase work.Phase, standby bool) held {
		return held{Place: place, Epoch: 3, Phase: string(phase), From: "a", Standby: standby}
	}
	for name, c := range map[string]struct {
		h         held
		own, says string
		sick      bool
	}{
		"no places":             {of("", "", false), "", "", false},
		"no place holds it yet": {of("", "", false), "a", "no place holds epoch 3", false},
		"this one holds it":     {of("a", work.PhaseHeld, false), "a", "a holds epoch 3", false},
		"its standby":           {of("a", work.PhaseHeld, true), "b", "the database is a standby", false},
		"promoted":              {of("a", work.PhaseHeld, false), "b", "If a is lost, run posthouse migrate new-epoch", true},
		"leaving":               {of("b", work.PhaseLeaving, false), "a", "a still ends what it began", false},
		"ready":                 {of("b", work.PhaseReady, true), "b", "a has ended all it began", false},
		"the setting is away":   {of("a", work.PhaseHeld, false), "", "The setting place is missing", true},
	} {
		found := ofPlace(c.h, c.own)
		switch {
		case c.says == "":
			if len(found) > 0 {
				t.Errorf("%s: %+v", name, found)
			}
		case len(found) != 1 || found[0].OK == c.sick || !strings.Contains(found[0].Detail, c.says):
			t.Errorf("%s: %+v, want %q", name, found, c.says)
		}
	}
}
