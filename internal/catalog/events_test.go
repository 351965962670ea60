package catalog

import (
	"os"
	"regexp"
	"testing"
)

// Each event of a delivery has a word of its own.
func TestEachEventHasAWord(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../event.go")
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]string{}
	for _, m := range regexp.MustCompile(`EventType += "(\w+)"`).FindAllSubmatch(text, -1) {
		kind := string(m[1])
		word := Event(kind)
		if word == kind || by[word] != "" {
			t.Errorf("%s is called %q, as %q is", kind, word, by[word])
		}
		by[word] = kind
	}
	if len(by) < 25 || Event("other") != "other" {
		t.Errorf("there are %d words", len(by))
	}
}
