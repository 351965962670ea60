package posthouse

import "time"

// Quota bounds what a key or a tenant may ask for. The zero value bounds nothing.
type Quota struct {
	// Requests are the windows of requests that hold together. A rate with a burst is two: 20 in 1s and 600
	// in 1m is ten a second, of which twenty may come at once. Defaults to no bound.
	Requests []Limit `json:"requests,omitempty"`
	// Open is how many deliveries may be open: pending, sending or unknown. Defaults to 0, no bound.
	Open int `json:"open,omitempty"`
	// MentionAll is how many messages may call everybody in a group within any 24 hours. Defaults to 0, no bound.
	MentionAll int `json:"mention_all,omitempty"`
}

// Any reports whether anything is bounded.
func (q Quota) Any() bool { return len(q.Requests) > 0 || q.Open > 0 || q.MentionAll > 0 }

// IsZero is for omitzero. A bound below 0 is not zero: left out, it would be taken as no bound instead of being refused.
func (q Quota) IsZero() bool { return len(q.Requests) == 0 && q.Open == 0 && q.MentionAll == 0 }

// Bound is the part of a quota that a request was refused by.
type Bound struct {
	// Of is key or tenant: whose quota it is. Name is the key's id or the tenant's name.
	Of   BoundOf `json:"of"`
	Name string  `json:"name"`
	// The things that are bounded: requests, open deliveries, or messages that call everybody.
	What BoundWhat `json:"what"`
	// Max is the bound; of requests, within the time Per.
	Max int      `json:"max"`
	Per Duration `json:"per,omitempty"`
	// Open is how many deliveries were open when the request was refused.
	Open int `json:"open,omitempty"`
}

// BoundOf is whose quota a bound is of.
type BoundOf string

// The owners of quotas.
const (
	BoundOfKey    BoundOf = "key"
	BoundOfTenant BoundOf = "tenant"
)

// BoundWhat is what a bound counts.
type BoundWhat string

// The units that are counted.
const (
	BoundRequests BoundWhat = "requests"
	BoundOpen     BoundWhat = "open"
	// BoundMentionAll are messages that call everybody in a group.
	BoundMentionAll BoundWhat = "mention_all"
)

// Tenant is a party whose messages, channels and keys are its own.
type Tenant struct {
	Name string `json:"name"`
	// Note is for people.
	Note string `json:"note,omitempty"`
	// Quota bounds what all keys of the tenant ask for together.
	Quota Quota `json:"quota,omitzero"`
	// QuietHours and Caps hold for all of its channels, besides their own. A cap counts what a person gets by all of them together.
	QuietHours []QuietHours `json:"quiet_hours,omitempty"`
	Caps       []Cap        `json:"caps,omitempty"`
	// MandatoryKinds are those that no user of the directory may switch off. Defaults to none.
	MandatoryKinds []string `json:"mandatory_kinds,omitempty"`
	// OptionalKinds are those that the page of preferences offers to switch off, besides the kind of the message whose link opened it.
	OptionalKinds []string `json:"optional_kinds,omitempty"`
	// Language is what its people read who have none of their own, a BCP 47 tag such as zh. Defaults to that of each template.
	Language string `json:"language,omitempty"`
	// CreatedAt and UpdatedAt are zero of a tenant that nobody has made, such as default: its things make it one.
	CreatedAt time.Time `json:"created_at,omitzero"`
	UpdatedAt time.Time `json:"updated_at,omitzero"`
}
