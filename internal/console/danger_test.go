package console

import (
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"
)

// What cannot be taken back has a red button, apart from the others, that says what it does: none that says "confirm" alone.
func TestWhatCannotBeTakenBackIsRed(t *testing.T) {
	t.Parallel()
	ends := regexp.MustCompile(`<form method="post"[^>]* ("(?:delete|revoke|revoke-links|disable|end|recall)"}}|{{\$of\.Link}})">`)
	found := 0
	for page, text := range templatesOf(t) {
		for _, part := range strings.Split(text, `<details class="`)[1:] {
			part, _, _ = strings.Cut(part, "</details>")
			if !ends.MatchString(part) {
				continue
			}
			found++
			if !strings.HasPrefix(part, `decide danger"`) || !strings.Contains(part, `<button class="bad">`) || strings.Contains(part, `.T "confirm"`) {
				t.Errorf("%s: a form that cannot be taken back looks like any other:\n%s", page, part)
			}
		}
	}
	if found < 5 {
		t.Errorf("only %d forms were found", found)
	}
}

// A sentence of the server has its times by the clock that the rest of the page goes by.
func TestSentencesHaveTheTimesOfTheReader(t *testing.T) {
	t.Parallel()
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	f := frame{v: &visit{console: &console{o: Options{Zone: shanghai}}, r: httptest.NewRequest("GET", "/console/", nil)}}
	for text, want := range map[string]string{
		"parked until 2026-11-29T17:57:25Z":     "parked until 2026-11-30 01:57:25",
		"slow since 2026-11-29T17:57:25.12345Z": "slow since 2026-11-30 01:57:25",
		"at 2026-11-29":                         "at 2026-11-29",
		"at 2026-13-29T17:57:25Z":               "at 2026-13-29T17:57:25Z",
	} {
		if got := f.InZone(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
