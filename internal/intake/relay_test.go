package intake

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
