package console

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/catalog"
	"github.com/posthouse/posthouse/internal/console/words"
)

// retired are words that operators do not know, each with the field's own, which stands in its place everywhere.
var retired = map[string]string{
	"批次": "群发任务", "补单": "重发未送达", "未了结": "积压", "已抑制": "已拦截（抑制名单）", "裁定": "人工确认", "搁置": "已隔离",
	"look first": "Preview", "yes, do it": "Confirm", "what stands still": "Paused", "needs a person": "Needs attention", "decisions about many": "Bulk actions",
}

// labels are those that are retired as the name of a state or a button; within a sentence they say what they say.
var labels = map[string]string{"set aside": "quarantined", "did not arrive": "undelivered", "arrived not": "undelivered"}

// No page, text, sentence of the catalogue or guide has a word that was retired.
func TestRetiredWordsStandNowhere(t *testing.T) {
	t.Parallel()
	look := func(at, text string) {
		low := strings.ToLower(text)
		for word, now := range retired {
			if strings.Contains(low, word) {
				t.Errorf("%s has %q: say %q", at, word, now)
			}
		}
	}
	for _, table := range append(words.Tables(), groupWords()) {
		for name, w := range table {
			for _, text := range w {
				look("the word "+name, text)
				if now, is := labels[strings.ToLower(strings.Trim(text, " .:"))]; is {
					t.Errorf("the word %s is %q: say %q", name, text, now)
				}
			}
		}
	}
	for page, text := range templatesOf(t) {
		look(page, regexp.MustCompile(`{{[^}]*}}`).ReplaceAllString(text, ""))
	}
	for _, s := range append(catalog.Sentences(), catalog.Words()...) {
		look("the catalogue", s.English)
		look("the catalogue", s.Chinese)
	}
	guides, err := filepath.Glob("../../docs/guide/*.md")
	if err != nil || len(guides) < 50 {
		t.Fatalf("%d guides were found: %v", len(guides), err)
	}
	for _, name := range guides {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		look(filepath.Base(name), string(text))
	}
}
