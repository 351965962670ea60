package intake

import (
	"context"
	"errors"
	"slices"
	"strings"
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
	// Campaigns judges what schedules start. Defaults to none: then no schedule starts campaigns.
	Campaigns Campaigns
}

// Campaigns judges the campaigns that schedules start, and ends them.
type Campaigns interface {
	// Judge says everything that is wrong with what a reminder starts, and whether it calls everybody.
	Judge(ctx context.Context, by work.Caller, r posthouse.Reminder) (everybody bool, err error)
	// Drop ends a campaign that was made and is not to begin. One that is gone or has ended stays so.
	Drop(ctx context.Context, tenant, name string) error
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
// request's tenant, endpoint and key are used, and its Answer says whether the key was known. A dry run says what would be opened.
func (rem *Reminders) Remind(ctx context.Context, req Request, r posthouse.Reminder) (_ posthouse.Reminder, duplicate bool, _ Answer, err error) {
	r.Tenant = req.Tenant
	r, problems := remind.New(rem.inEpoch(r), rem.Life.Now(), rem.Location)
	var warnings []posthouse.Problem
	if r.MentionAll, warnings, err = rem.judge(ctx, req, r, problems); err != nil {
		return r, false, Answer{}, err
	}
	if req.DryRun {
		r.Warnings = warnings
		return r, false, Answer{}, nil
	}
	for try := 1; ; try++ {
		req.Plans = []work.Plan{remind.Plan(r)}
		answer, err := rem.Intake.Accept(ctx, req)
		switch {
		case err == nil:
			stored, err := rem.reminder(ctx, work.Viewer{Tenant: req.Tenant, Sight: req.Caller.Sight}, answer.Accepted[0].ID)
			stored.Warnings = warnings
			if made := r.Version + 1; err == nil && !answer.Replayed && stored.Version > made {
				r.Version, r.Warnings = made, warnings // its first slot has come meanwhile: it is answered as it was made
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

// Replace puts a reminder in the place of the open one that has its id: what has come of that stays. Where there is none, it is
// opened. Doing it twice does it once. The request's tenant and caller are used.
func (rem *Reminders) Replace(ctx context.Context, req Request, r posthouse.Reminder) (_ posthouse.Reminder, opened bool, err error) {
	r.Tenant = req.Tenant
	r.Draft.DedupKey = r.ID
	for try := 1; ; try++ {
		p, found, err := rem.Store.Plan(ctx, req.Tenant, work.PlanReminder, r.ID)
		if err != nil {
			return r, false, err
		}
		var old posthouse.Reminder
		if found {
			if old, err = remind.Read(p); err != nil {
				return r, false, err
			}
			if !Sees(req.Caller.Sight, old) {
				return r, false, posthouse.Errorf(posthouse.CodeForbidden, "the id %.80q is that of a reminder this key does not see: choose another", r.ID)
			}
		}
		opened = old.State != posthouse.ReminderOpen
		if err := ofWorkflow(old); err != nil && !opened {
			return old, false, err
		}
		next, problems := remind.Replace(old, rem.inEpoch(r), rem.Life.Now(), rem.Location)
		var warnings []posthouse.Problem
		if next.MentionAll, warnings, err = rem.judge(ctx, req, next, problems); err != nil {
			return next, false, err
		}
		_, err = rem.Intake.Accept(ctx, Request{Tenant: req.Tenant, Caller: req.Caller, Endpoint: "plans", Plans: []work.Plan{remind.Plan(next)}})
		if posthouse.CodeOf(err) != posthouse.CodeConflict || try == amendTries {
			next.Version++
			next.Warnings = warnings
			if err == nil && next.Preparing == nil {
				err = rem.drop(ctx, old)
			}
			return next, opened, err
		}
	}
}

// ofWorkflow refuses to change a reminder that a task has: the workflow opens and ends those.
func ofWorkflow(r posthouse.Reminder) error {
	if r.Task == "" {
		return nil
	}
	return posthouse.Errorf(posthouse.CodeConflict, "the reminder %.80q is about the task %.80q, and the workflow's to change: it can only be ended", r.ID, r.Task)
}

// PauseReminder has nothing more come of a reminder, or has it go on with its first slot from now. A message that was made
// before stays.
func (rem *Reminders) PauseReminder(ctx context.Context, v work.Viewer, id string, paused bool) (posthouse.Reminder, error) {
	var r, before posthouse.Reminder
	_, err := rem.amend(ctx, v, id, func(old posthouse.Reminder) (_ posthouse.Reminder, write bool, err error) {
		r, before = old, old
		if err := ofWorkflow(r); err != nil && (paused || !remind.Held(r)) || r.Paused == paused {
			return r, false, err
		}
		switch {
		case r.State != posthouse.ReminderOpen:
			return r, false, posthouse.Errorf(posthouse.CodeConflict, "the reminder %.80q has ended: nothing more comes of it", id)
		case paused:
			r = remind.Pause(r)
		default:
			r = remind.Resume(rem.inEpoch(r), rem.Life.Now())
		}
		return r, true, nil
	})
	if err == nil && paused {
		err = rem.drop(ctx, before)
	}
	return r, err
}

// inEpoch is a reminder that starts campaigns in the epoch of now.
func (rem *Reminders) inEpoch(r posthouse.Reminder) posthouse.Reminder {
	if r.Epoch = 0; r.Campaign != nil {
		r.Epoch = rem.Life.Epoch()
	}
	return r
}

// drop ends the campaign that was being made when a reminder was as it is here: what is written since keeps it from beginning by itself,
// and this takes back what another process may have begun meanwhile.
func (rem *Reminders) drop(ctx context.Context, r posthouse.Reminder) error {
	if r.Preparing == nil || rem.Campaigns == nil {
		return nil
	}
	return rem.Campaigns.Drop(ctx, r.Tenant, r.Preparing.Campaign)
}

// amend changes a reminder that the viewer sees, as AmendPlan does.
func (rem *Reminders) amend(ctx context.Context, v work.Viewer, id string, change func(r posthouse.Reminder) (_ posthouse.Reminder, write bool, err error)) (work.Plan, error) {
	return rem.AmendPlan(ctx, v.Tenant, work.PlanReminder, id, func(p *work.Plan) (write bool, err error) {
		r, err := remind.Read(*p)
		if err != nil {
			return false, err
		}
		if !Sees(v.Sight, r) {
			return false, posthouse.Errorf(posthouse.CodeNotFound, "there is no reminder %q", id)
		}
		if r, write, err = change(r); err == nil && write {
			*p = remind.Plan(r)
		}
		return write, err
	})
}

// judge says everything that is wrong with a reminder and its messages, before its first slot comes, and whether they call everybody. It
// judges by that slot: who is on duty then is meant, and not who is now. That nobody is by then is a warning: the roster may be filled meanwhile,
// or made, and the role given to somebody.
func (rem *Reminders) judge(ctx context.Context, req Request, r posthouse.Reminder, problems []posthouse.Problem) (everybody bool, warnings []posthouse.Problem, err error) {
	if r.Draft.Route != "" && len(req.Caller.Sight.Channels) > 0 {
		return false, nil, posthouse.Errorf(posthouse.CodeForbidden, "draft.route: the key is for %s, and a reminder by a route takes a key for all channels", strings.Join(req.Caller.Sight.Channels, ", "))
	}
	if r.Campaign != nil && !req.Caller.Sight.Whole() {
		return false, nil, posthouse.Errorf(posthouse.CodeForbidden, "campaign: the key is narrowed to some channels or kinds, and a schedule that starts campaigns takes one that is not")
	}
	if r.Campaign != nil && len(problems) == 0 {
		if rem.Campaigns == nil {
			return false, nil, posthouse.Errorf(posthouse.CodeConflict, "this server starts no campaigns")
		}
		everybody, err = rem.Campaigns.Judge(ctx, req.Caller, r)
		return everybody, nil, err
	}
	if len(problems) == 0 {
		first := remind.First(r)
		if first.To, warnings, err = rem.Intake.manned(ctx, req.Tenant, first.To, r.NextAt); err != nil {
			return false, nil, err
		}
		unmanned := len(warnings) > 0 && len(first.To) == 0
		if unmanned { // all but whom it is for is judged
			first.To = []posthouse.Recipient{{User: "nobody", Address: "nobody"}}
		}
		answer, err := rem.Intake.Accept(ctx, Request{
			Tenant: req.Tenant, Caller: req.Caller, DryRun: true, HandedIn: r.NextAt, MaxRecipients: req.MaxRecipients, Drafts: []posthouse.Draft{first}, Path: func(int) string { return "draft." },
		})
		var coded *posthouse.Error
		if !errors.As(err, &coded) || coded.Code != posthouse.CodeInvalid {
			return answer.MentionAll, warnings, err
		}
		problems = coded.Problems
		if unmanned {
			problems = slices.DeleteFunc(problems, func(p posthouse.Problem) bool { return strings.HasPrefix(p.Path, "draft.to") })
		}
		if len(problems) == 0 {
			return answer.MentionAll, warnings, nil
		}
	}
	return false, nil, posthouse.Invalid("the reminder cannot be accepted", problems)
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
	if err == nil && !Sees(v.Sight, r) {
		err = posthouse.Errorf(posthouse.CodeNotFound, "there is no reminder %q", id)
	}
	return r, err
}

// Sees reports whether a caller sees a reminder. One by a route has channels that change with the route: who is narrowed to some sees none of it.
// Campaigns are closed to narrowed keys, and so are schedules that start them.
func Sees(s work.Sight, r posthouse.Reminder) bool {
	if r.Campaign != nil {
		return s.Whole()
	}
	if r.Draft.Route != "" {
		return len(s.Channels) == 0 && s.Kind(r.Draft.Kind)
	}
	return s.Covers(r.Draft.Channel, r.Draft.Kind)
}

// EndReminder ends a reminder and withdraws what has not started of its last message. It wins against a slot
// that comes at the same time: after it has returned, nothing of the reminder starts. One that has ended
// already keeps its reason.
func (rem *Reminders) EndReminder(ctx context.Context, v work.Viewer, id, reason string) (posthouse.Reminder, error) {
	var r, before posthouse.Reminder
	_, err := rem.amend(ctx, v, id, func(old posthouse.Reminder) (_ posthouse.Reminder, write bool, err error) {
		r, before = remind.End(old, reason), old
		return r, old.State == posthouse.ReminderOpen, nil
	})
	if err == nil {
		err = rem.drop(ctx, before)
	}
	if err != nil || r.Message == "" {
		return r, err
	}
	if r.Draft.Route != "" {
		return r, rem.Intake.o.Routes.End(ctx, v.Tenant, r.Message)
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
