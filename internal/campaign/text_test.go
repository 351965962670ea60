package campaign_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// What calls everybody is named by the plan, and starts on behalf of those alone who may: the text may be another than when the campaign was made.
func TestACampaignThatCallsEverybodyIsNamedAndNeedsTheGrant(t *testing.T) {
	eachDB(t, func(t *testing.T, h *hall) {
		d := h.desk()
		if _, err := d.Create(t.Context(), "t1", work.Program(), wire.CampaignDraft{Name: "spring", Channel: "c", OwnText: &wire.CampaignText{Text: "hello"}}); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Import(t.Context(), "t1", "spring", campaign.Part{Final: true}, strings.NewReader("openid\no1\n")); err != nil {
			t.Fatal(err)
		}
		plans := func(want ...wire.Flaw) {
			t.Helper()
			if p, err := d.Plan(t.Context(), "t1", "spring"); err != nil || len(p.Problems) != len(want) || len(want) > 0 && p.Problems[0].Path != want[0].Path {
				t.Errorf("the plan says %+v, %v; want %+v", p.Problems, err, want)
			}
		}
		plans()
		if _, err := d.Change(t.Context(), "t1", work.Program(), "spring", wire.CampaignChange{OwnText: &wire.CampaignText{Text: "hello <@all>"}}); err != nil {
			t.Fatal(err)
		}
		plans(wire.Flaw{Path: "content.text"})
		narrow := work.Caller{Sight: work.SeeAll()}
		for _, in := range []wire.CampaignStart{{}, {Force: true}, {At: time.Now().Add(time.Hour), Force: true}} {
			if _, err := d.Start(t.Context(), "t1", narrow, "spring", in); posthouse.CodeOf(err) != posthouse.CodeForbidden {
				t.Errorf("%+v: a key without the grant starts it: %v", in, err)
			}
		}
		if _, err := d.Start(t.Context(), "t1", work.Program(), "spring", wire.CampaignStart{}); err != nil {
			t.Errorf("a key with the grant does not start it: %v", err)
		}
	})
}

// A campaign has a text of its own with columns in it, which may be written after its file is there, and changed until it begins. What
// another change would make is shown without keeping it, and a copy has a text of its own.
func TestACampaignHasATextOfItsOwn(t *testing.T) {
	eachDB(t, func(t *testing.T, h *hall) {
		d := h.desk()
		change := func(name string, in wire.CampaignChange) (wire.Campaign, error) {
			return d.Change(t.Context(), "t1", work.Program(), name, in)
		}
		gets := func(name string) (list []string) {
			p, err := d.Plan(t.Context(), "t1", name)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range p.Samples {
				list = append(list, s.Content.Text)
			}
			return list
		}
		draft := wire.CampaignDraft{Name: "spring", Channel: "c", OwnText: &wire.CampaignText{}}
		if _, err := d.Create(t.Context(), "t1", work.Program(), draft); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Import(t.Context(), "t1", "spring", campaign.Part{Final: true}, strings.NewReader("openid,name,sum\no1,Ann,20\no2,,30\n")); err != nil {
			t.Fatal(err)
		}
		p, err := d.Plan(t.Context(), "t1", "spring")
		if err != nil || !cmp.Equal(p.Problems, []wire.Flaw{{Path: "own_text", Message: "is not written yet"}}) {
			t.Errorf("without its text the plan says %+v, %v", p.Problems, err)
		}
		if _, err := d.Start(t.Context(), "t1", work.Program(), "spring", wire.CampaignStart{Force: true}); posthouse.CodeOf(err) != posthouse.CodeConflict || !strings.Contains(err.Error(), "not written yet") {
			t.Errorf("it starts without its text: %v", err)
		}

		text := func(text string) wire.CampaignChange {
			return wire.CampaignChange{OwnText: &wire.CampaignText{Text: text}}
		}
		shown, err := d.Samples(t.Context(), "t1", work.Program(), "spring", text("${name}: ${sum}"))
		if err != nil || len(shown.Samples) != 2 || shown.Members != 2 || shown.Bad != 1 || !cmp.Equal(shown.Missing, map[string]int64{"name": 1}) {
			t.Fatalf("what it would make is %+v, %v", shown, err)
		}
		if a, b := shown.Samples[0].Content.Text, shown.Samples[1].Content.Text; a != "Ann: 20" || b != "${name}: 30" {
			t.Errorf("what it would make is %q and %q", a, b)
		}
		if p, err := d.Plan(t.Context(), "t1", "spring"); err != nil || len(p.Samples) != 0 {
			t.Errorf("what was only looked at is kept: %+v, %v", p.Samples, err)
		}
		for _, wrong := range []struct {
			in   wire.CampaignChange
			path string
		}{{text("${name"), "own_text.text"}, {text(""), "own_text.text"}, {wire.CampaignChange{OwnText: &wire.CampaignText{Text: "x"}, Template: "y"}, "own_text"}} {
			if _, err := change("spring", wrong.in); !cmp.Equal(problems(err), []string{wrong.path}) {
				t.Errorf("%+v: %v", wrong.in, err)
			}
			if _, err := d.Samples(t.Context(), "t1", work.Program(), "spring", wrong.in); !cmp.Equal(problems(err), []string{wrong.path}) {
				t.Errorf("%+v is looked at: %v", wrong.in, err)
			}
		}
		for _, next := range []string{"${sum} for you", "Take ${sum}"} {
			if _, err := change("spring", text(next)); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff([]string{"Take 20", "Take 30"}, gets("spring")); diff != "" {
			t.Errorf("what they get (-want +got):\n%s", diff)
		}
		if _, err := d.Clone(t.Context(), "t1", work.Program(), "spring", wire.CampaignClone{Name: "copy"}); err != nil {
			t.Fatal(err)
		}
		if _, err := change("spring", text("Now ${sum}")); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"Take 20", "Take 30"}, gets("copy")); diff != "" {
			t.Errorf("the copy follows the first (-want +got):\n%s", diff)
		}
		if _, err := change("copy", wire.CampaignChange{Content: &posthouse.Content{Text: "the same for all"}}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"the same for all", "the same for all"}, gets("copy")); diff != "" {
			t.Errorf("a content instead (-want +got):\n%s", diff)
		}
		if _, err := d.Start(t.Context(), "t1", work.Program(), "spring", wire.CampaignStart{}); err != nil {
			t.Fatal(err)
		}
		if _, err := change("spring", text("too late")); posthouse.CodeOf(err) != posthouse.CodeConflict {
			t.Errorf("after the start: %v", err)
		}
		c, err := d.Get(t.Context(), "t1", "spring")
		kept, failed := h.store.Templates.Template(t.Context(), "t1", c.Template, 0)
		if err != nil || failed != nil || kept.Text != "Now ${sum}" || kept.Version != c.Version {
			t.Errorf("it goes by %+v, version %d: %v, %v", kept, c.Version, err, failed)
		}
		all := func() (n int) {
			list, _, err := h.store.Templates.Templates(t.Context(), "t1", "", 100)
			if err != nil {
				t.Fatal(err)
			}
			return len(list)
		}
		before := all()
		if err := (campaign.Remover{Desk: d}).Delete(t.Context(), "t1", "copy"); err != nil || all() != before-1 {
			t.Errorf("a campaign is deleted, and of %d templates there are %d: %v", before, all(), err)
		}
	})
}

// A forecast is what the limits let through, step by step: all of them at the end, and as many as a window has in each.
func TestAForecastFollowsTheLimits(t *testing.T) {
	t.Parallel()
	from := time.Date(2030, 10, 1, 8, 30, 0, 0, time.UTC)
	limits := func(list ...posthouse.Limit) *state.Channel {
		return &state.Channel{Settings: state.Settings{Limits: list}}
	}
	hour := posthouse.Duration(time.Hour)
	for name, c := range map[string]struct {
		ch     *state.Channel
		n      int64
		spread time.Duration
		step   time.Duration
		want   []int64
	}{
		"no limit":              {limits(), 10, 0, 0, nil},
		"nobody":                {limits(posthouse.Limit{Max: 1, Per: hour}), 0, 0, 0, nil},
		"an hour's windows":     {limits(posthouse.Limit{Max: 100, Per: hour}), 1000, 0, 15 * time.Minute, nil},
		"a spread":              {limits(), 120, 2 * time.Hour, 5 * time.Minute, nil},
		"two windows":           {limits(posthouse.Limit{Max: 10, Per: posthouse.Duration(time.Minute)}, posthouse.Limit{Max: 60, Per: hour}), 130, 0, 5 * time.Minute, nil},
		"a minute":              {limits(posthouse.Limit{Max: 20, Per: posthouse.Duration(time.Minute)}), 50, 0, time.Minute, []int64{20, 20, 10}},
		"years":                 {limits(posthouse.Limit{Max: 1, Per: 24 * hour}), 1 << 40, 0, 0, nil},
		"a limit that is wider": {limits(posthouse.Limit{Max: 1 << 30, Per: hour}), 10, time.Minute, time.Minute, []int64{10}},
	} {
		step, got := campaign.Forecast(c.n, c.ch, "", c.spread, from)
		var sum int64
		var each []int64
		for _, one := range got {
			sum, each = sum+one.Members, append(each, one.Members)
		}
		if step.Std() != c.step || step > 0 && sum != c.n || len(got) > 48 || c.want != nil && !cmp.Equal(each, c.want) {
			t.Errorf("%s: %v in steps of %v, together %d", name, each, step, sum)
		}
	}
}
