package engine

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/decide"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/transition"
	"github.com/posthouse/posthouse/internal/verify"
)

// trial is one delivery with all that is known of it.
type trial struct {
	w        *world
	delivery posthouse.Delivery
	events   []posthouse.Event
	arrivals []*arrival
}

// judge reads what happened and says what must not have.
func (w *world) judge() {
	trials := w.trials()
	w.t.Logf("the course of seed %d is %x", w.seed, w.course(trials))
	for _, id := range slices.Sorted(maps.Keys(trials)) {
		tr := trials[id]
		tr.chain()
		tr.attempts()
		tr.copies()
		tr.times()
		tr.epochs()
	}
	for _, a := range w.provider.arrivals {
		if trials[a.out.Delivery] == nil && !w.campaign.owns(a) {
			w.fail("", "%s reached the provider and was never accepted", addressee(a.out))
		}
	}
	for _, c := range w.callers {
		c.judge(w, trials)
	}
	for _, ph := range w.phones {
		ph.judge(trials)
	}
	w.judgeLimits()
	w.verify()
}

// trials gathers the event log and the arrivals by delivery.
func (w *world) trials() map[string]*trial {
	trials := map[string]*trial{}
	for _, d := range w.deliveries() {
		trials[d.ID] = &trial{w: w, delivery: d}
	}
	if _, err := w.store.History.ExportEvents(context.Background(), "", "", func(e posthouse.Event) error {
		tr := trials[e.Delivery]
		if tr == nil {
			return fmt.Errorf("an event of %s, which is no delivery", e.Delivery)
		}
		tr.events = append(tr.events, e)
		return nil
	}); err != nil {
		w.t.Fatal(err)
	}
	for _, a := range w.provider.arrivals {
		if tr := trials[a.out.Delivery]; tr != nil {
			tr.arrivals = append(tr.arrivals, a)
		}
	}
	return trials
}

// course is a hash of all that happened and when, by the names of the recipients.
func (w *world) course(trials map[string]*trial) uint64 {
	var lines []string
	for _, tr := range trials {
		for _, e := range tr.events {
			lines = append(lines, fmt.Sprintln(tr.delivery.User, e.Version, e.At.UnixMicro(), e.Type, e.Owner, e.Reason))
		}
	}
	slices.Sort(lines)
	h := fnv.New64a()
	for _, l := range lines {
		io.WriteString(h, l)
	}
	return h.Sum64()
}

// chain: versions without a gap, legal steps, times that do not go back, the token raised by claims
// only and by one, no step of an older token, leases lost only after their end, one success.
func (tr *trial) chain() {
	var last posthouse.Event
	successes := 0
	for i, e := range tr.events {
		switch {
		case e.Version != int64(i+1) || e.From != last.To || !transition.Legal(e.From, e.Type, e.To):
			tr.fail("event %d does not follow", i+1)
		case e.At.Before(last.At):
			tr.fail("event %d is older than the one before", i+1)
		case claims(e) && e.Token != last.Token+1, !claims(e) && e.Token != last.Token:
			tr.fail("event %d has token %d after %d", i+1, e.Token, last.Token)
		case e.Type == posthouse.EventLeaseLost && e.Reason != state.ReasonReassigned && !e.At.After(tr.lease(i)):
			tr.fail("event %d takes a lease that has not ended", i+1)
		}
		tr.w.saw("event "+string(e.Type), 1)
		if good(e.To) && !good(e.From) {
			successes++
		}
		last = e
	}
	if successes > 1 {
		tr.fail("%d successes", successes)
	}
	if d := tr.delivery; last.To != d.State || last.Version != d.Version || d.State.Open() {
		tr.fail("the row says %s, version %d", d.State, d.Version)
	}
}

// claims reports whether an event gives a delivery to somebody.
func claims(e posthouse.Event) bool {
	return e.Type == posthouse.EventClaim || e.Type == posthouse.EventStart && e.From == posthouse.Pending
}

func good(s posthouse.State) bool { return s == posthouse.Sent || s == posthouse.Delivered }

// lease is the end of the lease that event i found.
func (tr *trial) lease(i int) time.Time {
	for i--; i >= 0; i-- {
		if claims(tr.events[i]) {
			return tr.events[i].LeaseUntil
		}
	}
	return time.Time{}
}

// attempts: each start is numbered one higher, unless the one before was given back unsent, and no
// two ends are written of one; each arrival has its own start before it, by the process that holds
// it and within its lease, under one idempotency key.
func (tr *trial) attempts() {
	n := 0
	starts := map[int]posthouse.Event{} // by attempt: the last, those before it were given back
	ended := map[int]bool{}
	started := false
	for _, e := range tr.events {
		switch {
		case e.Type == posthouse.EventClaim:
			started = false
		case e.Type == posthouse.EventStart:
			started = true
			n++
			if e.Attempt != n {
				tr.fail("attempt %d is numbered %d", n, e.Attempt)
			}
			starts[n] = e
		case e.Type == posthouse.EventRelease:
			if started { // else there is nothing to take back
				n--
			}
		case e.Attempt > 0 && e.From == posthouse.Sending:
			if ended[e.Attempt] {
				tr.fail("attempt %d ends twice", e.Attempt)
			}
			ended[e.Attempt] = true
		}
	}
	if tr.delivery.Attempts != n {
		tr.fail("the row counts %d attempts of %d", tr.delivery.Attempts, n)
	}
	arrived := map[int]bool{}
	for _, a := range tr.arrivals {
		s, ok := starts[a.out.Attempt]
		switch {
		case !ok || s.At.After(a.at):
			tr.fail("attempt %d arrived at %v without a start before it", a.out.Attempt, tr.w.since(a.at))
		case s.Owner != a.process:
			tr.fail("attempt %d was sent by %s", a.out.Attempt, a.process)
		case a.at.After(s.LeaseUntil):
			tr.fail("attempt %d arrived at %v, after its lease", a.out.Attempt, tr.w.since(a.at))
		case arrived[a.out.Attempt]:
			tr.fail("attempt %d arrived twice", a.out.Attempt)
		case a.out.IdemKey != tr.delivery.IdemKey:
			tr.fail("attempt %d has another idempotency key", a.out.Attempt)
		}
		arrived[a.out.Attempt] = true
	}
}

// copies: a success is true, a copy beyond the first follows an end that nobody knew, and there is
// none where the policy or the provider's memory forbids it.
func (tr *trial) copies() {
	copies, unknowns := 0, 0
	for _, a := range tr.arrivals {
		if a.copied() {
			copies++
		}
	}
	for _, e := range tr.events {
		if e.From == posthouse.Sending && e.To == posthouse.Unknown {
			unknowns++
		}
	}
	extra := max(0, copies-1)
	tr.w.saw("copies beyond the first", extra)
	d := tr.delivery
	switch window := tr.w.channel(d.Channel).window; {
	case extra > unknowns:
		tr.fail("%d copies after %d ambiguous ends", copies, unknowns)
	case extra > 0 && tr.w.policy(d) != posthouse.Retry:
		tr.fail("%d copies under the policy %s", copies, d.OnUnknown)
	case extra > 0 && window > 0:
		tr.fail("%d copies at a provider that knows the key for %v", copies, window)
	case good(d.State) && !d.Unconfirmed && copies == 0:
		tr.fail("it counts as %s and never arrived", d.State)
	}
}

// policy is what the caller or the channel wants after an ambiguous end.
func (w *world) policy(d posthouse.Delivery) posthouse.Policy {
	for _, c := range w.callers {
		for _, to := range c.draft.To {
			if to.User == d.User {
				return cmp.Or(c.draft.OnUnknown, w.channel(d.Channel).settings.OnUnknown)
			}
		}
	}
	return ""
}

// times: nothing starts before it is due, nor at or after its deadline.
func (tr *trial) times() {
	due := tr.delivery.NotBefore
	for i, e := range tr.events {
		if e.Type == posthouse.EventStart {
			if e.At.Before(due) {
				tr.fail("event %d starts before %v", i+1, tr.w.since(due))
			}
			if d := tr.delivery.Deadline; !d.IsZero() && !e.At.Before(d) {
				tr.fail("event %d starts after the deadline", i+1)
			}
		}
		if e.To == posthouse.Pending && !e.Due.IsZero() {
			due = e.Due
		}
	}
}

// epochs: what was started in an old epoch starts in a new one only when a person, or the provider
// that was asked, says so.
func (tr *trial) epochs() {
	var started int64 // the epoch of the last start
	for i, e := range tr.events {
		switch e.Type {
		case posthouse.EventResolve, posthouse.EventRequeue:
			started = 0
		case posthouse.EventStart:
			if started > 0 && e.Epoch > started {
				tr.fail("event %d starts in epoch %d what was started in %d", i+1, e.Epoch, started)
			}
			started = e.Epoch
		}
	}
}

// judge: what was accepted is there, for each recipient once; what was cancelled never starts; what
// was refused is not there.
func (c *caller) judge(w *world, trials map[string]*trial) {
	stored := map[string]int{}
	for _, tr := range trials {
		stored[tr.delivery.User]++
	}
	for _, to := range c.draft.To {
		switch n := stored[to.User]; {
		case n > 1:
			w.fail("", "%s has %d deliveries", to.User, n)
		case n == 0 && c.told != nil && c.told.DuplicateOf == "":
			w.fail("", "%s was accepted at %v and is lost", to.User, w.since(c.toldAt))
		case n == 1 && c.told == nil:
			w.saw("recovered: accepted, and nobody was told", 1)
		}
	}
	if c.answer == verify.AnswerUnknown && c.key != "" {
		w.fail("", "caller %d never got an answer", c.n)
	}
	for _, g := range c.cancels {
		tr := trials[g.Delivery]
		if g.Result != decide.CancelDone || tr == nil {
			continue
		}
		for _, e := range tr.events {
			if e.Type == posthouse.EventStart && e.At.After(g.at) {
				tr.fail("it starts after the answer cancelled at %v", w.since(g.at))
			}
		}
		if tr.delivery.State != posthouse.Cancelled {
			tr.fail("the answer at %v was cancelled", w.since(g.at))
		}
	}
}

// judgeLimits: in each sliding window of each channel no more was granted than it allows, and no
// more was sent than granted.
func (w *world) judgeLimits() {
	sent := map[string]int{}
	for _, a := range w.provider.arrivals {
		sent[a.out.Channel]++
	}
	for _, c := range w.channels {
		grants := w.grants[(state.Key{Tenant: posthouse.DefaultTenant, Channel: c.name}).LimitKey()]
		total := 0
		for from, n := range grants {
			total += n
			for _, l := range c.settings.Limits {
				in := 0
				for at, n := range grants {
					if !at.Before(from) && at.Sub(from) < l.Per.Std() {
						in += n
					}
				}
				if in > l.Max {
					w.fail("", "%s was granted %d in the %v from %v, at most %d are allowed", c.name, in, l.Per, w.since(from), l.Max)
				}
			}
		}
		if len(c.settings.Limits) > 0 && sent[c.name] > total {
			w.fail("", "%s sent %d with %d permits", c.name, sent[c.name], total)
		}
	}
}

func (w *world) channel(name string) *simChannel {
	i := slices.IndexFunc(w.channels, func(c *simChannel) bool { return c.name == name })
	return w.channels[i]
}

func (w *world) since(t time.Time) time.Duration { return t.Sub(w.start).Round(time.Microsecond) }

// fail says what is wrong, with all that helps to see why.
func (tr *trial) fail(format string, args ...any) {
	var b strings.Builder
	d := tr.delivery
	fmt.Fprintf(&b, "%s over %s, policy %s: %s, attempts %d, tries %d", d.User, d.Channel, d.OnUnknown, d.State, d.Attempts, d.Tries)
	for _, e := range tr.events {
		fmt.Fprintf(&b, "\n%14v %2d %-14s %s > %s, token %d, attempt %d, epoch %d", tr.w.since(e.At), e.Version, e.Type, e.From, e.To, e.Token, e.Attempt, e.Epoch)
		for _, part := range []struct{ name, value string }{{"by", e.Owner}, {"reason", e.Reason}, {"code", e.Code}} {
			if part.value != "" {
				fmt.Fprintf(&b, ", %s %s", part.name, part.value)
			}
		}
		if !e.LeaseUntil.IsZero() {
			fmt.Fprintf(&b, ", lease to %v", tr.w.since(e.LeaseUntil))
		}
		if !e.Due.IsZero() {
			fmt.Fprintf(&b, ", due %v", tr.w.since(e.Due))
		}
	}
	for _, a := range tr.arrivals {
		fmt.Fprintf(&b, "\n%14v arrives: attempt %d of %s, %s, repeat %t", tr.w.since(a.at), a.out.Attempt, a.process, a.class, a.repeat)
	}
	tr.w.fail(b.String(), format, args...)
}

// fail reports a violation; the first one with the fault journal.
func (w *world) fail(excerpt, format string, args ...any) {
	w.t.Helper()
	if !w.t.Failed() {
		w.t.Logf("the faults of seed %d:\n%s", w.seed, strings.Join(w.book, "\n"))
	}
	w.t.Errorf("seed %d: %s\n%s", w.seed, fmt.Sprintf(format, args...), excerpt)
}
