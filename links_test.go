package posthouse_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	pageBlock   = regexp.MustCompile("(?ms)^```.*?^```")
	pageLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	pageHeading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	headingLink = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	notOfAnchor = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// Every link of a page to another page leads to a file that is there, and to a heading of it.
func TestLinksOfPagesLeadSomewhere(t *testing.T) {
	t.Parallel()
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	texts := map[string]string{}
	read := func(page string) string {
		if _, known := texts[page]; !known {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			texts[page] = pageBlock.ReplaceAllString(string(text), "")
		}
		return texts[page]
	}
	links := 0
	for _, page := range pages {
		for _, m := range pageLink.FindAllStringSubmatch(read(page), -1) {
			file, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			links++
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %s is not there", page, m[1])
				continue
			}
			if anchor != "" && strings.HasSuffix(target, ".md") {
				if has := anchorsOf(read(target)); !has[anchor] {
					t.Errorf("%s: %s has no heading for #%s; it has %q", page, target, anchor, slices.Sorted(maps.Keys(has)))
				}
			}
		}
	}
	if links < 500 {
		t.Errorf("only %d links were followed", links)
	}
}

// anchorsOf are what links to a page's headings say: the words in small letters, with hyphens between, as repositories' web pages have them.
func anchorsOf(text string) map[string]bool {
	anchors := map[string]bool{}
	for _, m := range pageHeading.FindAllStringSubmatch(text, -1) {
		words := notOfAnchor.ReplaceAllString(strings.ToLower(headingLink.ReplaceAllString(strings.TrimSpace(m[1]), "$1")), "")
		anchor := strings.ReplaceAll(words, " ", "-")
		for n, first := 1, anchor; anchors[anchor]; n++ {
			anchor = first + "-" + string(rune('0'+n))
		}
		anchors[anchor] = true
	}
	return anchors
}
