package campaign_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// scale weighs what is held of an audience at once.
type scale struct {
	campaign.Audiences
	writes, most int // of members, and the blocks of the largest one
	read         int // blocks since it was set to 0
}

func (s *scale) Append(ctx context.Context, now time.Time, a work.Audience, blocks []work.Block) (work.Audience, error) {
	if len(blocks) > 0 && blocks[0].Part == work.PartMembers {
		s.writes, s.most = s.writes+1, max(s.most, len(blocks))
	}
	return s.Audiences.Append(ctx, now, a, blocks)
}

func (s *scale) Blocks(ctx context.Context, audience, part string, from int64, max int) ([]work.Block, error) {
	list, err := s.Audiences.Blocks(ctx, audience, part, from, max)
	s.read += len(list)
	return list, err
}

func (s *scale) BlockAt(ctx context.Context, audience, part string, at int64) (work.Block, bool, error) {
	s.read++
	return s.Audiences.BlockAt(ctx, audience, part, at)
}

// cuts notes how many segments each step makes.
type cuts struct {
	campaign.Live
	steps, most int
}

func (c *cuts) StepCampaign(ctx context.Context, now time.Time, camp work.Campaign, cut []work.Segment) (work.Campaign, error) {
	if len(cut) > 0 {
		c.steps, c.most = c.steps+1, max(c.most, len(cut))
	}
	return c.Live.StepCampaign(ctx, now, camp, cut)
}

// CAMP-11: an import, a plan, a segment's sending and a look-up hold as much of an audience as one of them needs, however large it is
// and wherever in it they are.
func TestCAMP11_WhatIsHeldDoesNotGrowWithTheAudience(t *testing.T) {
	const n, size = 25_000, 100
	var file strings.Builder
	file.WriteString("openid,name\n")
	for i := range n {
		fmt.Fprintf(&file, "o%d,n%d\n", i, i)
	}
	eachDB(t, func(t *testing.T, h *hall) {
		held := &scale{Audiences: h.store.Audiences}
		var err error
		if h.importer, err = campaign.NewImporter(held, t.TempDir()); err != nil {
			t.Fatal(err)
		}
		d, made := h.spring(crowd{file: file.String()}, size)
		if made.People.Members != n || held.writes < 2 || held.most > 16 { // of a thousand people each
			t.Errorf("%d members are stored by %d writes of at most %d blocks", made.People.Members, held.writes, held.most)
		}
		h.act(d, campaign.Start)
		steward, planned := h.steward(), &cuts{Live: h.store.Campaigns}
		steward.Campaigns = planned
		h.round(steward, time.Now())
		if planned.steps != 2 || planned.most != 200 {
			t.Errorf("%d segments are made in %d steps of at most %d", n/size, planned.steps, planned.most)
		}
		h.reads(held, made, 1, n/2, n)
	})
}

// reads checks what is read of a campaign for the segments that have some members, and for these.
func (h *hall) reads(held *scale, made wire.Campaign, members ...int64) {
	h.Helper()
	d := h.desk()
	post := campaign.Post{Campaigns: h.store.Campaigns, Lists: h.store.Audiences, Templates: h.store.Templates, Importer: h.importer}
	for _, seq := range members {
		list, err := h.store.Segments.SegmentsIn(h.Context(), made.ID, seq, seq, campaign.MaxSegment)
		if err != nil || len(list) != 1 {
			h.Fatalf("%d segments have the member %d, %v", len(list), seq, err)
		}
		held.read = 0
		leg, err := post.Leg(h.Context(), &list[0])
		if err != nil || len(leg.Members) != campaign.Len(&list[0]) || held.read > 2 {
			h.Errorf("the segment of the member %d is read by %d blocks, %v", seq, held.read, err)
		}
		held.read = 0
		who, err := d.Who(h.Context(), "t1", "spring", fmt.Sprint("o", seq-1))
		if err != nil || who.Seq != seq || held.read > 2 {
			h.Errorf("the member %d is found as %+v by %d blocks, %v", seq, who, held.read, err)
		}
	}
}
