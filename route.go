package posthouse

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"
)

// Route says by which channels somebody is told, one step after the other, until that is proven or acknowledged. Messages name it in
// place of a channel. A route that is stored again has a new version; notifications keep the one they began with.
type Route struct {
	Tenant  string `json:"tenant,omitempty"`
	Name    string `json:"name,omitempty"`
	Version int    `json:"version,omitempty"`
	// Note says what the route is for, in its maker's words.
	Note string `json:"note,omitempty"`
	// Kind defaults to first.
	Kind RouteKind `json:"kind,omitempty"`
	// For says of whom one notification is. Defaults to each.
	For RouteFor `json:"for,omitempty"`
	// OnUnknown says what follows where it is unknown whether a step arrived. Defaults to wait.
	OnUnknown RouteUnknown `json:"on_unknown,omitempty"`
	// Repeat is how often the steps begin anew after the last, at most 9. It needs a last step until acknowledged. Defaults to 0.
	Repeat int `json:"repeat,omitempty"`
	// Calendar is the roster that workday in conditions goes by: its days without anybody are days off. Defaults to Monday to Friday.
	Calendar string      `json:"calendar,omitempty"`
	Steps    []RouteStep `json:"steps"`

	// Warnings say what a step needs that is not there now, and what can never happen. They are only shown.
	Warnings []Problem `json:"warnings,omitempty"`

	CreatedAt time.Time `json:"created_at,omitzero"`
}

// RouteStep is what is sent at once: to each of its recipients, on each of its channels.
type RouteStep struct {
	// Channels are names of configured channels, 1 to 10.
	Channels []string `json:"channels"`
	// Own sends to each person on the first of Channels for which the directory has an address of that person, not on each.
	Own bool `json:"own,omitempty"`
	// To are those who are told at this step. Defaults to the recipients of the message. A roster, a role or a manager stands for whoever
	// it is when the step begins; where that is nobody, the next step begins at once. Where the message has no recipients, managers are
	// those of the people whom the steps before meant.
	To []Recipient `json:"to,omitempty"`
	// Until is what ends the route. Defaults to sent. What is more than that needs Within.
	Until Proof `json:"until,omitempty"`
	// Within is how long Until is waited for, from 1s to 30d, before the next step begins. Defaults to as long as a delivery is open.
	Within Duration `json:"within,omitempty"`
	// When is an expression over the message and its recipient, such as priority == "high" and not workday. A step for which it is false
	// is passed over. Defaults to always.
	When string `json:"when,omitempty"`
	// Template is what the step's messages are made of, in place of the draft's. Defaults to that.
	Template string `json:"template,omitempty"`
	// Templates are those of single channels, by the channel's name, in place of Template.
	Templates map[string]string `json:"templates,omitempty"`
}

// TemplateOn is the template of the step's messages on a channel, empty where that is the draft's.
func (s *RouteStep) TemplateOn(channel string) string {
	return cmp.Or(s.Templates[channel], s.Template)
}

// RouteKind says how the steps of a route follow one another.
type RouteKind string

// The kinds.
const (
	// RouteFirst begins a step when the one before did not reach its end.
	RouteFirst RouteKind = "first"
	// RouteAll begins all steps at once. None stops another.
	RouteAll RouteKind = "all"
)

// RouteFor says whose notifications a message of a route has.
type RouteFor string

// The two.
const (
	// RouteEach makes a notification for each recipient.
	RouteEach RouteFor = "each"
	// RouteAny makes one for all recipients together: whoever is reached or acknowledges first ends it.
	RouteAny RouteFor = "any"
)

// RouteUnknown says what follows where it is unknown whether a step's message arrived.
type RouteUnknown string

// The two.
const (
	// UnknownWait leaves it to the delivery's policy, and waits for what comes of that.
	UnknownWait RouteUnknown = "wait"
	// UnknownFallBack begins the next step, so that somebody may be told twice.
	UnknownFallBack RouteUnknown = "fall_back"
)

// Proof is what is known of a person's having been told.
type Proof string

// The proofs, each stronger than the one before.
const (
	ProofSent         Proof = "sent"
	ProofDelivered    Proof = "delivered"
	ProofAcknowledged Proof = "acknowledged"
)

// Notification is a message of a route for one person, or for any of several: the unit that is told, or not told for a reason. Its id
// is that of its message with a number.
type Notification struct {
	ID      string `json:"id"`
	Message string `json:"message"`
	Tenant  string `json:"tenant"`
	// Route and RouteVersion are what it follows.
	Route        string `json:"route"`
	RouteVersion int    `json:"route_version"`
	Kind         string `json:"kind,omitempty"`
	Ref          string `json:"ref,omitempty"`
	// To are those who are to be told: one, or any of several. They stay whom the message meant.
	To []Recipient `json:"to"`

	State  NotificationState `json:"state"`
	Reason string            `json:"reason,omitempty"` // why it is in this state, a stable word
	// Step is the one that began last, from 1, and Round how often the steps have begun, from 1.
	Step  int `json:"step"`
	Round int `json:"round"`
	// Steps are those that have come, and Deliveries what they sent.
	Steps      []NotificationStep     `json:"steps"`
	Deliveries []NotificationDelivery `json:"deliveries"`
	// ToldBy is the delivery that proved it, and ToldUser the user or address that it told: somebody else where the reason is escalated.
	ToldBy   string           `json:"told_by,omitempty"`
	ToldUser string           `json:"told_user,omitempty"`
	ToldAt   time.Time        `json:"told_at,omitzero"`
	Ack      *Acknowledgement `json:"acknowledgement,omitempty"`
	// LinksRevokedAt is until when the links and cards that were sent are void: nobody acknowledges by one made before.
	LinksRevokedAt time.Time `json:"links_revoked_at,omitzero"`
	// ResolvedAt is when its sender said that what it tells of is over: no step begins after it.
	ResolvedAt time.Time `json:"resolved_at,omitzero"`
	// Ends is who hears of that, as far as it is known who got something.
	Ends []NotificationEnd `json:"ends,omitempty"`
	// Held is why nothing new of it begins until a person lets it go, a stable word: epoch_hold after a restore.
	Held string `json:"held,omitempty"`
	// Deadline is its message's, after which no step begins. Defaults to none.
	Deadline time.Time `json:"deadline,omitzero"`
	// NextAt is when the next step begins, unless something comes before.
	NextAt    time.Time `json:"next_at,omitzero"`
	Version   int64     `json:"version"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Concerns reports whether a notification is about a person, by the user or the address: it means that person, one of its deliveries went to
// them, or they acknowledged it.
func (n *Notification) Concerns(person string) bool {
	return slices.ContainsFunc(n.To, func(r Recipient) bool { return r.User == person || r.Address == person }) ||
		slices.ContainsFunc(n.Deliveries, func(d NotificationDelivery) bool { return d.User == person }) ||
		n.Ack != nil && n.Ack.By == person
}

// KnownBy says what a person, by the user or the address, knew of a notification at a time: acknowledged where they had taken note by then, told
// where a delivery to them was proven by then, both with the moment, else not_told.
func (n *Notification) KnownBy(person string, by time.Time) (NotificationState, time.Time) {
	if n.Ack != nil && n.Ack.By == person && !n.Ack.At.After(by) {
		return NotificationAcknowledged, n.Ack.At
	}
	if n.ToldUser == person && !n.ToldAt.IsZero() && !n.ToldAt.After(by) {
		return NotificationTold, n.ToldAt
	}
	return NotificationNotTold, time.Time{}
}

// NotificationState says whether somebody was told.
type NotificationState string

// The states. A proof that comes late leads from not_told to told, an acknowledgement from each to acknowledged.
const (
	NotificationWaiting      NotificationState = "waiting"
	NotificationTold         NotificationState = "told"
	NotificationAcknowledged NotificationState = "acknowledged"
	NotificationNotTold      NotificationState = "not_told"
)

// NotificationStates are all of them.
func NotificationStates() []NotificationState {
	return []NotificationState{NotificationWaiting, NotificationTold, NotificationAcknowledged, NotificationNotTold}
}

// NotificationStep is a step that has begun or was passed over.
type NotificationStep struct {
	Step  int       `json:"step"`
	Round int       `json:"round"`
	At    time.Time `json:"at"`
	// Skipped says why it was passed over, in a stable word, and Detail more of it. Defaults to not.
	Skipped string `json:"skipped,omitempty"`
	Detail  string `json:"detail,omitempty"`
}

// NotificationEnd is how somebody who got something of a notification hears that what it told of is over.
type NotificationEnd struct {
	User string `json:"user"`
	// Reached is the channel by which they got it, and Channel the one by which they hear of the end: another one where Reached calls people.
	Reached string `json:"reached"`
	Channel string `json:"channel,omitempty"`
	// Skipped says why they do not hear of it, in a stable word, and Detail more of it. Defaults to not.
	Skipped string    `json:"skipped,omitempty"`
	Detail  string    `json:"detail,omitempty"`
	At      time.Time `json:"at"`
}

// NotificationDelivery is one delivery of a notification, as it was when it last settled or came into doubt.
type NotificationDelivery struct {
	ID      string `json:"id"`
	Step    int    `json:"step"`
	Round   int    `json:"round"`
	Channel string `json:"channel"`
	User    string `json:"user,omitempty"`
	State   State  `json:"state"`
	Reason  string `json:"reason,omitempty"`
	// Doubtful is set once it was unknown whether it arrived.
	Doubtful bool      `json:"doubtful,omitempty"`
	At       time.Time `json:"at"`
}

// Means reports whether the delivery is to one of the people of a notification. Where these are none, it is: the steps name who is told.
func (d *NotificationDelivery) Means(to []Recipient) bool {
	return len(to) == 0 || slices.ContainsFunc(to, func(r Recipient) bool { return d.User != "" && (d.User == r.User || d.User == r.Address) })
}

// Acknowledgement is who said that the message was taken note of, and how.
type Acknowledgement struct {
	By  string    `json:"by"`  // a user of the directory, or who holds the key or the console's role
	Via AckVia    `json:"via"` // the way it came
	At  time.Time `json:"at"`
	// Evidence is what came with it: the address it was sent from, a remark. Bounded.
	Evidence json.RawMessage `json:"evidence,omitempty"`
}

// AckVia is the way an acknowledgement came.
type AckVia string

// The ways.
const (
	AckAPI  AckVia = "api"
	AckLink AckVia = "link"
	AckCard AckVia = "card" // a button of the provider's card
	// An answer to the mail, an answer by text message, and a key that was pressed in the call.
	AckMail  AckVia = "mail"
	AckSMS   AckVia = "sms"
	AckVoice AckVia = "voice"
)
