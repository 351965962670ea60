package server_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/wire"
)

// CAMP-8: campaigns to the same people are of different templates and kinds: each sends its own template with what fills it, and
// only one of a kind that suppressions do not hold for reaches who has left.
func TestCAMP8_EachCampaignHasItsOwnTemplateAndKind(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		ch := h.mp("mp", nil)
		ch.ExemptKinds = []string{"recall"}
		h.put(ch)
		for name, text := range map[string]string{"coupon": "${sum} off", "recall": "bring back the ${thing}"} {
			_, err := h.api.Templates.Put(h.Context(), posthouse.Template{Name: name, Text: text, ExternalID: "T-" + name})
			h.must(err)
		}
		_, err := h.api.Suppressions.Add(h.Context(), wire.SuppressionDraft{Address: "o2"})
		h.must(err)
		people := []string{"o1", "o2", "o3"}
		h.crowd("spring", people, wire.CampaignDraft{Template: "coupon", Kind: "coupon", Payload: json.RawMessage(`{"sum":10}`)})
		h.crowd("autumn", people, wire.CampaignDraft{Template: "recall", Kind: "recall", Payload: json.RawMessage(`{"thing":"kettle"}`)})
		for name, suppressed := range map[string]int64{"spring": 1, "autumn": 0} {
			h.eventually(name+" is done", func() bool {
				c, err := h.api.Campaigns.Get(h.Context(), name)
				h.must(err)
				return c.State == posthouse.CampaignDone && c.Progress.Suppressed == suppressed && c.Progress.Sent == 3-suppressed
			})
		}
		got := map[string]string{}
		for _, a := range h.sim.Arrivals(simulator.Filter{Provider: "wechat"}) {
			got[a.Title+" "+a.User] += a.Text
		}
		for _, who := range []string{"T-coupon o1", "T-coupon o3", "T-recall o1", "T-recall o2", "T-recall o3"} {
			want := "sum: 10"
			if who[2] == 'r' {
				want = "thing: kettle"
			}
			if got[who] != want {
				h.Errorf("%s got %q, want %q once", who, got[who], want)
			}
			delete(got, who)
		}
		if len(got) > 0 {
			h.Errorf("and these: %v", got)
		}
	})
}

// CAMP: the plan holds a campaign against the provider's own template: what it has no column for, what is too long for a parameter, and
// a template that the account does not keep.
func TestAPlanKnowsTheProvidersTemplate(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.mp("mp", nil)
		for name, id := range map[string]string{"coupon": "OPENTM-1", "none": "OPENTM-2"} {
			_, err := h.api.Templates.Put(h.Context(), posthouse.Template{
				Name: name, Text: "${name}: ${sum}", ExternalID: id, Parameters: map[string]string{"thing1": "${name}", "amount2": "${sum}"},
			})
			h.must(err)
			_, err = h.api.Campaigns.Create(h.Context(), wire.CampaignDraft{Name: name, Channel: "mp", Template: name})
			h.must(err)
			_, err = h.api.Campaigns.Import(h.Context(), name, client.Part{Final: true}, strings.NewReader("openid,name,sum\no1,张三,20\no2,"+strings.Repeat("长", 30)+",30\n"))
			h.must(err)
		}
		for name, want := range map[string][]wire.Flaw{
			"coupon": {
				{Path: "people", Message: "1 of the first 2 cannot be sent to; o2: payload.thing1 has 30 characters: WeChat takes at most 20 characters as a thing"},
				{Path: "template", Message: "nothing fills time3 of the provider's template OPENTM-1 (优惠券到账通知): campaign change --parameter 'time3=${…}', or template set with the same, says which column does"},
			},
			"none": {
				{Path: "people", Message: "1 of the first 2 cannot be sent to; o2: payload.thing1 has 30 characters: WeChat takes at most 20 characters as a thing"},
				{Path: "template", Message: "the provider keeps no template OPENTM-2"},
			},
		} {
			p, err := h.api.Campaigns.Plan(h.Context(), name)
			h.must(err)
			if diff := cmp.Diff(want, p.Problems); diff != "" {
				h.Errorf("%s (-want +got):\n%s", name, diff)
			}
			if len(p.Samples) != 2 || len(p.Samples[0].Problems) != 0 || len(p.Samples[1].Problems) != 1 {
				h.Errorf("the samples are %+v", p.Samples)
			}
		}
		kept := []wire.CampaignParameter{{Name: "thing1", Text: "${name}", Takes: "at most 20 characters"}, {Name: "amount2", Text: "${sum}", Takes: "such as ¥36.5, or 36.5元"}, {Name: "time3", Takes: "such as 15:01, or 2026年10月1日 15:01"}}
		if p, err := h.api.Campaigns.Plan(h.Context(), "coupon"); err != nil || p.ProviderTemplate != "OPENTM-1" || cmp.Diff(kept, p.Mapping) != "" {
			h.Errorf("the provider's template is %q with %+v, %v", p.ProviderTemplate, p.Mapping, err)
		}
		if _, err := h.api.Campaigns.Start(h.Context(), "coupon", false); posthouse.CodeOf(err) != posthouse.CodeConflict || !strings.Contains(err.Error(), "nothing fills time3") {
			h.Errorf("it starts although nothing fills a parameter: %v", err)
		}
		_, err := h.api.Campaigns.Create(h.Context(), wire.CampaignDraft{Name: "long", Channel: "mp", Template: "none"})
		h.must(err)
		long := strings.Repeat("长", 30)
		_, err = h.api.Campaigns.Import(h.Context(), "long", client.Part{Final: true}, strings.NewReader("openid,name,sum\no1,"+long+",20\no2,"+long+",30\n"))
		h.must(err)
		if _, err = h.api.Campaigns.Start(h.Context(), "long", false); posthouse.CodeOf(err) != posthouse.CodeConflict || !strings.Contains(err.Error(), "none of the first 2 can be sent to; o1: payload.thing1 has 30") {
			h.Errorf("it starts although nobody can be sent to: %v", err)
		}
		if _, err = h.api.Campaigns.Start(h.Context(), "long", true); err != nil {
			h.Errorf("it does not start with force: %v", err)
		}
	})
}

// CAMP-8: a campaign says by itself which column fills which parameter, instead of its template; its plan and what is sent follow.
func TestACampaignMapsColumnsToParameters(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.mp("mp", nil)
		_, err := h.api.Templates.Put(h.Context(), posthouse.Template{Name: "coupon", Text: "a coupon", ExternalID: "OPENTM-1", Parameters: map[string]string{"thing1": "${name}"}})
		h.must(err)
		_, err = h.api.Campaigns.Create(h.Context(), wire.CampaignDraft{Name: "spring", Channel: "mp", Template: "coupon"})
		h.must(err)
		_, err = h.api.Campaigns.Import(h.Context(), "spring", client.Part{Final: true}, strings.NewReader("openid,name,nick,sum\no1,张三,Zhang,20\no2,李四,,30\n"))
		h.must(err)
		for _, wrong := range []map[string]string{{"thing1": "${name"}, {"": "x"}} {
			if _, err := h.api.Campaigns.Change(h.Context(), "spring", wire.CampaignChange{Parameters: wrong}); posthouse.CodeOf(err) != posthouse.CodeInvalid {
				h.Errorf("the parameters %v: %v", wrong, err)
			}
		}
		_, err = h.api.Campaigns.Change(h.Context(), "spring", wire.CampaignChange{Parameters: map[string]string{"thing1": "${nick}", "amount2": "¥${sum}", "time3": "2030-10-01"}})
		h.must(err)
		p, err := h.api.Campaigns.Plan(h.Context(), "spring")
		h.must(err)
		if diff := cmp.Diff(map[string]int64{"nick": 1}, p.Missing); diff != "" {
			h.Errorf("an empty cell that fills a parameter (-want +got):\n%s", diff)
		}
		if len(p.Samples) != 2 || string(p.Samples[0].Payload) != `{"amount2":"¥20","thing1":"Zhang","time3":"2030-10-01"}` || len(p.Samples[1].Problems) == 0 {
			h.Errorf("the samples are %+v", p.Samples)
		}
		_, err = h.api.Campaigns.Change(h.Context(), "spring", wire.CampaignChange{Parameters: map[string]string{"thing1": "${name}", "amount2": "¥${sum}", "time3": "2030-10-01"}})
		h.must(err)
		_, err = h.api.Campaigns.Start(h.Context(), "spring", false)
		h.must(err)
		h.eventually("spring is done", func() bool {
			c, err := h.api.Campaigns.Get(h.Context(), "spring")
			h.must(err)
			return c.State == posthouse.CampaignDone && c.Progress.Sent == 2
		})
		var got []string
		for _, a := range h.sim.Arrivals(simulator.Filter{Provider: "wechat"}) {
			got = append(got, a.User+" "+a.Text)
		}
		slices.Sort(got)
		if diff := cmp.Diff([]string{"o1 amount2: ¥20\nthing1: 张三\ntime3: 2030-10-01", "o2 amount2: ¥30\nthing1: 李四\ntime3: 2030-10-01"}, got); diff != "" {
			h.Errorf("what arrived (-want +got):\n%s", diff)
		}
		_, err = h.api.Campaigns.Create(h.Context(), wire.CampaignDraft{Name: "plain", Channel: "mp", Content: &posthouse.Content{Text: "x"}, CampaignRules: posthouse.CampaignRules{Parameters: map[string]string{"thing1": "x"}}})
		if posthouse.CodeOf(err) != posthouse.CodeInvalid {
			h.Errorf("parameters without a template: %v", err)
		}
	})
}
