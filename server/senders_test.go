package server

import (
	"io"
	"log/slog"
	"strings"
	"testing"
)

// FLEET-4: bounds of senders that contradict each other are refused at the start.
func TestFLEET_4_BoundsOfSendersAreChecked(t *testing.T) {
	t.Parallel()
	for _, of := range []struct{ least, most int }{{10, 9}, {-1, 9}} {
		o := Options{DSN: "sqlite:" + t.TempDir() + "/posthouse.db", MinSenders: of.least, MaxSenders: of.most, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
		if _, err := New(t.Context(), o); err == nil || !strings.Contains(err.Error(), "min_senders") {
			t.Errorf("%d to %d: got %v, want an error that names min_senders", of.least, of.most, err)
		}
	}
	if o := (Options{MinSenders: 10_000}).withDefaults(); o.MaxSenders != 10_000 {
		t.Errorf("10000 at least are %d at most", o.MaxSenders)
	}
}
