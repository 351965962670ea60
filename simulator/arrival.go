package simulator

import "time"

// Answer is how the sender of a message was answered.
type Answer string

// The answers.
const (
	Accepted Answer = "accepted" // taken, and told so
	Refused  Answer = "refused"  // not taken: for itself, or because of a fault of the whole request
	Lost     Answer = "lost"     // taken, but never told so: cut, rubbish, silence, or the sender had left
)

// Arrival is one message for one recipient that reached a provider.
type Arrival struct {
	Seq      int64     `json:"seq"` // from 1, rising by one, in the order of record
	At       time.Time `json:"at"`  // when the request had been read, UTC
	Provider string    `json:"provider"`
	Path     string    `json:"path"`
	Account  string    `json:"account,omitempty"` // who called, where the provider tells accounts apart
	Key      string    `json:"key,omitempty"`     // the sender's id of the delivery
	User     string    `json:"user"`
	Title    string    `json:"title,omitempty"`
	Text     string    `json:"text"`
	Answer   Answer    `json:"answer"`
	Status   int       `json:"status"`       // the HTTP status, 0 where none was sent
	ID       string    `json:"id,omitempty"` // the provider's id, of the first arrival for a repeat
	// Code is what it was refused for; of one that was accepted, why its recipient does not get it.
	Code  Code `json:"code,omitempty"`
	Fault Kind `json:"fault,omitempty"` // what went wrong with the request on purpose
	// Repeat marks a message that the provider knew by its key: it was not taken again.
	Repeat bool `json:"repeat,omitempty"`
	// Duplicate marks a message taken although one with its key had been taken.
	Duplicate bool `json:"duplicate,omitempty"`
}

// taken reports whether the recipient has one more message now.
func (a *Arrival) taken() bool { return a.Answer != Refused && !a.Repeat }

// Totals counts arrivals since the start or the last Clear.
type Totals struct {
	// Arrivals is the sum of Accepted, Refused and Lost.
	Arrivals int64 `json:"arrivals"`
	Accepted int64 `json:"accepted"`
	Refused  int64 `json:"refused"`
	Lost     int64 `json:"lost_answers"`
	// Repeats are those of Accepted and Lost that the provider recognised by their key.
	Repeats int64 `json:"idempotent_repeats"`
	// Duplicates are those of Accepted and Lost that took a key's message once more.
	Duplicates int64 `json:"duplicates"`
}

func (t *Totals) count(a *Arrival) {
	t.Arrivals++
	switch a.Answer {
	case Accepted:
		t.Accepted++
	case Refused:
		t.Refused++
	case Lost:
		t.Lost++
	}
	if a.Repeat {
		t.Repeats++
	}
	if a.Duplicate {
		t.Duplicates++
	}
}

// Stats are the totals of one provider and what it did with whole requests.
type Stats struct {
	Totals
	Requests   int64 `json:"requests"`   // everything that was posted to it
	Malformed  int64 `json:"malformed"`  // could not be read; an arrival without a user
	CutBefore  int64 `json:"cut_before"` // dropped before it was taken; no arrival
	Violations int64 `json:"violations"` // came faster than the limit allows
}

// Count says how often the messages of one key came to a provider.
type Count struct {
	Provider string `json:"provider"`
	Key      string `json:"key"`
	Arrivals int64  `json:"arrivals"`
	Taken    int64  `json:"taken"`   // 2 and more: the recipient has it twice
	Repeats  int64  `json:"repeats"` // recognised, not taken again
}

// Filter picks arrivals. Its zero value picks the last 100.
type Filter struct {
	Provider, User, Key string
	// Since picks the first arrivals after this number instead of the last ones,
	// so that a reader can go through all of them. Nil means the last ones.
	Since *int64
	// Limit is the most arrivals to answer. Defaults to 100.
	Limit int
}

func (f Filter) matches(a *Arrival) bool {
	return (f.Provider == "" || f.Provider == a.Provider) &&
		(f.User == "" || f.User == a.User) && (f.Key == "" || f.Key == a.Key)
}
