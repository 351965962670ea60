package server_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/builtin"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/server"
)

// slotComes has the next slot of reminders have come a minute ago, while no process runs. Those of a task name it.
func slotComes(t *testing.T, dsn string, tasks []string, ids ...string) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ago := time.Now().Add(-time.Minute).Truncate(time.Second)
	for _, id := range ids {
		p, found, err := s.Plans.Plan(t.Context(), posthouse.DefaultTenant, work.PlanReminder, id)
		if err != nil || !found {
			t.Fatalf("%s: %v, %v", id, found, err)
		}
		var r posthouse.Reminder
		if err := json.Unmarshal(p.Doc, &r); err != nil {
			t.Fatal(err)
		}
		r.NextAt, r.Repeat.From = ago, ago
		if slices.Contains(tasks, id) {
			r.Task = "1001"
		}
		if p.Doc, err = json.Marshal(r); err != nil {
			t.Fatal(err)
		}
		p.NextAt = ago
		out, err := s.Submissions.Accept(t.Context(), time.Now(), []*work.Submission{{Tenant: p.Tenant, ID: posthouse.NewID(), Plans: []work.Plan{p}}})
		if err != nil || out[0].Err != nil {
			t.Fatal(err, out[0].Err)
		}
	}
}

// A copy of the database does not know which slots were sent since it was made: in a new epoch those that had come are sent by nobody, and
// their reminders wait for a person. What comes later goes on as planned.
func TestANewEpochHoldsRemindersThatWereDue(t *testing.T) {
	t.Parallel()
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			dsn := d.dsn(t)
			p := &scripted{answer: map[string]func(channel.Outgoing) channel.Result{}}
			drivers := func(o *server.Options) { o.Drivers = append(builtin.Types(), p.driver()) }
			before := open(t, dsn, drivers)
			before.put(posthouse.Channel{Name: "a", Driver: "scripted", ChannelSettings: atOnce(20 * time.Millisecond)})
			put := func(h *house, id string, from time.Time, most int) {
				_, err := h.api.Reminders.Put(h.Context(), id, posthouse.Reminder{
					Draft:  posthouse.Draft{Channel: "a", To: []posthouse.Recipient{{User: id, Address: id}}, Content: &posthouse.Content{Text: "x"}},
					Repeat: &posthouse.Repeat{From: from, Every: posthouse.Duration(time.Hour), Max: most},
				})
				h.must(err)
			}
			later := time.Now().Add(30 * time.Minute)
			for _, id := range []string{"hourly", "once", "of-task", "ends", "later"} {
				most := 0
				if id == "once" {
					most = 1
				}
				put(before, id, later, most)
			}
			before.must(before.stop(context.WithoutCancel(t.Context())))
			slotComes(t, dsn, []string{"of-task"}, "hourly", "once", "of-task", "ends")
			newEpoch(t, dsn)

			h := open(t, dsn, drivers)
			put(h, "new", time.Time{}, 1)
			h.eventually("the planner has looked at all that is due", func() bool { return slices.Contains(p.on("a"), "new") })
			if diff := cmp.Diff([]string{"new"}, p.on("a")); diff != "" {
				t.Fatalf("sent (-want +got):\n%s", diff)
			}
			page, err := h.api.Reminders.List(h.Context(), client.Filter{Held: true})
			h.must(err)
			var held []string
			for _, r := range page.Items {
				held = append(held, r.ID)
				if r.Reason != "epoch_hold" || !r.Paused || r.NextAt.IsZero() || len(r.Slots) > 0 {
					t.Errorf("%s: %q, paused %v, next %v, slots %v", r.ID, r.Reason, r.Paused, r.NextAt, r.Slots)
				}
			}
			if diff := cmp.Diff([]string{"once", "of-task", "hourly", "ends"}, held); diff != "" {
				t.Errorf("held (-want +got):\n%s", diff)
			}
			h.eventually("the gauge counts them", func() bool { return h.metric(`posthouse_reminders_held{tenant="default"}`) == float64(len(held)) })
			free, err := h.api.Reminders.Get(h.Context(), "later")
			if err != nil || free.Paused || !free.NextAt.Equal(later.Truncate(time.Microsecond)) {
				t.Errorf("one that comes later: %+v, %v", free, err)
			}
			for id, state := range map[string]posthouse.ReminderState{"hourly": posthouse.ReminderOpen, "once": posthouse.ReminderEnded, "of-task": posthouse.ReminderOpen} {
				r, err := h.api.Reminders.Resume(h.Context(), id)
				if err != nil || r.State != state || r.Paused || len(r.Last) != 1 || r.Last[0].Missed != 1 || state == posthouse.ReminderOpen && !r.NextAt.After(time.Now()) {
					t.Errorf("resumed: %+v, %v", r, err)
				}
			}
			if _, err := h.api.Reminders.Pause(h.Context(), "of-task"); posthouse.CodeOf(err) != posthouse.CodeConflict {
				t.Errorf("a task's is paused: %v", err)
			}
			if r, err := h.api.Reminders.End(h.Context(), "ends"); err != nil || r.State != posthouse.ReminderEnded {
				t.Errorf("ended while it is held: %+v, %v", r, err)
			}
			put(h, "newer", time.Time{}, 1)
			h.eventually("the planner has looked again", func() bool { return slices.Contains(p.on("a"), "newer") })
			if diff := cmp.Diff([]string{"new", "newer"}, p.on("a")); diff != "" {
				t.Errorf("a slot was sent after all (-want +got):\n%s", diff)
			}
			if page, err = h.api.Reminders.List(h.Context(), client.Filter{Held: true}); err != nil || len(page.Items) > 0 {
				t.Errorf("%d are held still, %v", len(page.Items), err)
			}
		})
	}
}
