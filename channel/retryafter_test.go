package channel_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/posthouse/posthouse/channel"
)

func TestParseRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 10, 1, 8, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":                              0,
		"0":                             0,
		"120":                           2 * time.Minute,
		" 5 ":                           5 * time.Second,
		"-1":                            0,
		"+5":                            0,
		"1.5":                           0,
		"1e9":                           0,
		"soon":                          0,
		"86401":                         24 * time.Hour,
		"99999999999999999999999999":    24 * time.Hour,
		"Thu, 01 Oct 2026 08:01:30 GMT": 90 * time.Second,
		"Thu, 01 Oct 2026 07:00:00 GMT": 0,
		"Fri, 31 Dec 9999 23:59:59 GMT": 24 * time.Hour,
		"2026-10-01T08:01:30Z":          0,
	} {
		if got := channel.ParseRetryAfter(value, now); got != want {
			t.Errorf("%q: %s, want %s", value, got, want)
		}
	}
}

func FuzzParseRetryAfter(f *testing.F) {
	now := time.Date(2026, 10, 1, 8, 0, 0, 0, time.UTC)
	for _, s := range []string{"", "5", "-5", "99999999999999999999", now.Format(http.TimeFormat), "Fri, 31 Dec 9999 23:59:59 GMT"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if got := channel.ParseRetryAfter(value, now); got < 0 || got > 24*time.Hour {
			t.Errorf("%q: %s is out of bounds", value, got)
		}
	})
}
