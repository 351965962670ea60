package console

import (
	"testing"
	"time"
)

func TestTheMorningIsTheNextEightOClock(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("+08:00", 8*3600)
	for now, want := range map[string]string{
		"2026-11-27T21:00:00+08:00": "2026-11-28T08:00:00+08:00",
		"2026-11-28T02:00:00+08:00": "2026-11-28T08:00:00+08:00",
		"2026-11-28T08:00:00+08:00": "2026-11-29T08:00:00+08:00",
		"2026-12-31T15:59:00Z":      "2027-01-01T08:00:00+08:00",
	} {
		at, err := time.Parse(time.RFC3339, now)
		if err != nil {
			t.Fatal(err)
		}
		if got := morningAfter(at, zone).Format(time.RFC3339); got != want {
			t.Errorf("the morning after %s is %s, want %s", now, got, want)
		}
	}
}
