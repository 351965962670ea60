package clock

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// readLog hands over every event of a run.
func readLog(t *testing.T, h *house.House, each func(e posthouse.Event)) {
	t.Helper()
	_, err := h.Store(t).History.ExportEvents(t.Context(), "", "", func(e posthouse.Event) error {
		each(e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// starts are the moments at which sends started, by delivery and by the database's clock.
func starts(t *testing.T, h *house.House) map[string][]time.Time {
	t.Helper()
	list := map[string][]time.Time{}
	readLog(t, h, func(e posthouse.Event) {
		if e.Type == posthouse.EventStart {
			list[e.Delivery] = append(list[e.Delivery], e.At)
		}
	})
	return list
}

// arrivals counts how often each delivery arrived.
func arrivals(t *testing.T, h *house.House) map[string]int {
	t.Helper()
	n := map[string]int{}
	for _, a := range h.Provider.Arrivals(t) {
		n[a.Key]++
	}
	return n
}

// quantiles writes the median, the 99th percentile and the worst of some durations.
func quantiles(list []time.Duration) string {
	if len(list) == 0 {
		return "none"
	}
	return fmt.Sprintf("p50 %s, p99 %s, worst %s", at(list, 50), at(list, 99), at(list, 100))
}

// at is a percentile.
func at(list []time.Duration, percent int) time.Duration {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[min(len(sorted)*percent/100, len(sorted)-1)].Round(100 * time.Microsecond)
}
