package console

import (
	"sync"

	"github.com/posthouse/posthouse/internal/console/words"
)

// word is a text of pages in both languages.
type word = words.Word

// allTexts are the texts of pages by their names. They are put together once: a page asks for a hundred of them.
var allTexts = sync.OnceValue(func() map[string]word {
	all := map[string]word{}
	for _, table := range append(words.Tables(), groupWords()) {
		for name, w := range table {
			if _, some := all[name]; !some {
				all[name] = w
			}
		}
	}
	return all
})

// say is a text in a language; its name where there is none, which a test does not let happen.
func say(name string, zh bool) string {
	if w, ok := allTexts()[name]; ok {
		return w.In(zh)
	}
	return name
}
