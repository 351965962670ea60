package campaign

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/audience"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Who is the member with an address, and where it stands.
func (d *Desk) Who(ctx context.Context, tenant, name, address string) (out wire.CampaignMember, err error) {
	c, err := d.named(ctx, tenant, name)
	if err != nil {
		return out, err
	}
	if address == "" {
		return out, posthouse.Invalid("nobody can be looked up", []posthouse.Problem{{Path: "query.address", Message: "is required"}})
	}
	a, err := d.audienceOf(ctx, &c)
	if err != nil {
		return out, err
	}
	if a.State != posthouse.AudienceReady {
		return out, posthouse.Errorf(posthouse.CodeConflict, "the import is not complete: nobody can be looked up yet")
	}
	kept := address
	if ch := d.o.Channel(tenant, c.Channel); ch != nil {
		kept = ch.Kept(address)
	}
	m, found, err := d.o.Importer.Find(ctx, a, kept)
	if err == nil && !found && kept != address { // in a list that is for no channel, addresses stand as they came
		m, found, err = d.o.Importer.Find(ctx, a, address)
	}
	if err != nil {
		return out, err
	}
	if !found {
		return out, posthouse.Errorf(posthouse.CodeNotFound, "nobody with that address is in the audience of %s", c.Name)
	}
	segments, err := d.o.Segments.SegmentsIn(ctx, c.ID, m.Seq, m.Seq, MaxSegment)
	return shown(&c, m, segments), err
}

// shown is a member with where it stands: in the segment that has it.
func shown(c *work.Campaign, m audience.Member, segments []work.Segment) wire.CampaignMember {
	out := wire.CampaignMember{Seq: m.Seq, Address: m.Address, Variables: m.Variables, Outcome: outside(c).String()}
	for i := range segments {
		s := &segments[i]
		if m.Seq < s.First || m.Seq > s.Last {
			continue
		}
		if o := At(s, int(m.Seq-s.First)); o != Elsewhere {
			out.Outcome, out.Segment, out.Reason, out.Account = o.String(), s.ID, nil, ""
			if reaches[o] {
				out.Account = AccountOf(s, int(m.Seq-s.First))
			}
			if r := reasonOf(s, int(m.Seq-s.First)); r != nil && r.Outcome == out.Outcome {
				told := reasonShown(*r)
				out.Reason = &told
			}
		}
	}
	return out
}

// reaches has the outcomes of those to whom something was sent, or may have been.
var reaches = map[Outcome]bool{Started: true, Sent: true, Delivered: true, Undelivered: true, Failed: true, Unknown: true}

// exportMembers is how many members are put together at once.
const exportMembers = 1000

// MembersOf says of which members is told.
type MembersOf struct {
	Outcome string // where they stand, empty for all
	Code    string // of the reason, empty for all
	Limit   int64  // how many at most, 0 for all
}

// Export calls each for members and where they stand, in the order of the file.
func (d *Desk) Export(ctx context.Context, tenant, name string, of MembersOf) (func(each func(wire.CampaignMember) error) error, error) {
	c, err := d.named(ctx, tenant, name)
	if err != nil {
		return nil, err
	}
	a, err := d.audienceOf(ctx, &c)
	if err != nil {
		return nil, err
	}
	return func(each func(wire.CampaignMember) error) error {
		twice, told := d.o.Importer.Repeated(ctx, a), int64(0)
		for first := int64(1); first <= a.Last; first += exportMembers {
			last := min(first+exportMembers-1, a.Last)
			segments, err := d.o.Segments.SegmentsIn(ctx, c.ID, first, last, MaxSegment)
			if err != nil {
				return err
			}
			if !mayHave(&c, segments, of) { // of millions, few may stand there
				continue
			}
			err = d.o.Importer.Members(ctx, a, first, last, func(m audience.Member) error {
				if again, err := twice(m.Seq); err != nil || again {
					return err
				}
				out := shown(&c, m, segments)
				if of.Outcome != "" && out.Outcome != of.Outcome || of.Code != "" && (out.Reason == nil || out.Reason.Code != of.Code) {
					return nil
				}
				if told++; of.Limit > 0 && told > of.Limit {
					return errEnough
				}
				return each(out)
			})
			if errors.Is(err, errEnough) {
				return nil
			}
			if err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// mayHave reports whether one of some segments may have members of whom is told. Of a code, the segments' reasons tell; who stands outside
// of all segments is told of in any case.
func mayHave(c *work.Campaign, segments []work.Segment, of MembersOf) bool {
	if of.Outcome == "" && of.Code == "" || of.Code == "" && outside(c).String() == of.Outcome {
		return true
	}
	for i := range segments {
		s := &segments[i]
		for at := range Len(s) {
			if o := At(s, at); of.Outcome != "" && o.String() == of.Outcome || of.Outcome == "" && reasonOf(s, at) != nil {
				return true
			}
		}
	}
	return false
}

// Refused calls each for what could not be read of the campaign's file, in its order.
func (d *Desk) Refused(ctx context.Context, tenant, name string) (func(each func(audience.Refused) error) error, error) {
	c, err := d.named(ctx, tenant, name)
	if err != nil {
		return nil, err
	}
	a, err := d.audienceOf(ctx, &c)
	if err != nil {
		return nil, err
	}
	return d.refusedOf(ctx, a), nil
}

func (d *Desk) refusedOf(ctx context.Context, a work.Audience) func(each func(audience.Refused) error) error {
	return func(each func(audience.Refused) error) error {
		return d.o.Importer.Refused(ctx, a, func(line []byte) error {
			var r audience.Refused
			if err := json.Unmarshal(line, &r); err != nil {
				return err
			}
			return each(r)
		})
	}
}

// Outcomes are the names of the outcomes that a member can have.
func Outcomes() []string { return outcomeNames[:Repeated] }
