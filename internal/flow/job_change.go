package flow

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/workflow"
)

// maxBizIDs bounds the ids of one call.
const maxBizIDs = 1000

// Change selects jobs by their business type and ids, and says what becomes of them.
type Change struct {
	Type workflow.BizType
	IDs  []string
	// Status is the new one, and Expected are those that a job may have had before. A deletion heeds neither.
	Status   Status
	Expected []Status
	Operator string
}

// UpdateStatus gives the jobs of a business type and ids the status Cancelled or Aborted, where they have
// one of the expected statuses, Waiting unless others are named. Nothing more of them is sent; what was sent
// stays so. It returns how many jobs have the status now that had another. After an error some may be done:
// repeat the call.
func (j Jobs) UpdateStatus(ctx context.Context, tenant string, c Change) (int, error) {
	problems, status, expected := checkBiz(c.Type, c.IDs), c.Status, c.Expected
	if status != Cancelled && status != Aborted {
		problems = append(problems, posthouse.Problem{Path: "status", Message: fmt.Sprintf("is %d: want 3 (cancelled) or 4 (aborted)", int(status))})
	}
	for i, s := range expected {
		if !s.Valid() {
			problems = append(problems, posthouse.Problem{Path: "expectedStatuses[" + strconv.Itoa(i) + "]", Message: fmt.Sprintf("is %d: want 0 to 4", int(s))})
		}
	}
	if err := posthouse.Invalid("the jobs cannot be changed", problems); err != nil {
		return 0, err
	}
	if len(expected) == 0 {
		expected = []Status{Waiting}
	}
	return j.each(ctx, tenant, c, func(list []*record) ([]*record, []*record, error) {
		var changed, stopped []*record
		for _, r := range list {
			is, err := j.settle(ctx, tenant, r)
			switch {
			case err != nil:
				return nil, nil, err
			case r.mark.Deleted || is == status && r.given() != status:
				continue
			case is != status && slices.Contains(expected, is):
				changed = append(changed, r)
				stopped = append(stopped, r)
			case is == status:
				stopped = append(stopped, r) // perhaps a call ended before it had come to that
			}
		}
		return changed, stopped, j.Marks.MarkStatus(ctx, time.Now(), tenant, idsOf(changed), int(status), c.Operator)
	})
}

// Abort gives those of the jobs of a kind and ref that have one of the ids, and still wait, the status Aborted. It stops
// nothing: a Flow that takes back what it has told does.
func (j Jobs) Abort(ctx context.Context, tenant, kind, ref string, ids []string, by string) error {
	list, err := j.find(ctx, tenant, kind, ref)
	if err != nil {
		return err
	}
	var waiting []string
	for _, r := range list {
		if !slices.Contains(ids, r.id) || r.mark.Deleted {
			continue
		}
		is, err := j.settle(ctx, tenant, r)
		if err != nil {
			return err
		}
		if is == Waiting {
			waiting = append(waiting, r.id)
		}
	}
	return j.Marks.MarkStatus(ctx, time.Now(), tenant, waiting, int(Aborted), by)
}

// DeleteByBiz deletes the jobs of a business type and ids: they are kept, and marked. Nothing more of them
// is sent, and their dedup keys are free for others. It returns how many were deleted now. After an error
// some may be done: repeat the call.
func (j Jobs) DeleteByBiz(ctx context.Context, tenant string, c Change) (int, error) {
	if err := posthouse.Invalid("the jobs cannot be deleted", checkBiz(c.Type, c.IDs)); err != nil {
		return 0, err
	}
	return j.each(ctx, tenant, c, func(list []*record) ([]*record, []*record, error) {
		deleted := slices.DeleteFunc(slices.Clone(list), func(r *record) bool { return r.mark.Deleted })
		var keys []work.DedupRow
		for _, r := range deleted {
			for i := range r.messages {
				if m := &r.messages[i]; m.DedupKey != "" && r.reminder == nil {
					keys = append(keys, work.DedupRow{Message: m.ID, Channel: m.Channel, Key: m.DedupKey})
				}
			}
		}
		return deleted, list, j.Marks.MarkDeleted(ctx, time.Now(), tenant, idsOf(deleted), c.Operator, keys)
	})
}

// each marks the jobs of each id and stops what of them is still to be sent. The marks come first: a call
// that ends in between is made good by the next one.
func (j Jobs) each(ctx context.Context, tenant string, c Change, mark func([]*record) (changed, stopped []*record, err error)) (int, error) {
	total := 0
	for _, ref := range distinct(slices.Clone(c.IDs)) {
		list, err := j.find(ctx, tenant, c.Type.Kind(), ref)
		if err != nil {
			return total, err
		}
		changed, stopped, err := mark(list)
		if err != nil {
			return total, err
		}
		total += len(changed)
		if err := j.stop(ctx, tenant, c.Type.Kind(), ref, stopped); err != nil {
			return total, err
		}
	}
	return total, nil
}

// stop ends reminders first, so that no further message of them can be made, and then cancels messages.
func (j Jobs) stop(ctx context.Context, tenant, kind, ref string, list []*record) error {
	stopped := map[string]bool{}
	var messages []string
	reminders := false
	for _, r := range list {
		stopped[r.id] = true
		for i := range r.messages {
			messages = append(messages, r.messages[i].ID)
		}
		if r.reminder == nil {
			continue
		}
		reminders = true
		if err := j.Post.EndReminder(ctx, tenant, r.id, endedByJob); err != nil {
			return err
		}
	}
	if reminders { // the last slot may have come after we looked
		messages = nil
		err := j.eachMessage(ctx, tenant, kind, ref, func(s work.Summary) {
			if stopped[jobID(&s.Message)] {
				messages = append(messages, s.Message.ID)
			}
		})
		if err != nil {
			return err
		}
	}
	if len(messages) == 0 {
		return nil
	}
	return j.Post.Cancel(ctx, tenant, messages)
}

// endedByJob is the reason that reminders of changed and deleted jobs have.
const endedByJob = "cancelled"

func idsOf(list []*record) []string {
	ids := make([]string, len(list))
	for i, r := range list {
		ids[i] = r.id
	}
	return ids
}

func checkBiz(b workflow.BizType, bizIDs []string) []posthouse.Problem {
	var problems []posthouse.Problem
	if b.Kind() == "" {
		problems = append(problems, wrongNumber("bizType", int(b), workflow.Kinds()))
	}
	if n := len(bizIDs); n == 0 || n > maxBizIDs {
		problems = append(problems, posthouse.Problem{Path: "bizIds", Message: fmt.Sprintf("has %d ids: want 1 to %d", n, maxBizIDs)})
	}
	for i, id := range bizIDs {
		if id == "" {
			problems = append(problems, posthouse.Problem{Path: "bizIds[" + strconv.Itoa(i) + "]", Message: "is empty"})
		}
	}
	return problems
}
