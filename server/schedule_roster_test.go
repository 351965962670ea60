package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
)

// A schedule is judged by its first slot: who is on duty then is meant, whoever is today.
func TestAScheduleMeansWhoIsOnDutyAtItsSlot(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.put(posthouse.Channel{Name: "desk", Driver: "discard"})
		_, others := days(t, "Asia/Shanghai")
		h.roster(posthouse.Roster{Name: "later", Days: weekdays([]string{"li.na"}, others[1])})
		put := func(day int, d posthouse.Draft) ([]posthouse.Problem, error) {
			d.Content = &posthouse.Content{Text: "duty"}
			out, err := h.api.Reminders.Put(h.Context(), fmt.Sprint("on-", day), posthouse.Reminder{Draft: d, Repeat: &posthouse.Repeat{Cron: fmt.Sprint("0 9 * * ", day)}})
			return out.Warnings, err
		}
		to := posthouse.Draft{Channel: "desk", To: []posthouse.Recipient{{Roster: "later"}}}
		if warnings, err := put(others[1]%7, to); err != nil || len(warnings) > 0 {
			h.Errorf("on a day on which somebody is on duty: %v, %v", warnings, err)
		}
		if warnings, err := put(others[2]%7, to); err != nil || len(warnings) != 1 || warnings[0].Path != "draft.to[0].roster" {
			h.Errorf("on a day on which nobody is on duty yet: %v, %v", warnings, err)
		}
		if read, err := h.api.Reminders.Get(h.Context(), fmt.Sprint("on-", others[2]%7)); err != nil || len(read.Warnings) > 0 {
			h.Errorf("a warning is stored: %v, %v", read.Warnings, err)
		}
		for field, d := range map[string]posthouse.Draft{
			"draft.to[0].roster": {Channel: "desk", To: []posthouse.Recipient{{Roster: "never made"}}},
			"draft.to[1].role":   {Channel: "desk", To: []posthouse.Recipient{{User: "li.na", Address: "1"}, {Role: "planer"}}},
		} {
			if warnings, err := put(others[2]%7, d); err != nil || len(warnings) != 1 || warnings[0].Path != field || !strings.Contains(warnings[0].Message, "posthouse ") {
				h.Errorf("%+v: got %v, %v, want a warning of %s that names what to type", d, warnings, err, field)
			}
		}
		for field, d := range map[string]posthouse.Draft{
			"draft.channel": {Channel: "gone", To: to.To},
			"draft.to[0]":   {Channel: "desk", To: []posthouse.Recipient{{Role: "a", Roster: "b"}}},
		} {
			if _, err := put(others[2]%7, d); !slices.Equal(paths(err), []string{field}) {
				h.Errorf("%+v: got %v, want a problem of %s", d, err, field)
			}
		}
	})
}
