package flow

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// round is a message of the desk with deliveries in states, one for each user u1, u2, …
func (d *desk) round(id, reminder string, states ...posthouse.State) {
	s := work.Summary{Message: posthouse.Message{ID: id, Kind: KindNodeTimeout, Ref: "8882", Channel: ChannelOA, Reminder: reminder}, Counts: work.Counts{}}
	for n, state := range states {
		s.Counts[state]++
		d.deliveries[id] = append(d.deliveries[id], posthouse.Delivery{ID: id, Recipient: posthouse.Recipient{User: "u" + string(rune('1'+n))}, State: state})
	}
	d.messages = append([]work.Summary{s}, d.messages...) // newest first
}

func newDesk() *desk {
	return &desk{marks: map[string]work.Mark{}, reminders: map[string]posthouse.Reminder{}, deliveries: map[string][]posthouse.Delivery{}}
}

// statuses are a job's and its recipients', in the document's numbers.
func statuses(t *testing.T, d *desk, id string) (wire.Job, []Status) {
	t.Helper()
	v, err := d.jobs().Job(t.Context(), "t1", id)
	if err != nil {
		t.Fatal(err)
	}
	list := []Status{Status(v.Status)}
	for _, r := range v.Recipients {
		list = append(list, Status(r.Status))
	}
	return v, list
}

// Section 6 of the document: the recipients of a job that is cancelled, aborted or deleted follow it, also those of which
// nobody knows whether a try arrived. What was sent or has failed stays so.
func TestRecipientsFollowTheirJob(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mark work.Mark
		want []Status
	}{
		"not changed": {work.Mark{}, []Status{0, 0, 0, 0, 1, 2, 2, 3, 3}},
		"cancelled":   {work.Mark{Job: "m1", Status: 3}, []Status{3, 3, 3, 3, 1, 2, 2, 3, 3}},
		"aborted":     {work.Mark{Job: "m1", Status: 4}, []Status{4, 4, 4, 4, 1, 2, 2, 4, 4}},
		"deleted":     {work.Mark{Job: "m1", Status: -1, Deleted: true}, []Status{2, 3, 3, 3, 1, 2, 2, 3, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk()
			d.round("m1", "", posthouse.Pending, posthouse.Sending, posthouse.Unknown, posthouse.Sent, posthouse.Failed, posthouse.Quarantined, posthouse.Cancelled, posthouse.Suppressed)
			d.marks["m1"] = c.mark
			if _, got := statuses(t, d, "m1"); !cmp.Equal(got, c.want) {
				t.Errorf("job and recipients have %v, want %v", got, c.want)
			}
		})
	}
	d := newDesk()
	d.round("m2", "", posthouse.Unknown)
	d.marks["m2"] = work.Mark{Job: "m2", Status: -1, Deleted: true}
	if _, got := statuses(t, d, "m2"); !cmp.Equal(got, []Status{Cancelled, Cancelled}) {
		t.Errorf("a deleted job of which nobody knows whether it arrived has %v", got)
	}
}

// FLOW-8: what failed in one round is made good by a later one of which something was sent.
func TestALaterRoundMakesAFailureGood(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rounds [][]posthouse.State
		want   Status
	}{
		"made good":          {[][]posthouse.State{{posthouse.Failed}, {posthouse.Sent}}, Succeeded},
		"failed again":       {[][]posthouse.State{{posthouse.Sent}, {posthouse.Failed}}, Failed},
		"half of it":         {[][]posthouse.State{{posthouse.Failed, posthouse.Sent}, {posthouse.Failed, posthouse.Sent}}, Failed},
		"then cancelled":     {[][]posthouse.State{{posthouse.Failed}, {posthouse.Cancelled}}, Failed},
		"good and cancelled": {[][]posthouse.State{{posthouse.Failed}, {posthouse.Delivered}, {posthouse.Cancelled}}, Succeeded},
		"nothing was sent":   {[][]posthouse.State{{posthouse.Cancelled}, {posthouse.Suppressed}}, Cancelled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk()
			d.reminders["5_8882_0"] = posthouse.Reminder{ID: "5_8882_0", State: posthouse.ReminderEnded, Draft: posthouse.Draft{Kind: KindNodeTimeout, Ref: "8882", Channel: ChannelOA}}
			for n, states := range c.rounds {
				d.round("m"+string(rune('1'+n)), "5_8882_0", states...)
			}
			if v, got := statuses(t, d, "5_8882_0"); got[0] != c.want || v.State != c.want.String() {
				t.Errorf("the job has status %d (%s), want %d", got[0], v.State, c.want)
			}
		})
	}
}

// Section 2.1 of the document: next_run_time is when something is sent, and remark says what a job waits for that no time ends.
func TestAJobSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	gate := time.Now().Add(time.Hour).Truncate(time.Second)
	d := newDesk()
	d.gates = []work.Gate{{Channel: ChannelDingTalk, Until: gate.Add(time.Hour)}, {Channel: ChannelOA, Until: gate}}
	d.round("m1", "", posthouse.Pending, posthouse.Sent)
	if v, _ := statuses(t, d, "m1"); !v.NextRunTime.Equal(gate) || v.State != "waiting" || v.Remark != "" {
		t.Errorf("while the account is parked the job is %s, runs at %s and says %q", v.State, v.NextRunTime, v.Remark)
	}
	d.deliveries["m1"][0].DueAt = gate.Add(time.Minute)
	if v, _ := statuses(t, d, "m1"); !v.NextRunTime.Equal(gate.Add(time.Minute)) {
		t.Errorf("after the gate opens it still waits for its own time, not for %s", v.NextRunTime)
	}
	d.round("m2", "", posthouse.Unknown, posthouse.Sent)
	if v, _ := statuses(t, d, "m2"); v.State != "held" || Status(v.Status) != Waiting || !strings.Contains(v.Remark, "posthouse resolve") {
		t.Errorf("a job that nobody knows of is %s (%d) and says %q", v.State, v.Status, v.Remark)
	}
	d.marks["m2"] = work.Mark{Job: "m2", Status: 4}
	if v, _ := statuses(t, d, "m2"); v.State != "aborted" || !strings.HasPrefix(v.Remark, "ended while nobody knew") {
		t.Errorf("one that was aborted meanwhile is %s and says %q", v.State, v.Remark)
	}
	delete(d.marks, "m2")
	d.deliveries["m2"][0].DueAt = gate
	if v, _ := statuses(t, d, "m2"); v.State != "waiting" || v.Remark != "" {
		t.Errorf("one that the provider is asked about is %s and says %q", v.State, v.Remark)
	}
}

// What is held in an earlier round of a reminder shows as well.
func TestAJobSaysThatAnEarlierRoundIsHeld(t *testing.T) {
	t.Parallel()
	d := newDesk()
	d.reminders["5_8882_0"] = posthouse.Reminder{ID: "5_8882_0", State: posthouse.ReminderEnded, Draft: posthouse.Draft{Kind: KindNodeTimeout, Ref: "8882", Channel: ChannelOA}}
	d.round("m1", "5_8882_0", posthouse.Unknown)
	d.round("m2", "5_8882_0", posthouse.Sent)
	if v, got := statuses(t, d, "5_8882_0"); v.State != "held" || !cmp.Equal(got, []Status{Waiting, Succeeded}) {
		t.Errorf("the job is %s, with %v", v.State, got)
	}
}

func TestARecipientWhoWasNotToldHasAReason(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]posthouse.Delivery{
		"its deadline passed before it could be sent":       {State: posthouse.Expired, Reason: "deadline"},
		"its deadline passed before it could be sent: busy": {State: posthouse.Expired, Reason: "deadline_before", Error: "busy"},
		"a rule said no: not_on_duty":                       {State: posthouse.Suppressed, Reason: "not_on_duty"},
		"busy":                                              {State: posthouse.Failed, Reason: "tries_used_up", Error: "busy"},
		"":                                                  {State: posthouse.Sent, Error: "busy"},
	} {
		d := newDesk()
		d.round("m1", "", c.State)
		d.deliveries["m1"][0].Reason, d.deliveries["m1"][0].Error = c.Reason, c.Error
		if v, _ := statuses(t, d, "m1"); v.Recipients[0].LastError != want {
			t.Errorf("%s: the error is %q, want %q", c.State, v.Recipients[0].LastError, want)
		}
	}
}
