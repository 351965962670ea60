package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/wire"
)

// What a route names and is not there yet is a warning when it is stored and read; what can never work is refused. Quiet hours name a roster
// that is there.
func TestARouteSaysWhatWouldNotWork(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.SQLite(t), func(o *server.Options) { o.PublicURL = "https://post.example" })
	h.put(posthouse.Channel{Name: "sms", Driver: "discard"})
	way := posthouse.Route{Name: "alarm", Steps: []posthouse.RouteStep{
		{Channels: []string{"sms"}, To: []posthouse.Recipient{{Roster: "night"}}, Template: "alarm", When: "hour > 23"},
	}}
	pathsOf := func(list []posthouse.Problem) (paths []string) {
		for _, p := range list {
			paths = append(paths, p.Path)
		}
		slices.Sort(paths)
		return paths
	}
	stored, err := h.api.Routes.Put(h.Context(), way)
	h.must(err)
	want := []string{"steps", "steps[0].template", "steps[0].to", "steps[0].to[0].roster", "steps[0].when"}
	if got := pathsOf(stored.Warnings); !slices.Equal(got, want) {
		t.Errorf("it is stored with the warnings %q, want %q", got, want)
	}
	read, err := h.api.Routes.Get(h.Context(), "alarm", 0)
	h.must(err)
	if got := pathsOf(read.Warnings); !slices.Equal(got, want) {
		t.Errorf("it is read with the warnings %q, want %q", got, want)
	}
	if again, err := h.api.Routes.Put(h.Context(), read); err != nil || again.Version != 1 {
		t.Errorf("as it was read it is version %d, %v; want 1", again.Version, err)
	}
	h.roster(posthouse.Roster{Name: "night", Days: weekdays([]string{"li.na"}, 1, 2, 3, 4, 5, 6, 7)})
	_, err = h.api.Templates.Put(h.Context(), posthouse.Template{Name: "alarm", Text: "alarm", Language: "en", Texts: map[string]posthouse.TemplateText{"zh": {Text: "告警"}}})
	h.must(err)
	way.Steps[0].When = ""
	if stored, err = h.api.Routes.Put(h.Context(), way); err != nil || len(stored.Warnings) > 0 {
		t.Errorf("with all that it names it has the warnings %+v, %v", stored.Warnings, err)
	}
	_, err = h.api.Users.Put(h.Context(), posthouse.User{ID: "li.na", Language: "zh-CN", Addresses: map[string]string{"sms": "13800138000"}})
	h.must(err)
	shown, err := h.api.Routes.Preview(h.Context(), "alarm", posthouse.Draft{Template: "alarm", Payload: []byte("{}")})
	h.must(err)
	if m := shown.Notifications[0].Steps[0].Messages; len(m) != 1 || m[0].Language != "zh" || m[0].Problem != "" {
		t.Errorf("the preview shows %+v", m)
	}
	_, err = h.api.Routes.Put(h.Context(), posthouse.Route{Name: "silent", Steps: []posthouse.RouteStep{
		{Channels: []string{"sms"}, To: []posthouse.Recipient{{User: "li.na"}}, Template: "alarm"}, {Channels: []string{"sms"}, To: []posthouse.Recipient{{Roster: "night"}}},
	}})
	h.must(err)
	if _, err := h.api.Messages.Send(h.Context(), posthouse.Draft{Route: "silent", Payload: []byte("{}")}); !slices.Equal(paths(err), []string{"messages[0].content"}) {
		t.Errorf("a message without a content by a route of which one step has no template: %v", err)
	}
	if _, err := h.api.Messages.Send(h.Context(), posthouse.Draft{Route: "alarm", Payload: []byte("{}")}); err != nil {
		t.Errorf("a message without a content by a route whose steps have templates: %v", err)
	}
	way.Steps[0].Until, way.Steps[0].Within = posthouse.ProofDelivered, posthouse.Duration(time.Minute)
	if stored, err = h.api.Routes.Put(h.Context(), way); err != nil || !slices.Equal(pathsOf(stored.Warnings), []string{"steps[0].until"}) {
		t.Errorf("a channel that is never told of an arrival: %+v, %v", stored.Warnings, err)
	}
	h.put(posthouse.Channel{Name: "phones", Driver: "pull"})
	way.Steps[0].Channels = []string{"sms", "phones"}
	if stored, err = h.api.Routes.Put(h.Context(), way); err != nil || len(stored.Warnings) > 0 {
		t.Errorf("with a channel that is, it has the warnings %+v, %v", stored.Warnings, err)
	}
	way.Repeat, way.Steps[0].Until, way.Steps[0].Within, way.Steps[0].Channels = 2, posthouse.ProofAcknowledged, posthouse.Duration(10*time.Minute), []string{"sms"}
	if stored, err = h.api.Routes.Put(h.Context(), way); err != nil || !slices.Equal(pathsOf(stored.Warnings), []string{"steps[0].until"}) {
		t.Errorf("nobody can acknowledge what is sent: %+v, %v", stored.Warnings, err)
	}
	for name, other := range map[string]posthouse.RouteStep{
		"a template with a link":   {Channels: []string{"sms"}, Template: "link"},
		"the message's own text":   {Channels: []string{"sms"}},
		"phones that hand in what": {Channels: []string{"phones"}, Template: "alarm"},
	} {
		_, err = h.api.Templates.Put(h.Context(), posthouse.Template{Name: "link", Text: "alarm ${ack_url}"})
		h.must(err)
		other.To = roster("night")
		able := posthouse.Route{Name: "able", Steps: []posthouse.RouteStep{other, way.Steps[0]}}
		if stored, err = h.api.Routes.Put(h.Context(), able); err != nil || len(stored.Warnings) > 0 {
			t.Errorf("with %s it has the warnings %+v, %v", name, stored.Warnings, err)
		}
	}
	shown, err = h.api.Routes.Preview(h.Context(), "alarm", posthouse.Draft{Template: "alarm", Payload: []byte("{}")})
	h.must(err)
	var rounds []string
	for _, s := range shown.Notifications[0].Steps {
		rounds = append(rounds, fmt.Sprintf("round %d after %s", s.Round, s.After))
	}
	if want := []string{"round 0 after 0s", "round 2 after 10m", "round 3 after 20m"}; !slices.Equal(rounds, want) {
		t.Errorf("the preview shows %q, want %q", rounds, want)
	}
	way.Repeat = 0
	for _, text := range []string{"hour", "kind + 1", `weekday == "monday"`} {
		way.Steps[0].When = text
		if _, err := h.api.Routes.Put(h.Context(), way); !slices.Equal(paths(err), []string{"steps[0].when"}) {
			t.Errorf("%s is no condition: %v", text, err)
		}
	}
	way.Steps[0].When = `prority == "high"`
	if _, err := h.api.Routes.Put(h.Context(), way); !slices.Equal(paths(err), []string{"steps[0].when"}) {
		t.Errorf("a name that no message has: %v", err)
	}
	hours := []posthouse.QuietHours{{From: "22:00", To: "08:00", Days: "days_off", Calendar: "holidays"}}
	if _, err := h.api.Tenants.Put(h.Context(), "default", wire.PutTenant{QuietHours: hours}); !slices.Equal(paths(err), []string{"quiet_hours[0].calendar"}) {
		t.Errorf("a tenant's calendar that is no roster: %v", err)
	}
	if _, _, err := h.api.Channels.Put(h.Context(), posthouse.Channel{Name: "sms", Driver: "discard", ChannelSettings: posthouse.ChannelSettings{QuietHours: hours}}); !slices.Equal(paths(err), []string{"quiet_hours[0].calendar"}) {
		t.Errorf("a channel's calendar that is no roster: %v", err)
	}
	hours[0].Calendar = "night"
	_, _, err = h.api.Channels.Put(h.Context(), posthouse.Channel{Name: "sms", Driver: "discard", ChannelSettings: posthouse.ChannelSettings{QuietHours: hours}})
	h.must(err)
	if err := h.api.Rosters.Delete(h.Context(), "night"); posthouse.CodeOf(err) != posthouse.CodeConflict || !strings.Contains(err.Error(), "the channel sms") {
		t.Errorf("a roster that hours go by is deleted: %v", err)
	}
	rate := &posthouse.RateSettings{Hours: &posthouse.WorkingHours{From: "09:00", To: "18:00", Calendar: "holidays"}}
	if _, _, err := h.api.Channels.Put(h.Context(), posthouse.Channel{Name: "sms", Driver: "discard", ChannelSettings: posthouse.ChannelSettings{Rate: rate}}); !slices.Equal(paths(err), []string{"rate.hours.calendar"}) {
		t.Errorf("working hours by a calendar that is no roster: %v", err)
	}
}
