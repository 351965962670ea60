package posthouse

import (
	"slices"
	"time"
)

// Digest says which messages become one. A message names it beside its channel; what is gathered within a window leaves as one
// delivery, by a template over the list. A digest that is stored again has a new version; collections keep the one they began with.
type Digest struct {
	Tenant  string `json:"tenant,omitempty"`
	Name    string `json:"name,omitempty"`
	Version int    `json:"version,omitempty"`
	// Note says what the digest is for, in its maker's words.
	Note string `json:"note,omitempty"`
	// By is an expression over a message and its recipient. Messages to one recipient on one channel are gathered together where it has
	// the same value. Defaults to kind.
	By string `json:"by,omitempty"`
	// Window is how long a collection gathers, from its first message on: from 1s to 31d. Or Cron is when it leaves. One of both is required.
	Window Duration `json:"window,omitempty"`
	// Cron has the moments at which collections leave, such as "0 18 * * *", and TimeZone is where its clock stands. It defaults to the
	// server's.
	Cron     string `json:"cron,omitempty"`
	TimeZone string `json:"time_zone,omitempty"`
	// Max is how many messages a collection takes, from 2 to 100: a full one leaves at once, and the next message opens another. Defaults to 100.
	Max int `json:"max,omitempty"`
	// Template makes the text of a collection, of digest, count, list, kind, first_at, last_at and user. Defaults to the list below a
	// title with the count.
	Template string `json:"template,omitempty"`
	// Line makes one line of the list, of n, title, text, kind, ref and the members of the message's payload. Defaults to the number, the
	// title and the text.
	Line string `json:"line,omitempty"`
	// Always makes a text by the template also where a collection has one message. Defaults to false: that message leaves as it is.
	Always bool `json:"always,omitempty"`

	CreatedAt time.Time `json:"created_at,omitzero"`
}

// CollectionState says how a collection stands.
type CollectionState string

// The states of collections.
const (
	// CollectionWaiting gathers messages until its moment.
	CollectionWaiting CollectionState = "waiting"
	// CollectionLeaving has a delivery that is not settled.
	CollectionLeaving CollectionState = "leaving"
	// CollectionSettled has a delivery that is settled: its members share what became of it. One whose text could not be made for a day is
	// settled without a delivery: it has failed.
	CollectionSettled CollectionState = "settled"
	// CollectionAlone had one member when its moment came, which left as it was.
	CollectionAlone CollectionState = "alone"
	// CollectionEmpty had no member any more when its moment came.
	CollectionEmpty CollectionState = "empty"
)

// CollectionStates are all of them, in the order in which they follow one another.
func CollectionStates() []CollectionState {
	return []CollectionState{CollectionWaiting, CollectionLeaving, CollectionSettled, CollectionAlone, CollectionEmpty}
}

// Collection is what was gathered by a digest for one recipient: the deliveries that leave as one.
type Collection struct {
	ID     string `json:"id"`
	Tenant string `json:"tenant"`
	// Digest and DigestVersion say by what it was gathered.
	Digest        string `json:"digest"`
	DigestVersion int    `json:"digest_version"`
	Channel       string `json:"channel"`
	// To is the recipient of its delivery.
	To Recipient `json:"to"`
	// By is the value that its messages have in common.
	By   string `json:"by,omitempty"`
	Kind string `json:"kind,omitempty"` // of its members, where all have the same
	// State defaults to waiting.
	State CollectionState `json:"state"`
	// LeavesAt is when its moment comes; zero where it has come.
	LeavesAt time.Time `json:"leaves_at,omitzero"`
	// Delivery is the one by which it leaves, and Outcome the state of that.
	Delivery string `json:"delivery,omitempty"`
	Outcome  State  `json:"outcome,omitempty"`
	// Members are the deliveries that were gathered, in their order.
	Members []CollectionMember `json:"members"`
	// Error says why its delivery could not be made so far.
	Error     string    `json:"error,omitempty"`
	Version   int64     `json:"version"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Shares reports whether a delivery is one of those that went in the text of the collection's delivery.
func (c *Collection) Shares(delivery string) bool {
	return c.Delivery != "" && slices.ContainsFunc(c.Members, func(m CollectionMember) bool { return m.Delivery == delivery && !m.Left })
}

// Together is how many deliveries share the text of the collection's delivery.
func (c *Collection) Together() (n int) {
	for i := range c.Members {
		if !c.Members[i].Left {
			n++
		}
	}
	return n
}

// CollectionMember is one delivery of a collection.
type CollectionMember struct {
	Delivery string `json:"delivery"`
	// State is the delivery's, as far as the collection has heard of it.
	State State `json:"state"`
	// Left is set where it is not in the text: it was cancelled, has expired, or goes by itself.
	Left bool `json:"left,omitempty"`
}
