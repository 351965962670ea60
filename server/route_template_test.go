package server_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// A step whose template is missing or disabled sends nothing, as its warning says, by API and fronts alike. The message is accepted as long as
// another step can send, and the next step begins at once. Where none can send, the message is refused by name. An alert is told by its own text.
func TestAStepWithoutItsTemplateSendsNothing(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		_, err := h.api.Templates.Put(h.Context(), posthouse.Template{Name: "off", Text: "off"})
		h.must(err)
		_, err = h.api.Templates.Put(h.Context(), posthouse.Template{Name: "off", Text: "off", Disabled: true})
		h.must(err)
		_, err = h.api.Users.Put(h.Context(), posthouse.User{ID: "u1", Addresses: map[string]string{"a": "u1", "b": "u1", "c": "u1"}})
		h.must(err)
		u1 := []posthouse.Recipient{{User: "u1"}}
		hour := posthouse.Duration(time.Hour)
		stored, err := h.api.Routes.Put(h.Context(), posthouse.Route{Name: "half", Steps: []posthouse.RouteStep{
			{Channels: []string{"a", "b"}, To: u1, Within: hour, Template: "later", Templates: map[string]string{"b": "off"}}, {Channels: []string{"c"}, To: u1, Within: hour},
		}})
		h.must(err)
		var warned []string
		for _, w := range stored.Warnings {
			warned = append(warned, w.Path+" "+w.Message)
		}
		if want := []string{
			`steps[0].template there is no template "later": the step sends nothing until there is one`, `steps[0].templates["b"] the template "off" is disabled: the step sends nothing until it is enabled`,
		}; !slices.Equal(warned, want) {
			h.Errorf("it is stored with the warnings %q, want %q", warned, want)
		}
		text := &posthouse.Content{Text: "hello"}
		h.saysNothing(p, "half", 2, "no_template", `the template "later" of channel a is not there; the template "off" of channel b is disabled`)

		// One channel of a step alone: the other is told by, in the same step.
		h.way("one", posthouse.Route{Steps: []posthouse.RouteStep{{Channels: []string{"a", "c"}, To: u1, Templates: map[string]string{"a": "later"}}}})
		h.saysNothing(p, "one", 1, "", `the template "later" of channel a is not there`)

		stored, err = h.api.Routes.Put(h.Context(), posthouse.Route{Name: "none", Steps: []posthouse.RouteStep{
			{Channels: []string{"a"}, To: u1, Within: hour, Template: "later"}, {Channels: []string{"b"}, To: u1, Template: "off"},
		}})
		h.must(err)
		if n := len(stored.Warnings); n != 3 || stored.Warnings[2].Path != "steps" || !strings.Contains(stored.Warnings[2].Message, "is refused") {
			h.Errorf("a route that sends nothing is stored with %+v", stored.Warnings)
		}
		refused := func(what, field string, err error) {
			h.Helper()
			if got := paths(err); len(got) == 0 || got[0] != field || !strings.Contains(err.Error(), `there is no template "later" (step 1 of the route none, channel a)`) {
				h.Errorf("%s by a route that sends nothing: %v, want %s", what, err, field)
			}
		}
		_, err = h.api.Messages.Send(h.Context(), posthouse.Draft{Route: "none", Content: text})
		refused("a message", "messages[0].template", err)
		_, err = h.api.Routes.Preview(h.Context(), "none", posthouse.Draft{Content: text})
		refused("a preview", "template", err)
		f, err := h.api.Fronts.Put(h.Context(), "none", wire.PutFront{Kind: "alertmanager", FrontSettings: posthouse.FrontSettings{Route: "none"}})
		h.must(err)
		before := len(p.on("a"))
		if status, said := h.knock("POST", f.Path+"/"+f.Token, groupOf(alertOf("firing", "Disk", "critical", 9))); status != 200 {
			h.Errorf("an alert by a route whose templates are gone: %d %s", status, said)
		}
		h.eventually("the alert is told by its own text", func() bool { return len(p.on("a")) == before+1 })
		n := h.turns(h.lastNotices()[0].ID, posthouse.NotificationTold)
		if n.Step != 1 || !strings.Contains(n.Steps[0].Detail, "the message's own text is told") {
			h.Errorf("the alert is told by step %d, its steps are %+v", n.Step, n.Steps)
		}
		_, err = h.api.Templates.Put(h.Context(), posthouse.Template{Name: "later", Text: "now there is one"})
		h.must(err)
		before = len(p.on("a"))
		for _, name := range []string{"half", "none"} {
			_, list := h.routes(name)
			h.turns(list[0].ID, posthouse.NotificationTold)
		}
		if came := p.on("a"); len(came) != before+2 {
			h.Errorf("with its template the step told %q", came)
		}
	})
}

// saysNothing hands in by a route of which a step, or one of its channels, has no template, in each way, and wants step told to tell.
func (h *house) saysNothing(p *scripted, way string, told int, skipped, detail string) {
	h.Helper()
	before := len(p.on("c"))
	shown, err := h.api.Routes.Preview(h.Context(), way, posthouse.Draft{Content: &posthouse.Content{Text: "hello"}})
	h.must(err)
	if s := shown.Notifications[0].Steps[0]; s.Skipped != skipped || s.Detail != detail {
		h.Errorf("%s: the preview shows %+v", way, s)
	}
	h.routes(way)
	_, err = h.api.Reminders.Put(h.Context(), way, posthouse.Reminder{
		Draft: posthouse.Draft{Route: way, Content: &posthouse.Content{Text: "hello"}}, Repeat: &posthouse.Repeat{From: time.Now(), Every: posthouse.Duration(time.Hour), Max: 1},
	})
	h.must(err)
	h.eventually("all are told by the step that can", func() bool { return len(p.on("c")) == before+2 })
	if n := len(p.on("a")) + len(p.on("b")); n != 0 {
		h.Errorf("%s: %d messages left by a channel that has no template", way, n)
	}
	seen := 0
	for _, n := range h.lastNotices() {
		if n.Route != way {
			continue
		}
		n = h.turns(n.ID, posthouse.NotificationTold)
		if seen++; n.Step != told || n.Steps[0].Skipped != skipped || n.Steps[0].Detail != detail || n.Steps[len(n.Steps)-1].At.Sub(n.Steps[0].At) > time.Minute {
			h.Errorf("%s: the notification is at step %d, its steps are %+v", way, n.Step, n.Steps)
		}
	}
	if seen != 2 {
		h.Errorf("%s: %d notifications, want 2", way, seen)
	}
}
