package posthouse

import (
	"slices"
	"time"
)

// Preferences are what a user of the directory wants of messages. Critical messages and the mandatory kinds of the tenant come all the same.
type Preferences struct {
	Tenant string `json:"-"`
	// User is the id in the directory.
	User string `json:"user"`
	// Nothing says that the user wants no message at all.
	Nothing bool `json:"nothing,omitempty"`
	// Off is what the user does not want: a kind, a channel, or a kind on a channel. Defaults to none.
	Off []Unwanted `json:"off,omitempty"`
	// Prefer is in which order the user's channels are tried by the steps of routes that take one of each person's own. Those that it does not
	// name come after. Defaults to the step's order.
	Prefer []string `json:"prefer,omitempty"`
	// By says how they came here.
	By PreferencesBy `json:"by,omitempty"`
	// UpdatedAt is zero of a user who has chosen nothing.
	UpdatedAt time.Time `json:"updated_at,omitzero"`
	// Links counts how often the links to the user's page were revoked: those of an earlier count open nothing.
	Links int64 `json:"-"`
}

// Unwanted is a kind on all channels, a channel for all kinds, or a kind on a channel. At least one of both is set.
type Unwanted struct {
	Kind    string `json:"kind,omitempty"`
	Channel string `json:"channel,omitempty"`
}

// PreferencesBy is how preferences came here.
type PreferencesBy string

// The ways.
const (
	PreferredByOperator PreferencesBy = "api"  // an operator or a program
	PreferredByLink     PreferencesBy = "link" // the user, on the page behind the link
)

// Any reports whether they ask for anything.
func (p *Preferences) Any() bool { return p.Nothing || len(p.Off)+len(p.Prefer) > 0 }

// RefuseKind reports whether the user wants no message of a kind, by whatever channel.
func (p *Preferences) RefuseKind(kind string) bool {
	return p.Nothing || kind != "" && slices.Contains(p.Off, Unwanted{Kind: kind})
}

// RefuseChannel reports whether the user wants messages of a kind, but not by this channel.
func (p *Preferences) RefuseChannel(kind, channel string) bool {
	return slices.Contains(p.Off, Unwanted{Channel: channel}) || kind != "" && slices.Contains(p.Off, Unwanted{Kind: kind, Channel: channel})
}
