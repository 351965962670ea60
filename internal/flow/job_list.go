package flow

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
	"github.com/posthouse/posthouse/workflow"
)

// JobFilter selects jobs. The zero value selects all that are not deleted.
type JobFilter struct {
	// Types are the business types. Defaults to all.
	Types []workflow.BizType
	// BizID is the task's or the node's id. Defaults to any.
	BizID string
	// Statuses are those a job may have. Defaults to any.
	Statuses []Status
	// Since and Until bound when a job was handed in: from Since, before Until.
	Since, Until time.Time
	// Cursor is where the page before ended, and Limit the length of a page, 1 to 1000. Defaults to 50. The jobs of one type
	// and id are one page, unless they hold too much for one.
	Cursor string
	Limit  int
}

// The bounds of what one page looks at and shows: a page that ends for either may be shorter than asked for, and empty.
const (
	jobPage    = 50
	mostLooked = 2000    // jobs
	mostShown  = 4 << 20 // about so many bytes of payloads and recipients
)

// A cursor begins with the list it is of.
const (
	ofReminders = "r."
	ofMessages  = "m."
	ofOneID     = "a." // of one type and id, with how many were shown
)

// JobsOf lists the jobs that a filter selects, without deleted ones: those of one type and id newest first and on one page; of
// others first those that come again, by id, then the rest, newest first.
func (j Jobs) JobsOf(ctx context.Context, tenant string, f JobFilter) (wire.Page[wire.Job], error) {
	if err := posthouse.Invalid("the jobs cannot be listed", f.check()); err != nil {
		return wire.Page[wire.Job]{}, err
	}
	if f.Limit <= 0 {
		f.Limit = jobPage
	}
	l := listing{Jobs: j, tenant: tenant, JobFilter: f, out: wire.Page[wire.Job]{Items: []wire.Job{}}}
	var err error
	switch {
	case len(f.Types) == 1 && f.BizID != "":
		err = l.about(ctx)
	case strings.HasPrefix(f.Cursor, ofMessages):
		err = l.messages(ctx, f.Cursor[len(ofMessages):])
	default:
		err = l.reminders(ctx, strings.TrimPrefix(f.Cursor, ofReminders))
	}
	return l.out, err
}

func (f *JobFilter) check() []posthouse.Problem {
	var problems []posthouse.Problem
	for _, b := range f.Types {
		if b.Kind() == "" {
			problems = append(problems, wrongNumber("bizType", int(b), workflow.Kinds()))
		}
	}
	for _, s := range f.Statuses {
		if !s.Valid() {
			problems = append(problems, posthouse.Problem{Path: "status", Message: fmt.Sprintf("is %d: want 0 to 4", int(s))})
		}
	}
	return problems
}

// listing is a page under way.
type listing struct {
	Jobs
	JobFilter
	tenant string
	looked int
	shown  int // bytes
	out    wire.Page[wire.Job]
}

// about lists the jobs of one type and id.
func (l *listing) about(ctx context.Context) error {
	list, err := l.find(ctx, l.tenant, l.Types[0].Kind(), l.BizID)
	if err != nil {
		return err
	}
	before, err := strconv.Atoi(cmp.Or(strings.TrimPrefix(l.Cursor, ofOneID), "0"))
	if err != nil || before < 0 {
		return posthouse.Invalid("the jobs cannot be listed", []posthouse.Problem{{Path: "cursor", Message: "is not one that this list returned: leave it out to begin anew"}})
	}
	for i := min(before, len(list)); i < len(list); i++ {
		if l.shown >= mostShown {
			l.out.Next = ofOneID + strconv.Itoa(i)
			return nil
		}
		if err := l.add(ctx, list[i]); err != nil {
			return err
		}
	}
	return nil
}

// full reports whether the page ends here.
func (l *listing) full() bool {
	return len(l.out.Items) >= l.Limit || l.looked >= mostLooked || l.shown >= mostShown
}

// step is how many are read at once: no more than the page has room for, where each of them may fit.
const (
	step      = 50
	firstStep = 8
)

// reminders lists the jobs that come again, from a cursor on, and the others behind them.
func (l *listing) reminders(ctx context.Context, cursor string) error {
	for !l.full() {
		list, next, err := l.Store.Plans(ctx, l.tenant, work.PlanReminder, cursor, l.room())
		if err != nil {
			return err
		}
		for _, p := range list {
			l.looked++
			if err := l.addPlan(ctx, p); err != nil {
				return err
			}
		}
		if cursor = next; next == "" {
			return l.messages(ctx, "")
		}
	}
	l.out.Next = ofReminders + cursor
	return nil
}

// addPlan adds the job of a reminder, if it is one of those wanted.
func (l *listing) addPlan(ctx context.Context, p work.Plan) error {
	if !slices.Contains(l.kinds(), p.Kind) || l.BizID != "" && l.BizID != p.Ref || !l.inTime(p.CreatedAt) {
		return nil
	}
	r, err := l.one(ctx, l.tenant, p.ID)
	if posthouse.CodeOf(err) == posthouse.CodeNotFound {
		return nil // pruned meanwhile
	}
	if err != nil {
		return err
	}
	return l.add(ctx, r)
}

// messages lists the jobs that come once, from a cursor on.
func (l *listing) messages(ctx context.Context, cursor string) error {
	f := work.Filter{
		Tenant: l.tenant, Ref: l.BizID, Since: l.Since, Until: l.Until, States: l.candidates(), Cursor: cursor,
		Sight: work.See(Channels(), l.kinds()),
	}
	if len(f.States) > 0 && f.Ref == "" {
		f.Sight.Kinds = nil // there is an index of states, which has no kinds
	}
	for !l.full() {
		f.Limit = l.room()
		list, next, err := l.Store.Messages(ctx, f)
		if err != nil {
			return err
		}
		var records []*record
		for _, s := range list {
			l.looked++
			if s.Message.Reminder == "" {
				records = append(records, &record{id: s.Message.ID, createdAt: s.Message.CreatedAt, messages: []posthouse.Message{s.Message}, counts: []work.Counts{s.Counts}})
			}
		}
		if err := l.addMarks(ctx, l.tenant, records); err != nil {
			return err
		}
		for _, r := range records {
			if err := l.add(ctx, r); err != nil {
				return err
			}
		}
		if f.Cursor = next; next == "" {
			return nil
		}
	}
	l.out.Next = ofMessages + f.Cursor
	return nil
}

// room is how many may be read so that none of them is beyond the page: few at first, because nothing is known yet of what
// they hold.
func (l *listing) room() int {
	n := firstStep
	if l.looked > 0 {
		n = max(1, min(step, (mostShown-l.shown)/max(l.shown/l.looked, 1)))
	}
	return min(n, l.Limit-len(l.out.Items))
}

// kinds are those of the types.
func (l *listing) kinds() []string {
	if len(l.Types) == 0 {
		return workflow.Kinds()
	}
	var kinds []string
	for _, b := range l.Types {
		kinds = append(kinds, b.Kind())
	}
	return kinds
}

// candidates are states of which at least one delivery of each wanted job has one, where there are such: few messages have
// something open or failed, and the database finds these by an index.
func (l *listing) candidates() []posthouse.State {
	var states []posthouse.State
	for _, s := range l.Statuses {
		switch s {
		case Waiting:
			states = append(states, openStates...)
		case Failed:
			states = append(states, failedStates...)
		default:
			return nil
		}
	}
	return states
}

func (l *listing) inTime(t time.Time) bool {
	return !t.Before(l.Since) && (l.Until.IsZero() || t.Before(l.Until))
}

// add shows a job, if it is one of those wanted.
func (l *listing) add(ctx context.Context, r *record) error {
	if r.mark.Deleted || !r.shown() || !l.inTime(r.createdAt) {
		return nil
	}
	if d, _ := r.draft(); !slices.Contains(l.kinds(), d.Kind) {
		return nil
	}
	is, err := l.settle(ctx, l.tenant, r)
	if err != nil || len(l.Statuses) > 0 && !slices.Contains(l.Statuses, is) {
		return err
	}
	v, err := l.view(ctx, l.tenant, r)
	l.out.Items = append(l.out.Items, v)
	l.shown += 512 + len(v.Payload)
	for i := range v.Recipients {
		l.shown += 256 + len(v.Recipients[i].LastError)
	}
	return err
}
