package read

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

type present struct {
	list []work.Process
	now  time.Time
}

func (p present) Processes(context.Context) ([]work.Process, time.Time, error) {
	return p.list, p.now, nil
}

func (p present) Epoch(context.Context) (int64, error) { return 3, nil }

// A process that is silent for more than a minute counts as gone, and one of another epoch as stale.
func TestProcessesThatSayNothingAreGone(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 26, 8, 0, 0, 0, time.UTC)
	of := present{[]work.Process{{ID: "a", Epoch: 3, Seen: now.Add(-time.Minute)}, {ID: "b", Epoch: 2, Seen: now.Add(-time.Minute - time.Second)}}, now}
	got, err := Processes{of, of}.Processes(t.Context())
	want := []wire.Process{{ID: "a", Epoch: 3, SeenAt: of.list[0].Seen}, {ID: "b", Epoch: 2, Stale: true, SeenAt: of.list[1].Seen, Gone: true}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
