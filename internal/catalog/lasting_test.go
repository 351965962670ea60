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
		10 * time.Minute:                     {"10m", "10 分钟"},
		61 * time.Second:                     {"1m1s", "1 分钟 1 秒"},
		time.Hour - time.Millisecond:         {"1h", "1 小时"},
		17*time.Hour + 19*time.Minute + 14e9: {"17h19m", "17 小时 19 分钟"},
		47 * time.Hour:                       {"47h", "47 小时"},
		49*time.Hour + 20*time.Minute:        {"2d1h", "2 天 1 小时"},
		71986*time.Hour + 54*time.Minute:     {"2999d11h", "2999 天 11 小时"},
		-90 * time.Second:                    {"-1m30s", "-1 分钟 30 秒"},
	} {
		if en, zh := catalog.Lasting(d, false), catalog.Lasting(d, true); en != want[0] || zh != want[1] {
			t.Errorf("%d: %q and %q, want %q", d, en, zh, want)
		}
	}
}

func TestAboutHasTheLongestUnit(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration][2]string{
		0: {"0s", "0 秒"}, 900 * time.Millisecond: {"0s", "0 秒"}, 7 * time.Second: {"7s", "7 秒"}, 119 * time.Second: {"1m", "1 分钟"},
		47*time.Hour + 59*time.Minute: {"47h", "47 小时"}, 48 * time.Hour: {"2d", "2 天"},
	} {
		if en, zh := catalog.About(d, false), catalog.About(d, true); en != want[0] || zh != want[1] {
			t.Errorf("About(%s) = %q and %q, want %q", d, en, zh, want)
		}
	}
}

func TestAnEstimateIsRoundedNotCut(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration][2]string{
		0: {"0s", "0 秒"}, 61 * time.Second: {"1m1s", "1 分钟 1 秒"}, 59*time.Minute + 40*time.Second: {"1h", "1 小时"}, 299 * time.Minute: {"5h", "5 小时"},
		89 * time.Minute: {"1h30m", "1 小时 30 分钟"}, 23*time.Hour + 40*time.Minute: {"24h", "24 小时"}, 71 * time.Hour: {"3d", "3 天"}, 47*time.Hour + 50*time.Minute: {"2d", "2 天"},
	} {
		if en, zh := catalog.Roughly(d, false), catalog.Roughly(d, true); en != want[0] || zh != want[1] {
			t.Errorf("Roughly(%s) = %q and %q, want %q", d, en, zh, want)
		}
	}
}

func TestWindowsAreANumberAndAUnit(t *testing.T) {
	t.Parallel()
	for _, e := range []struct {
		most   int
		per    time.Duration
		en, zh string
	}{
		{20, time.Second, "20 a second", "20 / 秒"}, {9000, time.Minute, "9,000 a minute", "9,000 / 分钟"}, {1234567, 24 * time.Hour, "1,234,567 a day", "1,234,567 / 天"},
		{100, time.Hour, "100 an hour", "100 / 小时"}, {20, 10 * time.Minute, "20 in 10m", "20 / 10 分钟"}, {5, 7 * 24 * time.Hour, "5 in 7d", "5 / 7 天"}, {5, 90 * time.Minute, "5 in 1h30m", "5 / 1 小时 30 分钟"},
	} {
		if en, zh := catalog.Window(e.most, e.per, false), catalog.Window(e.most, e.per, true); en != e.en || zh != e.zh {
			t.Errorf("Window(%d, %s) = %q and %q, want %q and %q", e.most, e.per, en, zh, e.en, e.zh)
		}
	}
	if got := catalog.Number(-1000); got != "-1,000" {
		t.Errorf("Number(-1000) = %q", got)
	}
}
