package posthouse

import "time"

// Front is an address at which senders of another make hand in messages, in the form that they already speak. What comes there goes
// to the recipients of the front, whichever recipients the sender names; only of the kind smsgate may a front leave them to the sender.
type Front struct {
	Tenant string `json:"tenant"`
	Name   string `json:"name"`
	// Kind is whose form it is, such as alertmanager.
	Kind string `json:"kind"`
	FrontSettings

	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	// LastAt is when something came last, taken or refused; zero for never.
	LastAt time.Time `json:"last_at,omitzero"`
}

// FrontSettings are what becomes of what comes at a front.
type FrontSettings struct {
	// Channel or Route is where it goes, and To whom it is for, unless a line of Match says otherwise. One of Channel and Route is required.
	// To is required where it is not named elsewhere: by the sender, of the kind smsgate, or by each step of the route.
	Channel string      `json:"channel,omitempty"`
	Route   string      `json:"route,omitempty"`
	To      []Recipient `json:"to"`
	// Match are lines of which the first counts that fits.
	Match []FrontMatch `json:"match,omitempty"`
	// Digest gathers what goes through a channel. What follows a route, waits for a moment of its own, or is a file, leaves by itself. Defaults
	// to none.
	Digest string `json:"digest,omitempty"`
	// Template is filled with what came. Defaults to the front's own text.
	Template string `json:"template,omitempty"`
	// MessageKind is the kind of the messages. Defaults to Kind.
	MessageKind string `json:"message_kind,omitempty"`
	// Language is that of the front's own text: en or zh. Defaults to en.
	Language string `json:"language,omitempty"`
	// Format of the front's own text: text or markdown. Defaults to markdown where the channel sends it, or each channel of the route.
	Format ContentType `json:"format,omitempty"`
	// Each is what becomes a message of its own: group or alert. Defaults to group. It is for kinds that bring several at once.
	Each string `json:"each,omitempty"`
	// Priorities are those of the sender's words, such as critical. They stand before the kind's own.
	Priorities map[string]Priority `json:"priorities,omitempty"`
	// DedupWindow is how long the same is taken once. Defaults to 5m, of mail to 24h. It is for kinds whose senders name what is the same.
	DedupWindow Duration `json:"dedup_window,omitempty"`
	// Signed refuses what does not carry the sender's signature, whose secret is the token. It is for kinds that sign.
	Signed bool `json:"signed,omitempty"`
	// Expressions make a message of a body, by the name of what each makes. It is for the kind json.
	Expressions map[string]string `json:"expressions,omitempty"`
}

// FrontMatch sends what fits to another channel, by a route, or to others. What it leaves out is the front's.
type FrontMatch struct {
	// If are labels with the values that they must have.
	If      map[string]string `json:"if"`
	Channel string            `json:"channel,omitempty"`
	Route   string            `json:"route,omitempty"`
	To      []Recipient       `json:"to,omitempty"`
}

// FrontCall is what came once at a front.
type FrontCall struct {
	ID string    `json:"id"`
	At time.Time `json:"at"`
	// Outcome is what became of it: accepted, duplicate, ignored, refused or unavailable.
	Outcome FrontOutcome `json:"outcome"`
	// Reason says why it was refused, or what is to know of it: what was left out, or which template failed.
	Reason string `json:"reason,omitempty"`
	// Messages are the ids of what it became.
	Messages []string `json:"messages"`
	// Size is that of the body in bytes, and Shown the beginning of it with its values masked.
	Size  int    `json:"size"`
	Shown string `json:"shown"`
}

// FrontOutcome is what became of a call at a front.
type FrontOutcome string

// The outcomes.
const (
	FrontAccepted    FrontOutcome = "accepted"    // messages were committed
	FrontDuplicate   FrontOutcome = "duplicate"   // each of them was there already
	FrontIgnored     FrontOutcome = "ignored"     // it asks for no message
	FrontRefused     FrontOutcome = "refused"     // it cannot be read
	FrontUnavailable FrontOutcome = "unavailable" // it was not committed: the sender is to come again
)

// FrontOutcomes lists every outcome.
func FrontOutcomes() []FrontOutcome {
	return []FrontOutcome{FrontAccepted, FrontDuplicate, FrontIgnored, FrontRefused, FrontUnavailable}
}
