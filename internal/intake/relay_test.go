package intake

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse/internal/work"
)

func TestPausesBetweenTriesOfARejectedRowGrow(t *testing.T) {
	t.Parallel()
	var got []time.Duration
	for failures := range 9 {
		got = append(got, relayWait(failures))
	}
	s := time.Second
	want := []time.Duration{5 * s, 10 * s, 20 * s, 40 * s, 80 * s, 160 * s, 320 * s, 600 * s, 600 * s}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pauses (-want +got):\n%s", diff)
	}
	if got := relayWait(1 << 40); got != relayPauseMax {
		t.Errorf("after very many failures: %v", got)
	}
}

// Two rows of one job are handed over one after the other, so that the one that was written first is the job.
func TestRowsOfOneJobKeepTheirOrder(t *testing.T) {
	t.Parallel()
	row := func(id, tenant, job string) letter {
		return letter{row: work.Enqueued{ID: id, Tenant: tenant}, job: json.RawMessage(job)}
	}
	letters := []letter{
		row("a1", "t", `{"dedupKey": "k", "number": 7}`), row("b", "t", `{"bizId": 1}`), row("c1", "t", `{"number": 7}`),
		row("d", "other", `{"dedupKey": "k"}`), row("a2", "t", `{"dedupKey": "k"}`), row("e", "t", `{"bizId": 1}`), row("c2", "t", `{"number": "7"}`),
		row("f", "t", `[]`), row("g", "t", `{"number": 0}`), row("h", "t", `{"number": 0}`),
	}
	var got [][]string
	for _, list := range apart(letters) {
		var ids []string
		for _, l := range list {
			ids = append(ids, l.row.ID)
		}
		got = append(got, ids)
	}
	if diff := cmp.Diff([][]string{{"a1", "a2"}, {"b"}, {"c1", "c2"}, {"d"}, {"e"}, {"f"}, {"g"}, {"h"}}, got); diff != "" {
		t.Errorf("what is handed over one after the other (-want +got):\n%s", diff)
	}
}
