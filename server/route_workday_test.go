package server_test

import (
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
)

// The calendar of a route says what a workday is; where there is none of its name, the one who stores it is warned.
func TestARouteKnowsWorkdays(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.put(posthouse.Channel{Name: "desk", Driver: "discard"})
		h.roster(posthouse.Roster{Name: "always", Days: weekdays([]string{"work"}, 1, 2, 3, 4, 5, 6, 7)})
		h.roster(posthouse.Roster{Name: "never", Overrides: map[string][]string{"2026-01-01": {"work"}}})
		steps := []posthouse.RouteStep{{Channels: []string{"desk"}, When: "workday and hour >= 0"}, {Channels: []string{"desk"}, When: "not workday"}}
		for calendar, want := range map[string]int{"always": 1, "never": 2} {
			stored, err := h.api.Routes.Put(h.Context(), posthouse.Route{Name: calendar, Calendar: calendar, Steps: steps})
			h.must(err)
			if stored.Calendar != calendar || len(stored.Warnings) > 0 {
				h.Errorf("%s: stored %+v", calendar, stored)
			}
			_, list := h.routes(calendar, "u1")
			if n := h.turns(list[0].ID, posthouse.NotificationTold); n.Step != want {
				h.Errorf("%s: step %d told, want %d", calendar, n.Step, want)
			}
		}
		stored, err := h.api.Routes.Put(h.Context(), posthouse.Route{Name: "gone", Calendar: "holidays", Steps: steps})
		h.must(err)
		if len(stored.Warnings) != 1 || stored.Warnings[0].Path != "calendar" || !strings.Contains(stored.Warnings[0].Message, `no roster "holidays"`) {
			h.Errorf("the warnings are %+v", stored.Warnings)
		}
	})
}
