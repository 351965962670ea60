package intake

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"runtime/debug"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/taskbody"
	"github.com/posthouse/posthouse/internal/work"
)

// One look into the outbox takes so many rows, and no more once their drafts have so many bytes.
const (
	relayBatch = 500
	eventBatch = 64 // of events of tasks
	relayBytes = 8 << 20
)

// A row that cannot be accepted is tried again after relayPause, then after twice as long each
// time, up to relayPauseMax: the channel it names may be configured later.
const (
	relayPause    = 5 * time.Second
	relayPauseMax = 10 * time.Minute
)

// maxRejection bounds the text that is written into a row, in bytes.
const maxRejection = 4 << 10

// letter is a row of the outbox with what becomes of it.
type letter struct {
	row        work.Enqueued
	draft      posthouse.Draft
	event      *taskbody.NewEvent // in place of a draft
	job        json.RawMessage    // in place of both
	trace      string
	submission *work.Submission
	problem    string // why it cannot be accepted
	waits      bool   // for room in a quota, and for nothing else
	done       func(work.Outcome, error)
}

// Outbox is where callers commit drafts within their own transactions.
type Outbox interface {
	Outbox(ctx context.Context, now time.Time, kind work.Kind, max, bytes int) ([]work.Enqueued, error)
	Relay(ctx context.Context, now time.Time, list []work.Relay) ([]work.Outcome, error)
	Done(ctx context.Context, now time.Time, rows []string) error
	Reject(ctx context.Context, now time.Time, list []work.Rejection) ([]string, error)
}

// Relay accepts what callers committed into the outbox. A row and its message never stand side by
// side: they change places in one transaction, so it does not matter where a process dies.
//
// Messages and events of tasks are two roles: what follows from an event takes longer, and asks others
// who may not answer.
type Relay struct {
	Intake *Intake
	Store  Outbox
	Life   *life.Life
	Log    *slog.Logger
	Poll   time.Duration
	// Keep is how long messages are kept, negative for ever.
	Keep time.Duration
	// TaskEvents takes the events of tasks, and Jobs the jobs with their rows; one may come twice. Default to none:
	// they wait in the outbox.
	TaskEvents func(ctx context.Context, row work.Enqueued, event *taskbody.NewEvent) error
	Jobs       func(ctx context.Context, row work.Enqueued, job json.RawMessage) error
}

// Messages accepts drafts.
func (r *Relay) Messages(ctx context.Context) { r.relayKind(ctx, work.Drafts, relayBatch) }

// Events applies events of tasks.
func (r *Relay) Events(ctx context.Context) { r.relayKind(ctx, work.TaskEvents, eventBatch) }

func (r *Relay) relayKind(ctx context.Context, kind work.Kind, most int) {
	for r.Life.Pause(r.Life.Shared(r.Poll)) {
		for r.relayOnce(ctx, kind, most) && ctx.Err() == nil && !r.Life.Stopped() {
		}
	}
}

// relayOnce moves a batch of rows, and reports whether any moved or was put off: then more may wait.
// A row that cannot be accepted is set aside, so that it never blocks those after it.
func (r *Relay) relayOnce(ctx context.Context, kind work.Kind, most int) bool {
	if r.Life.Stale() {
		return false
	}
	rows, err := r.Store.Outbox(ctx, time.Now(), kind, most, relayBytes)
	if err == nil && len(rows) == 0 {
		return false
	}
	letters := make([]letter, len(rows))
	for i, row := range rows {
		letters[i] = open(row)
	}
	if err == nil {
		err = r.weigh(ctx, letters)
	}
	moved := 0
	if err == nil {
		moved, err = r.forward(ctx, letters)
	}
	for i := range letters {
		letters[i].settle(work.Outcome{}, err)
	}
	if err == nil {
		var applied int
		applied, err = r.applyEvents(ctx, letters)
		moved += applied
	}
	if err == nil {
		var put int
		put, err = r.putOff(ctx, letters)
		moved += put
	}
	if err != nil && ctx.Err() == nil {
		r.Log.Warn("the outbox cannot be relayed now", "error", err)
	}
	return err == nil && moved > 0
}

// open reads what a row holds.
func open(row work.Enqueued) letter {
	l := letter{row: row}
	dec := json.NewDecoder(strings.NewReader(row.Draft))
	dec.DisallowUnknownFields() // a misspelt field would silently change what is sent
	var in draft.Row
	if err := dec.Decode(&in); errors.Is(err, io.EOF) {
		l.problem = "the draft is empty: want a JSON object"
	} else if err != nil {
		l.problem = "the draft cannot be read: " + unread(err)
	} else if rest, _ := io.ReadAll(dec.Buffered()); len(bytes.TrimSpace(rest)) > 0 {
		l.problem = "the draft is followed by more text: want one JSON object"
	} else if in.TaskEvent != nil && in.Job != nil {
		l.problem = "a job stands beside the task_event: want a row for each"
	} else if (in.TaskEvent != nil || in.Job != nil) && !reflect.ValueOf(in.Draft).IsZero() {
		l.problem = "a message stands beside the task_event or job: want a row for each"
	} else if field := draft.HalfPair([]byte(row.Draft)); field != "" {
		l.problem = "the draft cannot be read: " + field + ": holds half of a surrogate pair (\\ud800 to \\udfff), which is no character"
	} else if field := draft.NoTime([]byte(row.Draft)); field != "" {
		l.problem = field + " is the year 1, which is no time that anybody means: leave it out for none"
	}
	l.draft, l.event, l.job, l.trace = in.Draft, in.TaskEvent, in.Job, in.Traceparent
	return l
}

// isDraft reports whether the letter is a message, and not what others make messages of.
func (l *letter) isDraft() bool { return l.event == nil && l.job == nil }

// unread says in words for who wrote the row why it is none: not which of our types it does not fit.
func unread(err error) string {
	var wrong *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &wrong):
		return strings.TrimPrefix(err.Error(), "json: ")
	case wrong.Field == "":
		return "it is JSON of the kind " + wrong.Value + ": want an object"
	}
	return wrong.Field + " cannot be of the kind " + wrong.Value
}

// weigh makes a submission of each letter, or finds out why there is none. What was handed in is
// judged by the time it was handed in: a relay that was down changes no deadline and no duty.
func (r *Relay) weigh(ctx context.Context, letters []letter) error {
	now := r.Life.Now()
	if err := r.named(ctx, letters, now); err != nil {
		return err
	}
	known, err := r.directories(ctx, letters)
	if err != nil {
		return err
	}
	for i := range letters {
		l := &letters[i]
		if l.problem != "" || !l.isDraft() {
			continue
		}
		if err := r.weighOne(ctx, l, known[l.row.Tenant], l.handedIn(now)); err != nil {
			return err
		}
	}
	return nil
}

// handedIn is the time that a letter is judged by.
func (l *letter) handedIn(now time.Time) time.Time {
	if at := l.row.CreatedAt; !at.IsZero() && at.Before(now) {
		return at
	}
	return now
}

// named puts users in place of the rosters and roles that letters name.
func (r *Relay) named(ctx context.Context, letters []letter, now time.Time) error {
	for i := range letters {
		l := &letters[i]
		if l.problem != "" || !l.isDraft() {
			continue
		}
		drafts, problems, err := r.Intake.named(ctx, l.row.Tenant, []posthouse.Draft{l.draft}, l.handedIn(now), func(int) string { return "" })
		if err != nil {
			return err
		}
		if l.draft = drafts[0]; len(problems[0]) > 0 {
			l.problem = posthouse.Invalid("the message cannot be accepted", problems[0]).Error()
		}
	}
	return nil
}

// weighOne makes a submission of one letter, or finds its problem. An error is about the database, not
// the letter. A panic is the letter's problem: nobody called who could be told, and the next process
// would meet the same row.
func (r *Relay) weighOne(ctx context.Context, l *letter, known directory, handedIn time.Time) (err error) {
	defer func() {
		if p := recover(); p != nil {
			l.problem = state.Plain(fmt.Sprintf("the message makes the server panic: %v", p), maxRejection)
			r.Log.Error("a message of the outbox made the server panic", "row", l.row.ID, "tenant", l.row.Tenant, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	problems := &draft.Problems{}
	draft.Check(&l.draft, r.Intake.o.MaxRecipients, handedIn, problems)
	id, shared := draft.MessageOf(l.row.ID)
	own := posthouse.NewID()
	if id >= posthouse.FirstID(posthouse.IDTime(own).Add(draft.MaxAhead)) {
		problems.Add("id", "is of a time to come: leave it out, or make one of the present")
	}
	sub := &work.Submission{Tenant: l.row.Tenant, Endpoint: "outbox"}
	if l.draft.Route != "" {
		sub.ID = own
		sub.Routed, err = r.Intake.begin(ctx, l.row.Tenant, cmp.Or(id, own), &l.draft, handedIn, problems)
	} else {
		var entry work.Entry
		entry, err = r.Intake.prepare(ctx, work.Program(), l.row.Tenant, cmp.Or(id, own), &l.draft, known, handedIn, problems)
		entry.Shared = shared
		if _, ok := life.ParseTrace(l.trace); ok {
			entry.Message.Trace = l.trace
		}
		sub.Entries = []work.Entry{entry}
	}
	switch {
	case err != nil && (ctx.Err() != nil || posthouse.CodeOf(err) == posthouse.CodeUnavailable):
		return err
	case err != nil:
		l.problem = err.Error()
	case len(problems.List) > 0:
		l.problem = posthouse.Invalid("the message cannot be accepted", problems.List).Error()
	default:
		return r.admit(ctx, l, sub)
	}
	return nil
}

// directories looks up the addresses that the letters need, by tenant.
func (r *Relay) directories(ctx context.Context, letters []letter) (map[string]directory, error) {
	drafts := map[string][]posthouse.Draft{}
	for i := range letters {
		if l := &letters[i]; l.problem == "" && l.isDraft() {
			drafts[l.row.Tenant] = append(drafts[l.row.Tenant], l.draft)
		}
	}
	known := map[string]directory{}
	for tenant, list := range drafts {
		if err := r.Intake.meet(ctx, tenant, list); err != nil {
			r.Log.Warn("new channels cannot be looked for", "tenant", tenant, "error", err)
		}
		found, err := r.Intake.addresses(ctx, tenant, list)
		if err != nil {
			return nil, err
		}
		known[tenant] = found
	}
	return known, nil
}

// forward stores the letters that have a submission, in transactions of bounded size.
func (r *Relay) forward(ctx context.Context, letters []letter) (moved int, err error) {
	var part []*letter
	size := 0
	for i := range letters {
		l := &letters[i]
		if l.submission == nil {
			continue
		}
		n := len(l.submission.AllPlans())
		for i := range l.submission.Entries {
			n += len(l.submission.Entries[i].Deliveries)
		}
		if len(part) > 0 && size+n > maxGroupRows {
			m, err := r.move(ctx, part)
			if moved += m; err != nil {
				return moved, err
			}
			part, size = nil, 0
		}
		part, size = append(part, l), size+n
	}
	m, err := r.move(ctx, part)
	return moved + m, err
}

// move stores letters in one transaction. When the database refuses it for what it holds, each is
// tried alone, and the one that is refused alone has a problem.
func (r *Relay) move(ctx context.Context, part []*letter) (moved int, err error) {
	if len(part) == 0 {
		return 0, nil
	}
	list := make([]work.Relay, len(part))
	for i, l := range part {
		list[i] = work.Relay{Row: l.row.ID, Submission: l.submission, Keep: r.keepTold(l)}
	}
	outcomes, err := r.Store.Relay(ctx, time.Now(), list)
	switch {
	case err != nil && (ctx.Err() != nil || posthouse.CodeOf(err) != posthouse.CodeInternal):
		return 0, err
	case err != nil && len(part) == 1:
		part[0].problem = "the database refused the message: " + err.Error()
		return 0, nil
	case err != nil:
		for _, l := range part {
			m, err := r.move(ctx, []*letter{l})
			if moved += m; err != nil {
				return moved, err
			}
		}
		return moved, nil
	}
	for i, l := range part {
		l.settle(outcomes[i], nil)
		if accepted := outcomes[i].Accepted; len(accepted) > 0 {
			moved++
			r.tell(ctx, l, outcomes[i])
		}
	}
	return moved, nil
}

// keepTold is how long a letter's id leads to another message: as long as messages are kept, where its
// writer knows the id.
func (r *Relay) keepTold(l *letter) time.Duration {
	if id, _ := draft.MessageOf(l.row.ID); id == "" || l.draft.DedupKey == "" {
		return 0
	} else if r.Keep > 0 {
		return r.Keep
	}
	return 100 * 366 * 24 * time.Hour
}

// tell wakes the dispatchers and writes down what became of a letter.
func (r *Relay) tell(ctx context.Context, l *letter, outcome work.Outcome) {
	r.Intake.announce(ctx, l.submission, outcome)
	r.Intake.wakePlanner(l.submission.AllPlans())
	accepted := outcome.Accepted
	if of := accepted[0].DuplicateOf; of != "" {
		r.Log.Info("a message of the outbox is a duplicate: nothing was created", "tenant", l.row.Tenant, "channel", l.draft.Channel,
			"message", l.submission.MessageID(), "duplicate_of", of, "dedup_key", l.draft.DedupKey)
	}
}

// putOff writes into the rows of letters with a problem what it is, and when they are tried again.
func (r *Relay) putOff(ctx context.Context, letters []letter) (int, error) {
	var list []work.Rejection
	byRow := map[string]*letter{}
	for i := range letters {
		l := &letters[i]
		if l.problem == "" {
			continue
		}
		l.problem = state.Plain(l.problem, maxRejection)
		byRow[l.row.ID] = l
		list = append(list, work.Rejection{Row: l.row.ID, Failures: l.row.Failures, Error: l.problem, Wait: l.wait()})
	}
	if len(list) == 0 {
		return 0, nil
	}
	held, err := r.Store.Reject(ctx, time.Now(), list)
	if err != nil {
		return 0, fmt.Errorf("write down why messages cannot be accepted: %w", err)
	}
	for _, row := range held {
		l := byRow[row]
		level := slog.LevelWarn
		if l.waits {
			level = slog.LevelDebug // the metric posthouse_quota_refusals_total counts them
		}
		r.Log.Log(ctx, level, "a message of the outbox cannot be accepted: it stays there and is tried again", "row", row, "tenant", l.row.Tenant,
			"channel", l.draft.Channel, "problem", l.problem, "failures", l.row.Failures+1, "next_try_in", l.wait())
	}
	return len(held), nil
}

// relayWait is the pause after a failure, given how many came before it.
func relayWait(failures int) time.Duration {
	return min(relayPause<<min(failures, 10), relayPauseMax)
}
