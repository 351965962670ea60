package server_test

import (
	"fmt"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
)

// A schedule is judged by its first slot: who is on duty then is meant, whoever is today.
func TestAScheduleMeansWhoIsOnDutyAtItsSlot(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.SQLite(t))
	h.put(posthouse.Channel{Name: "desk", Driver: "discard"})
	_, others := days(t, "Asia/Shanghai")
	h.roster(posthouse.Roster{Name: "later", Days: weekdays([]string{"li.na"}, others[1])})
	put := func(day int) error {
		_, err := h.api.Reminders.Put(h.Context(), fmt.Sprint("on-", day), posthouse.Reminder{
			Draft:  posthouse.Draft{Channel: "desk", To: []posthouse.Recipient{{Roster: "later"}}, Content: &posthouse.Content{Text: "duty"}},
			Repeat: &posthouse.Repeat{Cron: fmt.Sprint("0 9 * * ", day)},
		})
		return err
	}
	h.must(put(others[1] % 7))
	if err := put(others[2] % 7); posthouse.CodeOf(err) != posthouse.CodeInvalid {
		t.Errorf("on a day on which nobody is on duty: %v", err)
	}
}
