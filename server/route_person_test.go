package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
)

// A condition asks for what the directory knows of the person, and for the hour where that person lives.
func TestAConditionKnowsThePerson(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.put(posthouse.Channel{Name: "desk", Driver: "discard"})
		_, err := h.api.Users.Put(h.Context(), posthouse.User{ID: "li.na", Type: "head_office", Language: "en", TimeZone: "Pacific/Kiritimati", Roles: []string{"lead", "ops"}})
		h.must(err)
		zone, err := time.LoadLocation("Pacific/Kiritimati") // six hours ahead of the server's
		h.must(err)
		hour := time.Now().In(zone).Hour()
		for i, c := range []struct {
			when    string
			skipped bool
		}{
			{`type == "head_office"`, false},
			{`language == "en" and user == "li.na"`, false},
			{`type == "branch"`, true},
			{`"lead" in roles and not ("clerk" in roles)`, false},
			{`"clerk" in roles`, true},
			{fmt.Sprintf("hour == %d or hour == %d", hour, (hour+1)%24), false},
			{fmt.Sprintf("hour == %d or hour == %d", (hour+18)%24, (hour+19)%24), true},
			{"payload.level > 3", false},
		} {
			name := fmt.Sprint("way", i)
			_, err := h.api.Routes.Put(h.Context(), posthouse.Route{Name: name, Steps: []posthouse.RouteStep{{Channels: []string{"desk"}, When: c.when}}})
			h.must(err)
			shown, err := h.api.Routes.Preview(h.Context(), name, posthouse.Draft{To: []posthouse.Recipient{{User: "li.na"}}, Content: &posthouse.Content{Text: "x"}})
			h.must(err)
			if s := shown.Notifications[0].Steps[0]; (s.Skipped != "") != c.skipped || strings.Contains(c.when, "payload") != strings.Contains(s.Detail, "fails") {
				h.Errorf("%s: the preview shows %+v", c.when, s)
			}
		}
		h.put(posthouse.Channel{Name: "phones", Driver: "pull"})
		h.way("phones", posthouse.Route{Steps: []posthouse.RouteStep{{Channels: []string{"phones"}}}})
		shown, err := h.api.Routes.Preview(h.Context(), "phones", posthouse.Draft{To: []posthouse.Recipient{{User: "li.na"}}, Content: &posthouse.Content{Text: "x"}})
		h.must(err)
		if got := shown.Notifications[0].Steps[0].Messages[0].Problem; !strings.Contains(got, `"li.na" has no address on "phones"`) {
			h.Errorf("of one without a number the preview says %s", got)
		}
		out, err := h.api.Messages.Send(h.Context(), posthouse.Draft{Route: "way2", To: []posthouse.Recipient{{User: "li.na"}}, Content: &posthouse.Content{Text: "x"}})
		h.must(err)
		h.eventually("the notification says that no condition was true", func() bool {
			list, err := h.api.Notifications.Of(h.Context(), out.Accepted[0].ID)
			h.must(err)
			return len(list) == 1 && list[0].State == posthouse.NotificationNotTold && list[0].Reason == "condition"
		})
	})
}

// A channel that a route names may be deleted: the route says so, and goes on to its next step.
func TestARouteGoesOnWithoutAChannelThatIsGone(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.SQLite(t))
	h.put(posthouse.Channel{Name: "desk", Driver: "discard"})
	h.put(posthouse.Channel{Name: "gone", Driver: "discard"})
	_, err := h.api.Routes.Put(h.Context(), posthouse.Route{Name: "w", Steps: []posthouse.RouteStep{{Channels: []string{"gone"}}, {Channels: []string{"desk"}}}})
	h.must(err)
	h.must(h.api.Channels.Delete(h.Context(), "gone"))
	way, err := h.api.Routes.Get(h.Context(), "w", 0)
	h.must(err)
	if len(way.Warnings) != 1 || way.Warnings[0].Path != "steps[0].channels[0]" {
		t.Errorf("it is warned of %+v", way.Warnings)
	}
	draft := posthouse.Draft{Route: "w", To: []posthouse.Recipient{{User: "li.na"}}, Content: &posthouse.Content{Text: "x"}}
	out, err := h.api.Messages.Send(h.Context(), draft)
	h.must(err)
	h.eventually("the next step tells", func() bool {
		list, err := h.api.Notifications.Of(h.Context(), out.Accepted[0].ID)
		h.must(err)
		return len(list) == 1 && list[0].State == posthouse.NotificationTold
	})
	h.must(h.api.Channels.Delete(h.Context(), "desk"))
	if _, err := h.api.Messages.Send(h.Context(), draft); err == nil || !strings.Contains(err.Error(), `there is no channel "gone"`) {
		t.Errorf("without any channel: %v", err)
	}
}
