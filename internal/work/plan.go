package work

import (
	"time"

	"github.com/posthouse/posthouse"
)

// Plan is a document with a next moment: a reminder, or a task of a workflow. Whoever writes it says which
// version he read; of two that read the same one, one is refused and looks again.
type Plan struct {
	Tenant string
	Type   PlanType
	ID     string
	// Kind and Ref say what it is about in its sender's own words, as a message's do. A plan can be found
	// by them where Ref is not empty.
	Kind, Ref string
	// State says how it stands, of types whose plans are listed by it. Defaults to nothing.
	State string
	// Was is State as it was read, empty where there was none.
	Was string
	Doc []byte // JSON
	// Version is the one that was read; 0 where there is none yet. A stored plan has the next.
	Version int64
	// Held is why it does not go on until a person says so: its NextAt is zero meanwhile. Defaults to nothing holds it.
	Held string
	// NextAt is when it is due again; zero is never.
	NextAt time.Time
	// Failures counts how often its moment came and nothing could be done, in a row; Error says why.
	Failures             int
	Error                string
	CreatedAt, UpdatedAt time.Time
	// Frees is the dedup key of its message that is given back once no plan of that message waits any more. Nil for none, or while this
	// one waits.
	Frees *Freed
	// Tells is what those who follow the feed are told once it is written. Nil for nothing.
	Tells *posthouse.FeedEvent
}

// Freed is a dedup key that holds until a moment.
type Freed struct {
	Scope, Key string
	Until      time.Time
}

// PlanType says what a plan's document is.
type PlanType string

// The types.
const (
	PlanReminder PlanType = "reminder" // a posthouse.Reminder
	PlanTask     PlanType = "task"     // what package flow knows of a task
	PlanDecision PlanType = "decision" // a decision about many deliveries, and how far it is
	// PlanNotification is a posthouse.Notification with what it is made of.
	PlanNotification PlanType = "notification"
	// PlanCollection is a posthouse.Collection with the digest that it follows.
	PlanCollection PlanType = "collection"
)

// PlanFilter narrows a list of a tenant's plans of a type. The zero value is all of them.
type PlanFilter struct {
	// State is the one that they are in.
	State string
	// Held is why a person has to let them go on.
	Held string
	// Kind and Ref are what they are about. Both are given, or neither.
	Kind, Ref string
	// Since and Until bound when their ids were made: from Since, before Until.
	Since, Until time.Time
	// Keep reports whether one is of the list: what no index answers. A page then goes through at most 20,000, may be short or empty, and leads
	// on. Defaults to each.
	Keep func(Plan) (bool, error)
}

// PlanPaused is the State of a plan that is not over although no moment of it is to come: a person lets it go on.
const PlanPaused = "paused"
