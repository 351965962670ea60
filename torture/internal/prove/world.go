package prove

import (
	"fmt"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/admission"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/work"
)

// world is one state: what is stored, what each process holds in memory, what the provider has seen, and what may still go
// wrong. It is a value: a step copies it.
type world struct {
	rows  rows
	procs []process
	boxes []letterbox // a recipient's, by the message that was accepted for them
	// permits are when the limiter has granted one that counts still, and starts when deliveries began that count still.
	permits, starts []int64
	counted         int // how many messages the cap has counted
	left            budget
	answers         []answer // of the scene's
}

// process is one posthouse serve, without what only makes it faster.
type process struct {
	life     int // how often it was started
	epoch    int64
	attempts []attempt
	memory   store.Memory
	seats    admission.State // of the channel
	stretch  stretch
	permit   int64       // when it was granted what it has not used; 0 for none
	due      []work.Plan // the notification as its planner has read it, until it has begun a step
	hears    *hearing    // an answer that it was told of; never changed in place
	status   int         // what a provider was just answered with; 0 between steps
	kept     string      // what it has found or put down of which delivery an answer means; empty between steps
}

// owner is the lease_owner of what a process claims.
func (w *world) owner(p int) string { return fmt.Sprintf("%c%d", 'a'+p, w.procs[p].life) }

// phase is how far an attempt has come.
type phase int

const (
	held     phase = iota // claimed: the start is stored, no byte has left
	calling               // the lease was looked at, the call begins
	arrived               // the provider has accepted it
	answered              // the call is over, its result waits to be written
	late                  // the write was refused: the delivery has changed meanwhile
)

// verdict is how an attempt ended.
type verdict int

const (
	result     verdict = iota // the call gave one
	released                  // the lease could have ended before the call
	tooLate                   // a repeat that the provider may not recognise any more
	suppressed                // its cap is full
)

// attempt is a delivery that a process has claimed.
type attempt struct {
	phase    phase
	item     work.Item
	leaseEnd int64 // by the process's own clock
	end      int64 // of the call
	verdict  verdict
	class    posthouse.Class
	asked    bool // the cap was asked
	counted  bool // and has counted it
}

// result is what the driver said.
func (a *attempt) result() channel.Result { return channel.Result{Class: a.class, Code: "PROVE"} }

// letterbox is what the provider has done for one recipient, and by what words of the log more than once is allowed.
type letterbox struct {
	arrivals int   // as the recipient counts them
	first    bool  // the delivery that was accepted has reached the provider
	replay   bool  // one of its replays has
	forgets  int64 // when the provider forgets the idempotency key; 0 where it knows none
	persons  int   // a person let it go again
	resends  int   // the policy did
	doubt    bool  // the log has said that it may have arrived
	told     bool  // a person has said what became of it
	holds    []int // the messages of a digest that are in this one's text
}

// budget is what may still happen that nobody can hope for.
type budget struct {
	crashes, freezes, lies, lates int // a process dies; stands still beyond a lease; its clock is behind by a lease; bytes leave after the call's time
	cancels, resolves, replays    int
	acks, receipts                int // a person takes note; the provider says what became of what it accepted
	overs                         int // the sender of a notification says that it is over
	retells                       int // a provider tells an answer that it was told is taken, or that a process has in hand
	restores, resumes             int // of the database: the epoch is raised; a person lets a notification go on that it holds
}

func (w *world) clone() world {
	c := *w
	c.procs = slices.Clone(w.procs)
	c.boxes, c.answers = slices.Clone(w.boxes), slices.Clone(w.answers)
	c.permits, c.starts = slices.Clone(w.permits), slices.Clone(w.starts)
	return c
}

// own gives a process attempts and a memory that may be changed.
func (p *process) own() {
	p.attempts = slices.Clone(p.attempts)
}

// text tells a process's states apart.
func (p *process) text(b []byte) []byte {
	b = fmt.Appendf(b, "%d,%d,%d", p.life, p.epoch, p.permit)
	for i := range p.attempts {
		a := &p.attempts[i]
		d := &a.item.Delivery
		b = fmt.Appendf(b, ";%d %d %d %d %s %t %t %s %d %d %s %d %d %d %s %d %d %t %d %s", a.phase, a.leaseEnd, a.end, a.verdict, a.class, a.asked, a.counted,
			d.ID, d.Version, d.Token, d.State, d.Attempts, d.Tries, d.ClaimLosses, d.Reason, d.FirstStartAt.UnixMicro(), d.LeaseUntil.UnixMicro(), d.CancelRequested, d.Epoch, d.LeaseOwner)
	}
	for _, plan := range p.due {
		b = fmt.Appendf(b, ";%d %d %s", plan.Version, plan.NextAt.UnixMicro(), plan.Doc)
	}
	if p.hears != nil {
		b = fmt.Appendf(b, ";%+v", *p.hears)
	}
	b = p.stretch.text(append(b, ';'))
	return fmt.Appendf(b, ";%s;%v", p.seats.Text(), p.memory) // whatever it will hold one day
}

// text tells worlds apart.
func (w *world) text() []byte {
	b := make([]byte, 0, 2048)
	b = w.rows.mostText(b)
	for i := range w.procs {
		b = append(w.procs[i].text(b), '\n')
	}
	return fmt.Appendf(b, "%v%v%v%v%d%v", w.boxes, w.left, w.permits, w.starts, w.counted, w.answers)
}
