package workflow

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// record is a job with what became of it: a message, or a reminder with the messages of its slots.
type record struct {
	id        string
	messages  []posthouse.Message
	reminder  *posthouse.Reminder // nil for a message
	counts    work.Counts         // of all deliveries
	createdAt time.Time
	mark      work.Mark // its Job is empty without one
}

// status is a job's: the one it was given, or else what follows from its deliveries. Those that were sent
// again, repeated of them, are left out.
func (r *record) status(repeated int) Status {
	sum := func(states ...posthouse.State) (n int) {
		for _, s := range states {
			n += r.counts[s]
		}
		return n
	}
	switch {
	case r.given() != Waiting:
		return r.given()
	case r.reminder != nil && r.reminder.State == posthouse.ReminderOpen, sum(posthouse.Pending, posthouse.Sending, posthouse.Unknown) > 0:
		return Waiting
	case sum(failedStates...) > repeated:
		return Failed
	case sum(posthouse.Sent, posthouse.Delivered) > 0:
		return Succeeded
	}
	return Cancelled
}

var failedStates = []posthouse.State{posthouse.Failed, posthouse.Undelivered, posthouse.Expired, posthouse.Quarantined}

// given is the status that UpdateStatus gave the job, Waiting without one.
func (r *record) given() Status {
	if s := Status(r.mark.Status); r.mark.Job != "" && (s == Cancelled || s == Aborted) {
		return s
	}
	return Waiting
}

// recipientStatus is a delivery's, in a job with a given status: what was sent or failed stays so.
func recipientStatus(s posthouse.State, given Status) Status {
	switch {
	case s == posthouse.Sent, s == posthouse.Delivered:
		return Succeeded
	case slices.Contains(failedStates, s):
		return Failed
	case given != Waiting && (s == posthouse.Pending || s == posthouse.Cancelled || s == posthouse.Suppressed):
		return given
	case s == posthouse.Cancelled, s == posthouse.Suppressed:
		return Cancelled
	}
	return Waiting
}

// find lists the jobs of a kind and ref, also deleted ones, newest first.
func (j Jobs) find(ctx context.Context, tenant, kind, ref string) ([]*record, error) {
	var list []*record
	byID := map[string]*record{}
	plans, err := j.Store.PlansByRef(ctx, tenant, work.PlanReminder, kind, ref)
	if err != nil {
		return nil, err
	}
	for _, p := range plans {
		r, err := reminderOf(p)
		if err != nil {
			return nil, err
		}
		byID[p.ID] = r
		list = append(list, r)
	}
	err = j.eachMessage(ctx, tenant, kind, ref, func(s work.Summary) {
		id := jobID(&s.Message)
		r, known := byID[id]
		if !known {
			r = &record{id: id, counts: work.Counts{}, createdAt: s.Message.CreatedAt}
			byID[id] = r
			list = append(list, r)
		}
		r.messages = append(r.messages, s.Message)
		for state, n := range s.Counts {
			r.counts[state] += n
		}
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b *record) int { return b.createdAt.Compare(a.createdAt) })
	return list, j.addMarks(ctx, tenant, list)
}

// jobID is the id of the job that a message belongs to.
func jobID(m *posthouse.Message) string {
	if m.Reminder != "" {
		return m.Reminder
	}
	return m.ID
}

func reminderOf(p work.Plan) (*record, error) {
	var r posthouse.Reminder
	if err := json.Unmarshal(p.Doc, &r); err != nil {
		return nil, fmt.Errorf("read the reminder %q: %w", p.ID, err)
	}
	r.ID, r.Error, r.UpdatedAt = p.ID, p.Error, p.UpdatedAt
	return &record{id: p.ID, reminder: &r, counts: work.Counts{}, createdAt: p.CreatedAt}, nil
}

// eachMessage visits the messages of a kind and ref, newest first.
func (j Jobs) eachMessage(ctx context.Context, tenant, kind, ref string, visit func(work.Summary)) error {
	f := work.Filter{Tenant: tenant, Kind: kind, Ref: ref, Limit: 1000}
	for {
		list, next, err := j.Store.Messages(ctx, f)
		if err != nil {
			return err
		}
		for _, s := range list {
			visit(s)
		}
		if f.Cursor = next; next == "" {
			return nil
		}
	}
}

// addMarks fills in what was said of the jobs.
func (j Jobs) addMarks(ctx context.Context, tenant string, list []*record) error {
	ids := make([]string, len(list))
	for i, r := range list {
		ids[i] = r.id
	}
	marks, err := j.Marks.Marks(ctx, tenant, ids)
	for _, r := range list {
		r.mark = marks[r.id]
	}
	return err
}

// settle is the status of a job, its deliveries looked at where counting them does not tell.
func (j Jobs) settle(ctx context.Context, tenant string, r *record) (Status, error) {
	if s := r.status(0); s != Failed {
		return s, nil
	}
	repeated := map[string]bool{}
	err := j.eachDelivery(ctx, tenant, r.messages, func(d posthouse.Delivery) {
		if d.ReplayOf != "" && d.State != posthouse.Quarantined {
			repeated[d.ReplayOf] = true
		}
	})
	return r.status(len(repeated)), err
}

// eachDelivery visits the deliveries of messages.
func (j Jobs) eachDelivery(ctx context.Context, tenant string, messages []posthouse.Message, visit func(posthouse.Delivery)) error {
	for i := range messages {
		for cursor, first := "", true; first || cursor != ""; first = false {
			list, next, err := j.Store.DeliveriesOf(ctx, tenant, messages[i].ID, cursor, 1000)
			if err != nil {
				return err
			}
			for _, d := range list {
				visit(d)
			}
			cursor = next
		}
	}
	return nil
}
