package people

import (
	"fmt"
	"strings"
	"unicode/utf8"

	zxcvbn "github.com/ccojocar/zxcvbn-go"
)

// MinPassword is the least number of characters of a password.
const MinPassword = 10

// maxPassword bounds it in bytes: each costs a hash time.
const maxPassword = 1024

const (
	// minScore is zxcvbn's for more than 10^8 guesses: at the most that the gate lets pass, a year.
	minScore = 3
	// maxJudged bounds what is judged, in characters: the time grows with the square, and what is longer is good by its length.
	maxJudged = 64
)

// weak says why a password cannot be taken, empty for a good one. What the person is called does not make one good.
func weak(password string, called ...string) string {
	switch n := utf8.RuneCountInString(password); {
	case n < MinPassword:
		return fmt.Sprintf("has %d characters: want %d at least", n, MinPassword)
	case len(password) > maxPassword:
		return fmt.Sprintf("has %d bytes: want %d at most", len(password), maxPassword)
	}
	judged := password
	if list := []rune(password); len(list) > maxJudged {
		judged = string(list[:maxJudged])
	}
	for _, name := range called {
		if strings.EqualFold(password, name) {
			return "is your name: want one that nobody guesses"
		}
	}
	if zxcvbn.PasswordStrength(judged, append(called, "posthouse")).Score < minScore {
		return "is easy to guess, for all its length: want words that do not belong together, or letters and digits at random"
	}
	return ""
}
