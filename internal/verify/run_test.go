package verify_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/verify"
)

// run is a run that could have been: what the log and the other journals say of it.
type run struct {
	rng *rand.Rand
	now time.Time

	events   []posthouse.Event
	arrivals []verify.ArrivalLine
	calls    []verify.ClientLine
	grants   []verify.GrantLine
	words    []verify.AgentLine
	faults   []verify.FaultLine
	stored   map[string]map[posthouse.State]int
	counts   map[string]verify.Count
	messages int
	inflight int  // of each channel, 0 for none
	several  bool // of the channel's accounts
	rows     []verify.Stored
	refs     []verify.Reference
	seals    []verify.Seal
	members  []verify.CampaignFinding
	notified []verify.Notified
	gathered []posthouse.Collection
	barred   *verify.Barred // whose address is suppressed
	epoch    int64          // of the database
}

// began is when runs begin.
var began = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

func newRun(seed uint64) *run {
	return &run{rng: rand.New(rand.NewPCG(seed, 7)), now: began, stored: map[string]map[posthouse.State]int{}}
}

const (
	digits    = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	keyWindow = 4 * time.Hour
	maxTries  = 8
)

// newID is the id of a message that was accepted now.
func (r *run) newID() string {
	id := make([]byte, 22)
	for i, v := 9, r.now.UnixMilli(); i >= 0; i, v = i-1, v>>5 {
		id[i] = digits[v&31]
	}
	for i, v := 21, r.rng.Uint64(); i >= 10; i, v = i-1, v>>5 {
		id[i] = digits[v&31]
	}
	return string(id) + "0000"
}

func (r *run) chance(percent int) bool { return r.rng.IntN(100) < percent }

// between is a random duration in whole microseconds.
func (r *run) between(a, b time.Duration) time.Duration {
	return a + time.Duration(r.rng.Int64N(int64(b-a)/1000+1)*1000)
}

// walk is one delivery on its way through the state machine.
type walk struct {
	*run
	id, idem, tenant string
	policy           posthouse.Policy
	deadline         time.Time
	at               time.Time
	state            posthouse.State
	version, token   int64
	attempt, tries   int
	losses           int
	due, first       time.Time
	owner            string
	asked            bool // a cancel was asked for
	taken            bool // something arrived and was taken
	pulled           bool // agents fetch it
	started          bool // an attempt is under way
}

// add writes the next event.
func (w *walk) add(kind posthouse.EventType, to posthouse.State, more ...func(*posthouse.Event)) {
	w.version++
	e := posthouse.Event{
		Delivery: w.id, Version: w.version, Tenant: w.tenant, At: w.at, Type: kind, From: w.state, To: to, Token: w.token, Epoch: 1,
		Tries: w.tries, Message: posthouse.MessageID(w.id), Idem: w.idem, Deadline: w.deadline, Policy: w.policy, Account: w.accountOf(),
	}
	for _, f := range more {
		f(&e)
	}
	w.state = to
	w.started = to == posthouse.Sending && (w.started || kind == posthouse.EventStart)
	w.events = append(w.events, e)
}

func (w *walk) ends(class posthouse.Class, code string) func(*posthouse.Event) {
	return func(e *posthouse.Event) { e.Attempt, e.Owner, e.Class, e.Code = w.attempt, w.owner, class, code }
}

func reason(text string) func(*posthouse.Event) {
	return func(e *posthouse.Event) { e.Reason = text }
}

// arrive has the provider write down the attempt under way.
func (w *walk) arrive(answer string) {
	a := verify.ArrivalLine{
		Seq: int64(len(w.arrivals) + 1), At: w.at.Add(w.between(time.Millisecond, 20*time.Millisecond)), Provider: "generic", Path: "/generic",
		Key: w.idem, User: "u1", Text: "hello", Answer: answer, Status: 200,
	}
	switch answer {
	case verify.ArrivalRefused:
		a.Status = 503
	case verify.ArrivalLost:
		a.Status, a.Fault = 0, "cut_after"
		fallthrough
	default:
		a.ID, a.Repeat = fmt.Sprintf("g-%d", a.Seq), w.taken
		w.taken = true
	}
	w.arrivals = append(w.arrivals, a)
}

// live walks from accept until nothing more happens.
func (w *walk) live(why string) {
	w.due = w.at
	if w.chance(5) && why == "" {
		w.due = w.at.Add(w.between(time.Second, time.Hour))
	}
	if w.chance(5) {
		w.deadline = w.due.Add(w.between(0, time.Minute))
	}
	if w.chance(1) && why == "" {
		w.add(posthouse.EventSuppress, posthouse.Suppressed, reason("not_on_duty"))
		return
	}
	w.add(posthouse.EventAccept, posthouse.Pending, reason(why), func(e *posthouse.Event) { e.Due = w.due })
	for w.step() {
	}
}

// step makes what follows the present state, and reports whether anything does.
func (w *walk) step() bool {
	switch w.state {
	case posthouse.Pending:
		w.pending()
	case posthouse.Sending:
		w.sending()
	case posthouse.Unknown:
		return w.unknown()
	case posthouse.Quarantined:
		return w.quarantine()
	default:
		return false
	}
	return true
}

func (w *walk) pending() {
	if w.chance(2) && w.attempt == 0 {
		w.at = w.at.Add(w.between(0, time.Second))
		w.add(posthouse.EventCancel, posthouse.Cancelled, reason("cancelled"))
		w.tell(verify.OpCancel, verify.AnswerCancelled)
		return
	}
	w.at = later(w.at, w.due).Add(w.between(0, 50*time.Millisecond))
	if !w.deadline.IsZero() && !w.at.Before(w.deadline) {
		w.add(posthouse.EventExpire, posthouse.Expired, reason("deadline"))
		return
	}
	w.token++
	if w.pulled {
		w.claim()
		return
	}
	w.owner = fmt.Sprintf("vm-%d-a", 1+w.rng.IntN(3))
	w.start()
}

// claim gives it to an agent, which starts it later.
func (w *walk) claim() {
	phone := fmt.Sprintf("phone-%d", 1+w.rng.IntN(5))
	w.owner = "agent/" + phone
	w.add(posthouse.EventClaim, posthouse.Sending, func(e *posthouse.Event) {
		e.Owner, e.Due, e.LeaseUntil = w.owner, w.due, w.at.Add(15*time.Second)
	})
	w.say(verify.OpClaim, verify.AnswerHanded, "")
}

// say writes lines of the agents' journal: at times the first answer is lost, or the request repeated.
func (w *walk) say(op, answer string, outcome posthouse.Outcome) {
	line := verify.AgentLine{
		At: w.at.Add(2 * time.Millisecond), Asked: w.at.Add(-2 * time.Millisecond), Agent: strings.TrimPrefix(w.owner, "agent/"), Op: op,
		Delivery: w.id, Token: w.token, Outcome: outcome, Answer: answer,
	}
	if op == verify.OpReport {
		line.Report = fmt.Sprint("r-", w.id, w.version)
		if w.chance(10) {
			lost := line
			lost.Answer = verify.AnswerUnknown
			w.words = append(w.words, lost)
		}
	}
	w.words = append(w.words, line)
	if w.chance(5) {
		line.Asked, line.At = line.Asked.Add(time.Second), line.At.Add(time.Second)
		w.words = append(w.words, line)
	}
}

// report is what an agent is told of its report, if it is an agent.
func (w *walk) report(outcome posthouse.Outcome, answer posthouse.ReportResult) {
	if w.pulled {
		w.say(verify.OpReport, string(answer), outcome)
	}
}

// unstarted is what may become of it while an agent has it and has not begun.
func (w *walk) unstarted() {
	w.at = w.at.Add(w.between(0, time.Second))
	switch n := w.rng.IntN(100); {
	case n < 5:
		w.add(posthouse.EventCancel, posthouse.Cancelled, reason("cancelled"))
		w.tell(verify.OpCancel, verify.AnswerCancelled)
	case n < 10:
		w.due = w.at
		w.add(posthouse.EventRelease, posthouse.Pending, reason("given_back"), func(e *posthouse.Event) { e.Due = w.due })
		w.say(verify.OpGiveBack, verify.AnswerOK, "")
	case n < 20:
		w.at = w.at.Add(16 * time.Second)
		w.due = w.at
		w.losses++
		w.add(posthouse.EventLeaseLost, posthouse.Pending, reason("lease_lost"), func(e *posthouse.Event) { e.Owner, e.Due = w.owner, w.due })
	case !w.deadline.IsZero() && !w.at.Before(w.deadline):
		w.add(posthouse.EventExpire, posthouse.Expired, reason("deadline"))
	default:
		w.start()
		w.say(verify.OpStart, verify.AnswerOK, "")
	}
}

// start begins an attempt.
func (w *walk) start() {
	w.attempt++
	if w.attempt == 1 {
		w.first = w.at
	}
	w.add(posthouse.EventStart, posthouse.Sending, func(e *posthouse.Event) {
		e.Attempt, e.Owner, e.Due, e.LeaseUntil = w.attempt, w.owner, w.due, w.at.Add(15*time.Second)
	})
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (w *walk) sending() {
	if !w.started {
		w.unstarted()
		return
	}
	if w.chance(2) && !w.asked {
		w.asked = true
		w.add(posthouse.EventCancelRequest, posthouse.Sending)
		w.tell(verify.OpCancel, verify.AnswerTooLate)
	}
	switch n := w.rng.IntN(100); {
	case n < 82:
		w.arrive(verify.ArrivalAccepted)
		w.at = w.at.Add(w.between(20*time.Millisecond, 50*time.Millisecond))
		w.add(posthouse.EventSent, posthouse.Sent, w.ends(posthouse.ClassOK, "0"))
		w.report(posthouse.OutcomeSent, posthouse.ReportDone)
	case n < 87:
		w.arrive(verify.ArrivalRefused)
		w.refused()
	case n < 88:
		w.arrive(verify.ArrivalRefused)
		w.at, w.tries = w.at.Add(50*time.Millisecond), w.tries+1
		w.add(posthouse.EventFail, posthouse.Failed, w.ends(posthouse.ClassContent, "1002"), reason("content"))
		w.report(posthouse.OutcomeNotSent, posthouse.ReportDone)
	case n < 93:
		if w.chance(70) {
			w.arrive(verify.ArrivalLost)
		}
		w.at, w.tries = w.at.Add(10*time.Second), w.tries+1
		w.add(posthouse.EventAmbiguous, posthouse.Unknown, w.ends(posthouse.ClassUnknown, "API_TIMEOUT"), reason("API_TIMEOUT"))
		w.report(posthouse.OutcomeUnknown, posthouse.ReportDone)
		w.doubt()
	case n < 96 && !w.asked:
		w.attempt--
		w.due = w.at
		if w.attempt > 0 && w.policy == posthouse.Retry && w.chance(20) {
			w.add(posthouse.EventRelease, posthouse.Unknown, reason("window_closed"))
			return
		}
		w.add(posthouse.EventRelease, posthouse.Pending, reason("shutdown"), func(e *posthouse.Event) { e.Due = w.due })
	case n < 97:
		w.add(posthouse.EventQuarantine, posthouse.Quarantined, reason("driver_panic"), func(e *posthouse.Event) { e.Attempt = w.attempt })
	default:
		w.lose()
	}
}

// lose ends the attempt with its process.
func (w *walk) lose() {
	arrived := w.chance(50)
	if arrived {
		w.arrive(verify.ArrivalAccepted)
	}
	w.at = w.at.Add(15*time.Second + w.between(time.Millisecond, time.Second))
	w.losses++
	if w.losses > 5 {
		w.add(posthouse.EventQuarantine, posthouse.Quarantined, reason("poison"), func(e *posthouse.Event) { e.Owner = w.owner })
		return
	}
	w.tries++
	w.add(posthouse.EventLeaseLost, posthouse.Unknown, w.ends(posthouse.ClassUnknown, "LEASE_LOST"), reason("lease_lost"))
	if arrived && w.chance(30) {
		w.add(posthouse.EventEvidence, posthouse.Sent, w.ends(posthouse.ClassOK, "0"), reason("late_result"))
		w.report(posthouse.OutcomeSent, posthouse.ReportEvidence)
		return
	}
	w.report(posthouse.OutcomeNotSent, posthouse.ReportStale)
	w.doubt()
}

func (w *walk) refused() {
	w.at, w.tries = w.at.Add(w.between(20*time.Millisecond, 50*time.Millisecond)), w.tries+1
	if w.tries >= maxTries {
		w.add(posthouse.EventFail, posthouse.Failed, w.ends(posthouse.ClassTransient, "503"), reason("tries_used_up"))
		w.report(posthouse.OutcomeNotSent, posthouse.ReportDone)
		return
	}
	w.again(posthouse.EventRetry, w.between(time.Minute, 3*time.Minute), w.ends(posthouse.ClassTransient, "503"))
	w.report(posthouse.OutcomeNotSent, posthouse.ReportDone)
}

func (w *walk) again(kind posthouse.EventType, wait time.Duration, more ...func(*posthouse.Event)) {
	w.due = w.at.Add(wait)
	w.add(kind, posthouse.Pending, append(more, func(e *posthouse.Event) { e.Due = w.due })...)
	switch {
	case w.asked:
		w.add(posthouse.EventCancel, posthouse.Cancelled, reason("cancelled"))
	case !w.deadline.IsZero() && !w.due.Before(w.deadline):
		w.add(posthouse.EventExpire, posthouse.Expired, reason("deadline_before"))
	}
}

// doubt applies the policy to an attempt that may have arrived.
func (w *walk) doubt() {
	switch w.policy {
	case posthouse.AssumeSent:
		w.add(posthouse.EventAssumeSent, posthouse.Sent, reason("unconfirmed"))
	case posthouse.Retry:
		wait := w.between(time.Minute, 3*time.Minute)
		switch {
		case w.asked:
		case w.tries >= maxTries:
			w.add(posthouse.EventHoldTimeout, posthouse.Failed, reason("tries_used_up"))
		case w.at.Add(wait).Before(w.first.Add(keyWindow * 4 / 5)):
			w.again(posthouse.EventResend, wait)
		}
	}
}

// unknown resolves a held one, or leaves it.
func (w *walk) unknown() bool {
	w.at = w.at.Add(w.between(5*time.Second, time.Minute))
	switch n := w.rng.IntN(10); {
	case w.policy == posthouse.Query && w.taken:
		w.add(posthouse.EventResolve, posthouse.Sent, reason("query_found"))
	case w.policy == posthouse.Query && n < 5:
		w.add(posthouse.EventResolve, posthouse.Unknown, reason("query_no_answer"))
	case w.policy == posthouse.Query:
		w.again(posthouse.EventResolve, 0, reason("query_absent"))
	case n < 2:
		w.add(posthouse.EventResolve, posthouse.Sent, reason("operator_sent"))
	case n < 4:
		w.add(posthouse.EventResolve, posthouse.Failed, reason("operator_not_sent"))
	case n < 6:
		w.again(posthouse.EventResolve, 0, reason("operator_retry"))
	case n < 8 && w.policy == posthouse.Hold:
		w.add(posthouse.EventHoldTimeout, posthouse.Failed, reason("unknown_timeout"))
	default:
		return false
	}
	return true
}

func (w *walk) quarantine() bool {
	w.at = w.at.Add(w.between(5*time.Second, time.Minute))
	switch n := w.rng.IntN(3); n {
	case 0:
		w.losses = w.rng.IntN(2) // one is kept, and programs before that kept none
		w.again(posthouse.EventRequeue, 0, reason("operator_retry"))
	case 1:
		w.add(posthouse.EventDiscard, posthouse.Failed, reason("operator_not_sent"))
	default:
		return false
	}
	return true
}

// tell writes a line of the client journal about the delivery.
func (w *walk) tell(op, answer string) {
	w.calls = append(w.calls, verify.ClientLine{
		At: w.at.Add(2 * time.Millisecond), Asked: w.at.Add(-2 * time.Millisecond), Op: op, Tenant: w.tenant, Answer: answer, Status: 200, Delivery: w.id,
	})
}

// message accepts a message and follows it to its end.
func (r *run) message() {
	r.now = r.now.Add(r.between(time.Millisecond, 3*time.Millisecond))
	r.messages++
	id, tenant := r.newID(), fmt.Sprintf("tenant%d", r.rng.IntN(3))
	recipients := 1
	if r.chance(5) {
		recipients = 1 + r.rng.IntN(4)
	}
	r.accept(id, tenant, recipients)
	policy := posthouse.Policies()[r.rng.IntN(4)]
	pulled := r.chance(30)
	var again []walk
	for n := range recipients {
		w := &walk{run: r, id: posthouse.DeliveryID(id, n+1), tenant: tenant, policy: policy, at: r.now, pulled: pulled}
		w.idem = w.id
		w.live("")
		r.store(w)
		if w.state == posthouse.Failed && r.chance(50) {
			again = append(again, *w)
		}
	}
	for i := range again {
		old := &again[i]
		w := &walk{run: r, id: posthouse.DeliveryID(id, recipients+i+1), tenant: tenant, policy: policy, at: old.at.Add(time.Minute), idem: old.idem, taken: old.taken, pulled: pulled}
		if r.chance(30) {
			w.idem, w.taken = w.id, false
		}
		w.live("replay")
		r.store(w)
	}
}

func (r *run) store(w *walk) {
	if r.stored[w.tenant] == nil {
		r.stored[w.tenant] = map[posthouse.State]int{}
	}
	r.stored[w.tenant][w.state]++
}

// accept writes what the caller was told: at times only when it asked again, or never.
func (r *run) accept(id, tenant string, recipients int) {
	line := verify.ClientLine{
		At: r.now.Add(3 * time.Millisecond), Asked: r.now.Add(-time.Millisecond), Op: verify.OpSend, Tenant: tenant, Key: fmt.Sprint("key-", r.messages),
		Body: fmt.Sprint("body-", r.messages), Answer: verify.AnswerAccepted, Status: 202, Message: id, Recipients: recipients,
	}
	unsure := line
	unsure.Answer, unsure.Status, unsure.Code, unsure.Message = verify.AnswerUnknown, 503, "outcome_unknown", ""
	if r.chance(5) {
		r.calls = append(r.calls, unsure)
		line.Answer, line.Asked, line.At = verify.AnswerReplayed, line.Asked.Add(time.Second), line.At.Add(time.Second)
	}
	if r.chance(1) {
		r.calls = append(r.calls, unsure)
		return
	}
	r.calls = append(r.calls, line)
	if r.chance(3) {
		line.Answer, line.Asked, line.At = verify.AnswerReplayed, line.Asked.Add(time.Second), line.At.Add(time.Second)
		r.calls = append(r.calls, line)
	}
	if r.chance(1) {
		line.Body, line.Answer, line.Code, line.Status, line.Message = "other", verify.AnswerRefused, "key_reused", 422, ""
		r.calls = append(r.calls, line)
	}
}

// windows are the limits of the limiter's journal.
var windows = []posthouse.Limit{{Max: 10, Per: posthouse.Duration(time.Second)}, {Max: 100, Per: posthouse.Duration(time.Minute)}}

// limit asks a limiter that keeps its limits for permits, so many times.
func (r *run) limit(times int) {
	now := began
	var granted []time.Time
	for range times {
		now = now.Add(r.between(10*time.Millisecond, 300*time.Millisecond))
		line := verify.GrantLine{At: now, Key: "generic", Windows: windows, Op: verify.OpTake, Want: 1 + r.rng.IntN(5), RefusedBy: -1}
		line.Granted = line.Want
		for i, w := range windows {
			used := 0
			for _, t := range granted {
				if t.After(now.Add(-w.Per.Std())) {
					used++
				}
			}
			if room := w.Max - used; room < line.Granted {
				line.Granted, line.RefusedBy = room, i
			}
		}
		for range line.Granted {
			granted = append(granted, now)
		}
		r.grants = append(r.grants, line)
		if line.Granted > 0 && r.chance(10) {
			granted = granted[:len(granted)-1]
			r.grants = append(r.grants, verify.GrantLine{At: now, Key: "generic", Windows: windows, Op: verify.OpRefund, Want: 1, RefusedBy: -1})
		}
	}
}

// madeRun is a run of so many messages.
func madeRun(seed uint64, messages int) *run {
	r := newRun(seed)
	for range messages {
		r.message()
	}
	r.limit(300)
	r.faults = []verify.FaultLine{{At: began.Add(time.Second), Until: began.Add(2 * time.Second), Kind: "kill", Target: "vm-1-a"}}
	return r
}

// inputs are the run's journals as Check takes them.
func (r *run) inputs() verify.Inputs {
	return verify.Inputs{
		Events: eventsIn(r.events), Client: lines(r.calls), Sink: lines(r.arrivals), Limiter: lines(r.grants), Faults: lines(r.faults),
		Agents: lines(r.words),
		AtRest: true, KeyWindow: keyWindow, Sometimes: []string{"none"}, Stored: r.stored,
	}
}

func eventsIn(list []posthouse.Event) iter.Seq2[posthouse.Event, error] {
	return func(yield func(posthouse.Event, error) bool) {
		for _, e := range list {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func lines[T any](list []T) io.Reader {
	var b bytes.Buffer
	writeLines(&b, slices.Values(list))
	return &b
}

func writeLines[T any](w io.Writer, list iter.Seq[T]) {
	out := bufio.NewWriter(w)
	encoder := json.NewEncoder(out)
	for v := range list {
		if err := encoder.Encode(v); err != nil {
			panic(err) // all of them can be encoded
		}
	}
	if err := out.Flush(); err != nil {
		panic(err)
	}
}

// check is the report on a run.
func check(t testing.TB, in verify.Inputs) verify.Report {
	t.Helper()
	report, err := verify.Check(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// broken are the ids of the violated invariants.
func broken(r verify.Report) []string {
	var out []string
	for _, inv := range r.Invariants {
		if inv.Status == verify.Broken {
			out = append(out, inv.ID)
		}
	}
	return out
}
