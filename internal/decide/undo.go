package decide

import (
	"context"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Undo says what a course takes back: what another one let go between two moments, and has not begun.
type Undo struct {
	Of    wire.Outcome `json:"of"`
	Since time.Time    `json:"since"`
	Until time.Time    `json:"until"`
}

// Undoing is the course that takes a decision back, and notes with that decision that there is one. Asked again, it is the same. Where nothing
// can be taken back it is an error that says why.
func (c Courses) Undoing(ctx context.Context, tenant, id, by string) (Course, error) {
	var undo Course
	_, err := c.Amend(ctx, tenant, work.PlanDecision, id, func(p *work.Plan) (bool, error) {
		of, err := ReadCourse(*p)
		if err == nil {
			err = undoable(of)
		}
		if err != nil {
			return false, err
		}
		known := of.UndoneBy != ""
		if !known {
			of.UndoneBy, of.Undone = posthouse.NewID(), &Undo{Of: of.Outcome, Since: of.CreatedAt, Until: of.UpdatedAt}
		}
		undo = of.undoing(by)
		if known {
			return false, nil
		}
		*p, err = of.Plan(tenant, p.Version, time.Time{})
		return true, err
	})
	return undo, err
}

// undoable is an error where a decision cannot be taken back.
func undoable(c Course) error {
	switch {
	case c.State == wire.DecisionRunning:
		return posthouse.Errorf(posthouse.CodeConflict, "the decision %s still goes on: stop it first, or wait until it is done", c.ID)
	case c.Outcome == wire.OutcomeSent:
		return posthouse.Errorf(posthouse.CodeConflict, "the decision %s cannot be undone: its deliveries count as arrived", c.ID)
	case c.Outcome == wire.OutcomeNotSent:
		return posthouse.Errorf(posthouse.CodeConflict, "the decision %s cannot be undone: its deliveries count as failed, and a decision replay sends them again", c.ID)
	case c.Outcome == wire.OutcomeUndo:
		return posthouse.Errorf(posthouse.CodeConflict, "the decision %s cannot be undone: it is an undo itself; decide anew", c.ID)
	case c.Done == 0 && c.UndoneBy == "":
		return posthouse.Errorf(posthouse.CodeConflict, "the decision %s has decided nothing: there is nothing to undo", c.ID)
	}
	return nil
}

// undoing is the course that takes a course back, which knows what of it.
func (c Course) undoing(by string) Course {
	out := Course{Decision: wire.Decision{ID: c.UndoneBy, Outcome: wire.OutcomeUndo, Selected: c.Selected, Matched: c.Done, State: wire.DecisionRunning, Undoes: c.ID, By: by}, Undo: c.Undone}
	if out.Counted = c.Counted; c.Outcome == wire.OutcomeRetry {
		out.Counted = c.Undone.Until
	}
	return out
}

// takeBack makes a step of an undo: what has not begun goes back to where it was.
func (c Courses) takeBack(ctx context.Context, tenant string, course *Course) (looked int, next string, done int, err error) {
	f := course.Filter(tenant)
	f.Limit = courseStep
	retried := course.Undo.Of == wire.OutcomeRetry
	if retried {
		f.States, f.Reason = []posthouse.State{posthouse.Pending}, state.ReasonRetry
	}
	list, next, err := c.Selector.Deliveries(ctx, f)
	if err != nil || len(list) == 0 {
		return 0, next, 0, err
	}
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	if !retried {
		if ids, err = c.Again.ReplaysBetween(ctx, tenant, ids, course.Undo.Since, course.Undo.Until); err != nil || len(ids) == 0 {
			return len(list), next, 0, err
		}
	}
	done, err = c.Operator.takeBack(ctx, tenant, ids, *course.Undo)
	return len(list), next, done, err
}

// takeBack undoes what was decided of deliveries that have not begun since, and says of how many: what was let go again waits for a person, and
// what was sent again as a new delivery is cancelled.
func (op Operator) takeBack(ctx context.Context, tenant string, ids []string, u Undo) (done int, err error) {
	_, err = op.Queue.Revise(ctx, time.Now(), work.Selection{Tenant: tenant, IDs: ids}, func(_ time.Time, found []posthouse.Delivery) (changes []work.Change) {
		for _, d := range found {
			at := d.UpdatedAt
			if u.Of == wire.OutcomeReplay {
				at = d.CreatedAt
			}
			if d.State != posthouse.Pending || at.Before(u.Since) || at.After(u.Until) {
				continue
			}
			after := state.AfterUndo
			if u.Of == wire.OutcomeReplay {
				after = state.AfterCancel
			}
			if change, ok := after(d); ok {
				changes = append(changes, change)
			}
		}
		done = len(changes)
		return slices.Clip(changes)
	})
	return done, err
}
