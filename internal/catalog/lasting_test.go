package catalog_test

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/catalog"
)

// A length of time has as many figures as people read.
func TestLengthsOfTimeAreAsPeopleReadThem(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration][2]string{
		0:                                    {"0s", "0 秒"},
		340*time.Millisecond + 7:             {"340ms", "340 毫秒"},
		14870 * time.Millisecond:             {"15s", "15 秒"},
		10 * time.Minute:                     {"10m", "10 分"},
		61 * time.Second:                     {"1m1s", "1 分 1 秒"},
		time.Hour - time.Millisecond:         {"1h", "1 小时"},
		17*time.Hour + 19*time.Minute + 14e9: {"17h19m", "17 小时 19 分"},
		49 * time.Hour:                       {"49h", "49 小时"},
		-90 * time.Second:                    {"-1m30s", "-1 分 30 秒"},
	} {
		if en, zh := catalog.Lasting(d, false), catalog.Lasting(d, true); en != want[0] || zh != want[1] {
			t.Errorf("%d: %q and %q, want %q", d, en, zh, want)
		}
	}
}
