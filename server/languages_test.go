package server_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/wire"
)

// Each recipient of one message gets the language of the directory, or else the tenant's, or else the template's own, at each attempt anew.
func TestEachRecipientGetsTheOwnLanguage(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		_, err := h.api.Users.Put(h.Context(), posthouse.User{ID: "li", Language: "zh-CN"}, posthouse.User{ID: "ann", Language: "en-GB"}, posthouse.User{ID: "hans", Language: "de"}, posthouse.User{ID: "eve"})
		h.must(err)
		_, err = h.api.Tenants.Put(h.Context(), "default", wire.PutTenant{Language: "fr"})
		h.must(err)
		put, err := h.api.Templates.Put(h.Context(), posthouse.Template{
			Name: "duty", Text: "${name} 值班", Language: "zh", Texts: map[string]posthouse.TemplateText{"en": {Title: "Duty", Text: "${name} is on duty"}, "fr": {Text: "${name} est de garde"}},
		})
		h.must(err)
		d := posthouse.Draft{Channel: "a", Template: "duty", Payload: json.RawMessage(`{"name":"x"}`), To: []posthouse.Recipient{{User: "li"}, {User: "ann"}, {User: "hans"}, {User: "eve"}, {User: "nobody"}}}
		sent := h.hand(d)
		h.eventually("all are told", func() bool { return len(p.on("a")) == len(d.To) })
		got := map[string]string{}
		p.mu.Lock()
		for _, out := range p.came {
			got[out.Recipient.User] = strings.TrimSpace(out.Content.Title + " " + out.Content.Text)
		}
		p.mu.Unlock()
		french := "x est de garde"
		if diff := cmp.Diff(map[string]string{"li": "x 值班", "ann": "Duty x is on duty", "hans": french, "eve": french, "nobody": french}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if m, err := h.api.Messages.Get(h.Context(), sent.ID); err != nil || m.Content.Text != "x 值班" {
			t.Errorf("the message is shown as %+v, %v", m.Content, err)
		}
		for reads, want := range map[string]string{"en-US": "x is on duty", "ja": french, "zh": "x 值班"} {
			shown, err := h.api.Templates.Preview(h.Context(), "duty", wire.Preview{Language: reads, Payload: d.Payload})
			if err != nil || shown.Content.Text != want {
				t.Errorf("the preview for %s has %+v, %v", reads, shown.Content, err)
			}
		}
		if again, err := h.api.Templates.Put(h.Context(), put); err != nil || again.Version != 1 {
			t.Errorf("the same again is version %d, %v", again.Version, err)
		}
		for field, texts := range map[string]map[string]posthouse.TemplateText{
			"texts.klingon please": {"klingon please": {Text: "x"}}, "texts.en.text": {"en": {}}, "texts.zh": {"zh": {Text: "x"}},
		} {
			_, err := h.api.Templates.Put(h.Context(), posthouse.Template{Name: "wrong", Text: "x", Language: "zh", Texts: texts})
			if posthouse.CodeOf(err) != posthouse.CodeInvalid || !strings.Contains(err.Error(), field) {
				t.Errorf("%s: %v", field, err)
			}
		}
		// What another language lacks is found when the message is handed in.
		_, err = h.api.Templates.Put(h.Context(), posthouse.Template{Name: "lacks", Text: "${missing} x", Texts: map[string]posthouse.TemplateText{"en": {Text: "${missing}"}, "fr": {Text: "${manque}"}}})
		h.must(err)
		_, err = h.api.Messages.Send(h.Context(), posthouse.Draft{Channel: "a", Template: "lacks", To: []posthouse.Recipient{{User: "li"}}})
		if got := paths(err); !slices.Equal(got, []string{"messages[0].payload.missing", "messages[0].payload.manque"}) {
			t.Errorf("a payload that lacks what the texts name: %v (%v); want each name once", got, err)
		}
	})
}

// A member of a campaign gets the language of the user whom the address is, or else the tenant's, or else the template's own; the plan shows it
// before, and counts who lacks a column of any of them.
func TestEachMemberOfACampaignGetsTheOwnLanguage(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		_, err := h.api.Users.Put(h.Context(), posthouse.User{ID: "li", Language: "zh-CN", Addresses: map[string]string{"a": "a1"}}, posthouse.User{ID: "ann", Language: "en-GB", Addresses: map[string]string{"a": "a2"}},
			posthouse.User{ID: "hans", Language: "de", Addresses: map[string]string{"a": "a3"}}, posthouse.User{ID: "a4", Language: "en"})
		h.must(err)
		_, err = h.api.Tenants.Put(h.Context(), posthouse.DefaultTenant, wire.PutTenant{Language: "fr"})
		h.must(err)
		_, err = h.api.Templates.Put(h.Context(), posthouse.Template{
			Name: "duty", Text: "${name} 值班", Language: "zh", Texts: map[string]posthouse.TemplateText{"en": {Title: "Duty", Text: "${name} is on duty in ${room}"}, "fr": {Text: "${name} est de garde"}},
		})
		h.must(err)
		_, err = h.api.Campaigns.Create(h.Context(), wire.CampaignDraft{Name: "spring", Channel: "a", Template: "duty", SegmentSize: 3})
		h.must(err)
		_, err = h.api.Campaigns.Import(h.Context(), "spring", client.Part{Final: true}, strings.NewReader("address,name,room\na1,A,1\na2,B,2\na3,C,\na4,D,4\na5,E,\n"))
		h.must(err)
		want := map[string]string{"a1": "A 值班", "a2": "B is on duty in 2", "a3": "C est de garde", "a4": "D is on duty in 4", "a5": "E est de garde"}
		plan, err := h.api.Campaigns.Plan(h.Context(), "spring")
		h.must(err)
		got := map[string]string{}
		for _, s := range plan.Samples {
			got[s.Address] = s.Content.Text
		}
		if diff := cmp.Diff(want, got); diff != "" || !cmp.Equal(plan.Missing, map[string]int64{"room": 2}) {
			h.Errorf("the plan shows (-want +got):\n%s\nand misses %v", diff, plan.Missing)
		}
		_, err = h.api.Campaigns.Start(h.Context(), "spring", true)
		h.must(err)
		h.eventually("the campaign is done", func() bool {
			c, err := h.api.Campaigns.Get(h.Context(), "spring")
			h.must(err)
			return c.State == posthouse.CampaignDone
		})
		got = map[string]string{}
		p.mu.Lock()
		for _, out := range p.came {
			got[out.Recipient.Address] = out.Content.Text
		}
		p.mu.Unlock()
		if diff := cmp.Diff(want, got); diff != "" {
			h.Errorf("what came (-want +got):\n%s", diff)
		}
	})
}
