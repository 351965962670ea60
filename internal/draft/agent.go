package draft

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxAgentID bounds what an agent may be called, in characters.
const MaxAgentID = 64

// WantAgentID is what an agent may be called.
const WantAgentID = "1 to 64 printable characters, no space at either end"

// AgentID says what is wrong with the name of an agent, "" for nothing: people call a phone as they like.
func AgentID(id string) string {
	switch {
	case id == "":
		return "is required: " + WantAgentID
	case !utf8.ValidString(id), utf8.RuneCountInString(id) > MaxAgentID, strings.ContainsFunc(id, hidden), strings.TrimSpace(id) != id:
		return fmt.Sprintf("is %.80q: want %s", id, WantAgentID)
	case strings.Trim(id, ".") == "":
		return fmt.Sprintf("is %q: dots alone do not stand in an address", id)
	}
	return ""
}

// hidden reports whether a character cannot be seen; a plain space can.
func hidden(r rune) bool { return !unicode.IsPrint(r) }
