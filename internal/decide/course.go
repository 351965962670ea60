package decide

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Course is a decision about many deliveries on its way: what was decided, and how far it is.
type Course struct {
	wire.Decision
	// Counted is until when what it is about had changed when it was counted. What has changed since is left alone.
	Counted time.Time `json:"counted"`
	Cursor  string    `json:"cursor,omitempty"` // where the last step ended
	Step    int       `json:"step"`             // how many steps were made
	Undo    *Undo     `json:"undo,omitempty"`   // of one that takes another back
	Undone  *Undo     `json:"undone,omitempty"` // of one that is taken back, what of it
}

// The words by which all courses of a tenant are found.
const (
	CourseKind = "decisions"
	CourseRef  = "all"
)

// Plan is a course as it is stored: due while it runs.
func (c Course) Plan(tenant string, version int64, now time.Time) (work.Plan, error) {
	c.Decision.Error, c.CreatedAt, c.UpdatedAt, c.Undoable = "", time.Time{}, time.Time{}, false // the plan has these
	doc, err := json.Marshal(c)
	p := work.Plan{Tenant: tenant, Type: work.PlanDecision, ID: c.ID, Kind: CourseKind, Ref: CourseRef, Doc: doc, Version: version}
	if c.State == wire.DecisionRunning {
		p.NextAt = now
	}
	return p, err
}

// ReadCourse reads a stored course.
func ReadCourse(p work.Plan) (c Course, err error) {
	if err := json.Unmarshal(p.Doc, &c); err != nil {
		return c, fmt.Errorf("the decision %s cannot be read: %w", p.ID, err)
	}
	c.Decision.Error, c.CreatedAt, c.UpdatedAt = p.Error, p.CreatedAt, p.UpdatedAt
	c.Undoable = c.CanUndo()
	return c, nil
}

// Filter is what a course goes through. Its door is closed to keys that see a part.
func (c Course) Filter(tenant string) work.Filter {
	return work.Filter{
		Tenant: tenant, Sight: work.SeeAll(), Channel: c.Channel, Kind: c.Kind, Ref: c.Ref, User: c.User, Account: c.Account, Reason: c.Reason, States: c.States,
		Since: c.Since, Until: c.Until, ChangedUntil: c.Counted, Cursor: c.Cursor,
	}
}

// Selector lists deliveries.
type Selector interface {
	Deliveries(ctx context.Context, f work.Filter) (list []posthouse.Delivery, next string, err error)
}

// Again sends deliveries again, each once since a moment.
type Again interface {
	// ReplaysBetween are the replays of deliveries that wait and were made between two moments.
	ReplaysBetween(ctx context.Context, tenant string, ids []string, since, until time.Time) ([]string, error)
	ReplayOnce(ctx context.Context, now time.Time, tenant string, ids []string, forceNew bool, since time.Time) ([]work.Replay, error)
}

// Amend changes a plan as it stands, also while others write it.
type Amend func(ctx context.Context, tenant string, kind work.PlanType, id string, amend func(p *work.Plan) (bool, error)) (work.Plan, error)

// Courses carries decisions about many out, a step each time that the planner asks. Any process makes the next step, so that
// a decision survives the one that began it; and a step that two processes make at once decides nothing twice.
type Courses struct {
	Operator Operator
	Selector Selector
	Again    Again
	Amend    Amend
}

// courseStep is how many deliveries a step decides about: few enough for nobody to wait long for its transaction.
const courseStep = 500

// Compose makes one step. What it has decided is stored with the course at once, whatever becomes of the course meanwhile.
func (c Courses) Compose(ctx context.Context, p work.Plan, now time.Time) ([]posthouse.Draft, work.Plan, error) {
	course, err := ReadCourse(p)
	if err != nil {
		return nil, p, err
	}
	if course.State != wire.DecisionRunning {
		p.NextAt = time.Time{}
		return nil, p, nil
	}
	list, next, done, shared, err := c.step(ctx, p.Tenant, &course)
	if err != nil {
		return nil, p, err
	}
	stored, err := c.Amend(ctx, p.Tenant, p.Type, p.ID, func(p *work.Plan) (bool, error) {
		as, err := ReadCourse(*p)
		if err != nil || as.Step != course.Step {
			return false, stepTaken(err)
		}
		as.went(list, next, done)
		as.Shared += shared
		*p, err = as.Plan(p.Tenant, p.Version, now)
		return true, err
	})
	stored.Version++ // Amend has stored it
	return nil, stored, err
}

// went notes a step.
func (c *Course) went(looked int, next string, done int) {
	c.Step, c.Cursor, c.Done = c.Step+1, next, c.Done+done
	if c.Undo == nil {
		c.Left += looked - done
	} else if next == "" { // what it goes through says nothing of those that have begun
		c.Left = max(0, c.Matched-c.Done)
	}
	if c.State == wire.DecisionRunning && (next == "" || c.Undo == nil && c.Done+c.Left >= c.Matched) {
		c.State = wire.DecisionDone
	}
}

// stepTaken is the error of a step that somebody else has made too.
func stepTaken(err error) error {
	if err != nil {
		return err
	}
	return posthouse.Errorf(posthouse.CodeConflict, "another process has made this step")
}

// step decides about the next deliveries of a course. It returns how many it has looked at, how many of them it decided, and how many of the others
// share what becomes of another one.
func (c Courses) step(ctx context.Context, tenant string, course *Course) (looked int, next string, done, shared int, err error) {
	if course.Undo != nil {
		looked, next, done, err = c.takeBack(ctx, tenant, course)
		return looked, next, done, 0, err
	}
	f := course.Filter(tenant)
	f.Limit = max(1, min(courseStep, course.Matched-course.Done-course.Left))
	list, next, err := c.Selector.Deliveries(ctx, f)
	if err != nil || len(list) == 0 {
		return 0, next, 0, 0, err
	}
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	if course.Outcome != wire.OutcomeReplay {
		changed, err := c.Operator.ResolveAll(ctx, tenant, ids, Resolution(course.Outcome), course.Counted)
		for i := range list {
			if list[i].Gathered && !slices.ContainsFunc(changed, func(d posthouse.Delivery) bool { return d.ID == list[i].ID }) {
				shared++
			}
		}
		return len(list), next, len(changed), shared, err
	}
	made, err := c.Again.ReplayOnce(ctx, time.Now(), tenant, ids, course.ForceNew, course.CreatedAt)
	woken := map[string]bool{}
	for i, r := range made {
		if r.Err != nil {
			if r.Shared {
				shared++
			}
			continue
		}
		done++
		if name := list[i].Channel; !woken[name] {
			woken[name] = true
			c.Operator.Wake(tenant, name)
		}
	}
	return len(list), next, done, shared, err
}

// Stop ends a course where it is. What it has decided stays decided.
func (c Courses) Stop(ctx context.Context, tenant, id string) (wire.Decision, error) {
	var course Course
	_, err := c.Amend(ctx, tenant, work.PlanDecision, id, func(p *work.Plan) (write bool, err error) {
		if course, err = ReadCourse(*p); err != nil || course.State != wire.DecisionRunning {
			return false, err
		}
		course.State = wire.DecisionStopped
		*p, err = course.Plan(tenant, p.Version, time.Time{})
		return true, err
	})
	return course.Decision, err
}
