// Package shellword writes words for a shell, so that a command that is shown to be copied does what it says, whatever
// is called what. It knows no commands.
package shellword

import (
	"strings"
	"unicode"
)

// Quote is a text as one word of a POSIX shell: as it is where no shell reads it otherwise, else between single quotes.
// The same holds in bash and zsh.
func Quote(s string) string {
	if s != "" && s[0] != '=' && s[0] != '~' && strings.IndexFunc(s, special) < 0 { // zsh reads =name as a path
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// special reports whether a shell may read a letter as more than itself.
func special(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_@%+=:,./-~", r)
}
