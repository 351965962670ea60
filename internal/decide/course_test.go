package decide

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// field is a thousand deliveries that failed, and the course through them.
type field struct {
	plan  work.Plan
	made  map[string]int
	fails int           // how many more replays fail
	stop  func(*field)  // what happens within a step
	seen  []work.Filter // what was listed
	of    int
}

func (f *field) Deliveries(_ context.Context, in work.Filter) (list []posthouse.Delivery, next string, err error) {
	f.seen = append(f.seen, in)
	from, _ := strconv.Atoi(in.Cursor)
	for i := from; i < min(from+in.Limit, f.of); i++ {
		list = append(list, posthouse.Delivery{ID: fmt.Sprint("d", i), Channel: "c"})
	}
	if from+in.Limit < f.of {
		next = strconv.Itoa(from + in.Limit)
	}
	return list, next, nil
}

func (f *field) ReplaysBetween(_ context.Context, _ string, ids []string, since, until time.Time) (list []string, err error) {
	for _, id := range ids {
		if f.made[id] > 0 && since.Before(until) {
			list = append(list, id+"'")
		}
	}
	return list, nil
}

func (f *field) ReplayOnce(_ context.Context, _ time.Time, _ string, ids []string, _ bool, _ time.Time) (made []work.Replay, err error) {
	if f.fails > 0 {
		f.fails--
		return nil, errors.New("the database is away")
	}
	for _, id := range ids {
		f.made[id]++
		r := work.Replay{Of: id, ID: id + "'"}
		if id == "d7" {
			r.Err = posthouse.Errorf(posthouse.CodeConflict, "it changed")
		}
		made = append(made, r)
	}
	if f.stop != nil {
		f.stop(f)
	}
	return made, nil
}

func (f *field) amend(_ context.Context, _ string, _ work.PlanType, _ string, amend func(*work.Plan) (bool, error)) (work.Plan, error) {
	p := f.plan
	write, err := amend(&p)
	if err != nil || !write {
		return p, err
	}
	f.plan = p
	f.plan.Version++
	return p, nil
}

// began is a course that has been begun.
func began(t *testing.T, of, matched int) (*field, Courses) {
	t.Helper()
	f := &field{made: map[string]int{}, of: of}
	course := Course{Decision: wire.Decision{ID: "x", Outcome: wire.OutcomeReplay, Matched: matched, State: wire.DecisionRunning, Selected: wire.Selected{Channel: "c"}}, Counted: time.Unix(9, 0)}
	var err error
	if f.plan, err = course.Plan("t", 1, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	op := Operator{Rouse: func(state.Key, posthouse.Priority, work.Pin) {}}
	return f, Courses{Operator: op, Selector: f, Again: f, Amend: f.amend}
}

func step(t *testing.T, f *field, c Courses) error {
	t.Helper()
	_, next, err := c.Compose(t.Context(), f.plan, time.Unix(2, 0))
	if err == nil && next.Version != f.plan.Version {
		t.Errorf("the step leaves version %d, stored is %d", next.Version, f.plan.Version)
	}
	return err
}

func standing(t *testing.T, f *field) Course {
	t.Helper()
	c, err := ReadCourse(f.plan)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestACourseGoesStepByStep(t *testing.T) {
	t.Parallel()
	f, c := began(t, 1300, 1200)
	f.fails = 1
	if err := step(t, f, c); err == nil || standing(t, f).Step != 0 {
		t.Error("a step that failed counts")
	}
	for standing(t, f).State == wire.DecisionRunning {
		if err := step(t, f, c); err != nil {
			t.Fatal(err)
		}
	}
	got := standing(t, f)
	if got.State != wire.DecisionDone || got.Step != 3 || got.Done != 1199 || got.Left != 1 || !f.plan.NextAt.IsZero() || len(f.made) != 1200 {
		t.Errorf("it ended as %+v, due at %s, with %d made", got, f.plan.NextAt, len(f.made))
	}
	if !slices.ContainsFunc(f.seen, func(in work.Filter) bool { return in.Limit == 200 }) || !f.seen[0].ChangedUntil.Equal(time.Unix(9, 0)) || f.seen[0].Tenant != "t" {
		t.Errorf("it went through %+v", f.seen)
	}
}

func TestWhatAStepHasDoneCountsThoughItIsStoppedMeanwhile(t *testing.T) {
	t.Parallel()
	f, c := began(t, 1300, 1300)
	f.stop = func(f *field) {
		if _, err := c.Stop(t.Context(), "t", "x"); err != nil {
			t.Error(err)
		}
	}
	if err := step(t, f, c); err != nil {
		t.Fatal(err)
	}
	if got := standing(t, f); got.State != wire.DecisionStopped || got.Done != 499 || !f.plan.NextAt.IsZero() {
		t.Errorf("it stands as %+v, due at %s", got, f.plan.NextAt)
	}
}

func TestAStepThatTwoProcessesMakeCountsOnce(t *testing.T) {
	t.Parallel()
	f, c := began(t, 1300, 1300)
	f.stop = func(f *field) {
		f.stop = nil
		if err := step(t, f, c); err != nil {
			t.Error(err)
		}
	}
	if err := step(t, f, c); posthouse.CodeOf(err) != posthouse.CodeConflict {
		t.Errorf("the second of a step is answered with %v", err)
	}
	if got := standing(t, f); got.Step != 1 || got.Done != 499 || got.Left != 1 {
		t.Errorf("it stands as %+v", got)
	}
}

// Revise finds what is asked for as replays that wait, but that of d9, which has begun.
func (f *field) Revise(_ context.Context, now time.Time, sel work.Selection, decide func(time.Time, []posthouse.Delivery) []work.Change) ([]posthouse.Delivery, error) {
	var found []posthouse.Delivery
	for _, id := range sel.IDs {
		d := posthouse.Delivery{ID: id, State: posthouse.Pending, CreatedAt: time.Unix(5, 0)}
		if id == "d9'" {
			d.State = posthouse.Sending
		}
		found = append(found, d)
	}
	for _, c := range decide(now, found) {
		f.made[strings.TrimSuffix(c.After.ID, "'")] = -1
	}
	return found, nil
}

// An undo goes through all that the decision went through, takes back what waits, and ends with what it left.
func TestAnUndoGoesStepByStep(t *testing.T) {
	t.Parallel()
	f, c := began(t, 1300, 1200)
	if _, err := c.Undoing(t.Context(), "t", "x", "li.na"); posthouse.CodeOf(err) != posthouse.CodeConflict || !strings.Contains(err.Error(), "stop it first") {
		t.Errorf("a decision that goes on: %v", err)
	}
	for standing(t, f).State == wire.DecisionRunning {
		if err := step(t, f, c); err != nil {
			t.Fatal(err)
		}
	}
	f.plan.UpdatedAt = time.Unix(8, 0)
	undo, err := c.Undoing(t.Context(), "t", "x", "li.na")
	if err != nil || undo.Undoes != "x" || undo.Matched != 1199 || undo.By != "li.na" || !undo.Counted.Equal(time.Unix(9, 0)) || standing(t, f).UndoneBy != undo.ID {
		t.Fatalf("the undo is %+v, %v", undo, err)
	}
	f.plan.UpdatedAt = time.Unix(800, 0)
	if again, err := c.Undoing(t.Context(), "t", "x", "wang"); err != nil || again.ID != undo.ID || !again.Undo.Until.Equal(undo.Undo.Until) {
		t.Errorf("asked again it is %+v, %v", again, err)
	}
	c.Operator.Queue = f
	if f.plan, err = undo.Plan("t", 1, time.Unix(9, 0)); err != nil {
		t.Fatal(err)
	}
	for standing(t, f).State == wire.DecisionRunning {
		if err := step(t, f, c); err != nil {
			t.Fatal(err)
		}
	}
	back := 0
	for _, n := range f.made {
		if n == -1 {
			back++
		}
	}
	// The replay of d7 was refused, which the fake table does not know.
	if got := standing(t, f); got.State != wire.DecisionDone || got.Done != 1199 || got.Left != 0 || got.Step != 3 || back != 1199 || f.made["d9"] != 1 {
		t.Errorf("it ended as %+v, with %d taken back, and d9 %d", got, back, f.made["d9"])
	}
}

func TestWhatIsDecidedForGoodCannotBeUndone(t *testing.T) {
	t.Parallel()
	for outcome, why := range map[wire.Outcome]string{wire.OutcomeSent: "count as arrived", wire.OutcomeNotSent: "a decision replay", wire.OutcomeUndo: "decide anew", wire.OutcomeRetry: "nothing to undo"} {
		err := undoable(Course{Decision: wire.Decision{ID: "x", Outcome: outcome, State: wire.DecisionDone}})
		if posthouse.CodeOf(err) != posthouse.CodeConflict || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", outcome, err)
		}
	}
}
