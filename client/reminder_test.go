package client_test

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
)

func TestReminding(t *testing.T) {
	t.Parallel()
	h := open(t)
	ctx := t.Context()
	d := draft("later", "u1")
	d.Kind, d.Ref, d.DedupKey = "pass", "7", "r1"
	r, err := h.Reminders.Create(ctx, posthouse.Reminder{Draft: d, Countdown: &posthouse.Countdown{To: time.Now().Add(time.Hour), Before: posthouse.Duration(30 * time.Minute)}})
	if r = whole(h, r, err); r.ID != "r1" || len(r.Slots) != 2 || r.DuplicateOf != "" {
		t.Errorf("Remind: %+v", r)
	}
	again, err := h.Reminders.CreateOnce(ctx, "k", posthouse.Reminder{Draft: d, Repeat: &posthouse.Repeat{Every: posthouse.Duration(time.Hour)}})
	if again = whole(h, again, err); again.DuplicateOf != "r1" {
		t.Errorf("RemindOnce: %+v, want a duplicate of r1", again)
	}
	got, err := h.Reminders.Get(ctx, "r1")
	if got = whole(h, got, err); got.State != posthouse.ReminderOpen || !got.NextAt.Equal(r.NextAt) {
		t.Errorf("Reminder: %+v", got)
	}
	for _, f := range []client.Filter{{}, {Kind: "pass", Ref: "7"}, {Limit: 1}} {
		page, err := h.Reminders.List(ctx, f)
		if page = whole(h, page, err); len(page.Items) != 1 {
			t.Errorf("Reminders(%+v): %+v", f, page)
		}
	}
	got, err = h.Reminders.End(ctx, "r1")
	if got = whole(h, got, err); got.State != posthouse.ReminderEnded {
		t.Errorf("EndReminder: %+v", got)
	}
	page, err := h.Reminders.EndRef(ctx, "pass", "7")
	if page = whole(h, page, err); len(page.Items) != 1 || page.Items[0].Reason != "ended" {
		t.Errorf("EndReminders: %+v", page)
	}
}
