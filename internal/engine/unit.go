package engine

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/admission"
	"github.com/posthouse/posthouse/internal/work"
)

// A unit is what one provider call sends and what is settled as one. The deliveries of one message that go in one
// call are a unit, see deliveries.go. Dispatcher, sender and recorder know no more of it than this, so that a leased
// segment of a campaign can be another.
type unit interface {
	about() about
	// prepare fills in what sending needs, until the lease ends, and reports whether there is anything to send. What can
	// not be sent has ended by that, and is settled with the rest.
	prepare(ctx context.Context, leaseEnd time.Time) bool
	// outgoing are the messages to send, as the driver sees them.
	outgoing() []channel.Outgoing
	// end says how sending ended.
	end(e ending)
	// holds reports whether something that was claimed by a token is a part of it.
	holds(id string, token int64) bool
	// done is called once, when nothing of it is under way any more. It returns how much of it never left for the provider, and of how much else the
	// provider has surely seen nothing: it was tried, and uses up no budget.
	done() (unsent, unseen int)
	// sit is called once, before it is sent, with what was reserved for it; seat is that.
	sit(*admission.Seat)
	seat() *admission.Seat
}

// seated is what was reserved for a unit.
type seated struct{ reserved *admission.Seat }

func (s *seated) sit(seat *admission.Seat) { s.reserved = seat }
func (s *seated) seat() *admission.Seat    { return s.reserved }

// about is what a unit says of itself.
type about struct {
	kind    kind
	route   *route
	size    int // slots it takes: what a crash can leave unknown of it
	account string
	// message and first name it in the log: what it is of, and its first delivery or member.
	message, first string
	trace          string // of the span in which it was accepted
	sensitive      bool
}

// ending is how the attempt of a unit ended.
type ending struct {
	verdict verdict
	reason  string           // with a release or a quarantine
	results []channel.Result // one for each outgoing message, but for a release
	took    time.Duration
}

// verdict is what is to be written about an attempt.
type verdict string

const (
	verdictResult     verdict = "result"     // the driver answered
	verdictRelease    verdict = "release"    // no byte has left: give it back
	verdictWindow     verdict = "window"     // no byte has left, and it would come too late to repeat
	verdictSuppress   verdict = "suppress"   // no byte has left: nothing is sent to this address
	verdictQuarantine verdict = "quarantine" // unreadable, or the driver panicked
)

// A kind is a sort of units: how some are claimed, and how they are written down.
type kind interface {
	// claim takes what is due. After an error nothing is ours: nothing may be sent.
	claim(ctx context.Context, w wish) (claimed, error)
	// settle writes down how units ended. Each write goes through insist. The error is insist's.
	settle(ctx context.Context, batch []unit, insist insist) error
}

// wish is what a claim asks for.
type wish struct {
	route    *route
	pin      work.Pin // what it is pinned to
	priority posthouse.Priority
	parts    []admission.Portion // of the accounts by which it is to be sent, in this order
	before   time.Time           // what is due by then; zero is now
	lease    time.Duration       // how long it is ours
	at       time.Time           // when it was asked for: the lease can only end later than we think
}

// max is how much is asked for.
func (w *wish) max() (n int) {
	for i := range w.parts {
		n += w.parts[i].Max
	}
	return n
}

// claimed is what was found.
type claimed struct {
	units []unit
	n     int               // messages that were claimed, also those that were given back at once
	at    time.Time         // by the database's clock
	more  bool              // something is due that is larger than what was asked for
	given []admission.Given // to each portion
}

// insist repeats a write of results until the database takes it. write says whether it has stored anything.
type insist func(results int, write func(began time.Time) (stored bool, err error)) error
