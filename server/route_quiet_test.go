package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// A preview shows the wait for the end of quiet hours, moves the steps after it, and shows that a deadline before their end stops the route.
func TestAPreviewShowsQuietHours(t *testing.T) {
	ways(t, func(h *house, _ *scripted) {
		h.way("w", posthouse.Route{Steps: []posthouse.RouteStep{
			{Channels: []string{"a"}, Within: posthouse.Duration(time.Minute)}, step("b"),
		}})
		now := time.Now().UTC()
		hours := posthouse.QuietHours{From: now.Add(-2 * time.Hour).Format("15:04"), To: now.Add(3 * time.Hour).Format("15:04"), TimeZone: "UTC"}
		_, err := h.api.Tenants.Put(h.Context(), "default", wire.PutTenant{QuietHours: []posthouse.QuietHours{hours}})
		h.must(err)
		d := posthouse.Draft{To: []posthouse.Recipient{{User: "u1"}}, Content: &posthouse.Content{Text: "hello"}}
		preview := func(d posthouse.Draft) []wire.PreviewedStep {
			h.Helper()
			out, err := h.api.Routes.Preview(h.Context(), "w", d)
			h.must(err)
			return out.Notifications[0].Steps
		}
		var steps []wire.PreviewedStep
		h.eventually("the quiet hours are known", func() bool {
			steps = preview(d)
			return steps[0].WaitsUntil != nil
		})
		if s := steps[0]; s.Reason != "quiet_hours" || s.After.Std() < 2*time.Hour || s.WaitsUntil.Before(now.Add(2*time.Hour)) || len(s.Messages) != 1 {
			t.Errorf("the first step is %+v, want it to wait for the end of %+v", s, hours)
		}
		if s := steps[1]; s.WaitsUntil != nil || s.After != steps[0].After+posthouse.Duration(time.Minute) {
			t.Errorf("the second step is %+v, want it a minute after the first, %s", s, steps[0].After)
		}
		soon := d
		soon.Deadline = now.Add(time.Hour)
		if steps = preview(soon); len(steps) != 1 || steps[0].Skipped != "quiet_hours" || len(steps[0].Messages) != 0 {
			t.Errorf("with a deadline in quiet hours the steps are %+v, want the first alone, and nothing sent", steps)
		}
		loud := d
		loud.Critical = true
		if steps = preview(loud); steps[0].WaitsUntil != nil || steps[0].After != 0 {
			t.Errorf("a critical message's first step is %+v, want it at once", steps[0])
		}
		if n := h.number("SELECT COUNT(*) FROM posthouse_plans"); n != 0 {
			t.Errorf("%d plans were stored, want none", n)
		}
	})
}

// A preview says which messages would not be sent, or later, by what is asked at their start: suppressed addresses, preferences, caps, and each
// person's quiet hours. It takes nothing of a window, and what its own steps would take counts.
func TestAPreviewShowsWhatHoldsItsMessages(t *testing.T) {
	ways(t, func(h *house, _ *scripted) {
		within := posthouse.Duration(time.Minute)
		h.way("plain", posthouse.Route{Steps: []posthouse.RouteStep{{Channels: []string{"a"}, Within: within}, step("b")}})
		h.way("known", posthouse.Route{Steps: []posthouse.RouteStep{
			{Channels: []string{"a"}, Until: posthouse.ProofAcknowledged, Within: within}, {Channels: []string{"b"}, Until: posthouse.ProofAcknowledged, Within: within}, step("c"),
		}})
		h.way("any", posthouse.Route{For: posthouse.RouteAny, Steps: []posthouse.RouteStep{step("a")}})
		now := time.Now().UTC()
		hours := posthouse.QuietHours{From: now.Add(-2 * time.Hour).Format("15:04"), To: now.Add(3 * time.Hour).Format("15:04"), TimeZone: "UTC", Users: []string{"asleep"}}
		day := posthouse.Duration(24 * time.Hour)
		_, err := h.api.Tenants.Put(h.Context(), "default", wire.PutTenant{QuietHours: []posthouse.QuietHours{hours}, Caps: []posthouse.Cap{
			{Max: 1, Per: day, Kinds: []string{"ends"}, Then: posthouse.CapSuppress}, {Max: 1, Per: day, Kinds: []string{"waits"}},
		}})
		h.must(err)
		_, err = h.api.Suppressions.Add(h.Context(), wire.SuppressionDraft{Address: "gone", Channel: "a", Reason: "left"})
		h.must(err)
		steps := func(way, kind string, users ...string) []wire.PreviewedStep {
			h.Helper()
			d := posthouse.Draft{Kind: kind, Content: &posthouse.Content{Text: "hello"}}
			for _, u := range users {
				d.To = append(d.To, posthouse.Recipient{User: u, Address: u})
			}
			out, err := h.api.Routes.Preview(h.Context(), way, d)
			h.must(err)
			return out.Notifications[0].Steps
		}
		h.eventually("the quiet hours are known", func() bool { return steps("any", "", "awake", "asleep")[0].Messages[1].WaitsUntil != nil })
		if s := steps("any", "", "awake", "asleep")[0]; s.WaitsUntil != nil || s.Messages[0].WaitsUntil != nil || s.Messages[1].Reason != "quiet_hours" || s.Messages[1].WaitsUntil.Before(now.Add(2*time.Hour)) {
			t.Errorf("with one of two in quiet hours the step is %+v, want it at once and that one's message at their end", s)
		}
		if s := steps("plain", "", "gone"); s[0].Messages[0].Skipped != "address_suppressed" || s[0].Messages[0].Detail != "left" || s[1].After != 0 || s[1].Messages[0].Skipped != "" {
			t.Errorf("the steps to a suppressed address are %+v, want the second at once", s)
		}
		sends := func(kind string) {
			h.Helper()
			sent, err := h.api.Messages.Send(h.Context(), posthouse.Draft{Channel: "c", Kind: kind, To: []posthouse.Recipient{{User: "u", Address: "u"}}, Content: &posthouse.Content{Text: "hello"}})
			h.must(err)
			h.eventually("it was sent", func() bool {
				d, err := h.api.Deliveries.Get(h.Context(), sent.Accepted[0].Deliveries[0].ID)
				return err == nil && d.State == posthouse.Sent
			})
		}
		for range 2 { // a preview takes nothing
			if s := steps("plain", "ends", "u"); len(s) != 2 || s[0].Messages[0].Skipped != "" || s[1].Messages[0].Skipped != "" {
				t.Errorf("below the cap the steps are %+v, want both: what failed is given back", s)
			}
			if s := steps("known", "ends", "u"); len(s) != 2 || s[0].Messages[0].Skipped != "" || s[1].Messages[0].Skipped != "capped" || s[1].Ends != "capped" {
				t.Errorf("the steps are %+v, want the second to be capped by what the first took, and no third", s)
			}
		}
		sends("ends")
		if s := steps("plain", "ends", "u"); len(s) != 1 || s[0].Messages[0].Skipped != "capped" || s[0].Messages[0].Detail == "" || s[0].Ends != "capped" {
			t.Errorf("with a spent cap the steps are %+v, want the first capped, and no other", s)
		}
		sends("waits")
		s := steps("plain", "waits", "u")
		if m := s[0].Messages[0]; len(s) != 2 || m.Reason != "capped" || m.WaitsUntil == nil || m.WaitsUntil.Before(now.Add(23*time.Hour)) || s[1].After.Std() < 23*time.Hour {
			t.Errorf("with a spent cap that defers the steps are %+v, want the first message in a day, and the second step after it", s)
		}
		d := posthouse.Draft{Kind: "waits", Deadline: now.Add(time.Hour), To: []posthouse.Recipient{{User: "u", Address: "u"}}, Content: &posthouse.Content{Text: "hello"}}
		out, err := h.api.Routes.Preview(h.Context(), "plain", d)
		h.must(err)
		if s := out.Notifications[0].Steps; s[0].Messages[0].Skipped != "capped" || s[1].Ends != "expired" {
			t.Errorf("with a deadline before the cap has room the steps are %+v, want nothing sent", s)
		}
		if n := h.number("SELECT COUNT(*) FROM posthouse_plans"); n != 0 {
			t.Errorf("%d plans were stored, want none", n)
		}
	})
}

// Quiet hours that are taken away let go what they hold: a message, and a notification whose first step waits for their end.
func TestQuietHoursThatAreRemovedLetGo(t *testing.T) {
	ways(t, func(h *house, _ *scripted) {
		h.way("w", posthouse.Route{Steps: []posthouse.RouteStep{step("a")}})
		now := time.Now().UTC()
		hours := posthouse.QuietHours{From: now.Add(-2 * time.Hour).Format("15:04"), To: now.Add(3 * time.Hour).Format("15:04"), TimeZone: "UTC"}
		_, err := h.api.Tenants.Put(h.Context(), "default", wire.PutTenant{QuietHours: []posthouse.QuietHours{hours}})
		h.must(err)
		sent := h.send("b", "hello", "u1")
		_, list := h.routes("w", "u2")
		h.eventually("the message waits", func() bool {
			d, err := h.api.Deliveries.Get(h.Context(), sent.Deliveries[0].ID)
			h.must(err)
			return d.State == posthouse.Pending && d.Reason == "quiet_hours"
		})
		h.eventually("the notification waits", func() bool {
			n, err := h.api.Notifications.Get(h.Context(), list[0].ID)
			h.must(err)
			return n.State == posthouse.NotificationWaiting && n.Reason == "quiet_hours"
		})
		_, err = h.api.Tenants.Put(h.Context(), "default", wire.PutTenant{QuietHours: []posthouse.QuietHours{}})
		h.must(err)
		h.turns(list[0].ID, posthouse.NotificationTold)
		h.become(posthouse.Sent, sent.Deliveries[0].ID)
	})
}

// One who is left alone for good is waited for by nobody: a message is suppressed at once, a notification is not told, and a preview and explain
// name no day.
func TestWhoIsLeftAloneForGoodIsNotWaitedFor(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		h.way("w", posthouse.Route{Steps: []posthouse.RouteStep{step("a"), step("b")}})
		h.way("both", posthouse.Route{For: posthouse.RouteAny, Steps: []posthouse.RouteStep{step("c")}})
		hours := posthouse.QuietHours{From: "00:00", To: "24:00", Users: []string{"u1"}}
		_, err := h.api.Tenants.Put(h.Context(), "default", wire.PutTenant{QuietHours: []posthouse.QuietHours{hours}})
		h.must(err)
		const why = "quiet hours leave its recipient alone for good: there is no end to wait for"
		d := posthouse.Draft{To: []posthouse.Recipient{{User: "u1"}}, Content: &posthouse.Content{Text: "hello"}}
		var shown wire.PreviewedStep
		h.eventually("the quiet hours are known", func() bool {
			out, err := h.api.Routes.Preview(h.Context(), "w", d)
			h.must(err)
			shown = out.Notifications[0].Steps[0]
			return shown.Reason != "" || shown.Skipped != ""
		})
		if shown.Skipped != "quiet_hours" || shown.Ends != "quiet_hours" || shown.Detail != why || shown.WaitsUntil != nil {
			h.Errorf("the preview shows %+v", shown)
		}
		sent := h.send("b", "hello", "u1")
		_, list := h.routes("w", "u1")
		h.become(posthouse.Suppressed, sent.Deliveries[0].ID)
		if d := h.delivery(sent.Deliveries[0].ID); d.Reason != "quiet_hours" || d.Error != why {
			h.Errorf("the message is %+v", d)
		}
		if e, err := h.api.Deliveries.Explain(h.Context(), sent.Deliveries[0].ID); err != nil || !strings.Contains(e.Summary, "for good") {
			h.Errorf("explain says %+v, %v", e, err)
		}
		if n := h.turns(list[0].ID, posthouse.NotificationNotTold); n.Reason != "quiet_hours" || len(n.Deliveries) != 0 {
			h.Errorf("the notification is %+v", n)
		}
		_, list = h.routes("both", "u1", "u2") // the other one is told
		h.turns(list[0].ID, posthouse.NotificationTold)
		if got := p.on("c"); len(got) != 1 || got[0] != "u2" {
			h.Errorf("%q were told, want u2 alone", got)
		}
		urgent := d
		urgent.Route, urgent.Critical = "w", true
		out, err := h.api.Messages.Send(h.Context(), urgent)
		h.must(err)
		h.turns(posthouse.DeliveryID(out.Accepted[0].ID, 1), posthouse.NotificationTold)
	})
}
