package server_test

import (
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
