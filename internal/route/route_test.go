package route

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/work"
)

// world is a store of one notification and its deliveries in memory, with the transactions of the real one, and a provider that answers at
// random. Everything happens in an order that the seed chooses.
type world struct {
	t      *testing.T
	rnd    *rand.Rand
	now    time.Time
	router *Router
	way    posthouse.Route
	plan   work.Plan
	rows   map[string]*posthouse.Delivery
	order  []string
	steps  map[string]int // delivery → its step, from the draft that made it
	doubt  map[string]bool
	past   []string // what happened, to be shown
	over   int      // one more than how many deliveries there were when it was said to be over; 0 before
}

func (w *world) say(format string, args ...any) {
	w.past = append(w.past, w.now.Format("15:04:05 ")+fmt.Sprintf(format, args...))
}

func (w *world) fatal(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("%s\n%s\n%s", fmt.Sprintf(format, args...), strings.Join(w.past, "\n"), w.plan.Doc)
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.fatal("%v", err)
	}
}

// Accept is a dry run that finds nothing wrong, but that channel x refuses everything.
func (w *world) Accept(_ context.Context, req intake.Request) (intake.Answer, error) {
	if req.Drafts[0].Channel == "x" {
		return intake.Answer{}, posthouse.Invalid("no", []posthouse.Problem{{Path: "to[0].address", Message: "is none"}})
	}
	return intake.Answer{}, nil
}

func (w *world) People(_ context.Context, _ string, to []posthouse.Recipient, _ time.Time) (people []posthouse.Recipient, missing []posthouse.Problem, err error) {
	for _, r := range to {
		if r.Roster != "" {
			missing = append(missing, posthouse.Problem{Path: "roster", Message: "nobody is on duty"})
		} else {
			people = append(people, r)
		}
	}
	return people, missing, nil
}

func (w *world) Route(context.Context, string, string, int) (posthouse.Route, error) {
	return w.way, nil
}

func (w *world) Addresses(context.Context, string, string, []string) (map[string]string, error) {
	return nil, nil
}

func (w *world) Profiles(context.Context, string, []string) (map[string]posthouse.User, error) {
	return nil, nil
}

func (w *world) RolesOf(context.Context, string, []string) (map[string][]string, error) {
	return nil, nil
}

func (w *world) Notifications(context.Context, string, string, string, int) ([]work.Plan, string, error) {
	return []work.Plan{w.plan}, "", nil
}

// Notification is the transaction of the store's method of this name.
func (w *world) Notification(_ context.Context, _ time.Time, _, _ string, decide func(work.Plan, time.Time) (work.Plan, work.Withdrawal, bool, error)) (work.Plan, error) {
	next, withdraw, write, err := decide(w.plan, w.now)
	if err == nil && write {
		w.write(next, withdraw)
	}
	return w.plan, err
}

// write stores a plan after a withdrawal, as the store does.
func (w *world) write(next work.Plan, withdraw work.Withdrawal) {
	var after []posthouse.Delivery
	for _, id := range withdraw.IDs {
		if w.doubt[id] && withdraw.Reason == ReasonStepOver && w.way.OnUnknown == posthouse.UnknownWait && w.way.Steps[w.steps[id]-1].Until == posthouse.ProofSent {
			w.fatal("%s is in doubt, and is withdrawn since its step's time is over", id)
		}
		if c, ok := (Law{}).Withdrawn(work.PlanNotification, *w.rows[id], withdraw, w.now); ok {
			*w.rows[id] = c.After
			after = append(after, c.After)
			w.say("  withdrawn %s: %s", id[22:], c.After.State)
		}
	}
	if len(after) > 0 {
		var err error
		next, _, _, err = Law{}.Heard(next, after, w.now)
		w.must(err)
	}
	w.put(next)
}

// put stores a plan over the version that was read. Those who follow the feed are told of each new state, once.
func (w *world) put(next work.Plan) {
	switch news := next.State != w.plan.State; {
	case news != (next.Tells != nil):
		w.fatal("from %s to %s, and what is told is %+v", w.plan.State, next.State, next.Tells)
	case news && next.Tells.Type() != "notification."+next.State, news && string(next.Tells.Notification.From) != w.plan.State:
		w.fatal("from %s to %s, and %s is told, of what was %s", w.plan.State, next.State, next.Tells.Type(), next.Tells.Notification.From)
	}
	next.Version, next.Was, next.Tells = w.plan.Version+1, next.State, nil
	w.plan = next
}

// settles writes what became of a delivery, and tells its notification in the same transaction.
func (w *world) settles(d posthouse.Delivery) {
	w.say("%s (step %d) %s → %s", d.ID[22:]+d.ID[18:22], w.steps[d.ID], w.rows[d.ID].State, d.State)
	d.UpdatedAt = w.now
	*w.rows[d.ID] = d
	next, withdraw, changed, err := Law{}.Heard(w.plan, []posthouse.Delivery{d}, w.now)
	w.must(err)
	if changed {
		w.write(next, withdraw)
	}
}

// composed is a step that a process has made of a plan as it read it, and has not stored yet.
type composed struct {
	of     work.Plan
	drafts []posthouse.Draft
	next   work.Plan
}

// plans reads the plan and makes what follows; it is stored later, by store.
func (w *world) plans() (*composed, bool) {
	if w.plan.NextAt.IsZero() || w.plan.NextAt.After(w.now) {
		return nil, false
	}
	of := w.plan
	drafts, next, err := w.router.Compose(w.t.Context(), of, w.now)
	if posthouse.CodeOf(err) == posthouse.CodeConflict {
		return nil, true
	}
	w.must(err)
	return &composed{of, drafts, next}, true
}

// stores stores a step over the version that was read, or not.
func (w *world) stores(c *composed) {
	if c.of.Version != w.plan.Version {
		w.say("another was faster: nothing is stored")
		return
	}
	if len(c.drafts) > 0 {
		w.beginning()
	}
	w.put(c.next)
	for _, d := range c.drafts {
		row := posthouse.Delivery{
			ID: posthouse.DeliveryID(d.ID, 1), Message: d.ID, Channel: d.Channel, Recipient: d.To[0], State: posthouse.Pending, Notification: d.Notification, OnUnknown: posthouse.Hold,
			UpdatedAt: w.now, CreatedAt: w.now,
		}
		w.rows[row.ID], w.steps[row.ID] = &row, d.Step
		w.order = append(w.order, row.ID)
		w.say("step %d begins on %s", d.Step, d.Channel)
	}
}

// beginning holds the law for when a step begins: the one before has ended without a proof, falls back, or was not proven within its time. In
// doubt it is not proven either, but where the step only asks that it was sent: that may have been.
func (w *world) beginning() {
	n, err := read(w.plan)
	w.must(err)
	if w.way.Kind == posthouse.RouteAll || n.Step == 0 {
		return
	}
	for _, k := range n.current() {
		d, within := w.rows[k.ID], n.step(k.Step).Within.Std()
		over := within > 0 && !w.now.Before(n.Steps[len(n.Steps)-1].At.Add(within))
		ends := failed(d.State) || d.State == posthouse.Unknown && w.way.OnUnknown == posthouse.UnknownFallBack || over && !d.State.Open() ||
			over && d.State == posthouse.Unknown && n.step(k.Step).Until != posthouse.ProofSent
		if !ends {
			w.fatal("a step begins while %s of step %d is %s", k.ID, k.Step, d.State)
		}
	}
}

// moves has a delivery go on by one step that the state machine knows.
func (w *world) moves(id string) {
	d := *w.rows[id]
	switch d.State {
	case posthouse.Pending:
		d.State, d.StartedAt, d.Attempts = posthouse.Sending, w.now, d.Attempts+1
		w.say("%s (step %d) starts", id[22:]+id[18:22], w.steps[id])
		*w.rows[id] = d // a claim tells nobody
	case posthouse.Sending:
		d.StartedAt = time.Time{}
		switch w.rnd.IntN(6) {
		case 0, 1:
			d.State = posthouse.Sent
		case 2:
			d.State = posthouse.Failed
		case 3:
			d.State, w.doubt[id] = posthouse.Unknown, true
		case 4:
			d.State = posthouse.Delivered
		default:
			if d.State = posthouse.Pending; d.CancelRequested { // refused, and not tried again
				d.State = posthouse.Cancelled
			}
		}
		w.settles(d)
	case posthouse.Unknown: // its policy, a person's word, or late proof
		d.State = []posthouse.State{posthouse.Sent, posthouse.Failed, posthouse.Pending}[w.rnd.IntN(3)]
		if d.State == posthouse.Pending && d.CancelRequested {
			d.State = posthouse.Cancelled
		}
		w.settles(d)
	case posthouse.Sent:
		if w.rnd.IntN(3) == 0 {
			d.State = []posthouse.State{posthouse.Delivered, posthouse.Undelivered}[w.rnd.IntN(2)]
			w.settles(d)
		}
	}
}

// any is a route of what the seed chooses.
func anyRoute(rnd *rand.Rand) posthouse.Route {
	r := posthouse.Route{Name: "w", Version: 1, For: posthouse.RouteEach}
	if rnd.IntN(5) == 0 {
		r.Kind = posthouse.RouteAll
	}
	if rnd.IntN(3) == 0 {
		r.OnUnknown = posthouse.UnknownFallBack
	}
	for i := range 1 + rnd.IntN(4) {
		s := posthouse.RouteStep{Channels: []string{string(rune('a' + i))}, Until: []posthouse.Proof{posthouse.ProofSent, posthouse.ProofDelivered, posthouse.ProofAcknowledged}[rnd.IntN(3)]}
		if s.Until != posthouse.ProofSent || rnd.IntN(2) == 0 {
			s.Within = posthouse.Duration(time.Duration(1+rnd.IntN(100)) * time.Second)
		}
		switch rnd.IntN(8) {
		case 0:
			s.To = []posthouse.Recipient{{Roster: "empty"}}
		case 1:
			s.Channels = []string{"x"}
		case 2:
			s.When = `kind == "other"`
		case 3:
			s.Channels = append(s.Channels, string(rune('p'+i)))
		case 4:
			s.To = []posthouse.Recipient{{User: "lead"}}
		case 5:
			s.To = []posthouse.Recipient{{User: "lead"}, {User: "u"}}
		}
		r.Steps = append(r.Steps, s)
	}
	if r.Kind == "" && r.Steps[len(r.Steps)-1].Until == posthouse.ProofAcknowledged {
		r.Repeat = rnd.IntN(3)
	}
	return WithDefaults(r)
}

func newWorld(t *testing.T, seed uint64) *world {
	rnd := rand.New(rand.NewPCG(seed, 1))
	return worldOf(t, rnd, anyRoute(rnd), false)
}

// worldOf is a world of one route, and of a message that is critical or not, or what else change makes of it.
func worldOf(t *testing.T, rnd *rand.Rand, way posthouse.Route, critical bool, change ...func(*posthouse.Draft)) *world {
	w := &world{t: t, rnd: rnd, now: time.Date(2026, 11, 27, 3, 0, 0, 0, time.UTC), way: way, rows: map[string]*posthouse.Delivery{}, steps: map[string]int{}, doubt: map[string]bool{}}
	w.router = &Router{Intake: w, Routes: w, Directory: w, Plans: w, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	p := draft.Problems{}
	Check(&w.way, func(string) bool { return true }, &p)
	w.must(posthouse.Invalid("the route", p.List))
	d := posthouse.Draft{Route: "w", To: []posthouse.Recipient{{User: "u"}}, Content: &posthouse.Content{Text: "x"}, Critical: critical}
	for _, f := range change {
		f(&d)
	}
	routed, _, err := w.router.Begin(t.Context(), &intake.Request{Tenant: "default", Caller: work.Program()}, posthouse.NewID(), &d, w.now, &p)
	w.must(err)
	w.must(posthouse.Invalid("the draft", p.List))
	w.plan = routed.Plans[0]
	w.plan.Version, w.plan.Was = 1, w.plan.State
	return w
}

// law is what holds at any time of a route whose steps follow one another: a step begins only where the one before has ended without proof, is
// in doubt where the route says that it falls back, or was not proven in time; and nothing starts after the proof.
func (w *world) law() {
	n, err := read(w.plan)
	w.must(err)
	for _, d := range n.Deliveries {
		row := w.rows[d.ID]
		if row == nil {
			w.fatal("the plan knows a delivery %s that there is not", d.ID)
		}
		known := row.State
		if known == posthouse.Sending {
			known = posthouse.Pending
		}
		if d.State != known {
			w.fatal("the plan has %s for a delivery that is %s", d.State, row.State)
		}
	}
	if len(n.Deliveries) != len(w.order) {
		w.fatal("the plan knows %d deliveries of %d", len(n.Deliveries), len(w.order))
	}
	if n.State == posthouse.NotificationWaiting && n.NextAt.IsZero() && !slices.ContainsFunc(w.order, func(id string) bool { return w.rows[id].State.Open() }) {
		w.fatal("it waits, and nothing is to come")
	}
	w.truth(&n)
	w.stops(&n)
	if n.State == posthouse.NotificationAcknowledged || (n.State == posthouse.NotificationTold || n.Reason == ReasonEscalated) && n.Follows.Kind == posthouse.RouteFirst {
		told := w.steps[n.ToldBy]
		for _, id := range w.order {
			if d := w.rows[id]; d.State == posthouse.Pending && (n.Ack != nil || w.steps[id] != told) {
				w.fatal("%s waits to start though the notification is %s", id, n.State)
			}
		}
	}
}

// stops holds that of what is over nothing begins and nothing waits to start.
func (w *world) stops(n *notification) {
	switch {
	case w.over == 0:
		return
	case n.ResolvedAt.IsZero() || n.State == posthouse.NotificationWaiting || !n.NextAt.IsZero():
		w.fatal("it is over, and is %s and goes on at %s", n.State, n.NextAt)
	case len(w.order) != w.over-1:
		w.fatal("a step began for what is over")
	}
	for _, id := range w.order {
		if w.rows[id].State == posthouse.Pending {
			w.fatal("%s waits to start for what is over", id)
		}
	}
}

// truth holds that it is told where the person was, and that it names whoever was told in the person's place.
func (w *world) truth(n *notification) {
	told := map[string]bool{}
	for _, id := range w.order {
		if reached(w.rows[id].State, w.way.Steps[w.steps[id]-1].Until) {
			told[w.rows[id].User] = true
		}
	}
	switch {
	case n.Ack != nil:
	case told["u"] != (n.State == posthouse.NotificationTold):
		w.fatal("it is %s, and the person was told: %t", n.State, told["u"])
	case n.State == posthouse.NotificationTold && n.ToldUser != "u", n.Reason == ReasonEscalated && (n.ToldUser != "lead" || !told["lead"]):
		w.fatal("it says that %s was told", n.ToldUser)
	case n.State == posthouse.NotificationNotTold && told["lead"] && n.Reason != ReasonEscalated && !n.Closed:
		w.fatal("the lead was told in place of the person, and the reason is %s", n.Reason)
	}
}

// starting holds the law that nobody is told twice without a name for it: when a delivery starts, each other step's that may have arrived is in
// doubt, was taken back, or was not proven within its step's time.
func (w *world) starting(id string) {
	if w.way.Kind == posthouse.RouteAll {
		return
	}
	for _, other := range w.order {
		d, mine := w.rows[other], w.steps[id] == w.steps[other]
		if mine || other == id || (d.State != posthouse.Sent && d.State != posthouse.Delivered) {
			continue
		}
		s := w.way.Steps[w.steps[other]-1]
		if reached(d.State, s.Until) && s.Until != posthouse.ProofAcknowledged {
			w.fatal("step %d starts though step %d is proven", w.steps[id], w.steps[other])
		}
	}
}

// Nobody is told by two steps but where the route or an unknown says so, in whatever order results, times, processes and people come.
func TestNobodyIsToldByTwoSteps(t *testing.T) {
	t.Parallel()
	ended := map[posthouse.NotificationState]int{}
	for seed := range uint64(3000) {
		ended[newWorld(t, seed).lives(false).State]++
	}
	if ended[posthouse.NotificationWaiting] > 0 || len(ended) != 3 {
		t.Errorf("they ended %v: want each to end, in each of three ways", ended)
	}
}

// Nothing begins for what its sender has said is over, whatever comes before it, beside it or after it; and whoever was told or has taken note
// stays so.
func TestNothingBeginsForWhatIsOver(t *testing.T) {
	t.Parallel()
	ended := map[string]int{}
	for seed := range uint64(2000) {
		n := newWorld(t, seed).lives(true)
		if !n.ResolvedAt.IsZero() {
			ended[strings.TrimSpace(string(n.State)+" "+n.Reason)]++
		}
	}
	for _, want := range []string{"not_told resolved", "told", "acknowledged"} {
		if ended[want] == 0 {
			t.Errorf("of what was over %v ended, want some %s", ended, want)
		}
	}
}

// lives has everything happen in any order until it is at its end.
func (w *world) lives(resolved bool) notification {
	var late []*composed // steps that processes have made and not stored
	for range 60 {
		switch w.rnd.IntN(8) {
		case 0, 1:
			if c, _ := w.plans(); c != nil {
				w.stores(c)
			}
		case 2:
			if c, _ := w.plans(); c != nil {
				late = append(late, c)
			}
		case 3:
			if len(late) > 0 {
				i := w.rnd.IntN(len(late))
				w.stores(late[i])
				late = slices.Delete(late, i, i+1)
			}
		case 4:
			w.now = w.now.Add(time.Duration(1+w.rnd.IntN(60)) * time.Second)
		case 5:
			if w.rnd.IntN(12) == 0 {
				_, err := w.Notification(w.t.Context(), w.now, "", "", func(p work.Plan, now time.Time) (work.Plan, work.Withdrawal, bool, error) {
					return Acknowledge(p, "u", posthouse.AckAPI, nil, now)
				})
				w.must(err)
				w.say("acknowledged")
			} else if resolved && w.rnd.IntN(12) == 0 {
				w.resolves()
			}
		default:
			if len(w.order) > 0 {
				id := w.order[w.rnd.IntN(len(w.order))]
				if w.rows[id].State == posthouse.Pending {
					w.starting(id)
				}
				w.moves(id)
			}
		}
		w.law()
	}
	w.runsOut()
	n, err := read(w.plan)
	w.must(err)
	return n
}

// resolves says that it is over.
func (w *world) resolves() {
	_, err := w.Notification(w.t.Context(), w.now, "", "", func(p work.Plan, now time.Time) (work.Plan, work.Withdrawal, bool, error) {
		return Resolve(p, "key", nil, now)
	})
	w.must(err)
	w.say("resolved")
	if w.over == 0 {
		w.over = 1 + len(w.order)
	}
}

// runsOut lets everything come to its end: no process is slow any more, and time passes.
func (w *world) runsOut() {
	for range 2000 {
		c, again := w.plans()
		if c != nil {
			w.stores(c)
		}
		n, err := read(w.plan)
		w.must(err)
		if left := n.late(w.now); !again && n.State == posthouse.NotificationWaiting && len(left) > 0 && w.rows[left[0]].State == posthouse.Pending {
			w.fatal("%s waits to start after its step's time", left[0])
		}
		for _, id := range w.order {
			if d := w.rows[id]; d.State == posthouse.Pending {
				w.starting(id)
				w.moves(id)
			} else if d.State.Open() {
				w.moves(id)
			}
			w.law()
		}
		if w.now = w.now.Add(10 * time.Second); w.plan.State != string(posthouse.NotificationWaiting) {
			return
		}
	}
	w.fatal("it has no end")
}

// The end of a step's time leads on beside an unknown where the step waits for more than that it was sent: an alarm escalates whatever became
// of its first call. Where it only asks that, the unknown may be the proof, and is left to its policy.
func TestAnUnknownEscalatesAtTheEndOfItsTime(t *testing.T) {
	t.Parallel()
	for until, want := range map[posthouse.Proof]int{posthouse.ProofSent: 1, posthouse.ProofDelivered: 2, posthouse.ProofAcknowledged: 2} {
		for _, again := range []posthouse.State{posthouse.Unknown, posthouse.Pending} { // it is held, or tried anew
			w := worldOf(t, rand.New(rand.NewPCG(1, 2)), WithDefaults(posthouse.Route{Name: "w", Version: 1, Steps: []posthouse.RouteStep{
				{Channels: []string{"a"}, Until: until, Within: posthouse.Duration(time.Minute)}, {Channels: []string{"b"}},
			}}), false)
			goesOn := func() {
				for range 2 { // the first may withdraw what has not started
					if c, _ := w.plans(); c != nil {
						w.stores(c)
					}
				}
			}
			goesOn()
			id := w.order[0]
			for _, to := range []posthouse.State{posthouse.Unknown, again} {
				d := *w.rows[id]
				d.State, w.doubt[id] = to, true
				w.settles(d)
			}
			goesOn()
			if len(w.order) != 1 {
				w.fatal("the next step begins within the time of the first, until %s", until)
			}
			w.now = w.now.Add(time.Minute)
			goesOn()
			if len(w.order) != want {
				w.fatal("%d deliveries after the time of a step until %s that is %s, want %d", len(w.order), until, again, want)
			}
			if again == posthouse.Pending && want == 2 && w.rows[id].State != posthouse.Cancelled {
				w.fatal("the first is %s, and may be told beside the second", w.rows[id].State)
			}
		}
	}
}

// A recall that did nothing leaves when somebody was told: the same time decides whether they knew by an hour.
func TestARecallLeavesWhenSomebodyWasTold(t *testing.T) {
	t.Parallel()
	w := worldOf(t, rand.New(rand.NewPCG(1, 2)), WithDefaults(posthouse.Route{Name: "w", Version: 1, Steps: []posthouse.RouteStep{
		{Channels: []string{"a"}, To: []posthouse.Recipient{{User: "boss"}}},
	}}), false)
	c, _ := w.plans()
	w.stores(c)
	d := *w.rows[w.order[0]]
	d.State = posthouse.Sent
	w.settles(d)
	told := w.now
	w.now = w.now.Add(time.Hour)
	recalled := *w.rows[w.order[0]]
	recalled.Reason, recalled.UpdatedAt = "recall_not_supported", w.now
	w.settles(recalled)
	n, err := read(w.plan)
	w.must(err)
	if got := n.Deliveries[0]; !got.At.Equal(told) || got.Reason != recalled.Reason || !n.ToldAt.Equal(told) {
		t.Errorf("the delivery is of %s (%s), told at %s, want %s and the reason of the recall", got.At, got.Reason, n.ToldAt, told)
	}
}
