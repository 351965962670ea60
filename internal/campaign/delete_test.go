package campaign_test

import (
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// A campaign that goes on and a list that is in use stay; what is deleted takes its members along, a part at a time; and campaigns that
// ended long ago go by themselves.
func TestCampaignsAndListsAreDeleted(t *testing.T) {
	eachDB(t, func(t *testing.T, h *hall) {
		ctx := t.Context()
		c := people(3000)
		d, _ := h.spring(c, 5)
		stored, _ := h.cut("spring")
		from := campaign.Remover{Desk: d}
		refused := func(err error, code posthouse.Code, says string) {
			t.Helper()
			if posthouse.CodeOf(err) != code || !strings.Contains(err.Error(), says) {
				t.Errorf("got %v, want %s: %s", err, code, says)
			}
		}
		h.run(&stored)
		refused(from.Delete(ctx, "t1", "spring"), posthouse.CodeConflict, "cancel it first")
		stored.State, stored.FinishedAt = posthouse.CampaignDone, time.Now()
		var err error
		if stored, err = h.store.Campaigns.StepCampaign(ctx, time.Now(), stored, nil); err != nil {
			t.Fatal(err)
		}
		// A list that two campaigns use, one of which was never started.
		_, err = d.MakeList(ctx, "t1", wire.AudienceDraft{Name: "vip"})
		if err == nil {
			_, err = d.ImportList(ctx, "t1", "vip", campaign.Part{Final: true}, strings.NewReader("openid\no1\n"))
		}
		if err == nil {
			_, err = d.Create(ctx, "t1", work.Program(), wire.CampaignDraft{Name: "summer", Channel: "c", Audience: "vip", Content: &posthouse.Content{Text: "hello"}})
		}
		if err != nil {
			t.Fatal(err)
		}
		refused(from.DeleteList(ctx, "t1", "vip"), posthouse.CodeConflict, "the campaign summer is for the audience vip")
		if err := from.Delete(ctx, "t1", "summer"); err != nil {
			t.Error(err)
		}
		if err := from.DeleteList(ctx, "t1", "vip"); err != nil {
			t.Error(err)
		}
		refused(from.DeleteList(ctx, "t1", "vip"), posthouse.CodeNotFound, "vip")
		prune := func(keep time.Duration) {
			t.Helper()
			for {
				n, err := h.store.Campaigns.PruneCampaigns(ctx, time.Now(), keep, 100)
				if err != nil {
					t.Fatal(err)
				}
				if n < 100 {
					return
				}
			}
		}
		prune(work.Forever)
		prune(time.Hour)
		list, err := h.store.Segments.Segments(ctx, stored.ID, work.SegmentPlace{}, 10_000)
		if _, found, there := h.store.Campaigns.CampaignOf(ctx, stored.ID); err != nil || there != nil || !found || len(list) < 500 {
			t.Errorf("a campaign that has just ended: %t with %d segments, %v", found, len(list), err)
		}
		prune(-time.Minute)
		if _, err := d.Get(ctx, "t1", "spring"); posthouse.CodeOf(err) != posthouse.CodeNotFound {
			t.Errorf("a campaign that ended long ago: %v, want not found", err)
		}
		list, err = h.store.Segments.Segments(ctx, stored.ID, work.SegmentPlace{}, 10_000)
		blocks, wrong := h.store.Audiences.Blocks(ctx, stored.AudienceID, work.PartMembers, 1, 100)
		if err != nil || wrong != nil || len(list)+len(blocks) > 0 {
			t.Errorf("%d segments and %d blocks are left, %v, %v", len(list), len(blocks), err, wrong)
		}
	})
}
