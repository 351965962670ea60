package flow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
	"github.com/posthouse/posthouse/workflow"
)

// submit stores what follows from the event. What is refused is left out, with a warning: the rest is told.
func (t *taking) submit(ctx context.Context, out *wire.TaskOutcome) error {
	for {
		ledger := t.entered()
		doc := canonical(&ledger)
		if bytes.Equal(doc, t.before) && t.again() == !t.plan.NextAt.IsZero() {
			return nil
		}
		if most := bound(t.event.Type); len(doc) > most && len(doc) > len(t.before) && !out.Changed {
			return posthouse.Errorf(posthouse.CodeTooLarge, "what is known of task %q has grown to %d bytes: at most %d are kept", t.event.Task, len(doc), most)
		}
		accepted, err := t.o.Post.Submit(ctx, t.submission(doc))
		if posthouse.CodeOf(err) == posthouse.CodeInvalid && t.dropRefused(err) {
			continue
		}
		if err != nil {
			return err
		}
		t.ledger = ledger
		t.plan.Version++
		t.report(out)
		return t.adopt(ctx, accepted)
	}
}

// bound is how large an event may make a task's document, in bytes, with its first commit: after that it is in, and the
// rest of it is told. What ends a node has as much again, so that its time-outs can end; and what ends the task is never
// refused: it comes once. Nor is the planner, who has no event.
func bound(e workflow.EventType) int {
	switch e {
	case workflow.TaskCreated, workflow.NodeActivated, workflow.OrbitPlanChanged:
		return maxLedger
	case workflow.NodeDone:
		return 2 * maxLedger
	}
	return math.MaxInt
}

// entered is the ledger with what is told in this taking.
func (t *taking) entered() ledger {
	l := t.ledger
	l.Told = slices.Clone(l.Told)
	for i := range t.parts {
		p := &t.parts[i]
		n := &p.notice
		entry := telling{ID: n.id, Words: n.words, Key: p.key, Kind: n.kind, Ref: n.ref, Channel: n.channel, Messages: p.messages(), At: t.now.UTC(), NotBefore: n.notBefore}
		if n.repeat != nil {
			entry.Reminder, entry.NotBefore = p.key, n.clock.Since
		}
		l.Told = append(l.Told, entry)
	}
	return l
}

// planned is the task's plan with a document.
func (t *taking) planned(doc []byte) work.Plan {
	p := t.plan
	p.Doc, p.NextAt, p.Failures, p.Error = doc, time.Time{}, 0, ""
	if t.again() {
		p.NextAt = t.now.Add(retryAfter)
	}
	return p
}

func (t *taking) submission(doc []byte) Submission {
	s := Submission{Tenant: t.tenant, Caller: t.by, Task: t.planned(doc)}
	for i := range t.parts {
		p := &t.parts[i]
		s.Drafts = append(s.Drafts, p.drafts...)
		if p.reminder != nil {
			s.Reminders = append(s.Reminders, *p.reminder)
		}
	}
	return s
}

// again reports whether the planner has to look after the task.
func (t *taking) again() bool { return len(t.refused) > 0 || t.ledger.Recall }

// messages are the ids of the part's messages.
func (p *part) messages() []string {
	var ids []string
	for i := range p.drafts {
		ids = append(ids, p.drafts[i].ID)
	}
	return ids
}

// dropRefused leaves out the parts that problems name, and reports whether any was.
func (t *taking) dropRefused(err error) bool {
	var coded *posthouse.Error
	if !errors.As(err, &coded) {
		return false
	}
	refused := map[string]string{} // by what stands before the field's name
	for _, p := range coded.Problems {
		if at, field, ok := bytes.Cut([]byte(p.Path), []byte("].")); ok && refused[string(at)] == "" {
			refused[string(at)] = string(field) + ": " + p.Message
		}
	}
	var kept []part
	drafts, reminders := 0, 0
	for _, p := range t.parts {
		why := ""
		for range p.drafts {
			if why == "" {
				why = refused[fmt.Sprintf("drafts[%d", drafts)]
			}
			drafts++
		}
		if p.reminder != nil {
			why = refused[fmt.Sprintf("reminders[%d", reminders)]
			reminders++
		}
		if why == "" {
			kept = append(kept, p)
			continue
		}
		t.refuse(p.notice, why)
	}
	dropped := len(kept) < len(t.parts)
	t.parts = kept
	return dropped
}

// report says what was committed: to the caller, in the log and in the metrics.
func (t *taking) report(out *wire.TaskOutcome) {
	out.Changed = true
	for _, p := range t.parts {
		told := wire.Told{Key: p.key, Kind: p.notice.kind, Channel: p.notice.channel, Messages: p.messages(), NotBefore: p.notice.notBefore}
		if p.notice.repeat != nil {
			told.Reminder, told.NotBefore = p.key, p.notice.clock.Since
		}
		out.Told = append(out.Told, told)
		t.Flow.notices.WithLabelValues(p.notice.kind).Inc()
	}
	out.Withdrawn = append(out.Withdrawn, t.back...)
	for _, w := range t.fresh {
		if slices.ContainsFunc(out.Warnings, func(other wire.TaskWarning) bool { return same(w, other) }) {
			continue // there is no room to keep it, so that each taking finds it new
		}
		out.Warnings = append(out.Warnings, w)
		t.Flow.warnings.WithLabelValues(string(w.Code)).Inc()
		t.o.Log.Warn("a task cannot be told of as it was meant: "+w.Detail, "code", w.Code, "tenant", t.tenant, "task", t.event.Task, "event", t.event.Type)
	}
}

// adopt enters the messages that stood for a dedup key already: another caller has sent them.
func (t *taking) adopt(ctx context.Context, accepted []posthouse.Accepted) error {
	drafts := t.submission(nil).Drafts
	found := false
	for i := range drafts {
		a := accepted[i]
		if a.DuplicateOf == "" {
			continue
		}
		found = true
		for j := range t.ledger.Told {
			told := &t.ledger.Told[j]
			if at := slices.Index(told.Messages, drafts[i].ID); at >= 0 {
				told.Messages[at] = a.DuplicateOf
			}
		}
	}
	if !found {
		return nil
	}
	_, err := t.o.Post.Submit(ctx, Submission{Tenant: t.tenant, Caller: t.by, Task: t.planned(canonical(&t.ledger))})
	t.plan.Version++
	return err
}

// takeBack cancels what was withdrawn and has not started. It is repeated by each event that could have
// withdrawn something, so that a repeated event makes good what the first one did not come to.
func (t *taking) takeBack(ctx context.Context) error {
	var messages, reminders []string
	for i := range t.ledger.Told {
		told := &t.ledger.Told[i]
		if !told.Withdrawn || !t.concerns(told) {
			continue
		}
		messages = append(messages, told.Messages...)
		if told.Reminder != "" && !t.standing(told.Reminder) {
			reminders = append(reminders, told.Reminder)
		}
	}
	if err := t.abort(ctx); err != nil {
		return err
	}
	for _, id := range distinct(reminders) {
		if err := t.endReminder(ctx, id); err != nil {
			return err
		}
	}
	if err := t.endJobs(ctx); err != nil || len(messages) == 0 {
		return err
	}
	return t.o.Post.Withdraw(ctx, t.tenant, messages)
}

// abort says of what is taken back because the task ended abnormally that it was so (section 6 of the document): cancelled
// is what somebody did not want.
func (t *taking) abort(ctx context.Context) error {
	end := t.ledger.Known.End
	if t.o.Aborter == nil || end == nil || end.Value.Event != workflow.TaskAborted || t.event.Type != end.Value.Event && t.event.Type != "" {
		return nil
	}
	type about struct{ kind, ref string }
	jobs := map[about][]string{}
	for i := range t.ledger.Told {
		told := &t.ledger.Told[i]
		if !told.Withdrawn {
			continue
		}
		k := about{told.Kind, told.Ref}
		jobs[k] = append(jobs[k], told.Messages...)
		if told.Reminder != "" {
			jobs[k] = append(jobs[k], told.Reminder)
		}
	}
	for k, ids := range jobs {
		if err := t.o.Aborter.Abort(ctx, t.tenant, k.kind, k.ref, distinct(ids), source); err != nil {
			return err
		}
	}
	return nil
}

// endReminder ends a time-out, unless it is another task's by now: it has the id of its node and channel alone.
func (t *taking) endReminder(ctx context.Context, id string) error {
	p, found, err := t.o.Book.Plan(ctx, t.tenant, work.PlanReminder, id)
	if err != nil || !found {
		return err
	}
	r, err := reminderOf(p)
	if err != nil || r.reminder.Task != "" && r.reminder.Task != t.event.Task {
		return err
	}
	return t.o.Post.EndReminder(ctx, t.tenant, id, string(t.event.Type))
}

// endJobs ends the time-outs of the event's node that somebody enqueued as jobs: the node is done. One that
// was enqueued after that is for the next time the node is worked on.
func (t *taking) endJobs(ctx context.Context) error {
	if t.event.Type != workflow.NodeDone {
		return nil
	}
	plans, err := t.o.Book.PlansByRef(ctx, t.tenant, work.PlanReminder, KindNodeTimeout, t.event.Node)
	if err != nil {
		return err
	}
	for _, p := range plans {
		r, err := reminderOf(p)
		if err != nil {
			return err
		}
		if r.reminder.Task != "" || r.createdAt.After(t.event.At) || !isAbout(r.reminder.Draft.Payload, t.event.Task) {
			continue
		}
		if err := t.o.Post.EndReminder(ctx, t.tenant, p.ID, string(t.event.Type)); err != nil {
			return err
		}
	}
	return nil
}

// isAbout reports whether a job's payload names a task, or none.
func isAbout(payload json.RawMessage, task string) bool {
	var named struct {
		Task json.RawMessage `json:"taskId"`
	}
	if json.Unmarshal(payload, &named) != nil || len(named.Task) == 0 || string(named.Task) == "null" {
		return true
	}
	return strings.Trim(string(named.Task), `"`) == task
}

// concerns reports whether what was withdrawn may have been so by this event.
func (t *taking) concerns(told *telling) bool {
	switch t.event.Type {
	case workflow.NodeActivated, workflow.NodeDone:
		return told.Kind == KindNodeTimeout && (told.Ref == t.event.Node || t.ledger.Known.follows(t.event.Node, told.Ref))
	case workflow.OrbitPlanChanged:
		return told.Kind == KindOrbitRemind
	}
	return true
}

// standing reports whether a reminder is still to go on.
func (t *taking) standing(reminder string) bool {
	return slices.ContainsFunc(t.ledger.Told, func(told telling) bool { return told.Reminder == reminder && !told.Withdrawn })
}
