package campaign

import (
	"context"
	"encoding/json"

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

// Export calls each for every member and where it stands, in the order of the file. outcome is the only one that is told, empty for all.
func (d *Desk) Export(ctx context.Context, tenant, name, outcome string) (func(each func(wire.CampaignMember) error) error, error) {
	c, err := d.named(ctx, tenant, name)
	if err != nil {
		return nil, err
	}
	a, err := d.audienceOf(ctx, &c)
	if err != nil {
		return nil, err
	}
	return func(each func(wire.CampaignMember) error) error {
		twice := d.o.Importer.Repeated(ctx, a)
		for first := int64(1); first <= a.Last; first += exportMembers {
			last := min(first+exportMembers-1, a.Last)
			segments, err := d.o.Segments.SegmentsIn(ctx, c.ID, first, last, MaxSegment)
			if err != nil {
				return err
			}
			err = d.o.Importer.Members(ctx, a, first, last, func(m audience.Member) error {
				if again, err := twice(m.Seq); err != nil || again {
					return err
				}
				if out := shown(&c, m, segments); outcome == "" || out.Outcome == outcome {
					return each(out)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	}, nil
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
