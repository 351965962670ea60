package server_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/simulator"
)

// wecom configures an application of the simulator.
func (h *house) wecom() {
	h.Helper()
	h.put(posthouse.Channel{Name: "wecom", Driver: "wecom", Config: map[string]any{
		"url": h.sim.URL() + "/wecom", "corp_id": "ww1", "agent_id": 1000002, "secret": "a-secret-of-ours",
	}})
}

// FLEET-1, FLEET-14: contents of several types go to many members in one call, and those who are not known are told apart.
func TestFLEET_AMessageOfAnApplicationReachesWhomItCan(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.wecom()
		var to []posthouse.Recipient
		for i := range 100 {
			to = append(to, posthouse.Recipient{User: fmt.Sprintf("u%d", i)})
		}
		to = append(to, posthouse.Recipient{User: "fail-recipient-1"}, posthouse.Recipient{Address: "party:7"})
		first := h.hand(posthouse.Draft{Channel: "wecom", To: to, Content: &posthouse.Content{Type: posthouse.MarkdownContent, Title: "提醒", Text: "**今晚** 值班"}})
		second := h.hand(posthouse.Draft{Channel: "wecom", To: to[:1], Content: &posthouse.Content{
			Type: posthouse.NewsContent, Extra: json.RawMessage(`{"articles":[{"title":"t","url":"https://example.com"}]}`),
		}})
		for _, d := range slices.Concat(first.Deliveries, second.Deliveries) {
			want := posthouse.Sent
			if strings.HasPrefix(d.User, "fail") {
				want = posthouse.Failed
			}
			h.eventually("the delivery of "+d.User+" ends", func() bool { return !h.delivery(d.ID).State.Open() })
			if got := h.delivery(d.ID).State; got != want {
				h.Errorf("%s: got %s, want %s", d.User, got, want)
			}
		}
		if n := len(h.sim.Arrivals(simulator.Filter{Provider: "wecom", User: "u7"})); n != 1 {
			h.Errorf("u7 was told %d times", n)
		}
		h.verified(first, second)
	})
}

// What an application cannot send, or what is too long for it, is refused with its field, also where a template makes it.
func TestFLEET_WhatCannotBeSentIsRefusedAtOnce(t *testing.T) {
	h := open(t, dbtest.SQLite(t))
	h.wecom()
	long := strings.Repeat("字", 700)
	_, err := h.api.Templates.Put(h.Context(), posthouse.Template{Name: "long", Text: "${x}"})
	h.must(err)
	for name, c := range map[string]struct {
		draft posthouse.Draft
		want  string
	}{
		"a long text":     {posthouse.Draft{Content: &posthouse.Content{Text: long}}, "content.text: has 2100 bytes: the provider takes 2048"},
		"an unknown type": {posthouse.Draft{Content: &posthouse.Content{Type: "textt", Text: "x"}}, `content.type: is "textt"`},
		"a long template": {posthouse.Draft{Template: "long", Payload: json.RawMessage(`{"x":"` + long + `"}`)}, "template: makes a content whose text has 2100 bytes"},
		"mentions":        {posthouse.Draft{Content: &posthouse.Content{Text: "x", Mentions: []string{"a"}}}, "content.mentions"},
		"everybody":       {posthouse.Draft{To: []posthouse.Recipient{{Address: "@all"}}, Content: &posthouse.Content{Text: "x"}}, "to[0].address: is @all"},
	} {
		c.draft.Channel = "wecom"
		if c.draft.To == nil {
			c.draft.To = []posthouse.Recipient{{User: "u1"}}
		}
		_, err := h.api.Messages.Send(h.Context(), c.draft)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Count(err.Error(), "content.type") > 1 {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}
