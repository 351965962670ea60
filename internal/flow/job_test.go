package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/workflow"
)

// desk keeps jobs in memory: what Jobs works with.
type desk struct {
	messages   []work.Summary
	reminders  map[string]posthouse.Reminder
	marks      map[string]work.Mark
	fails      bool // to cancel anything
	sent       []posthouse.Draft
	cancelled  []string
	gates      []work.Gate
	deliveries map[string][]posthouse.Delivery // by message
	late       *posthouse.Message              // made while its reminder is ended
}

func (d *desk) jobs() Jobs { return Jobs{Post: d, Store: d, Marks: d, Gates: d, Numbers: d} }

func (d *desk) Numbers(context.Context, string, []string) (map[string]int64, error) { return nil, nil }

func (d *desk) Numbered(context.Context, string, int64) (string, error) { return "", nil }

func (d *desk) Number(context.Context, time.Time, string, int64, string, string) (bool, error) {
	return true, nil
}

func (d *desk) Gates(context.Context, string) ([]work.Gate, error) { return d.gates, nil }

func (d *desk) Send(_ context.Context, _ string, draft posthouse.Draft, handedIn time.Time) (posthouse.Accepted, error) {
	if !draft.Deadline.IsZero() && !handedIn.Before(draft.Deadline) {
		return posthouse.Accepted{}, posthouse.Errorf(posthouse.CodeInvalid, "the deadline has passed")
	}
	d.sent = append(d.sent, draft)
	return posthouse.Accepted{ID: fmt.Sprint("m", len(d.sent))}, nil
}

func (d *desk) Remind(_ context.Context, _ string, r posthouse.Reminder) (bool, error) {
	d.reminders[r.ID] = r
	return false, nil
}

func (d *desk) EndReminder(_ context.Context, _, id, _ string) error {
	r := d.reminders[id]
	r.State = posthouse.ReminderEnded
	d.reminders[id] = r
	if d.late != nil {
		d.messages = append(d.messages, work.Summary{Message: *d.late, Counts: work.Counts{posthouse.Pending: 1}})
		d.late = nil
	}
	return nil
}

func (d *desk) Cancel(_ context.Context, _ string, messages []string) error {
	if d.fails {
		return errors.New("the process ended here")
	}
	d.cancelled = append(d.cancelled, messages...)
	return nil
}

func (d *desk) Message(_ context.Context, _, id string) (posthouse.Message, int, error) {
	for _, s := range d.messages {
		if s.Message.ID == id {
			return s.Message, 1, nil
		}
	}
	return posthouse.Message{}, 0, posthouse.Errorf(posthouse.CodeNotFound, "there is no message %q", id)
}

func (d *desk) Messages(_ context.Context, f work.Filter) ([]work.Summary, string, error) {
	var out []work.Summary
	for _, s := range d.messages {
		if s.Message.Kind == f.Kind && s.Message.Ref == f.Ref {
			out = append(out, s)
		}
	}
	return out, "", nil
}

func (d *desk) DeliveriesOf(_ context.Context, _, message, _ string, _ int) ([]posthouse.Delivery, string, error) {
	return d.deliveries[message], "", nil
}

func (d *desk) Plan(_ context.Context, _ string, _ work.PlanType, id string) (work.Plan, bool, error) {
	r, found := d.reminders[id]
	return d.plan(r), found, nil
}

func (d *desk) plan(r posthouse.Reminder) work.Plan {
	doc, _ := json.Marshal(r) // texts and times: cannot fail
	return work.Plan{ID: r.ID, Kind: r.Draft.Kind, Ref: r.Draft.Ref, Doc: doc}
}

func (d *desk) Plans(_ context.Context, _ string, _ work.PlanType, _ string, _ int) ([]work.Plan, string, error) {
	var out []work.Plan
	for _, r := range d.reminders {
		out = append(out, d.plan(r))
	}
	return out, "", nil
}

func (d *desk) PlansByRef(_ context.Context, _ string, _ work.PlanType, kind, ref string) ([]work.Plan, error) {
	var out []work.Plan
	for _, r := range d.reminders {
		if r.Draft.Kind == kind && r.Draft.Ref == ref {
			out = append(out, d.plan(r))
		}
	}
	return out, nil
}

func (d *desk) Marks(context.Context, string, []string) (map[string]work.Mark, error) {
	return d.marks, nil
}

func (d *desk) mark(jobs []string, change func(*work.Mark)) error {
	for _, id := range jobs {
		m, known := d.marks[id]
		if !known {
			m = work.Mark{Job: id, Status: -1}
		}
		change(&m)
		d.marks[id] = m
	}
	return nil
}

func (d *desk) MarkStatus(_ context.Context, _ time.Time, _ string, jobs []string, status int, _ string) error {
	return d.mark(jobs, func(m *work.Mark) { m.Status = status })
}

func (d *desk) MarkDeleted(_ context.Context, _ time.Time, _ string, jobs []string, _ string, _ []work.DedupRow) error {
	return d.mark(jobs, func(m *work.Mark) { m.Deleted = true })
}

func waiting(id, reminder string) work.Summary {
	return work.Summary{
		Message: posthouse.Message{ID: id, Kind: KindNodeTimeout, Ref: "8882", Channel: ChannelOA, Reminder: reminder},
		Counts:  work.Counts{posthouse.Pending: 1},
	}
}

// FLOW-16: a call that ended between marking and cancelling is made good by the next one, which counts nothing.
func TestACallThatEndedHalfwayIsMadeGoodByTheNext(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(j Jobs) (int, error){
		"status": func(j Jobs) (int, error) {
			return j.UpdateStatus(t.Context(), "t1", Change{Type: workflow.BizNodeTimeout, IDs: []string{"8882"}, Status: Aborted, Operator: "u9"})
		},
		"delete": func(j Jobs) (int, error) {
			return j.DeleteByBiz(t.Context(), "t1", Change{Type: workflow.BizNodeTimeout, IDs: []string{"8882"}, Operator: "u9"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &desk{messages: []work.Summary{waiting("m1", "")}, marks: map[string]work.Mark{}, fails: true}
			if n, err := call(d.jobs()); n != 1 || err == nil {
				t.Fatalf("the first call changed %d, %v", n, err)
			}
			d.fails = false
			if n, err := call(d.jobs()); n != 0 || err != nil || !slices.Equal(d.cancelled, []string{"m1"}) {
				t.Errorf("the second call changed %d and cancelled %v, %v", n, d.cancelled, err)
			}
		})
	}
}

// FLOW-16: a slot that comes while its reminder is ended is cancelled with the others; another job's is not.
func TestStoppingAReminderTakesItsLastSlotAlong(t *testing.T) {
	t.Parallel()
	late := waiting("m2", "5_8882_0").Message
	d := &desk{
		messages: []work.Summary{waiting("m1", "5_8882_0"), waiting("m3", "5_8882_1")}, marks: map[string]work.Mark{"5_8882_1": {Job: "5_8882_1", Status: -1, Deleted: true}}, late: &late,
		reminders: map[string]posthouse.Reminder{"5_8882_0": {ID: "5_8882_0", State: posthouse.ReminderOpen, Draft: posthouse.Draft{Kind: KindNodeTimeout, Ref: "8882", Channel: ChannelOA}}},
	}
	n, err := d.jobs().UpdateStatus(t.Context(), "t1", Change{Type: workflow.BizNodeTimeout, IDs: []string{"8882"}, Status: Cancelled, Operator: "u9"})
	if n != 1 || err != nil || !slices.Equal(d.cancelled, []string{"m1", "m2"}) {
		t.Errorf("changed %d and cancelled %v, %v", n, d.cancelled, err)
	}
	if d.reminders["5_8882_0"].State != posthouse.ReminderEnded || d.marks["5_8882_0"].Status != int(Cancelled) {
		t.Errorf("the reminder is %s, its mark %+v", d.reminders["5_8882_0"].State, d.marks["5_8882_0"])
	}
}

// FLOW-4, FLOW-8: what a job is made into.
func TestAJobBecomesAMessageOrAReminder(t *testing.T) {
	t.Parallel()
	slot := time.Now().Add(time.Hour).Truncate(time.Second)
	for name, c := range map[string]struct {
		job      Job
		want     posthouse.Draft
		reminder *posthouse.Repeat
	}{
		"at once": {
			Job{BizType: workflow.BizTaskCreated, BizID: "1", Users: []string{"u1"}, Operator: "u9"},
			posthouse.Draft{Channel: "oa", Kind: "task_created", Ref: "1", Source: "u9"}, nil,
		},
		"a slot of a pass": {
			Job{BizType: workflow.BizOrbitRemind, BizID: "1", Channel: 1, Users: []string{"u1"}, Payload: []byte(`{"remainMin": 45}`), NextRunTime: slot, DedupKey: "2_1_9_45_1"},
			posthouse.Draft{
				Channel: "dingtalk", Kind: "orbit_remind", Ref: "1", DedupKey: "2_1_9_45_1", Payload: []byte(`{"remainMin": 45}`), NotBefore: slot,
				Deadline: slot.Add(15 * time.Minute), Clock: &posthouse.Clock{Until: slot.Add(45 * time.Minute)},
			}, nil,
		},
		"a slot that has long passed": {
			Job{BizType: workflow.BizOrbitRemind, BizID: "1", Users: []string{"u1"}, Payload: []byte(`{"remainMin": "0"}`), NextRunTime: slot.Add(-2 * time.Hour)},
			posthouse.Draft{Channel: "oa", Kind: "orbit_remind", Ref: "1", Payload: []byte(`{"remainMin": "0"}`), Deadline: slot.Add(-105 * time.Minute), Clock: &posthouse.Clock{Until: slot.Add(-2 * time.Hour)}}, nil,
		},
		"a time-out, once": {
			Job{BizType: workflow.BizNodeTimeout, BizID: "8882", Users: []string{"u1"}, NextRunTime: slot},
			posthouse.Draft{Channel: "oa", Kind: "node_timeout", Ref: "8882", NotBefore: slot, Clock: &posthouse.Clock{Since: slot}}, nil,
		},
		"a time-out, again and again": {
			Job{BizType: workflow.BizNodeTimeout, BizID: "8882", Users: []string{"u1"}, NextRunTime: slot, DedupKey: "5_8882_0", Payload: []byte(`{"timeoutRemind": 30}`)},
			posthouse.Draft{Channel: "oa", Kind: "node_timeout", Ref: "8882", DedupKey: "5_8882_0", Payload: []byte(`{"timeoutRemind": 30}`), Clock: &posthouse.Clock{Since: slot}},
			&posthouse.Repeat{From: slot, Every: posthouse.Duration(30 * time.Minute)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &desk{reminders: map[string]posthouse.Reminder{}, marks: map[string]work.Mark{}}
			made, err := d.jobs().Enqueue(t.Context(), "t1", c.job)
			if err != nil || made.Existing {
				t.Fatalf("%+v, %v", made, err)
			}
			c.want.To, c.want.DedupWindow = []posthouse.Recipient{{User: "u1"}}, forGood
			got := d.reminders[made.ID].Draft
			if c.reminder == nil && len(d.sent) == 1 {
				got = d.sent[0]
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("draft (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.reminder, d.reminders[made.ID].Repeat); diff != "" {
				t.Errorf("repeat (-want +got):\n%s", diff)
			}
		})
	}
}

// FLOW-4: a time-out's dedup key is one key, whether the job comes once or again, and each channel has its own.
func TestATimeoutsDedupKeyStandsForMessagesAndReminders(t *testing.T) {
	t.Parallel()
	d := &desk{reminders: map[string]posthouse.Reminder{"5_2_0": {ID: "5_2_0", Draft: posthouse.Draft{Channel: "oa", Kind: "ticket", Ref: "7"}}}, marks: map[string]work.Mark{}}
	enqueue := func(node string, channel int, payload string) Enqueued {
		t.Helper()
		made, err := d.jobs().Enqueue(t.Context(), "t1", Job{
			BizType: workflow.BizNodeTimeout, BizID: node, Channel: channel, Users: []string{"u1"}, Payload: []byte(payload), DedupKey: "5_" + node + "_0",
		})
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	const once, again = `{}`, `{"timeoutRemind": 30}`
	if got := enqueue("1", 0, again); got != (Enqueued{ID: "5_1_0", Existing: false}) {
		t.Fatalf("the first is %+v", got)
	}
	if got := enqueue("1", 0, once); got != (Enqueued{ID: "5_1_0", Existing: true}) {
		t.Errorf("one that comes once, beside one that comes again: %+v", got)
	}
	if got := enqueue("1", 1, again); got != (Enqueued{ID: "5_1_0~2", Existing: false}) {
		t.Errorf("one on another channel: %+v", got)
	}
	if got := enqueue("1", 1, again); got != (Enqueued{ID: "5_1_0~2", Existing: true}) {
		t.Errorf("and again: %+v", got)
	}
	if got := enqueue("2", 0, again); got != (Enqueued{ID: "5_2_0~2", Existing: false}) {
		t.Errorf("one beside a reminder of that id which is no job: %+v", got)
	}
	sent := work.Summary{Message: posthouse.Message{ID: "m9", Channel: "oa", Kind: KindNodeTimeout, Ref: "3", DedupKey: "5_3_0"}, Counts: work.Counts{posthouse.Sent: 1}}
	d.messages = append(d.messages, sent)
	if got := enqueue("3", 0, again); got != (Enqueued{ID: "m9", Existing: true}) {
		t.Errorf("one that comes again, beside one that came once: %+v", got)
	}
	d.marks["m9"] = work.Mark{Job: "m9", Deleted: true}
	if got := enqueue("3", 0, again); got != (Enqueued{ID: "5_3_0", Existing: false}) {
		t.Errorf("one beside a deleted one: %+v", got)
	}
}
