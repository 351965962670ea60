package work_test

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/work"
)

func TestARetentionOfSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		keep, sent time.Duration
		want       work.Retention
		longest    time.Duration
	}{
		{time.Hour, 0, work.KeepAll(time.Hour), time.Hour},
		{time.Hour, time.Minute, work.Retention{Sent: time.Minute, Other: time.Hour}, time.Hour},
		{-1, 0, work.KeepAll(work.Forever), work.Forever},
		{time.Hour, -1, work.Retention{Sent: work.Forever, Other: time.Hour}, work.Forever},
	} {
		if got := work.RetentionOf(c.keep, c.sent); got != c.want || got.Longest() != c.longest {
			t.Errorf("RetentionOf(%v, %v) = %v, want %v", c.keep, c.sent, got, c.want)
		}
	}
}
