package admission

import (
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/work"
)

// Lane is what waits under a pin in one priority.
type Lane struct {
	Pin      work.Pin
	Priority posthouse.Priority
}

// Of is what a stage is asked about. An account of nil stands for all of the channel's, a lane without a priority for any.
type Of struct {
	Account *Account
	Lane    Lane
}

// Room is how much may begin: deliveries, and the calls that take them.
type Room struct{ N, Calls int }

// unbounded is more than anything takes.
const unbounded = 1 << 30

// everything is the room of a stage that bounds nothing now.
var everything = Room{unbounded, unbounded}

func (r Room) none() bool { return r.N <= 0 || r.Calls <= 0 }

// within is the room that two leave, where a call takes so many deliveries.
func (r Room) within(other Room, batch int) Room {
	calls := max(0, min(r.Calls, other.Calls))
	n := max(0, min(r.N, other.N))
	if calls < n {
		n = min(n, calls*batch)
	}
	return Room{n, min(calls, n)}
}

func (r Room) less(other Room) Room { return Room{r.N - other.N, r.Calls - other.Calls} }

func (r Room) and(other Room) Room { return Room{r.N + other.N, r.Calls + other.Calls} }

// scope is what a stage bounds: all of a channel, a lane of it, or an account.
type scope int

const (
	ofChannel scope = iota
	ofLane
	ofAccount
	scopes
)

// A lane's stages count deliveries; those of a channel and its accounts count calls besides.
var (
	ofLanes    = []scope{ofLane}
	ofCalls    = []scope{ofChannel, ofAccount}
	everyScope = []scope{ofChannel, ofLane, ofAccount}
)

// Stage is one bound of what may begin. The channel is locked for all of its methods but Why.
type Stage interface {
	// scope says about what it is asked.
	scope() scope
	// Free is how much may begin now, of somebody who would take it. Where nothing may, next is when to look again; zero says that
	// something which ends, or somebody, will wake the channel.
	Free(now time.Time, of Of) (free Room, next time.Time)
	// Take takes what is reserved, and Return gives back what of it did not begin.
	Take(of Of, n Room)
	Return(of Of, n Room)
	// Begin says that what was reserved has begun, since waited ago.
	Begin(now time.Time, of Of, n Room, waited time.Duration)
	// End says that some of what had begun is over.
	End(now time.Time, of Of, e Ended)
	// Why says in words what it holds back of a delivery now.
	Why(now time.Time, q *Question) []Wait
}

// shared is a stage of which other channels take at the same moment: it says at the taking how much one is given.
type shared interface {
	TakeUpTo(now time.Time, of Of, n Room) Room
}

// grower is a stage that has more where all it gave was used and still more waits.
type grower interface{ Short() }

// shutter is a stage that shuts an account for a while, so that what waits for it may want another.
type shutter interface {
	// shut is until when it does, past where it does not, and why, in words about an account that is called so.
	shut(now time.Time, a *Account) time.Time
	shutBy(a *Account, name string) string
}

// closer is a stage that shuts all of a channel: why, and until when where that is known. It is empty where it does not.
type closer interface {
	closed(now time.Time) (why string, until time.Time)
}

// Ended is what is over: a call that the provider has answered, or slots whose results are stored.
type Ended struct {
	Room
	// Answer is what was seen of a call, nil where none was made.
	Answer *Answer
	// Unsent is how many of N never left for the provider.
	Unsent int
}

// Answer is what a provider said to a call.
type Answer struct {
	Class  posthouse.Class
	After  time.Duration
	AtOnce channel.Scope
	Took   time.Duration
}

// Wait is one cause that holds a delivery. Until is zero where only a person or an event ends it.
type Wait struct {
	Cause  string    `json:"cause"`
	Detail string    `json:"detail"`
	Until  time.Time `json:"until,omitzero"`
}

// Question asks why a delivery does not begin.
type Question struct {
	Delivery *posthouse.Delivery
	// Due says that its time has come.
	Due bool
	// Ahead counts what stands before it in its lane.
	Ahead func(most int) int
	// Peek looks at windows and takes nothing.
	Peek func(bounds []limit.Bound) (limit.Grant, error)
}

func (q *Question) lane() Lane { return Lane{work.PinOf(q.Delivery), q.Delivery.Priority} }

// silent is a stage that keeps no account of what was taken, and says nothing.
type silent struct{ speechless }

// speechless is a stage that has no words.
type speechless struct{}

// Why is Stage's.
func (speechless) Why(_ time.Time, _ *Question) (no []Wait) { return no }

func (silent) keepsNothing() {}

// Take is Stage's, as the others are.
func (silent) Take(Of, Room)                            {}
func (silent) Return(Of, Room)                          {}
func (silent) Begin(time.Time, Of, Room, time.Duration) {}
func (silent) End(time.Time, Of, Ended)                 {}

// counter counts what was taken and is not over, by account; the place 0 is for all of a channel that has accounts of its own.
type counter struct {
	speechless
	used []Room
}

func count(places int) counter { return counter{used: make([]Room, places)} }

func (c *counter) at(of Of) *Room {
	if of.Account == nil {
		return &c.used[0]
	}
	return &c.used[of.Account.place]
}

// Take is Stage's, as the others are.
func (c *counter) Take(of Of, n Room) { u := c.at(of); *u = u.and(n) }

// Return gives back.
func (c *counter) Return(of Of, n Room) { u := c.at(of); *u = u.less(n) }

// Begin changes nothing.
func (c *counter) Begin(time.Time, Of, Room, time.Duration) {}

// End is Return of what had begun.
func (c *counter) End(_ time.Time, of Of, e Ended) { c.Return(of, e.Room) }
