package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/posthouse/posthouse"
)

// Inputs are the journals of a run. Only Events is required.
type Inputs struct {
	// Events is the log, sorted by delivery and version; ReadEvents reads it from a file.
	Events iter.Seq2[posthouse.Event, error]
	// Client, Sink, Limiter and Faults are journals of ClientLine, ArrivalLine, GrantLine and
	// FaultLine, one JSON object a line. Defaults to none: what needs them is not checked.
	Client, Sink, Limiter, Faults io.Reader
	// Channels are the settings of the channels the run used. With them tries and leases lost at once
	// are held against their bounds. Defaults to none.
	Channels []posthouse.Channel
	// Stored counts the deliveries in the database by tenant and state. Defaults to none.
	Stored map[string]map[posthouse.State]int
	// AtRest says that the run had ended and come to rest: nothing that is due may wait.
	AtRest bool
	// Now is when the log was read, for AtRest. Defaults to the last time in the log.
	Now time.Time
	// KeyWindow is how long the providers know an idempotency key. Defaults to 0: not known.
	KeyWindow time.Duration
	// Slack is how far the clocks of producers, providers and the database may be apart. Times of
	// the log alone are compared without it. Defaults to 100ms.
	Slack time.Duration
	// Sometimes names what must have happened for the run to prove anything: names of SometimesList,
	// or "none". Defaults to all that the given journals can show.
	Sometimes []string
	// Keep is how many violations of each invariant are shown. Defaults to 3.
	Keep int
}

// checker is one run of Check.
type checker struct {
	rulings
	in     Inputs
	slack  time.Duration
	totals Totals
	first  time.Time
	last   time.Time
}

// Check decides the invariants for a run. An error is an input that can not be read, never a
// violation.
func Check(ctx context.Context, in Inputs) (Report, error) {
	if in.Events == nil {
		return Report{}, errors.New("verify: there is no event log")
	}
	c := &checker{in: in, slack: cmp.Or(in.Slack, 100*time.Millisecond)}
	c.most = cmp.Or(in.Keep, 3)
	c.totals.States = map[string]int{}
	if err := c.readLog(ctx); err != nil {
		return Report{}, err
	}
	return c.report(), nil
}

// readLog streams the event log, a message at a time.
func (c *checker) readLog(ctx context.Context) error {
	var events []posthouse.Event // of one message
	last := ""
	for e, err := range c.in.Events {
		if err != nil {
			return err
		}
		switch {
		case len(e.Delivery) == 0:
			return errors.New("event log: an event has no delivery")
		case e.Delivery < last:
			return fmt.Errorf("event log: delivery %s comes after %s; it must be sorted by delivery and version", e.Delivery, last)
		case len(events) > 0 && posthouse.MessageID(e.Delivery) != posthouse.MessageID(last):
			c.message(events)
			events = events[:0]
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		events = append(events, e)
		last = e.Delivery
	}
	if len(events) > 0 {
		c.message(events)
	}
	return ctx.Err()
}

// message judges all deliveries of one message.
func (c *checker) message(events []posthouse.Event) {
	c.totals.Messages++
	for len(events) > 0 {
		n := 1
		for n < len(events) && events[n].Delivery == events[0].Delivery {
			n++
		}
		c.delivery(history{id: events[0].Delivery, events: events[:n]})
		events = events[n:]
	}
}

func (c *checker) delivery(h history) {
	c.totals.Deliveries++
	c.totals.Events += len(h.events)
	c.totals.States[string(h.last().To)]++
	for _, j := range judges {
		c.checked(j.law, 1)
		j.judge(c, h)
	}
}

func (c *checker) report() Report {
	r := Report{Verdict: Holds, From: c.first, To: c.last, Totals: c.totals, Invariants: c.invariants(nil)}
	if c.broken() > 0 {
		r.Verdict = Violated
	}
	return r
}
