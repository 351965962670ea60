package flow

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
	"github.com/posthouse/posthouse/workflow"
)

const (
	// maxConflicts is how often a task's document is read again because somebody else was faster.
	maxConflicts = 50
	// maxDeliveries bounds the deliveries of one submission: everybody else's messages wait behind it.
	maxDeliveries = 4000
	// maxLedger bounds a task's document, in bytes; see bound. One of more than largeLedger drops what is over.
	maxLedger, largeLedger = 4 << 20, 1 << 20
	// source is what the messages name as their sender.
	source = "workflow"
	// forGood is how long a dedup key holds: as long as one may.
	forGood = posthouse.Duration(3650 * 24 * time.Hour)
)

// taking is one try to take an event in: everything from reading the task's document to writing it.
type taking struct {
	*Flow
	by     work.Caller
	tenant string
	event  workflow.Event
	plan   work.Plan
	before []byte
	ledger ledger
	now    time.Time

	parts   []part
	fresh   []wire.TaskWarning // not known before
	back    []string           // keys that are withdrawn now
	more    bool               // there is more to tell than fits in one submission
	refused map[string]string  // why notices cannot be made into messages, by mark, of all takings for the event: they are tried again later
	answers map[string]workflow.Audience
	to      map[string][]posthouse.Recipient // of the answers, by channel and question, whom the channel can reach
	reached map[string][]posthouse.Recipient // whom messages that were withdrawn have reached, by message, of all takings too
	asked   map[string]bool                  // the messages that reached was asked for: one of them that is not in it is not kept
}

// part is a notice that is told in this taking: by messages, or by a reminder. One with neither stands already.
type part struct {
	notice   notice
	key      string
	drafts   []posthouse.Draft
	reminder *posthouse.Reminder
}

// apply takes one event in.
func (f *Flow) apply(ctx context.Context, by work.Caller, tenant string, e workflow.Event) (wire.TaskOutcome, error) {
	out := wire.TaskOutcome{Task: e.Task, Event: e.Type, Told: []wire.Told{}}
	t, err := f.takings(ctx, by, tenant, e, f.o.Clock(), &out)
	if err != nil {
		return out, err
	}
	f.events.WithLabelValues(string(e.Type)).Inc()
	return out, t.takeBack(ctx)
}

// takings takes the event in until all that follows from an event is told, and returns the last one. Each is at its own time, but
// not before now: an event with many takes long, and what it begins late is to begin when it is told.
func (f *Flow) takings(ctx context.Context, by work.Caller, tenant string, e workflow.Event, now time.Time, out *wire.TaskOutcome) (*taking, error) {
	refused := map[string]string{} // kept, so that each taking tells something or finds out what cannot be told
	reached, asked := map[string][]posthouse.Recipient{}, map[string]bool{}
	for conflicts := 0; conflicts < maxConflicts; {
		t := &taking{
			Flow: f, by: by, tenant: tenant, event: e, now: later(now, f.o.Clock()), refused: refused, reached: reached, asked: asked,
			answers: map[string]workflow.Audience{}, to: map[string][]posthouse.Recipient{},
		}
		err := t.read(ctx)
		if err == nil {
			err = t.prepare(ctx)
		}
		if err == nil {
			err = t.submit(ctx, out)
		}
		switch {
		case posthouse.CodeOf(err) == posthouse.CodeConflict:
			conflicts++
		case err != nil:
			return nil, err
		case !t.more:
			return t, nil
		default:
			conflicts = 0
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return nil, posthouse.Errorf(posthouse.CodeUnavailable, "task %q is written by others all the time: try again", e.Task)
}

// read reads what is known of the event's task.
func (t *taking) read(ctx context.Context) error {
	var found bool
	var err error
	if t.plan, found, err = t.o.Book.Plan(ctx, t.tenant, work.PlanTask, t.event.Task); err != nil {
		return err
	}
	if !found {
		t.plan = work.Plan{Tenant: t.tenant, Type: work.PlanTask, ID: t.event.Task}
		return nil
	}
	t.before = t.plan.Doc
	return t.ledger.decode(t.plan)
}

func (l *ledger) decode(p work.Plan) error {
	if err := json.Unmarshal(p.Doc, l); err != nil {
		return fmt.Errorf("read what is known of task %q: %w", p.ID, err)
	}
	return nil
}

// prepare finds out what follows from the event and makes the submission of it.
func (t *taking) prepare(ctx context.Context) error {
	l := &t.ledger
	l.Known = merge(l.Known, knownFrom(t.event))
	notices, err := t.notices(ctx)
	if err != nil {
		return err
	}
	t.back = l.withdraw(notices)
	untold, err := t.settle(ctx, l.untold(notices, t.now))
	if err != nil {
		return err
	}
	room := maxDeliveries
	for _, n := range untold {
		if why := t.refused[n.mark()]; why != "" {
			t.warn(NoticeRefused, "%s", why)
			continue
		}
		if room <= 0 {
			t.more = true
			break
		}
		added, err := t.tell(ctx, n, room)
		if err != nil {
			return err
		}
		room -= added
	}
	return nil
}

// notices are all that follow from what is known.
func (t *taking) notices(ctx context.Context) ([]notice, error) {
	task := t.ledger.Known.Task
	if task == nil {
		return nil, nil
	}
	channels, err := t.channels(ctx, &task.Value)
	if err != nil {
		return nil, err
	}
	creator := task.Value.CreatorName
	if creator == "" {
		if creator, err = t.o.Name(ctx, t.tenant, task.Value.Creator); err != nil {
			return nil, err
		}
	}
	if creator == "" {
		creator = task.Value.Creator
	}
	return derive(t.event.Task, &t.ledger.Known, channels, creator, t.o.Zone), nil
}

// channels are those a task is told on. Where it names none they stay as they were the first time: a
// channel that is configured later does not repeat what was told.
func (t *taking) channels(ctx context.Context, task *workflow.Task) ([]string, error) {
	if len(task.Channels) > 0 {
		return distinct(slices.Clone(task.Channels)), nil
	}
	if len(t.ledger.Channels) > 0 {
		return t.ledger.Channels, nil
	}
	configured, err := t.o.Channels(ctx, t.tenant)
	if err != nil {
		return nil, err
	}
	for _, name := range Channels() {
		if slices.Contains(configured, name) {
			t.ledger.Channels = append(t.ledger.Channels, name)
		}
	}
	if len(t.ledger.Channels) == 0 {
		t.warn(NoChannel, "the task names no channels, and neither %s is configured", strings.Join(Channels(), " nor "))
	}
	return t.ledger.Channels, nil
}

// tell adds a notice to the submission, and returns how many deliveries it takes of the room there is: all of
// it where it is for the next submission.
func (t *taking) tell(ctx context.Context, n notice, room int) (int, error) {
	if n.repeat != nil {
		before := len(t.parts)
		err := t.remind(ctx, n)
		return len(t.parts) - before, err
	}
	to, err := t.audience(ctx, n)
	if err != nil {
		return 0, err
	}
	if len(to) > 0 {
		to = t.unreached(n, to)
	}
	switch {
	case len(to) > maxAudience:
		t.warn(NoticeRefused, "%s on %s: it is for %d recipients, and at most %d can be told", n.kind, n.channel, len(to), maxAudience)
		return 0, nil
	case len(to) > room && len(t.parts) > 0:
		t.more = true
		return room, nil
	}
	p := part{notice: n, key: t.ledger.freshKey(n.key)}
	shares, err := t.shares(ctx, n, to)
	if err != nil {
		return 0, err
	}
	for _, s := range shares {
		p.add(&s.notice, s.to)
	}
	if len(p.drafts) > 0 {
		t.parts = append(t.parts, p)
	}
	return len(to), nil
}

// add makes messages of a notice for recipients.
func (p *part) add(n *notice, to []posthouse.Recipient) {
	for chunk := range slices.Chunk(to, draft.MaxRecipients) {
		d := n.draft(p.key)
		d.To, d.ID = chunk, posthouse.NewID()
		if len(p.drafts) > 0 {
			d.DedupKey = fmt.Sprintf("%s/%d", p.key, len(p.drafts)+1)
		}
		p.drafts = append(p.drafts, d)
	}
}

// draft is a message of the notice, without its recipients.
func (n *notice) draft(key string) posthouse.Draft {
	return posthouse.Draft{
		Channel: n.channel, Kind: n.kind, Ref: n.ref, Payload: n.json(), Source: source, Clock: n.clock,
		NotBefore: n.notBefore, Deadline: n.deadline, DedupKey: key, DedupWindow: forGood,
	}
}

// audience is who a notice goes to. One question is asked once a taking, and once for each channel whom it can reach.
func (t *taking) audience(ctx context.Context, n notice) ([]posthouse.Recipient, error) {
	found, question, err := t.ask(ctx, n.kind, n.to)
	if err != nil {
		return nil, err
	}
	for _, role := range found.Vacant {
		t.warn(RoleVacant, "nobody has the role %q", role)
	}
	if len(found.To) == 0 {
		t.warn(NobodyToTell, "%s of %s is for nobody", n.kind, n.ref)
	}
	to, asked := t.to[n.channel+question]
	if !asked {
		var err error
		if to, err = t.addressed(ctx, t.tenant, n.channel, found.To, func(why string) { t.warn(NoAddress, "%s", why) }); err != nil {
			return nil, err
		}
		t.to[n.channel+question] = to
	}
	if len(to) == 0 && len(found.To) > 0 { // an address may be entered later
		t.refuse(n, "nobody of it has an address")
	}
	return to, nil
}

// ask asks who an audience is. The question stands for it.
func (t *taking) ask(ctx context.Context, kind string, who audience) (found workflow.Audience, question string, err error) {
	question = string(canonical([]any{kind, who.nodes, who.roles, who.users, who.without}))
	found, asked := t.answers[question]
	if !asked {
		if found, err = resolve(ctx, t.o.Resolver, t.tenant, t.event.Task, kind, who); err != nil {
			return found, question, err
		}
		t.answers[question] = found
	}
	return found, question, nil
}

// refuse leaves a notice out for now, with a warning.
func (t *taking) refuse(n notice, why string) {
	why = fmt.Sprintf("%s on %s: %s", n.kind, n.channel, why)
	t.refused[n.mark()] = why
	t.warn(NoticeRefused, "%s", why)
}

// settle leaves out the notices that wait for the next taking, and finds out whom the others have reached already.
// A notice can have reached some where it was withdrawn too late and follows again now. One that is withdrawn in
// this taking waits until that is committed: its messages would stay cancelled if the commit did not come. A message is
// asked about once: none of its deliveries comes back after that.
func (t *taking) settle(ctx context.Context, untold []notice) ([]notice, error) {
	var ready []notice
	var messages []string
	for _, n := range untold {
		former := t.ledger.former(n.id)
		if slices.ContainsFunc(former, func(f *telling) bool { return f.fresh && len(f.Messages) > 0 }) {
			t.more = true
			continue
		}
		for _, f := range former {
			for _, message := range f.Messages {
				if !t.asked[message] {
					messages = append(messages, message)
				}
			}
		}
		ready = append(ready, n)
	}
	if len(messages) == 0 {
		return ready, nil
	}
	if err := t.o.Post.Withdraw(ctx, t.tenant, messages); err != nil {
		return nil, err
	}
	reached, err := t.o.Post.Reached(ctx, t.tenant, messages)
	if err != nil {
		return nil, err
	}
	maps.Copy(t.reached, reached)
	for _, message := range messages {
		t.asked[message] = true
	}
	return ready, nil
}

// unreached are the recipients of a notice that it has not reached already.
func (t *taking) unreached(n notice, to []posthouse.Recipient) []posthouse.Recipient {
	former := t.ledger.former(n.id)
	for _, f := range former {
		for _, message := range f.Messages {
			reached, kept := t.reached[message]
			if !kept && !f.NotBefore.After(t.now) { // of a slot still to come nobody has heard
				to = nil // nobody knows any more whom it has reached: to tell all of them again is worse
			}
			to = slices.DeleteFunc(slices.Clone(to), func(r posthouse.Recipient) bool {
				return slices.ContainsFunc(reached, func(other posthouse.Recipient) bool {
					return other.User == r.User && (r.User != "" || other.Address == r.Address)
				})
			})
		}
	}
	if len(to) == 0 {
		last := former[len(former)-1] // all have it: it stands again
		last.Withdrawn, last.Words = false, n.words
	}
	return to
}

// remind opens the reminder of a time-out. One that has begun already goes on as it is, unless the time-out was
// moved to a time still to come; and so does one that somebody enqueued as a job: it stands for this one.
func (t *taking) remind(ctx context.Context, n notice) error {
	repeat := *n.repeat
	if repeat.From.Before(t.now) {
		repeat.From = t.now // it is late already: it begins at once
	}
	r := &posthouse.Reminder{ID: n.key, Tenant: t.tenant, Draft: n.draft(n.key), Repeat: &repeat, Task: t.event.Task, Node: n.ref}
	p, found, err := t.o.Book.Plan(ctx, t.tenant, work.PlanReminder, r.ID)
	if err != nil {
		return err
	}
	var old posthouse.Reminder
	if found {
		if err := json.Unmarshal(p.Doc, &old); err != nil {
			return fmt.Errorf("read the reminder %q: %w", r.ID, err)
		}
		r.Version = p.Version
	}
	open := old.State == posthouse.ReminderOpen
	job := open && old.Task == "" && old.Draft.Kind == n.kind && old.Draft.Ref == n.ref
	switch {
	case open && !job && old.Task == "":
		t.warn(NoticeRefused, "%s on %s: another reminder has the id %q and is under way", n.kind, n.channel, r.ID)
		return nil
	case open && !job && old.Task != t.event.Task:
		t.warn(NoticeRefused, "%s on %s: task %q has a node with the id %q too, and its time-out is under way", n.kind, n.channel, old.Task, n.ref)
		return nil
	}
	begun := old.Fired > 0 && (open || n.repeat.Max > 0)
	if job || begun && !n.repeat.From.After(t.now) {
		r = nil
	}
	if r != nil && old.Task == t.event.Task && old.Message != "" {
		t.ledger.inherit(r.ID, old.Message)
	}
	t.parts = append(t.parts, part{notice: n, key: n.key, reminder: r})
	return nil
}

// warn keeps a warning; one that is known already is not said again.
func (t *taking) warn(code wire.WarningCode, format string, args ...any) {
	w := wire.TaskWarning{Code: code, Detail: fmt.Sprintf(format, args...), At: t.now.UTC()}
	if !slices.ContainsFunc(t.fresh, func(other wire.TaskWarning) bool { return same(w, other) }) && t.ledger.warn(w) {
		t.fresh = append(t.fresh, w)
	}
}
