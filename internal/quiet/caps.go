package quiet

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
)

// Cap is the windows that count messages of some kinds to one person.
type Cap struct {
	// Windows hold together.
	Windows []posthouse.Limit
	// Ends says that a message beyond it is not sent. Else it waits.
	Ends bool

	kinds []string
	name  string
}

// CapsOf makes caps of settings that CheckCaps finds nothing wrong with. Those that count the same are one.
func CapsOf(list []posthouse.Cap) (caps []*Cap) {
	for _, c := range list {
		kinds := slices.Compact(slices.Sorted(slices.Values(c.Kinds)))
		one := &Cap{kinds: kinds, Ends: c.Then == posthouse.CapSuppress, name: "defer"}
		if one.Ends {
			one.name = "suppress"
		}
		if len(kinds) > 0 {
			one.name += ":" + hash(strings.Join(kinds, "\n"))
		}
		i := slices.IndexFunc(caps, func(o *Cap) bool { return o.name == one.name })
		if i < 0 {
			i, caps = len(caps), append(caps, one)
		}
		caps[i].Windows = append(caps[i].Windows, posthouse.Limit{Max: c.Max, Per: c.Per})
	}
	return caps
}

// Counts reports whether messages of a kind are counted.
func (c *Cap) Counts(kind string) bool { return len(c.kinds) == 0 || slices.Contains(c.kinds, kind) }

// mark stands in the key of each cap: no name of a tenant or channel has a colon.
const mark = ":cap:"

// Key names what is counted for a person, of a scope that is a channel's or a tenant's.
func (c *Cap) Key(scope, person string) string { return scope + mark + c.name + ":" + hash(person) }

// IsKey reports whether a key is a cap's.
func IsKey(key string) bool { return strings.Contains(key, mark) }

// hash is a short name of a text, which may be long, and is nobody's business in a table of limits.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:15])
}
