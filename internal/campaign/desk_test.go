package campaign_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// desk is where campaigns of the channel "c" are made.
func (h *hall) desk() *campaign.Desk { return h.deskOver(h.store.Campaigns) }

// deskOver is such a desk that knows what has happened from somewhere else.
func (h *hall) deskOver(history campaign.History) *campaign.Desk {
	ch := &state.Channel{Settings: state.Settings{Limits: []posthouse.Limit{{Max: 10, Per: posthouse.Duration(time.Minute)}}}}
	return campaign.NewDesk(campaign.Options{
		Campaigns: h.store.Campaigns, History: history, Segments: h.store.Segments, Lists: h.store.Audiences, Templates: h.store.Templates, Importer: h.importer,
		Channels: func(string) []string { return []string{"c"} },
		Channel: func(_, name string) *state.Channel {
			if name == "c" {
				return ch
			}
			return nil
		},
	})
}

// spring is a campaign whose audience is imported.
func (h *hall) spring(c crowd, size int) (d *campaign.Desk, made wire.Campaign) {
	h.Helper()
	d = h.desk()
	_, err := d.Create(h.Context(), "t1", work.Program(), wire.CampaignDraft{Name: "spring", Channel: "c", Kind: "coupon", Content: &posthouse.Content{Text: "hello"}, SegmentSize: size, Deadline: time.Now().Add(time.Hour)})
	if err == nil {
		_, err = d.Import(h.Context(), "t1", "spring", campaign.Part{Final: true}, strings.NewReader(c.file))
	}
	if err == nil {
		made, err = d.Get(h.Context(), "t1", "spring")
	}
	if err != nil {
		h.Fatal(err)
	}
	return d, made
}

// cut plans the segments of a campaign and returns them.
func (h *hall) cut(name string) (work.Campaign, []work.Segment) {
	h.Helper()
	c, _, err := h.store.Campaigns.Campaign(h.Context(), "t1", name)
	if err != nil {
		h.Fatal(err)
	}
	a, _, err := h.store.Audiences.Audience(h.Context(), "t1", c.AudienceID)
	if err != nil {
		h.Fatal(err)
	}
	twice := h.importer.Repeated(h.Context(), a)
	list := campaign.Cut(&c, 1, a.Last, func(seq int64) bool {
		again, err := twice(seq)
		if err != nil {
			h.Fatal(err)
		}
		return again
	})
	c.Planned = a.Last
	if c, err = h.store.Campaigns.StepCampaign(h.Context(), time.Now(), c, list); err != nil {
		h.Fatal(err)
	}
	return c, list
}

// CAMP-2, CAMP-3, CAMP-10: segments are stored with where each member stands; progress, look-up and export say it; readers of
// the database see the document's names.
func TestProgressAndExportSayWhereEverybodyStands(t *testing.T) {
	eachDB(t, func(t *testing.T, h *hall) {
		c := people(500)
		d, made := h.spring(c, 50)
		all := wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: int64(len(c.unique)), Unsent: int64(len(c.unique))}}
		if made.State != posthouse.CampaignReady || !cmp.Equal(bare(made.Progress), all) {
			t.Fatalf("before it is cut: %+v", made)
		}
		stored, list := h.cut("spring")
		if got, err := d.Get(t.Context(), "t1", "spring"); err != nil || !cmp.Equal(bare(got.Progress), all) {
			t.Errorf("after it was cut: %+v, %v", got.Progress, err)
		}
		// Two are sent to, one of them under way when its worker is lost; what is left of their segment is issued anew.
		h.run(&stored)
		s := h.claim("w1", -time.Second)
		step(t, &s, 0, campaign.Started, campaign.Sent)
		step(t, &s, 1, campaign.Started)
		h.save(s, -time.Second)
		void, issued := campaign.Repair(h.left(1)[0], campaign.Terms{}, time.Now(), 0)
		if done, err := h.store.Segments.ReplaceSegment(t.Context(), time.Now(), s, void, issued); err != nil || !done {
			t.Fatalf("repair: %t, %v", done, err)
		}
		want := all
		want.Unsent, want.Sent, want.Unknown = all.Unsent-2, 1, 1
		if got, err := d.Get(t.Context(), "t1", "spring"); err != nil || !cmp.Equal(bare(got.Progress), want) {
			t.Errorf("after the repair: %+v, %v; want %+v", got.Progress, err, want)
		}
		each, err := d.Export(t.Context(), "t1", "spring", campaign.MembersOf{})
		if err != nil {
			t.Fatal(err)
		}
		var seqs []int64
		err = each(func(m wire.CampaignMember) error {
			seqs = append(seqs, m.Seq)
			outcome, segment := "unsent", list[(m.Seq-1)/50].ID
			switch {
			case m.Seq == 1:
				outcome = "sent"
			case m.Seq == 2:
				outcome = "unknown"
			case m.Seq <= 50:
				segment = issued[0].ID
			}
			if c.unique[m.Address] != m.Seq || m.Segment != segment || m.Outcome != outcome {
				t.Errorf("%+v, want the number %d, %s in %s", m, c.unique[m.Address], outcome, segment)
			}
			who, err := d.Who(t.Context(), "t1", "spring", m.Address)
			if m.Seq < 60 {
				if diff := cmp.Diff(m, who); diff != "" || err != nil {
					t.Errorf("who %s: %v (-export +who):\n%s", m.Address, err, diff)
				}
			}
			return nil
		})
		if err != nil || len(seqs) != len(c.unique) || !slices.IsSorted(seqs) {
			t.Errorf("the export has %d members, %v; want %d", len(seqs), err, len(c.unique))
		}
		h.seesTheDocumentsNames(&stored, &void)
	})
}

// bare is how many stand where, without the reasons.
func bare(p wire.CampaignProgress) wire.CampaignProgress {
	p.Reasons, p.PerSecond, p.Left = nil, 0, 0
	return p
}

// seesTheDocumentsNames reads a void segment as the document's programs would.
func (h *hall) seesTheDocumentsNames(c *work.Campaign, void *work.Segment) {
	h.Helper()
	var name, main, kind string
	var from, to, status int64
	var finished, added, deadline, overtime any
	row := dbtest.SQL(h, h.dsn).QueryRowContext(h.Context(), "SELECT task_name, task_main_id, task_snum, task_enum, task_status, task_type, task_finishtime, add_time, deadline, overtime FROM wechat_template_msg_task WHERE id = '"+void.ID+"'")
	if err := row.Scan(&name, &main, &from, &to, &status, &kind, &finished, &added, &deadline, &overtime); err != nil {
		h.Fatal(err)
	}
	if name != "spring" || main != c.ID || from != 1 || to != 50 || status != 4 || kind != "coupon" || finished == nil || added == nil || deadline == nil || overtime != nil {
		h.Errorf("the view says %q of %s, %d to %d, status %d, type %q, finished %v, added %v, deadline %v, overtime %v", name, main, from, to, status, kind, finished, added, deadline, overtime)
	}
}

// run lets a campaign send.
func (h *hall) run(c *work.Campaign) {
	h.Helper()
	c.State = posthouse.CampaignRunning
	stepped, err := h.store.Campaigns.StepCampaign(h.Context(), time.Now(), *c, nil)
	if err != nil {
		h.Fatal(err)
	}
	*c = stepped
}

func claimFor(owner string, lease time.Duration) work.SegmentClaim {
	return work.SegmentClaim{Lane: work.Lane{Tenant: "t1", Channel: "c", Priority: posthouse.Normal}, Owner: owner, Lease: lease, Epoch: 1}
}

// claim takes a segment that there must be.
func (h *hall) claim(owner string, lease time.Duration) work.Segment {
	h.Helper()
	s, found, err := h.store.Segments.ClaimSegment(h.Context(), time.Now(), claimFor(owner, lease))
	if err != nil || !found || s.Status != work.SegmentClaimed || s.Owner != owner || s.Token == 0 {
		h.Fatalf("claim a segment: %+v, %t, %v", s, found, err)
	}
	return s
}

// save writes a segment that must still be its owner's.
func (h *hall) save(s work.Segment, lease time.Duration) {
	h.Helper()
	if held, err := h.store.Segments.SaveSegments(h.Context(), time.Now(), []work.Segment{s}, nil, lease); err != nil || !held[0] {
		h.Fatalf("write a segment: %v, %v", held, err)
	}
}

// left are the segments to repair.
func (h *hall) left(n int) []work.Segment {
	h.Helper()
	list, err := h.store.Segments.LeftSegments(h.Context(), time.Now(), 10)
	if err != nil || len(list) != n {
		h.Fatalf("%d segments were left, %v; want %d", len(list), err, n)
	}
	return list
}

// step moves a member of a segment.
func step(t *testing.T, s *work.Segment, i int, to ...campaign.Outcome) {
	t.Helper()
	for _, o := range to {
		if err := campaign.Map(s.Outcomes).Step(i, o); err != nil {
			t.Fatal(err)
		}
	}
	s.Counts = campaign.Map(s.Outcomes).Count(campaign.Len(s))
}

// CAMP-4: of many who claim at once, one has each segment; who has lost it writes no more.
func TestASegmentIsOwnedByExactlyOneWorker(t *testing.T) {
	eachDB(t, func(t *testing.T, h *hall) {
		h.spring(people(200), 20)
		stored, list := h.cut("spring")
		if _, found, err := h.store.Segments.ClaimSegment(t.Context(), time.Now(), claimFor("early", time.Minute)); found || err != nil {
			t.Fatalf("a campaign that does not run gave a segment: %v", err)
		}
		h.run(&stored)
		var mu sync.Mutex
		owners := map[string][]string{}
		var workers sync.WaitGroup
		for w := range 6 {
			workers.Go(func() {
				owner := fmt.Sprint("w", w)
				for {
					s, found, err := h.store.Segments.ClaimSegment(t.Context(), time.Now(), claimFor(owner, time.Minute))
					if err != nil {
						t.Error(err)
					}
					if !found {
						return // the others have what was looked at
					}
					mu.Lock()
					owners[s.ID] = append(owners[s.ID], owner)
					mu.Unlock()
				}
			})
		}
		workers.Wait()
		free := 0
		for _, s := range list {
			if s.Status == work.SegmentFree {
				free++
			}
			if n := len(owners[s.ID]); n > 1 {
				t.Errorf("the segment from %d on has the owners %v", s.First, owners[s.ID])
			}
		}
		for len(owners) < free { // those that nobody found in the crowd
			owners[h.claim("last", time.Minute).ID] = nil
		}
		if _, found, err := h.store.Segments.ClaimSegment(t.Context(), time.Now(), claimFor("late", time.Minute)); found || err != nil {
			t.Errorf("there was one more segment: %v", err)
		}
		h.left(0) // none of them has lost its owner
	})
}

// An owner whose lease has ended goes on as long as nobody has taken its segment. A repair that read the segment before, and comes after
// the owner has left it again, would issue anew whom the owner has started meanwhile.
func TestARepairOfWhatItsOwnerHasChangedSinceIsNone(t *testing.T) {
	eachDB(t, func(t *testing.T, h *hall) {
		h.spring(people(20), 20)
		stored, _ := h.cut("spring")
		h.run(&stored)
		s := h.claim("slow", -time.Second)
		read := h.left(1)[0]
		void, issued := campaign.Repair(read, campaign.Terms{}, time.Now(), 0)
		if err := campaign.Map(s.Outcomes).Step(0, campaign.Started); err != nil {
			t.Fatal(err)
		}
		campaign.Count(&s)
		if is, err := h.store.Segments.StartChunk(t.Context(), time.Now(), s, -time.Second); is != work.ChunkStarted || err != nil {
			t.Fatalf("an owner whose segment nobody took: %v, %v", is, err)
		}
		if done, err := h.store.Segments.ReplaceSegment(t.Context(), time.Now(), read, void, issued); done || err != nil {
			t.Errorf("a repair by the map of before: done %t, %v", done, err)
		}
		void, issued = campaign.Repair(h.left(1)[0], campaign.Terms{}, time.Now(), 0)
		if done, err := h.store.Segments.ReplaceSegment(t.Context(), time.Now(), h.left(1)[0], void, issued); !done || err != nil {
			t.Errorf("a repair by the map of now: done %t, %v", done, err)
		}
		if n := void.Counts[campaign.Unknown]; n != 1 {
			t.Errorf("%d members are unknown, want the one who was started", n)
		}
	})
}

// CAMP-6, CAMP-7: a repair voids and issues in one step, once; whoever had the segment writes no more.
func TestARepairIsDoneOnceAndFencesTheOwner(t *testing.T) {
	eachDB(t, func(t *testing.T, h *hall) {
		h.spring(people(40), 20)
		stored, _ := h.cut("spring")
		h.run(&stored)
		s := h.claim("slow", -time.Second)
		held := h.claim("quick", time.Minute)
		left := h.left(1)[0]
		if left.ID != s.ID {
			t.Fatalf("the segment from %d on was left, want that from %d on", left.First, s.First)
		}
		void, issued := campaign.Repair(left, campaign.Terms{}, time.Now(), 0)
		for i, want := range []bool{true, false} {
			if done, err := h.store.Segments.ReplaceSegment(t.Context(), time.Now(), left, void, issued); err != nil || done != want {
				t.Errorf("repair %d: %t, %v", i+1, done, err)
			}
		}
		if still, err := h.store.Segments.SaveSegments(t.Context(), time.Now(), []work.Segment{s}, nil, time.Minute); still[0] || err != nil {
			t.Errorf("the owner of a void segment wrote it: %v", err)
		}
		void, issued = campaign.Repair(held, campaign.Terms{}, time.Now(), 0)
		if done, err := h.store.Segments.ReplaceSegment(t.Context(), time.Now(), held, void, issued); done || err != nil {
			t.Errorf("a segment whose lease goes on was repaired: %v", err)
		}
		// One that its owner gives up for a reason is repaired at once.
		held.Status, held.Reason = work.SegmentPartly, "quota"
		h.save(held, 0)
		if left := h.left(1)[0]; left.ID != held.ID || left.Reason != "quota" {
			t.Errorf("left is %+v", left)
		}
		list, err := h.store.Segments.Segments(t.Context(), stored.ID, work.SegmentPlace{}, 10)
		if err != nil || len(list) != 3 {
			t.Errorf("there are %d segments, %v: want two and the one that was issued", len(list), err)
		}
	})
}
