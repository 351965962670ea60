package flow

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
	counts    []work.Counts       // of the deliveries of each message
	createdAt time.Time
	mark      work.Mark // its Job is empty without one
	number    int64     // 0 for none
}

// status is a job's: the one it was given, or else what follows from its deliveries. Those that were sent
// again, repeated of them, are left out. A deleted job waits for nothing.
func (r *record) status(repeated int) Status {
	all := r.counts
	switch {
	case r.given() != Waiting:
		return r.given()
	case !r.mark.Deleted && (r.reminder != nil && r.reminder.State == posthouse.ReminderOpen || sum(all, openStates...) > 0):
		return Waiting
	case sum(all[:r.decisive()], failedStates...) > repeated:
		return Failed
	case sum(all, sentStates...) > 0:
		return Succeeded
	}
	return Cancelled
}

// sum counts deliveries in states.
func sum(list []work.Counts, states ...posthouse.State) (n int) {
	for _, counts := range list {
		for _, s := range states {
			n += counts[s]
		}
	}
	return n
}

// decisive is how many messages decide whether the job has failed, the newest ones first: what failed in one
// round of a reminder is made good by a later round of which something was sent.
func (r *record) decisive() int {
	last := slices.IndexFunc(r.counts, func(c work.Counts) bool { return sum([]work.Counts{c}, sentStates...) > 0 })
	if last < 0 {
		return len(r.counts)
	}
	return last + 1
}

var (
	openStates   = []posthouse.State{posthouse.Pending, posthouse.Sending, posthouse.Unknown}
	sentStates   = []posthouse.State{posthouse.Sent, posthouse.Delivered}
	failedStates = []posthouse.State{posthouse.Failed, posthouse.Undelivered, posthouse.Expired, posthouse.Quarantined}
)

// given is the status that UpdateStatus gave the job, Waiting without one.
func (r *record) given() Status {
	if s := Status(r.mark.Status); r.mark.Job != "" && (s == Cancelled || s == Aborted) {
		return s
	}
	return Waiting
}

// recipientStatus is a delivery's: what was sent or failed stays so, and all others follow their job where it was
// given a status or deleted. Of one whose attempt had begun its state tells.
func (r *record) recipientStatus(s posthouse.State) Status {
	switch {
	case slices.Contains(sentStates, s):
		return Succeeded
	case slices.Contains(failedStates, s):
		return Failed
	case r.given() != Waiting:
		return r.given()
	case s == posthouse.Cancelled, s == posthouse.Suppressed, r.mark.Deleted:
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
			r = &record{id: id, createdAt: s.Message.CreatedAt}
			byID[id] = r
			list = append(list, r)
		}
		r.messages, r.counts = append(r.messages, s.Message), append(r.counts, s.Counts)
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
	return &record{id: p.ID, reminder: &r, createdAt: p.CreatedAt}, nil
}

// eachMessage visits the messages of a kind and ref, newest first.
func (j Jobs) eachMessage(ctx context.Context, tenant, kind, ref string, visit func(work.Summary)) error {
	f := work.Filter{Tenant: tenant, Sight: work.SeeAll(), Kind: kind, Ref: ref, Limit: 1000}
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
	if err != nil {
		return err
	}
	numbers, err := j.Numbers.Numbers(ctx, tenant, ids)
	for _, r := range list {
		r.mark, r.number = marks[r.id], numbers[r.id]
	}
	return err
}

// settle is the status of a job, its deliveries looked at where counting them does not tell.
func (j Jobs) settle(ctx context.Context, tenant string, r *record) (Status, error) {
	if s := r.status(0); s != Failed {
		return s, nil
	}
	repeated := map[string]bool{}
	err := j.eachDelivery(ctx, tenant, r.messages[:r.decisive()], func(d posthouse.Delivery) {
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
