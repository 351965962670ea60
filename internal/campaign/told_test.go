package campaign_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// making makes a campaign of some people, two a segment.
func (h *hall) making(d *campaign.Desk, name string, apart time.Duration, people ...string) {
	h.Helper()
	_, err := d.Create(h.Context(), "t1", work.Program(), wire.CampaignDraft{
		Name: name, Channel: "c", Content: &posthouse.Content{Text: "hello"}, SegmentSize: 2, CampaignRules: posthouse.CampaignRules{NotToldWithin: posthouse.Duration(apart)},
	})
	if err == nil {
		_, err = d.Import(h.Context(), "t1", name, campaign.Part{Final: true}, strings.NewReader("openid\n"+strings.Join(people, "\n")+"\n"))
	}
	if err != nil {
		h.Fatal(err)
	}
}

func (h *hall) acting(d *campaign.Desk, name string, a campaign.Action) {
	h.Helper()
	if _, err := did(h.Context(), d, name, a); err != nil {
		h.Fatal(err)
	}
}

// leavesOut checks how many a plan says that a campaign leaves out.
func (h *hall) leavesOut(d *campaign.Desk, name string, want int64) {
	h.Helper()
	if plan, err := d.Plan(h.Context(), "t1", name); err != nil || plan.ToldRecently != want {
		h.Errorf("%s leaves out %d, %v; want %d", name, plan.ToldRecently, err, want)
	}
}

// where says where everybody of a campaign stands, and why.
func (h *hall) where(d *campaign.Desk, name string) map[string]string {
	h.Helper()
	out := map[string]string{}
	each, err := d.Export(h.Context(), "t1", name, campaign.MembersOf{})
	if err == nil {
		err = each(func(m wire.CampaignMember) error {
			if out[m.Address] = m.Outcome; m.Reason != nil {
				out[m.Address] += " " + m.Reason.Code
			}
			return nil
		})
	}
	if err != nil {
		h.Fatal(err)
	}
	return out
}

const week = 7 * 24 * time.Hour

// CAMP-9: whom another campaign of the channel has told, may have told or is about to tell is left out and named; who failed there, or
// was left when it ended, is not. A campaign does not count those whom it leaves out itself.
func TestWhoWasToldByAnotherCampaignIsLeftOut(t *testing.T) {
	eachDB(t, func(t *testing.T, h *hall) {
		d, steward := h.desk(), h.steward()
		h.making(d, "first", 0, "o1", "o2", "o3", "o4", "o5", "o6")
		h.making(d, "later", week, "o9", "o1", "o2", "o1", "o3", "o6", "o7")
		h.making(d, "third", week, "o1", "o5", "o6", "o7")
		h.leavesOut(d, "later", 0)
		h.acting(d, "first", campaign.Start)
		h.round(steward, time.Now())
		s := h.claim("w1", time.Minute)
		step(t, &s, 0, campaign.Started, campaign.Sent)
		step(t, &s, 1, campaign.Started, campaign.Failed)
		s.Status = work.SegmentDone
		h.save(s, 0)
		s = h.claim("w2", time.Minute)
		step(t, &s, 0, campaign.Started, campaign.Unknown)
		step(t, &s, 1, campaign.Started)
		h.save(s, -time.Second)
		h.leavesOut(d, "later", 3) // o1, o3 and o6
		h.acting(d, "later", campaign.Start)
		h.acting(d, "first", campaign.Cancel)
		h.leavesOut(d, "third", 2) // o1, and o7 of the later one, which has no segments yet
		h.round(steward, time.Now())
		const out = "suppressed TOLD_RECENTLY"
		if diff := cmp.Diff(map[string]string{"o9": "unsent", "o1": out, "o2": "unsent", "o3": out, "o6": out, "o7": "unsent"}, h.where(d, "later")); diff != "" {
			t.Errorf("the later one (-want +got):\n%s", diff)
		}
		who, err := d.Who(t.Context(), "t1", "later", "o3")
		if err != nil || who.Outcome != "suppressed" || who.Reason == nil || who.Reason.Code != "TOLD_RECENTLY" {
			t.Errorf("o3 is %+v, %v", who, err)
		}
		got, err := d.Get(t.Context(), "t1", "later")
		if diff := cmp.Diff(wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 6, Unsent: 3, Suppressed: 3}}, bare(got.Progress)); err != nil || diff != "" || len(got.Progress.Reasons) != 1 || got.Progress.Reasons[0].Members != 3 {
			t.Errorf("%v, reasons %+v (-want +got):\n%s", err, got.Progress.Reasons, diff)
		}
		h.leavesOut(d, "later", 3) // as it was decided at its start
		h.leavesOut(d, "third", 2)
		h.sinceWhen(map[string]bool{"first": true, "later": true}, "t1", "c", -time.Hour)
		h.sinceWhen(map[string]bool{"later": true}, "t1", "c", time.Hour) // the first has ended before that
		h.sinceWhen(map[string]bool{}, "t1", "d", -time.Hour)
		h.sinceWhen(map[string]bool{}, "t2", "c", -time.Hour)
	})
}

// sinceWhen checks which campaigns have told somebody since so long from now.
func (h *hall) sinceWhen(want map[string]bool, tenant, channel string, from time.Duration) {
	h.Helper()
	list, err := h.store.Campaigns.CampaignsSince(h.Context(), tenant, channel, time.Now().Add(from))
	got := map[string]bool{}
	for _, c := range list {
		got[c.Name] = true
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		h.Errorf("since %s from now, in %s and %s: %v (-want +got):\n%s", from, tenant, channel, err, diff)
	}
}

// meanwhile is a history in which another campaign is started just after it was read for the first time.
type meanwhile struct {
	campaign.History
	start func()
}

func (m *meanwhile) CampaignsSince(ctx context.Context, tenant, channel string, since time.Time) ([]work.Campaign, error) {
	list, err := m.History.CampaignsSince(ctx, tenant, channel, since)
	if m.start != nil {
		m.start()
		m.start = nil
	}
	return list, err
}

// CAMP-9: of two campaigns that are started at once, the one whose start is written later leaves out whom the other tells.
func TestWhoIsToldByACampaignThatStartsMeanwhileIsLeftOut(t *testing.T) {
	eachDB(t, func(t *testing.T, h *hall) {
		d := h.desk()
		h.making(d, "first", week, "o1", "o2")
		h.making(d, "later", week, "o2", "o3")
		between := h.deskOver(&meanwhile{h.store.Campaigns, func() { h.acting(d, "first", campaign.Start) }})
		h.acting(between, "later", campaign.Start)
		h.round(h.steward(), time.Now())
		if diff := cmp.Diff(map[string]string{"o2": "suppressed TOLD_RECENTLY", "o3": "unsent"}, h.where(d, "later")); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if diff := cmp.Diff(map[string]string{"o1": "unsent", "o2": "unsent"}, h.where(d, "first")); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		// A tenant that is removed takes the marks along.
		h.acting(d, "first", campaign.Cancel)
		h.acting(d, "later", campaign.Cancel)
		h.round(h.steward(), time.Now())
		if err := h.store.Tenants.RemoveTenant(t.Context(), time.Now(), "t1", true); err != nil {
			t.Fatal(err)
		}
		var left int
		if err := dbtest.SQL(h, h.dsn).QueryRowContext(t.Context(), "SELECT COUNT(*) FROM posthouse_audience_blocks").Scan(&left); err != nil || left != 0 {
			t.Errorf("%d blocks are left, %v", left, err)
		}
	})
}

// CAMP-9: of a campaign for the same stored list the numbers say whom it has told: its addresses are not read, and whoever stands twice
// in the list counts once.
func TestWhoWasToldByACampaignForTheSameListIsLeftOut(t *testing.T) {
	eachDB(t, func(t *testing.T, h *hall) {
		held := &scale{Audiences: h.store.Audiences}
		var err error
		if h.importer, err = campaign.NewImporter(held, t.TempDir()); err != nil {
			t.Fatal(err)
		}
		d, steward := h.desk(), h.steward()
		if _, err = d.MakeList(t.Context(), "t1", wire.AudienceDraft{Name: "all"}); err == nil {
			_, err = d.ImportList(t.Context(), "t1", "all", campaign.Part{Final: true}, strings.NewReader("openid\no1\no2\no1\no3\no4\no4\n"))
		}
		for name, apart := range map[string]time.Duration{"first": 0, "later": week} {
			if err == nil {
				_, err = d.Create(t.Context(), "t1", work.Program(), wire.CampaignDraft{
					Name: name, Channel: "c", Audience: "all", Content: &posthouse.Content{Text: "hello"}, SegmentSize: 2, CampaignRules: posthouse.CampaignRules{NotToldWithin: posthouse.Duration(apart)},
				})
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		h.acting(d, "first", campaign.Start)
		h.leavesOut(d, "later", 4) // nobody is in a segment yet
		h.round(steward, time.Now())
		s := h.claim("w1", time.Minute)
		step(t, &s, 0, campaign.Started, campaign.Sent)
		step(t, &s, 1, campaign.Started, campaign.Failed)
		s.Status = work.SegmentDone
		h.save(s, 0)
		h.acting(d, "first", campaign.Cancel)
		h.round(steward, time.Now())
		held.read = 0
		h.acting(d, "later", campaign.Start)
		if held.read != 0 {
			t.Errorf("the start reads %d blocks", held.read)
		}
		h.round(steward, time.Now())
		if diff := cmp.Diff(map[string]string{"o1": "suppressed TOLD_RECENTLY", "o2": "unsent", "o3": "unsent", "o4": "unsent"}, h.where(d, "later")); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// A member costs as much again as its import's search for who stands twice, for each campaign that is looked at.
func BenchmarkWhoWasTold(b *testing.B) {
	h := openHall(b, dbtest.SQLite(b))
	d := h.desk()
	people := make([]string, b.N)
	for i := range people {
		people[i] = fmt.Sprintf("o6_bmj%022d", uint64(i)*0x9e3779b97f4a7c15>>3)
	}
	h.making(d, "first", 0, people...)
	h.acting(d, "first", campaign.Start)
	h.making(d, "later", week, people[b.N/2:]...)
	b.ResetTimer()
	plan, err := d.Plan(b.Context(), "t1", "later")
	if err != nil || plan.ToldRecently != int64(b.N-b.N/2) {
		b.Fatalf("%d of %d were told, %v", plan.ToldRecently, b.N, err)
	}
}
