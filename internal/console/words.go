package console

import "github.com/posthouse/posthouse/internal/console/words"

// word is a text of pages in both languages.
type word = words.Word

// say is a text in a language; its name where there is none, which a test does not let happen.
func say(name string, zh bool) string {
	for _, table := range append(words.Tables(), groupWords()) {
		if w, ok := table[name]; ok {
			return w.In(zh)
		}
	}
	return name
}
