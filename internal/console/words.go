package console

import (
	"slices"

	"github.com/posthouse/posthouse/internal/console/words"
)

// word is a text of pages in both languages.
type word = words.Word

// say is a text in a language; its name where there is none, which a test does not let happen.
func say(name string, zh bool) string {
	for _, table := range slices.Concat(words.Tables(), ownWords()) {
		if w, ok := table[name]; ok {
			return w.In(zh)
		}
	}
	return name
}

// ownWords are the texts that one page alone has.
func ownWords() []map[string]word {
	return []map[string]word{phoneWords(), guideWords(), chartWords(), zoneWords(), groupWords()}
}
