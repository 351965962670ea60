package server_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
)

// A step for managers finds them in the directory when it begins. Where there is none, the next step begins at once and the notification
// says why.
func TestARouteTurnsToManagers(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		p.says("a", refusal)
		_, err := h.api.Users.Put(h.Context(), posthouse.User{ID: "u1", Manager: "boss"}, posthouse.User{ID: "u2", Manager: "ghost"}, posthouse.User{ID: "boss"})
		h.must(err)
		to := func(channel string, levels int) posthouse.RouteStep {
			return posthouse.RouteStep{Channels: []string{channel}, To: []posthouse.Recipient{{Manager: levels}}}
		}
		way := posthouse.Route{Steps: []posthouse.RouteStep{step("a"), to("b", 2), to("c", 1)}}
		h.way("w", way)
		shown, err := h.api.Routes.Preview(h.Context(), "w", posthouse.Draft{To: []posthouse.Recipient{{User: "u1"}}, Content: &posthouse.Content{Text: "x"}})
		h.must(err)
		if steps := shown.Notifications[0].Steps; steps[1].Skipped != "nobody" || !strings.Contains(steps[1].Detail, `no manager of "boss"`) || len(steps[2].Messages) != 1 || steps[2].Messages[0].To.User != "boss" {
			t.Errorf("the preview has %+v", steps)
		}
		_, list := h.routes("w", "u1", "u2")
		n := h.turns(list[0].ID, posthouse.NotificationNotTold)
		if last := n.Deliveries[len(n.Deliveries)-1]; n.Reason != "escalated" || n.ToldUser != "boss" || n.ToldBy != last.ID {
			t.Errorf("u1 was not told, and boss was: it says %s, %q", n.Reason, n.ToldUser)
		}
		if len(n.To) != 1 || n.To[0].User != "u1" || n.Steps[1].Skipped != "nobody" || n.Deliveries[len(n.Deliveries)-1].User != "boss" {
			t.Errorf("the first is %+v", n)
		}
		n = h.turns(list[1].ID, posthouse.NotificationNotTold)
		if got := n.Steps[2].Detail; !strings.Contains(got, `does not know "ghost", the manager of "u2"`) {
			t.Errorf("the second says %q", got)
		}
		if got := p.on("c"); !slices.Equal(got, []string{"boss"}) || len(p.on("b")) > 0 {
			t.Errorf("c told %q and b %q", got, p.on("b"))
		}

		// Without recipients the managers are those of the people whom the steps before named: a manager who was told is none of these.
		_, err = h.api.Users.Put(h.Context(), posthouse.User{ID: "boss", Manager: "chief"}, posthouse.User{ID: "chief", Manager: "head"}, posthouse.User{ID: "head"})
		h.must(err)
		p.says("b", refusal)
		h.way("w", posthouse.Route{Repeat: 1, Steps: []posthouse.RouteStep{{Channels: []string{"a"}, To: []posthouse.Recipient{{User: "u1"}}}, to("b", 1), to("c", 2), {Channels: []string{"b"}, To: []posthouse.Recipient{{Manager: 1}}, Until: posthouse.ProofAcknowledged, Within: posthouse.Duration(time.Second)}}})
		p.says("c", refusal)
		_, list = h.routes("w")
		h.turns(list[0].ID, posthouse.NotificationNotTold)
		if b, c := p.on("b"), p.on("c"); !slices.Equal(b, []string{"boss", "boss", "boss", "boss"}) || !slices.Equal(c, []string{"boss", "chief", "chief"}) {
			t.Errorf("b told %q, c told %q", b, c)
		}
		for way, want := range map[string]posthouse.Route{
			"steps[0].to[0].manager": {Steps: []posthouse.RouteStep{to("a", 6)}},
			"steps[0].to[0]":         {Steps: []posthouse.RouteStep{{Channels: []string{"a"}, To: []posthouse.Recipient{{Manager: 1, Role: "dba"}}}}},
		} {
			want.Name = "wrong"
			if _, err := h.api.Routes.Put(h.Context(), want); posthouse.CodeOf(err) != posthouse.CodeInvalid || !strings.Contains(err.Error(), way) {
				t.Errorf("%s: %v", way, err)
			}
		}
		h.way("w", posthouse.Route{Steps: []posthouse.RouteStep{to("a", 1)}})
		for _, d := range []posthouse.Draft{{Route: "w"}, {Channel: "a", To: []posthouse.Recipient{{Manager: 1}}}} {
			d.Content = &posthouse.Content{Text: "x"}
			if _, err := h.api.Messages.Send(h.Context(), d); posthouse.CodeOf(err) != posthouse.CodeInvalid || !strings.Contains(err.Error(), "manager") {
				t.Errorf("%+v: %v", d, err)
			}
		}
	})
}
