package cli

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const inChinese = ".zh-CN.md"

// A page in two languages says the same in both: the same chapters, the same blocks, and the same flags, variables, settings,
// commands and metrics. A change of one page alone fails here, with what the other lacks.
func TestGuidesSayTheSameInBothLanguages(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../docs/guide/*.md")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, page := range append(pages, "../README.md", "../SECURITY.md") {
		if strings.HasSuffix(page, inChinese) {
			if _, err := os.Stat(strings.TrimSuffix(page, inChinese) + ".md"); err != nil {
				t.Errorf("%s is there in Chinese alone", page)
			}
			continue
		}
		english, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		chinese, err := os.ReadFile(strings.TrimSuffix(page, ".md") + inChinese)
		if err != nil {
			t.Errorf("%s is there in English alone", page)
			continue
		}
		compared++
		for _, differs := range differences(string(english), string(chinese)) {
			t.Errorf("%s: %s", page, differs)
		}
	}
	if compared < 20 {
		t.Errorf("only %d pages were compared", compared)
	}
}

// What the comparison finds is what somebody forgot.
func TestLanguagesOfAGuideThatDifferAreFound(t *testing.T) {
	t.Parallel()
	const page = "# A page\n\n[中文](x.zh-CN.md)\n\n## A chapter\n\nSet `max_inflight` by `--max-senders 4`, or `POSTHOUSE_DSN`; `posthouse_senders` counts, `posthouse doctor` looks.\n\n```sh\nposthouse serve --addr :80   # here\n```\n"
	if found := differences(page, strings.ReplaceAll(page, "   # here", "   # 这里")); len(found) > 0 {
		t.Errorf("a page differs from itself: %q", found)
	}
	for name, change := range map[string][2]string{
		"a heading":             {"## A chapter\n", ""},
		"the level of one":      {"## A chapter", "### A chapter"},
		"a block":               {"```sh\nposthouse serve --addr :80   # here\n```\n", "`posthouse serve --addr :80`"},
		"the kind of a block":   {"```sh", "```"},
		"a command of a block":  {"posthouse serve", "posthouse healthy"},
		"an argument of one":    {":80", ":81"},
		"a flag in the text":    {"`--max-senders 4`", "the flag"},
		"a setting":             {"max_inflight", "max_in_flight"},
		"a variable":            {"POSTHOUSE_DSN", "POSTHOUSE_DNS"},
		"a metric":              {"posthouse_senders", "posthouse_sender"},
		"a command in the text": {"posthouse doctor", "posthouse verify"},
	} {
		if len(differences(page, strings.Replace(page, change[0], change[1], 1))) == 0 {
			t.Errorf("%s was changed, and nothing is found", name)
		}
	}
}

var (
	heading  = regexp.MustCompile(`(?m)^(#+) (.*)$`)
	comment  = regexp.MustCompile(`(?m)(^|[ \t])(#|//|-- ).*$`)
	codeSpan = regexp.MustCompile("`[^`]+`")
	// bone is what stands in a block whatever language its texts are in: flags, variables and settings, commands of ours, keys and
	// values of JSON and YAML by name, and numbers.
	bone = regexp.MustCompile(`--[a-z][a-z-]+|\$?\b[A-Z]{2,}_[A-Z_]+[A-Z]\b|\b[a-z]+(?:_[a-z]+)+\b|\bposthouse [a-z]+(?: [a-z]+\b)?|"[a-z]+":|(?m:^ *[a-z]+:)|\b[0-9]+\b`)
	// named are the words of code that a reader looks for: flags, variables, settings and metrics, and commands of ours.
	named = regexp.MustCompile(`--[a-z][a-z-]+|\b[A-Z]{2,}_[A-Z_]+[A-Z]\b|\b[a-z]+(?:_[a-z]+)+\b|\bposthouse [a-z]+\b`)
)

// differences are what one page has and the other has not.
func differences(english, chinese string) (found []string) {
	if diff := cmp.Diff(levels(english), levels(chinese)); diff != "" {
		found = append(found, "the headings differ (-English +Chinese):\n"+diff)
	}
	if diff := cmp.Diff(bare(english), bare(chinese)); diff != "" {
		found = append(found, "the blocks differ (-English +Chinese):\n"+diff)
	}
	if diff := cmp.Diff(namesOf(english), namesOf(chinese)); diff != "" {
		found = append(found, "flags, variables, settings, metrics or commands are named by one alone (-English +Chinese):\n"+diff)
	}
	return found
}

// levels are how deep each heading of a page is.
func levels(page string) (out []string) {
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
		out = append(out, m[1])
	}
	return out
}

// bare are the bones of a page's blocks: texts in them are written in the page's language, and the rest is the same.
func bare(page string) (out []string) {
	for _, b := range blocksOf(page) {
		switch {
		case b.shown || b.kind == "" && b.steps == nil: // what is printed, which the test that types it compares; pictures
			out = append(out, "what is printed or drawn")
		default:
			text := b.text
			if b.kind == "" {
				text = ""
				for _, s := range b.steps {
					text += s.command
				}
			}
			out = append(out, b.kind+": "+strings.Join(bone.FindAllString(comment.ReplaceAllString(text, ""), -1), " "))
		}
	}
	return out
}

// namesOf are the names that stand in a page's code, its blocks left out.
func namesOf(page string) []string {
	all := map[string]bool{}
	for _, span := range codeSpan.FindAllString(fence.ReplaceAllString(page, ""), -1) {
		for _, name := range named.FindAllString(strings.Join(strings.Fields(span), " "), -1) {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
