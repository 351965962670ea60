package prove

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/posthouse/posthouse/torture/internal/house"
)

// TestEveryScheduleHoldsTheLaws explores scenes to their ends: small ones in the short form.
func TestEveryScheduleHoldsTheLaws(t *testing.T) {
	t.Parallel()
	for _, s := range house.Form(shortScenes, fullScenes) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			f := explore(t, &s)
			house.Report(t, house.Row{
				Test: "P1 " + s.name, Database: "sqlite", What: s.about, N: f.states, Unit: "states", Pass: f.broken == nil,
				Figure: fmt.Sprintf("%d transitions to depth %d, %d states of the database, %d distinct transactions in %s; %s",
					f.transitions, f.depth, f.bases, f.transactions, f.took.Round(100*time.Millisecond), f.verdict()),
				Bar: "0 violations",
			})
			if f.broken != nil {
				t.Error(f.story())
			}
		})
	}
}

// explore searches a scene on a database of its own. It is fast where TMPDIR is in memory, as in .ci/run.
func explore(t testing.TB, s *scene) finding {
	t.Helper()
	db, err := openDatabase(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "prove.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	f, err := search(t.Context(), db, s, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
