package cli

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// theDemo runs the demo in a language, as make demo does, and compares what it prints with what the page shows.
func theDemo(lang string) func(*guideReader, block) {
	return func(r *guideReader, b block) {
		r.Helper()
		got, code := r.typeIn("posthouse demo --once --lang " + lang)
		if code != 0 {
			r.Fatalf("the demo ends with %d:\n%s", code, got)
		}
		got = strings.TrimSpace(progressOfTheDemo.ReplaceAllString(got, "")) + "\n"
		diff := cmp.Diff(stillDemo(b.text), stillDemo(got))
		switch {
		case diff == "":
		case *update:
			r.printed = append(r.printed, typedStep{command: got, want: b.text, at: b.at})
		default:
			r.Errorf("line %d: the demo prints (-guide +got):\n%s", b.line, diff)
		}
	}
}

// progressOfTheDemo are the lines that a terminal draws over.
var progressOfTheDemo = regexp.MustCompile(`(?m)^  \d+ (of|/) \d+ .*\n`)

var demoChances = []struct {
	from *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "ADDR"},
	{regexp.MustCompile(`\b01[0-9A-Z]{11,24}…?`), "ID"},
	{regexp.MustCompile(`\b[a-z]{2}-[0-9a-z]{8}-[0-9a-z]+…?`), "REF"},
	{regexp.MustCompile(`\d+\.\d (s|秒)`), "SECONDS $1"},
	{regexp.MustCompile(`─+`), "─"},
	{regexp.MustCompile(`\bexpired +\d.*`), "expired"},                           // at which try is up to the machine
	{regexp.MustCompile(`(?m)^(app-\d\d) .*$`), "$1 RATES"},                      // what an account finds out
	{regexp.MustCompile(`(?m)^(the providers saw|平台共收到) .*$`), "$1 SOME, AND …"}, // with the tries
	{regexp.MustCompile(` +`), " "},
	{regexp.MustCompile(`(?m) $`), ""},
}

// stillDemo is what the demo prints, without what is chance: addresses, ids, times, rates, and in which order phones sent.
func stillDemo(text string) []string {
	for _, change := range demoChances {
		text = change.from.ReplaceAllString(text, change.to)
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	onPhone := func(line string) bool { return strings.HasPrefix(line, " phone-") }
	if first := slices.IndexFunc(lines, onPhone); first >= 0 {
		last := first
		for last < len(lines) && onPhone(lines[last]) {
			last++
		}
		slices.Sort(lines[first:last])
	}
	return lines
}

// What is no chance is compared.
func TestADemoThatPrintsSomethingElseIsFound(t *testing.T) {
	t.Parallel()
	const page = "server on http://127.0.0.1:45281\n\nWhat  State  Tries  Id\n────\none   sent   1      ty-mwz27koe-1…\nlate  expired  1  deadline\n\n2 deliveries settled in 2.9 s: sent 1\nthe fake phones sent:\n  phone-1 → 1  a\n  phone-2 → 2  b\n\napp-01  1.1  climbs\n"
	const same = "server on http://127.0.0.1:1\n\nWhat  State  Tries  Id\n──────\none   sent   1      ty-aaaaaaaa-3q\nlate  expired  0  deadline_before\n\n2 deliveries settled in 13.0 s: sent 1\nthe fake phones sent:\n  phone-2 → 2  b\n  phone-1 → 1  a\n\napp-01  0.0  punished\n"
	if diff := cmp.Diff(stillDemo(page), stillDemo(same)); diff != "" {
		t.Errorf("chance is compared:\n%s", diff)
	}
	for _, change := range [][2]string{
		{"one ", "two "}, {"sent   1", "failed 1"}, {"sent   1", "sent   2"}, {"Tries", "Calls"}, {"late  expired", "late  failed"}, {"2 deliveries", "3 deliveries"}, {": sent 1", ": sent 2"}, {"→ 2  b", "→ 2  c"}, {"app-01", "app-02"},
	} {
		if cmp.Equal(stillDemo(page), stillDemo(strings.Replace(page, change[0], change[1], 1))) {
			t.Errorf("%q became %q, and nothing is found", change[0], change[1])
		}
	}
}
