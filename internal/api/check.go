package api

import (
	"strconv"
	"strings"

	"github.com/posthouse/posthouse/internal/draft"
)

func itoa(n int) string { return strconv.Itoa(n) }

// checkWord checks a text of one line that every database keeps as it is.
func checkWord(c *call, path, value string, most int) {
	if strings.ContainsAny(value, "\r\n") {
		c.refuse(path, "holds a line break: one line is allowed")
	}
	checkText(c, path, value, most)
}

// checkText checks a text that every database keeps as it is.
func checkText(c *call, path, value string, most int) {
	if len(value) > most {
		c.refuse(path, "has %d bytes: at most %d are allowed", len(value), most)
	} else if odd := unkept(value); odd != "" {
		c.refuse(path, "%s", odd)
	}
}

// unkept says what keeps the first such text from being stored or looked up in every database, "" for nothing.
func unkept(texts ...string) string {
	for _, text := range texts {
		if odd := draft.Unkept(text); odd != "" {
			return odd
		}
	}
	return ""
}

// maxName bounds the names of things that are named in a path, in bytes.
const maxName = 128

// checkName checks the name of a thing that a path names.
func checkName(c *call, path, name string) {
	if name == "" {
		c.refuse(path, "is required")
	}
	checkWord(c, path, name, maxName)
	if strings.ContainsAny(name, "/\\?#%") || strings.TrimSpace(name) != name {
		c.refuse(path, "is %.80q: /, \\, ?, #, %% and spaces at the ends are not allowed in a name", name)
	}
}
