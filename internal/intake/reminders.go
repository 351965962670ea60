package intake

import (
	"context"
	"errors"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/remind"
	"github.com/posthouse/posthouse/internal/work"
)

// Known are the plans that are read before they are changed, and what is open of their messages.
type Known interface {
	Plan(ctx context.Context, tenant string, kind work.PlanType, id string) (p work.Plan, found bool, err error)
	PlansByRef(ctx context.Context, tenant string, kind work.PlanType, about, ref string) ([]work.Plan, error)
	OpenOf(ctx context.Context, tenant string, messages []string) ([]string, error)
}

// Reminders opens and ends reminders.
type Reminders struct {
	Intake *Intake
	Store  Known
	Life   *life.Life
	// Location is the zone of days.
	Location *time.Location
	// Withdraw cancels deliveries that have not started.
	Withdraw func(ctx context.Context, tenant string, ids []string) error
}

// amendTries is how often a plan is read again because another writer was faster: each time means that the
// other got on.
const amendTries = 100

// AmendPlan changes a plan as it stands, also while others write it: after each conflict it is read and amended
// again. amend returns false to leave it as it is. What is returned is the plan as amend left it.
func (rem *Reminders) AmendPlan(ctx context.Context, tenant string, kind work.PlanType, id string, amend func(p *work.Plan) (bool, error)) (work.Plan, error) {
	for try := 1; ; try++ {
		p, found, err := rem.Store.Plan(ctx, tenant, kind, id)
		if err != nil {
			return p, err
		}
		if !found {
			return p, posthouse.Errorf(posthouse.CodeNotFound, "there is no %s %q", kind, id)
		}
		if write, err := amend(&p); err != nil || !write {
			return p, err
		}
		_, err = rem.Intake.Accept(ctx, Request{Tenant: tenant, Caller: work.Program(), Endpoint: "plans", Plans: []work.Plan{p}})
		if posthouse.CodeOf(err) != posthouse.CodeConflict || try == amendTries {
			return p, err
		}
	}
}

// Remind opens a reminder. While one with its id is open, none is made: it is returned as a duplicate. The
// request's tenant, endpoint and key are used, and its Answer says whether the key was known.
func (rem *Reminders) Remind(ctx context.Context, req Request, r posthouse.Reminder) (_ posthouse.Reminder, duplicate bool, _ Answer, err error) {
	r.Tenant = req.Tenant
	r, problems := remind.New(r, rem.Life.Now(), rem.Location)
	if r.MentionAll, err = rem.judge(ctx, req, r, problems); err != nil {
		return r, false, Answer{}, err
	}
	for try := 1; ; try++ {
		req.Plans = []work.Plan{remind.Plan(r)}
		answer, err := rem.Intake.Accept(ctx, req)
		switch {
		case err == nil:
			stored, err := rem.reminder(ctx, work.Viewer{Tenant: req.Tenant, Sight: req.Caller.Sight}, answer.Accepted[0].ID)
			if made := r.Version + 1; err == nil && !answer.Replayed && stored.Version > made {
				r.Version = made // its first slot has come meanwhile: it is answered as it was made
				return r, false, answer, nil
			}
			return stored, false, answer, err
		case posthouse.CodeOf(err) != posthouse.CodeConflict || try == amendTries:
			return r, false, answer, err
		}
		old, err := rem.reminder(ctx, work.Viewer{Tenant: req.Tenant, Sight: req.Caller.Sight}, r.ID)
		switch {
		case posthouse.CodeOf(err) == posthouse.CodeNotFound:
			r.Version = 0 // it was pruned meanwhile
		case err != nil || old.State == posthouse.ReminderOpen:
			return old, err == nil, Answer{}, err
		default:
			r.Version = old.Version
		}
	}
}

// judge says everything that is wrong with a reminder and its messages, before its first slot comes, and whether they call everybody.
func (rem *Reminders) judge(ctx context.Context, req Request, r posthouse.Reminder, problems []posthouse.Problem) (everybody bool, err error) {
	if len(problems) == 0 {
		answer, err := rem.Intake.Accept(ctx, Request{
			Tenant: req.Tenant, Caller: req.Caller, DryRun: true, MaxRecipients: req.MaxRecipients, Drafts: []posthouse.Draft{remind.First(r)}, Path: func(int) string { return "draft." },
		})
		var coded *posthouse.Error
		if !errors.As(err, &coded) || coded.Code != posthouse.CodeInvalid {
			return answer.MentionAll, err
		}
		problems = coded.Problems
	}
	return false, posthouse.Invalid("the reminder cannot be accepted", problems)
}

func (rem *Reminders) reminder(ctx context.Context, v work.Viewer, id string) (posthouse.Reminder, error) {
	p, found, err := rem.Store.Plan(ctx, v.Tenant, work.PlanReminder, id)
	if err != nil {
		return posthouse.Reminder{}, err
	}
	if !found {
		return posthouse.Reminder{}, posthouse.Errorf(posthouse.CodeNotFound, "there is no reminder %q", id)
	}
	r, err := remind.Read(p)
	if err == nil && !sees(v.Sight, r) {
		err = posthouse.Errorf(posthouse.CodeNotFound, "there is no reminder %q", id)
	}
	return r, err
}

// sees reports whether a caller sees a reminder.
func sees(s work.Sight, r posthouse.Reminder) bool {
	return s.Covers(r.Draft.Channel, r.Draft.Kind)
}

// EndReminder ends a reminder and withdraws what has not started of its last message. It wins against a slot
// that comes at the same time: after it has returned, nothing of the reminder starts. One that has ended
// already keeps its reason.
func (rem *Reminders) EndReminder(ctx context.Context, v work.Viewer, id, reason string) (posthouse.Reminder, error) {
	var r posthouse.Reminder
	_, err := rem.AmendPlan(ctx, v.Tenant, work.PlanReminder, id, func(p *work.Plan) (write bool, err error) {
		if r, err = remind.Read(*p); err != nil {
			return false, err
		}
		if !sees(v.Sight, r) {
			return false, posthouse.Errorf(posthouse.CodeNotFound, "there is no reminder %q", id)
		}
		write = r.State == posthouse.ReminderOpen
		if r = remind.End(r, reason); write {
			*p = remind.Plan(r)
		}
		return write, nil
	})
	if err != nil || r.Message == "" {
		return r, err
	}
	open, err := rem.Store.OpenOf(ctx, v.Tenant, []string{r.Message})
	if err == nil && len(open) > 0 {
		err = rem.Withdraw(ctx, v.Tenant, open)
	}
	return r, err
}

// EndReminders ends all reminders that are about one thing, and returns them: those too that had ended, since
// a message of theirs may still wait.
func (rem *Reminders) EndReminders(ctx context.Context, v work.Viewer, kind, ref, reason string) ([]posthouse.Reminder, error) {
	list, err := rem.Store.PlansByRef(ctx, v.Tenant, work.PlanReminder, kind, ref)
	ended := make([]posthouse.Reminder, 0, len(list))
	for _, p := range list {
		if err != nil {
			break
		}
		var r posthouse.Reminder
		r, err = rem.EndReminder(ctx, v, p.ID, reason)
		if posthouse.CodeOf(err) == posthouse.CodeNotFound { // pruned meanwhile, or not the caller's to see
			err = nil
			continue
		}
		ended = append(ended, r)
	}
	return ended, err
}
