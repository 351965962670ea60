package campaign_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// steward looks after the campaigns of a hall.
func (h *hall) steward() *campaign.Steward {
	return &campaign.Steward{Campaigns: h.store.Campaigns, History: h.store.Campaigns, Segments: h.store.Segments, Counts: h.store.Segments, Lists: h.store.Audiences, Importer: h.importer}
}

// round has a steward do all there is to do at a moment.
func (h *hall) round(s *campaign.Steward, now time.Time) {
	h.Helper()
	for more := true; more; {
		var err error
		if _, more, err = s.Round(h.Context(), now); err != nil {
			h.Fatal(err)
		}
	}
}

func (h *hall) act(d *campaign.Desk, a campaign.Action) wire.Campaign {
	h.Helper()
	c, err := did(h.Context(), d, "spring", a)
	if err != nil {
		h.Fatal(err)
	}
	return c
}

// did does something to a campaign; a start is forced.
func did(ctx context.Context, d *campaign.Desk, name string, a campaign.Action) (wire.Campaign, error) {
	if a == campaign.Start {
		return d.Start(ctx, "t1", work.Program(), name, wire.CampaignStart{Force: true})
	}
	return d.Act(ctx, "t1", name, a)
}

// start writes that a chunk of a segment begins.
func (h *hall) start(s work.Segment) work.Chunk {
	h.Helper()
	is, err := h.store.Segments.StartChunk(h.Context(), time.Now(), s, time.Minute)
	if err != nil {
		h.Fatal(err)
	}
	return is
}

// settled checks where a campaign and all its members stand.
func (h *hall) settled(d *campaign.Desk, state posthouse.CampaignState, want wire.CampaignProgress) wire.Campaign {
	h.Helper()
	c, err := d.Get(h.Context(), "t1", "spring")
	if err != nil {
		h.Fatal(err)
	}
	if diff := cmp.Diff(want, bare(c.Progress)); c.State != state || diff != "" {
		h.Errorf("the campaign is %s, want %s (-want +got):\n%s", c.State, state, diff)
	}
	return c
}

// CAMP-2, CAMP-4, CAMP-5, CAMP-6, CAMP-10: from the start to the end, on each database: whoever has a segment starts nobody
// while the campaign is paused, nor after it was ended, nor after the segment was taken away.
func TestACampaignGoesFromItsStartToItsEnd(t *testing.T) {
	eachDB(t, func(t *testing.T, h *hall) {
		d, made := h.spring(people(120), 20)
		steward, members := h.steward(), made.Progress.Members
		h.act(d, campaign.Start)
		h.round(steward, time.Now())
		if lanes, err := h.store.Segments.DueLanes(t.Context(), time.Now()); err != nil || !cmp.Equal(lanes, []work.Lane{{Tenant: "t1", Channel: "c", Priority: posthouse.Normal}}) {
			t.Errorf("due are %v, %v", lanes, err)
		}
		s := h.claim("w1", time.Minute)
		step(t, &s, 0, campaign.Started)
		if is := h.start(s); is != work.ChunkStarted {
			t.Fatalf("the first chunk: %d", is)
		}
		h.act(d, campaign.Pause)
		step(t, &s, 0, campaign.Failed)
		campaign.Note(&s, 0, work.SegmentReason{Outcome: "failed", Class: posthouse.ClassRecipient, Code: "43004", Error: "does not follow"})
		campaign.Count(&s)
		h.save(s, time.Minute) // a result is taken while it is paused
		paused := s
		step(t, &paused, 1, campaign.Started)
		if is := h.start(paused); is != work.ChunkHalted {
			t.Errorf("a chunk of a paused campaign: %d, want that it is halted", is)
		}
		h.act(d, campaign.Resume)
		if is := h.start(paused); is != work.ChunkStarted {
			t.Errorf("a chunk after the resume: %d", is)
		}
		other := paused
		other.Token++
		if is := h.start(other); is != work.ChunkLost {
			t.Errorf("a chunk with another token: %d, want that it is lost", is)
		}
		h.settled(d, posthouse.CampaignRunning, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: members, Failed: 1, Started: 1, Unsent: members - 2}})
		// Its worker is lost: who was under way is named, and everybody else of it issued anew.
		h.save(paused, -time.Second)
		terms := func(*work.Campaign) (campaign.Terms, bool) { return campaign.Terms{}, true }
		if done, err := steward.Repair(t.Context(), time.Now(), terms); len(done) != 1 || done[paused.Campaign].Segments != 1 || err != nil {
			t.Errorf("%v was repaired, %v; want one segment", done, err)
		}
		if is := h.start(paused); is != work.ChunkLost {
			t.Errorf("a chunk after the repair: %d, want that it is lost", is)
		}
		h.settled(d, posthouse.CampaignRunning, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: members, Failed: 1, Unknown: 1, Unsent: members - 2}})
		// A late answer proves that it was reached.
		err := h.store.Segments.ReviseSegment(t.Context(), time.Now(), paused.ID, func(now work.Segment) (work.Segment, bool) {
			return campaign.Witness(now, 1, campaign.Sent, work.SegmentReason{})
		})
		if err != nil {
			t.Fatal(err)
		}
		c := h.settled(d, posthouse.CampaignRunning, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: members, Failed: 1, Sent: 1, Unsent: members - 2}})
		if want := []wire.CampaignReason{{Outcome: "failed", Class: posthouse.ClassRecipient, Code: "43004", Error: "does not follow", Members: 1}}; !cmp.Equal(c.Progress.Reasons, want) {
			t.Errorf("the reasons are %+v", c.Progress.Reasons)
		}
		last := h.claim("w2", time.Minute)
		h.act(d, campaign.Cancel)
		if is := h.start(last); is != work.ChunkHalted {
			t.Errorf("a chunk after the cancel: %d, want that it is halted", is)
		}
		h.round(steward, time.Now())
		if c := h.settled(d, posthouse.CampaignCancelled, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: members, Failed: 1, Sent: 1, Cancelled: members - 2}}); !c.FinishedAt.IsZero() {
			t.Error("it has an end while somebody still has a segment of it")
		}
		last.Status = work.SegmentFree
		h.save(last, 0)
		h.round(steward, time.Now())
		if c := h.settled(d, posthouse.CampaignCancelled, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: members, Failed: 1, Sent: 1, Cancelled: members - 2}}); c.FinishedAt.IsZero() {
			t.Error("it has no end")
		}
	})
}

// CAMP-5: past the deadline nothing is claimed, and everybody who is left has expired. A process of another epoch starts nobody, and a restored database holds
// its campaigns.
func TestPastItsDeadlineACampaignExpires(t *testing.T) {
	eachDB(t, func(t *testing.T, h *hall) {
		d, made := h.spring(people(60), 20) // its deadline is in an hour
		steward, members := h.steward(), made.Progress.Members
		h.act(d, campaign.Start)
		h.round(steward, time.Now())
		s := h.claim("w1", time.Minute)
		stranger := s
		stranger.Epoch = 7
		if is := h.start(stranger); is != work.ChunkHalted {
			t.Errorf("a chunk of another epoch: %d, want that it is halted", is)
		}
		s.Status = work.SegmentFree
		h.save(s, 0)
		if _, err := h.store.Epochs.BumpEpoch(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		if c := h.settled(d, posthouse.CampaignPaused, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: members, Unsent: members}}); c.Reason != "epoch_hold" {
			t.Errorf("after a restore it is paused for %q", c.Reason)
		}
		h.round(steward, time.Now().Add(2*time.Hour))
		c := h.settled(d, posthouse.CampaignExpired, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: members, Expired: members}})
		if c.FinishedAt.IsZero() || c.Reason != "deadline" {
			t.Errorf("it is %+v", c.Campaign)
		}
		if _, found, err := h.store.Segments.ClaimSegment(t.Context(), time.Now(), claimFor("late", time.Minute)); found || err != nil {
			t.Errorf("a segment was claimed after the end: %v", err)
		}
	})
}
