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
	"github.com/posthouse/posthouse/wire"
)

// hourPasses has the time of what notifications wait for be over, while no process runs.
func hourPasses(t *testing.T, dsn string, list []posthouse.Notification) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range list {
		_, err := s.Plans.Notification(t.Context(), time.Now(), list[i].Tenant, list[i].ID, func(p work.Plan, now time.Time) (work.Plan, work.Withdrawal, bool, error) {
			doc := map[string]json.RawMessage{}
			err := json.Unmarshal(p.Doc, &doc)
			if err == nil {
				p.NextAt = now.Add(-time.Minute)
				doc["over"], err = json.Marshal(p.NextAt)
			}
			if err == nil {
				p.Doc, err = json.Marshal(doc)
			}
			return p, work.Withdrawal{}, true, err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A copy of the database does not know who has acknowledged since it was made: in a new epoch nothing new of a notification begins until a person
// lets it go.
func TestANewEpochHoldsNotifications(t *testing.T) {
	t.Parallel()
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			dsn := d.dsn(t)
			p := &scripted{answer: map[string]func(channel.Outgoing) channel.Result{}}
			drivers := func(o *server.Options) { o.Drivers = append(builtin.Types(), p.driver()) }
			before := open(t, dsn, drivers)
			for _, name := range []string{"a", "b", "c"} {
				before.put(posthouse.Channel{Name: name, Driver: "scripted", ChannelSettings: atOnce(20 * time.Millisecond)})
			}
			hour := posthouse.Duration(time.Hour)
			before.way("night", posthouse.Route{Steps: []posthouse.RouteStep{
				{Channels: []string{"a"}, Until: posthouse.ProofAcknowledged, Within: hour}, {Channels: []string{"b"}, Until: posthouse.ProofAcknowledged, Within: hour},
			}})
			before.way("on", posthouse.Route{Steps: []posthouse.RouteStep{step("c"), step("b")}})
			_, list := before.routes("night", "acks", "resumes", "ends", "waits")
			before.eventually("all have been told by the first step", func() bool { return len(p.on("a")) == len(list) && before.number(settledCount) == len(list) })
			before.must(before.stop(context.WithoutCancel(t.Context())))
			hourPasses(t, dsn, list)
			newEpoch(t, dsn)

			h := open(t, dsn, drivers)
			p.says("c", refusal)
			_, other := h.routes("on", "new")
			h.turns(other[0].ID, posthouse.NotificationTold) // the planner has looked at all that is due
			if diff := cmp.Diff([]string{"new"}, p.on("b")); diff != "" {
				t.Fatalf("the second step went to (-want +got):\n%s", diff)
			}
			page, err := h.api.Notifications.List(t.Context(), "", client.Filter{Held: true})
			h.must(err)
			for i := range page.Items {
				if n := &page.Items[i]; n.Held != "epoch_hold" || n.State != posthouse.NotificationWaiting || !n.NextAt.IsZero() {
					t.Errorf("held: %q, %s, next %v", n.Held, n.State, n.NextAt)
				}
			}
			if len(page.Items) != len(list) {
				t.Errorf("%d are held, want %d", len(page.Items), len(list))
			}
			h.eventually("the gauge counts them", func() bool {
				return h.metric(`posthouse_notifications_held{tenant="default"}`) == float64(len(list))
			})
			acked, err := h.api.Notifications.Acknowledge(t.Context(), list[0].ID, wire.Ack{By: "acks"})
			if err != nil || acked.State != posthouse.NotificationAcknowledged || acked.Held != "" {
				t.Errorf("acknowledged while it is held: %s, held %q, %v", acked.State, acked.Held, err)
			}
			ended, err := h.api.Notifications.End(t.Context(), list[2].ID)
			if err != nil || ended.State != posthouse.NotificationNotTold || ended.Held != "" {
				t.Errorf("ended while it is held: %s, held %q, %v", ended.State, ended.Held, err)
			}
			for range 2 { // the second word is none
				resumed, err := h.api.Notifications.Resume(t.Context(), list[1].ID)
				if err != nil || resumed.Held != "" || resumed.State != posthouse.NotificationWaiting {
					t.Errorf("resumed: %s, held %q, %v", resumed.State, resumed.Held, err)
				}
			}
			if n := h.number("SELECT COUNT(*) FROM posthouse_plans WHERE id = '" + list[1].ID + "' AND doc LIKE '%\"resumed\":{\"at\":%\"epoch\":2}%'"); n != 1 {
				t.Error("when and in which epoch it was let go is not written down")
			}
			h.eventually("the second step of what was let go has begun", func() bool { return slices.Contains(p.on("b"), "resumes") })
			_, other = h.routes("on", "newer")
			h.turns(other[0].ID, posthouse.NotificationTold)
			if diff := cmp.Diff([]string{"new", "newer", "resumes"}, slices.Sorted(slices.Values(p.on("b")))); diff != "" {
				t.Errorf("the second step went to (-want +got):\n%s", diff)
			}
			if again := p.on("a"); len(again) != len(list) {
				t.Errorf("the first step was taken again: %v", again)
			}
		})
	}
}
