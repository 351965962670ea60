package campaign_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/remind"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// scheduled makes the campaigns of schedules, as a process does.
func (h *hall) scheduled(people *elsewhere) *campaign.Scheduled {
	s := campaign.NewScheduled()
	s.Open(campaign.Fetcher{Desk: h.desk(), Databases: people})
	h.Cleanup(func() { _ = s.Close() })
	return s
}

// Two processes that go on with one slot at the same time make one campaign, with each member once, and it begins once. What was read
// differently before a stop is made anew, and what a person has deleted is not.
func TestASlotsCampaignBeginsOnce(t *testing.T) {
	eachDB(t, func(t *testing.T, h *hall) {
		people := []string{"o1", "o2", "o3", "o4"}
		if _, err := h.desk().Create(t.Context(), "t1", work.Program(), wire.CampaignDraft{Name: "like", Channel: "c", Content: &posthouse.Content{Text: "hello"}}); err != nil {
			t.Fatal(err)
		}
		r := posthouse.Reminder{ID: "bills", Tenant: "t1", Campaign: &posthouse.ScheduledCampaign{Like: "like", Query: &posthouse.ScheduledQuery{Database: "crm", Query: "SELECT"}}}
		at := time.Date(2026, 12, 1, 1, 0, 0, 0, time.UTC)
		slot := posthouse.Slot{At: at, Campaign: "bills-1"}
		begins := func(s *campaign.Scheduled, slot posthouse.Slot) remind.Begun {
			for range 1000 {
				begun, err := s.Start(t.Context(), r, slot)
				switch {
				case err != nil:
					t.Log(err) // the planner puts it off
				case begun != remind.BegunNot:
					return begun
				}
			}
			t.Error("it does not begin")
			return remind.BegunNot
		}
		var wg sync.WaitGroup
		for range 4 {
			s := h.scheduled(&elsewhere{people: people})
			wg.Go(func() {
				if err := s.Make(t.Context(), r, at, slot.Campaign); err != nil {
					t.Error(err)
				}
				if begun := begins(s, slot); begun != remind.BegunNow {
					t.Errorf("begun: %d", begun)
				}
			})
		}
		wg.Wait()
		c, err := h.desk().Get(t.Context(), "t1", slot.Campaign)
		if err != nil || c.State != posthouse.CampaignRunning || c.People.Members != 4 || c.People.Repeated != 0 {
			t.Errorf("it is %+v, %v", c, err)
		}
		list, _, err := h.desk().List(t.Context(), "t1", "", "", 10)
		if err != nil || len(list) != 2 {
			t.Errorf("there are %d campaigns, %v", len(list), err)
		}

		slot = posthouse.Slot{At: at.Add(time.Hour), Campaign: "bills-2"}
		many := make([]string, 50_000)
		for i := range many {
			many[i] = "p" + string(rune('a'+i%26)) + time.Duration(i).String()
		}
		before := h.scheduled(&elsewhere{people: many, after: len(many) - 1})
		if err := before.Make(t.Context(), r, slot.At, slot.Campaign); err != nil {
			t.Fatal(err)
		}
		for range 1000 {
			if _, err := before.Start(t.Context(), r, slot); err != nil {
				break
			}
		}
		if c, err := h.desk().Get(t.Context(), "t1", slot.Campaign); err != nil || c.People.Offset == 0 || c.State != posthouse.CampaignImporting {
			t.Fatalf("after a stop: %+v, %v", c, err)
		}
		after := h.scheduled(&elsewhere{people: slices.Clone(people)})
		if begun := begins(after, slot); begun != remind.BegunAnew {
			t.Errorf("with other people: %d", begun)
		}
		if begun := begins(after, slot); begun != remind.BegunGone {
			t.Errorf("what is gone: %d", begun)
		}
		if err := after.Make(t.Context(), r, slot.At, slot.Campaign); err != nil {
			t.Fatal(err)
		}
		if begun := begins(after, slot); begun != remind.BegunNow {
			t.Errorf("anew: %d", begun)
		}
		if err := after.Drop(t.Context(), "t1", slot.Campaign); err != nil {
			t.Fatal(err)
		}
		if c, err := h.desk().Get(t.Context(), "t1", slot.Campaign); err != nil || c.State != posthouse.CampaignCancelled {
			t.Errorf("dropped: %+v, %v", c, err)
		}
		if err := after.Make(t.Context(), r, slot.At, "like"); err == nil {
			t.Error("another's campaign is taken for the slot's")
		}
	})
}
