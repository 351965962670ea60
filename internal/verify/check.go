package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/verify/packed"
	"github.com/posthouse/posthouse/internal/verify/scan"
)

// Inputs are the journals of a run. Only Events is required.
type Inputs struct {
	// Events is the log, sorted by delivery and version; ReadEvents reads it from a file.
	Events iter.Seq2[posthouse.Event, error]
	// Client, Sink, Limiter, Agents and Faults are journals of ClientLine, ArrivalLine, GrantLine,
	// AgentLine and FaultLine, one JSON object a line. Defaults to none: what needs them is not checked.
	Client, Sink, Limiter, Agents, Faults io.Reader
	// Channels are the settings of the channels the run used. With them tries and leases lost at once
	// are held against their bounds. Defaults to none.
	Channels []posthouse.Channel
	// Stored counts the deliveries in the database by tenant and state. Defaults to none.
	Stored map[string]map[posthouse.State]int
	// Kept are counts that are kept beside the deliveries, by what they count, such as
	// "channel sms of tenant default, processing". Defaults to none.
	Kept map[string]Count
	// Rows are what a database holds beside the log, by message id, and References the rows that name messages. Defaults to
	// none. Where the run goes on, rows that changed in the last minute before Now are not compared.
	Rows       iter.Seq2[Stored, error]
	References iter.Seq2[Reference, error]
	// Seals are what a hash chain has sealed, compared with what is stored. Defaults to none.
	Seals iter.Seq2[Seal, error]
	// Campaigns judges the campaigns of a database, for I26: arrived are the arrivals of a member's key, nil without the sink
	// journal. Defaults to none.
	Campaigns func(arrived func(key string) []Arrived) iter.Seq2[CampaignFinding, error]
	// Suppressed says whether nothing is sent of a kind to an address over a channel, for I22 and with Rows. Suppressions that were taken
	// back are not known any more. Defaults to none.
	Suppressed func(tenant, channel, kind, address string) (Barred, bool)
	// Notifications are those of a database with their routes, for I38 and for messages that follow routes in I1. Defaults to none.
	Notifications iter.Seq2[Notified, error]
	// Collections are those of a database, for I39. Defaults to none.
	Collections iter.Seq2[posthouse.Collection, error]
	// Epoch is that of the database. It is looked at with Rows.
	Epoch int64
	// AtRest says that the run had ended and come to rest: nothing that is due may wait.
	AtRest bool
	// Now is when the log was read, for AtRest. Defaults to the last time in the log.
	Now time.Time
	// KeyWindow is how long the providers know an idempotency key. Defaults to 0: not known.
	KeyWindow time.Duration
	// Slack is how far the clocks of producers, providers and the database may be apart. Times of
	// the log alone are compared without it. Defaults to 100ms; negative is none at all.
	Slack time.Duration
	// Sometimes names what must have happened for the run to prove anything: names of SometimesList,
	// or "none". Defaults to all that the given journals can show.
	Sometimes []string
	// Keep is how many violations of each invariant are shown. Defaults to 3; negative is none.
	Keep int
}

// Count is a number that is kept, and what counting anew gives.
type Count struct{ Kept, There int }

// checker is one run of Check.
type checker struct {
	rulings
	routing
	gatherings
	in     Inputs
	slack  time.Duration
	want   map[string]bool // what must have been seen, nil for all
	packer *packed.Packer
	rows   *rowReader // nil without rows
	calls  *calls     // nil where there is no such journal; so are the next four
	sink   *sink
	grants *grants
	agents *agents
	faults *faults

	report    Report
	totals    *Totals
	rare      [rarities]int
	pulled    bool     // an agent has claimed something
	told      int      // of calls.sends: those before it are of messages that have gone by
	undecided int      // keys of which no caller knows what became
	untold    []string // events of messages of which no caller was told
	cancelled []bool   // of calls.cancels: its delivery is in the log
	states    map[string]map[posthouse.State]int
	waiting   []waiting
	lines     lines
	epochs    epochs
	losses    map[string]*losses // by process
}

// The subjects that are judged, each with its rules. All of them see what the checker has seen.
type (
	accepting struct{ *checker } // what callers were told of their messages
	calling   struct{ *checker } // idempotency keys, and the calls that used them
	coursing  struct{ *checker } // the events of one delivery, one after the other
	arriving  struct{ *checker } // what reached the providers
	rating    struct{ *checker } // limits
	pulling   struct{ *checker } // what agents were handed and reported
	keeping   struct{ *checker } // the rows beside the log
	notifying struct{ *checker } // notifications and their steps
	remains   struct{ *checker } // what is left at the end of the run
)

// Check decides the invariants for a run. An error is an input that cannot be read, never a
// violation.
func Check(ctx context.Context, in Inputs) (Report, error) {
	c, err := newChecker(in)
	if err == nil {
		err = c.readJournals()
	}
	if err == nil && in.Rows != nil {
		c.rows, err = newRowReader(in.Rows)
		defer func() {
			if c.rows != nil {
				c.rows.stop()
			}
		}()
	}
	if err == nil {
		err = c.readLog(ctx)
	}
	if err == nil {
		err = keeping{c}.finishRows()
	}
	if err == nil {
		err = keeping{c}.judgeReferences()
	}
	if err == nil {
		err = c.judgeSeals()
	}
	if err == nil {
		err = c.judgeCampaigns()
	}
	if err == nil {
		err = c.judgeNotifications()
	}
	if err == nil {
		err = c.judgeCollections()
	}
	if err != nil {
		return Report{}, err
	}
	c.finish()
	return c.report, nil
}

func newChecker(in Inputs) (*checker, error) {
	if in.Events == nil {
		return nil, errors.New("there is no event log")
	}
	c := &checker{
		in: in, slack: max(0, cmp.Or(in.Slack, 100*time.Millisecond)), packer: packed.NewPacker(),
		states: map[string]map[posthouse.State]int{}, losses: map[string]*losses{}, epochs: newEpochs(), lines: lines{},
	}
	c.most = max(0, cmp.Or(in.Keep, 3))
	c.totals = &c.report.Totals
	c.totals.States = map[posthouse.State]int{}
	var err error
	c.want, err = wanted(in.Sometimes)
	return c, err
}

// readJournals reads all journals but the log, and judges what they decide alone.
func (c *checker) readJournals() (err error) {
	if c.in.Faults != nil {
		if c.faults, err = readFaults(c.in.Faults); err != nil {
			return err
		}
	}
	if c.in.Client != nil {
		if c.calls, err = readCalls(c.packer, c.in.Client); err != nil {
			return err
		}
		c.cancelled = make([]bool, len(c.calls.cancels))
		calling{c}.judgeKeys()
	}
	if c.in.Sink != nil {
		if c.sink, err = readSink(c.packer, c.in.Sink); err != nil {
			return err
		}
		c.totals.Arrivals, c.totals.Keyless = len(c.sink.list), c.sink.keyless
	}
	if c.in.Agents != nil {
		if c.agents, err = readAgents(c.packer, c.in.Agents); err != nil {
			return err
		}
	}
	if c.in.Limiter != nil {
		if c.grants, err = readGrants(c.in.Limiter); err != nil {
			return err
		}
		c.rare[limiterLast] = c.grants.last
		rating{c}.judgeRates()
	}
	return nil
}

// readLog streams the event log, a message at a time.
func (c *checker) readLog(ctx context.Context) error {
	var events []posthouse.Event // of one message
	last := ""
	for e, err := range c.in.Events {
		if err != nil {
			return err
		}
		if e.Delivery != last {
			switch {
			case !posthouse.ValidID(e.Delivery):
				return fmt.Errorf("event log: delivery: %q is not an id", e.Delivery)
			case e.Delivery < last:
				return fmt.Errorf("event log: %w", errUnsorted(e.Delivery, last))
			case last != "" && posthouse.MessageID(e.Delivery) != posthouse.MessageID(last):
				if err := c.message(events); err != nil {
					return err
				}
				events = events[:0]
				if err := ctx.Err(); err != nil {
					return err
				}
			}
			last = e.Delivery
		}
		if err := checkTimes(&e); err != nil {
			return err
		}
		c.judgeDeadline(&e)
		events = append(events, e)
	}
	if len(events) > 0 {
		if err := c.message(events); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// checkTimes finds a time that no clock has shown: one of a database, since a file's were found as it was read.
func checkTimes(e *posthouse.Event) error {
	if scan.OutOfRange(e.At) {
		return timeFault(e, "db_ts", e.At)
	}
	for _, f := range []struct {
		name string
		t    time.Time
	}{{"lease_until", e.LeaseUntil}, {"due", e.Due}} {
		if !f.t.IsZero() && scan.OutOfRange(f.t) {
			return timeFault(e, f.name, f.t)
		}
	}
	return nil
}

// judgeDeadline holds that a deadline is one that a caller can have given (I20): with another the delivery would never start, and never
// expire.
func (c *checker) judgeDeadline(e *posthouse.Event) {
	if !e.Deadline.IsZero() && scan.OutOfRange(e.Deadline) {
		c.fail(timely, e.Delivery, line("%s at %s", e.Type, stampText(e.At)), "its deadline is %s, which no caller can have given", stampText(e.Deadline))
	}
}

func timeFault(e *posthouse.Event, name string, t time.Time) error {
	return fmt.Errorf("event log: event %d of delivery %s: %s: %s is %w", e.Version, e.Delivery, name, t.UTC().Format(time.RFC3339), scan.ErrRange)
}

// message judges all deliveries of one message.
func (c *checker) message(events []posthouse.Event) error {
	var list []history
	for len(events) > 0 {
		n := 1
		for n < len(events) && events[n].Delivery == events[0].Delivery {
			n++
		}
		list = append(list, newHistory(events[:n]))
		events = events[n:]
	}
	c.totals.Messages++
	for _, h := range list {
		c.delivery(h)
	}
	c.noteSteps(list)
	c.noteGathered(list)
	id := posthouse.MessageID(list[0].id)
	accepting{c}.judgeAcceptance(id, list)
	if err := (keeping{c}).judgeRows(id, list); err != nil {
		return err
	}
	for chain := range chains(list) {
		accepting{c}.judgeChainKey(chain)
		arriving{c}.judgeArrivals(chain)
	}
	return nil
}

// chains groups deliveries by their idempotency key: each stands alone, but for replays.
func chains(list []history) iter.Seq[[]history] {
	return func(yield func([]history) bool) {
		sorted := func(a, b history) int { return cmp.Compare(a.idem, b.idem) }
		if !slices.IsSortedFunc(list, sorted) {
			slices.SortStableFunc(list, sorted)
		}
		for len(list) > 0 {
			n := 1
			for n < len(list) && list[n].idem == list[0].idem {
				n++
			}
			if !yield(list[:n]) {
				return
			}
			list = list[n:]
		}
	}
}

// delivery judges what one delivery's events decide alone, and counts them.
func (c *checker) delivery(h history) {
	c.count(h)
	for _, j := range judges {
		c.checked(j.law, 1)
		j.judge(c, h)
	}
}

// count adds a delivery to what the report counts.
func (c *checker) count(h history) {
	c.totals.Deliveries++
	c.totals.Events += len(h.events)
	first, last := &h.events[0], h.last()
	c.totals.States[last.To]++
	if c.states[last.Tenant] == nil {
		c.states[last.Tenant] = map[posthouse.State]int{}
	}
	c.states[last.Tenant][last.To]++
	if c.report.From.IsZero() || first.At.Before(c.report.From) {
		c.report.From = first.At
	}
	if last.At.After(c.report.To) {
		c.report.To = last.At
	}
	underWay := false
	for i := range h.events {
		e := &h.events[i]
		c.countEvent(e, underWay)
		c.report.Unknowns.count(e)
		underWay = started(underWay, e)
	}
	if last.To == posthouse.Unknown {
		c.report.Unknowns.StillHeld++
	}
}

// countEvent counts one event of a delivery, of which an attempt was under way, or none.
func (c *checker) countEvent(e *posthouse.Event, underWay bool) {
	if happy(e.To) && !happy(e.From) {
		c.faults.success(e.At.UnixNano())
	}
	switch e.Type {
	case posthouse.EventStart:
		c.totals.Attempts++
	case posthouse.EventClaim:
		c.pulled = true
	case posthouse.EventRelease, posthouse.EventSuppress:
		if underWay {
			c.totals.Attempts--
		}
	case posthouse.EventEvidence:
		c.saw(staleRefused)
		if e.From == posthouse.Unknown && e.To == posthouse.Delivered {
			c.saw(lateReceipt)
		}
	case posthouse.EventLeaseLost:
		if e.To == posthouse.Unknown {
			c.saw(lostAfterStart)
		} else {
			c.saw(lostBeforeStart)
		}
	case posthouse.EventCancel:
		c.saw(cancelWon)
	case posthouse.EventCancelRequest:
		c.saw(cancelLost)
	case posthouse.EventQuarantine:
		c.saw(quarantined)
	case posthouse.EventExpire:
		c.saw(expiredAtStart)
	}
}

// happy reports whether the provider has accepted.
func happy(s posthouse.State) bool { return s == posthouse.Sent || s == posthouse.Delivered }

// finish judges what can be known at the end only, and writes the report.
func (c *checker) finish() {
	accepting{c}.finishAcceptance()
	arriving{c}.finishArrivals()
	pulling{c}.finishAgents()
	ordering{c}.finishOrder()
	remains{c}.finishRest()
	remains{c}.finishStored()
	remains{c}.finishEpochs()
	remains{c}.finishLosses()
	r := &c.report
	given := c.given()
	r.Invariants = c.invariants(given)
	r.Sometimes = c.sometimes(given)
	r.Recovery = c.faults.recovery()
	r.Verdict = Holds
	if c.broken() > 0 {
		r.Verdict = Violated
	}
	r.Why = c.inconclusive()
	if r.Verdict == Holds && len(r.Why) > 0 {
		r.Verdict = Inconclusive
	}
}

// given are the needs that this run's inputs meet.
func (c *checker) given() []string {
	var out []string
	for _, g := range []struct {
		there bool
		need  string
	}{
		{c.calls != nil, needClient}, {c.sink != nil, needSink}, {c.grants != nil, needLimiter}, {c.faults != nil, needFaults},
		{c.pulled, needPull},
		{c.in.AtRest, needRest}, {c.in.KeyWindow > 0, needWindow}, {c.in.Stored != nil, needStored}, {c.rows != nil, needRows}, {c.in.Seals != nil, needSeals}, {c.in.Campaigns != nil, needCampaigns},
		{c.in.Suppressed != nil, needSuppressed}, {c.in.Notifications != nil, needNotified}, {c.in.Collections != nil, needGathered},
	} {
		if g.there {
			out = append(out, g.need)
		}
	}
	return out
}

// inconclusive says what is missing for the run to prove anything.
func (c *checker) inconclusive() []string {
	var out []string
	if c.totals.Deliveries == 0 && c.by[campaign].checked == 0 {
		out = append(out, "the event log is empty")
	}
	for _, s := range c.report.Sometimes {
		switch {
		case !s.Required || s.Seen > 0:
		case s.Skipped != "":
			out = append(out, fmt.Sprintf("%s cannot be seen: %s", s.Name, s.Skipped))
		default:
			out = append(out, fmt.Sprintf("%s never happened: %s", s.Name, s.Means))
		}
	}
	return out
}
