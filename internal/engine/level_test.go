package engine

import (
	"log/slog"
	"testing"

	"github.com/posthouse/posthouse"
)

// Of all ends of an attempt, those that nothing follows are warnings.
func TestAFinalFailureIsAWarning(t *testing.T) {
	t.Parallel()
	for _, s := range posthouse.States() {
		want := slog.LevelInfo
		if s == posthouse.Failed || s == posthouse.Expired || s == posthouse.Undelivered {
			want = slog.LevelWarn
		}
		if got := levelOf(s, false); got != want {
			t.Errorf("an attempt that leaves a delivery %s is logged as %s, want %s", s, got, want)
		}
	}
	if got := levelOf(posthouse.Sent, true); got != slog.LevelDebug {
		t.Errorf("one of many that went well is logged as %s", got)
	}
}
