package campaign

import (
	"cmp"
	"context"
	"errors"
	"math/bits"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/audience"
	"github.com/posthouse/posthouse/internal/work"
)

// codeTold is why a member is left out whom another campaign has told.
const codeTold = "TOLD_RECENTLY"

// recall knows whom campaigns have told.
type recall struct {
	history  History
	segments segmentsRead
	lists    Lists
	importer *Importer
}

// segmentsRead reads where members stand.
type segmentsRead interface {
	Segments(ctx context.Context, campaign string, behind work.SegmentPlace, max int) ([]work.Segment, error)
}

func recallOf(o *Options) recall { return recall{o.History, o.Segments, o.Lists, o.Importer} }

func (r recall) audienceOf(ctx context.Context, c *work.Campaign) (work.Audience, error) {
	return audienceOf(ctx, r.lists, c)
}

// beginTries is how often who was told is looked up anew because another campaign was started meanwhile.
const beginTries = 5

// begin starts a campaign that leaves out whom others have told. It looks up these before it starts, and looks again where
// another campaign of the channel has started since: so of two that are started after each other, the later one knows of the other.
func (r recall) begin(ctx context.Context, c work.Campaign) (work.Campaign, error) {
	a, err := r.audienceOf(ctx, &c)
	if err != nil {
		return c, err
	}
	since := time.Now().Add(-c.NotToldWithin.Std())
	var marks []work.Block
	var seen []work.Campaign
	for try := 0; try < beginTries; try++ {
		others, err := r.others(ctx, &c, since)
		if err != nil {
			return c, err
		}
		news := func(o work.Campaign) bool {
			return !slices.ContainsFunc(seen, func(s work.Campaign) bool { return s.ID == o.ID })
		}
		if try > 0 && !slices.ContainsFunc(others, news) {
			break
		}
		if seen = others; len(others) > 0 {
			if marks, err = r.told(ctx, &a, others, since); err != nil {
				return c, err
			}
		}
	}
	c.StartedAt = time.Now()
	return r.history.BeginCampaign(ctx, c.StartedAt, c, marks)
}

// leavesOut counts the members whom a campaign leaves out: of one that was started those who were marked then, else those whom
// it would leave out now.
func (r recall) leavesOut(ctx context.Context, c *work.Campaign, a *work.Audience) (n int64, err error) {
	if c.NotToldWithin <= 0 || a.State != posthouse.AudienceReady {
		return 0, nil
	}
	count := func(b work.Block) error {
		n += int64(b.N)
		return nil
	}
	if !c.StartedAt.IsZero() {
		err = r.importer.eachBlock(ctx, c.ID, work.PartTold, 0, count)
		return n, err
	}
	since := time.Now().Add(-c.NotToldWithin.Std())
	others, err := r.others(ctx, c, since)
	if err != nil || len(others) == 0 {
		return 0, err
	}
	marks, err := r.told(ctx, a, others, since)
	for _, b := range marks {
		n += int64(b.N)
	}
	return n, err
}

// others are the other campaigns of a campaign's channel that have told somebody since a moment.
func (r recall) others(ctx context.Context, c *work.Campaign, since time.Time) ([]work.Campaign, error) {
	list, err := r.history.CampaignsSince(ctx, c.Tenant, c.Channel, since)
	return slices.DeleteFunc(list, func(o work.Campaign) bool { return o.ID == c.ID }), err
}

// told marks the members of an audience whom other campaigns have told since a moment, or are about to tell. Of campaigns for the
// same list the numbers say it. Of the others it reads the audiences, one after the other; it asks about nobody.
func (r recall) told(ctx context.Context, a *work.Audience, others []work.Campaign, since time.Time) (marks []work.Block, err error) {
	set := audience.NewMarks(a.Last)
	for i := range others {
		if others[i].AudienceID == a.ID {
			if err := r.reached(ctx, &others[i], a, since, set); err != nil {
				return nil, err
			}
		}
	}
	others = slices.DeleteFunc(slices.Clone(others), func(o work.Campaign) bool { return o.AudienceID == a.ID })
	if len(others) > 0 {
		if err := r.elsewhere(ctx, a, others, since, set); err != nil {
			return nil, err
		}
	}
	im := r.importer
	err = set.Stretches(func(first int64, some []byte) error {
		n := 0
		for _, b := range some {
			n += bits.OnesCount8(b)
		}
		marks = append(marks, work.Block{Part: work.PartTold, First: first, N: n, Bytes: im.codec.Squeeze(some)})
		return nil
	})
	return marks, err
}

// elsewhere marks the members of an audience who are, by their addresses, among those whom campaigns for other lists have told.
func (r recall) elsewhere(ctx context.Context, a *work.Audience, others []work.Campaign, since time.Time, set *audience.Marks) (err error) {
	im, all := r.importer, a.Last
	for i := range others {
		all += others[i].Last
	}
	sifter, err := audience.NewSifter(min(all, audience.MaxMembers), im.folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sifter.Close()) }()
	for i := range others {
		if err := r.reachedBy(ctx, &others[i], since, sifter.AddKnown); err != nil {
			return err
		}
	}
	twice := im.Repeated(ctx, *a)
	err = im.eachAddress(ctx, a, func(seq int64, address []byte) error {
		if again, err := twice(seq); err != nil || again || set.Has(seq) {
			return err
		}
		return sifter.Add(seq, address)
	})
	if err == nil {
		err = sifter.Sift(func(int64, []byte) error { return nil })
	}
	for seq := int64(1); seq <= a.Last && err == nil; seq++ {
		if sifter.Has(seq) {
			set.Mark(seq)
		}
	}
	return err
}

// eachAddress calls each for all addresses of an audience, in order.
func (im *Importer) eachAddress(ctx context.Context, a *work.Audience, each func(seq int64, address []byte) error) error {
	return im.eachBlock(ctx, a.ID, work.PartMembers, 1, func(b work.Block) error {
		return im.codec.Addresses(b.Bytes, func(i int, address []byte) error { return each(b.First+int64(i), address) })
	})
}

// reached marks the members of a campaign's audience whom it has told since a moment, or is about to tell.
func (r recall) reached(ctx context.Context, c *work.Campaign, a *work.Audience, since time.Time, told *audience.Marks) error {
	if !c.State.Final() { // whoever is in no segment yet will be
		left, twice := r.importer.leftOut(ctx, c), r.importer.Repeated(ctx, *a)
		for seq := c.Planned + 1; seq <= a.Last; seq++ {
			out, err := left(seq)
			again, wrong := twice(seq)
			if err := cmp.Or(err, wrong); err != nil {
				return err
			}
			if !out && !again {
				told.Mark(seq)
			}
		}
	}
	var behind work.SegmentPlace
	for {
		list, err := r.segments.Segments(ctx, c.ID, behind, resolveSegments)
		if err != nil {
			return err
		}
		for i := range list {
			eachTold(&list[i], !c.State.Final(), since, told.Mark)
			behind = work.SegmentPlace{First: list[i].First, ID: list[i].ID}
		}
		if len(list) < resolveSegments {
			return nil
		}
	}
}

// reachedBy calls each for the addresses of those whom a campaign has told since a moment, or is about to tell.
func (r recall) reachedBy(ctx context.Context, c *work.Campaign, since time.Time, each func(address []byte) error) error {
	a, err := r.audienceOf(ctx, c)
	if err != nil {
		return err
	}
	told := audience.NewMarks(a.Last)
	if err := r.reached(ctx, c, &a, since, told); err != nil || told.Len() == 0 {
		return err
	}
	return r.importer.eachAddress(ctx, &a, func(seq int64, address []byte) error {
		if !told.Has(seq) {
			return nil
		}
		return each(address)
	})
}

// eachTold calls each for the members of a segment who were told since a moment, or may have been. live says that the campaign
// goes on, so that those will be whose turn has not come. When each of them was told is not known: the segment's end counts.
func eachTold(s *work.Segment, live bool, since time.Time, each func(seq int64)) {
	if (s.Status == work.SegmentDone || s.Status == work.SegmentVoid) && s.FinishedAt.Before(since) {
		return
	}
	for i := range Len(s) {
		switch At(s, i) {
		case Unsent:
			if live {
				each(s.First + int64(i))
			}
		case Started, Sent, Delivered, Unknown, HandedOver:
			each(s.First + int64(i))
		}
	}
}

// leftOut is a question whether a campaign leaves a member out, about members in order.
func (im *Importer) leftOut(ctx context.Context, c *work.Campaign) func(seq int64) (bool, error) {
	return im.marked(ctx, c.ID, work.PartTold, c.NotToldWithin > 0)
}

// leaveOut ends those members of new segments whom others have told.
func (s *Steward) leaveOut(ctx context.Context, c *work.Campaign, list []work.Segment) error {
	if c.NotToldWithin <= 0 {
		return nil
	}
	told := s.Importer.leftOut(ctx, c)
	why := work.SegmentReason{Outcome: Suppressed.String(), Code: codeTold, Error: "another campaign of the channel has told it, or is about to: " + c.NotToldWithin.String() + " must lie between"}
	for i := range list {
		seg := &list[i]
		m := Map(seg.Outcomes)
		for at := range Len(seg) {
			if m.At(at) != Unsent {
				continue
			}
			out, err := told(seg.First + int64(at))
			if err != nil {
				return err
			}
			if out {
				m.Exclude(at, Suppressed)
				Note(seg, at, why)
			}
		}
		*seg = sealed(*seg, m)
	}
	return nil
}
