package campaign

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// resolveSegments is how many segments are read at once.
const resolveSegments = 200

// personSays are the reasons of members on whom a person has decided.
var personSays = map[wire.CampaignVerdict]struct {
	to  Outcome
	why work.SegmentReason
}{
	wire.CampaignSent:    {to: Sent},
	wire.CampaignNotSent: {to: Failed, why: work.SegmentReason{Outcome: Failed.String(), Class: posthouse.ClassUnknown, Code: "OPERATOR", Error: "a person says that it was not reached"}},
}

// Resolve decides on the members of whom nobody knows whether they were reached: on one, where an address is named, or on all.
// It returns how many it has decided on. Those of a segment that is being sent stay until that is done.
func (d *Desk) Resolve(ctx context.Context, tenant, name string, in wire.CampaignResolve) (out wire.CampaignResolved, err error) {
	says, known := personSays[in.Outcome]
	if !known && in.Outcome != wire.CampaignResend {
		return out, posthouse.Invalid("nothing can be decided", []posthouse.Problem{{Path: "outcome", Message: "is required: sent, not_sent or resend"}})
	}
	c, err := d.named(ctx, tenant, name)
	if err != nil {
		return out, err
	}
	if in.Outcome == wire.CampaignResend {
		return d.resendUnknown(ctx, &c, in.Address)
	}
	only, err := d.unknownOf(ctx, tenant, name, in.Address)
	if err != nil {
		return out, err
	}
	err = d.eachUnknown(ctx, c.ID, only, func(s *work.Segment) error {
		n, err := d.resolve(ctx, s.ID, only, says.to, says.why)
		out.Resolved += n
		return err
	})
	return out, err
}

// resendUnknown has those sent to again of whom nobody knows whether they were reached. Each attempt has the key of the first one:
// a provider that remembers it sends nothing twice.
func (d *Desk) resendUnknown(ctx context.Context, c *work.Campaign, address string) (out wire.CampaignResolved, err error) {
	if c.State != posthouse.CampaignRunning && c.State != posthouse.CampaignPaused {
		return out, posthouse.Errorf(posthouse.CodeConflict, "the campaign %s is %s, and sends to nobody any more: make the next one of those who are unknown (again)", c.Name, c.State)
	}
	if address != "" {
		return out, posthouse.Invalid("nothing can be decided", []posthouse.Problem{{Path: "address", Message: "goes with sent and not_sent: who is unknown is sent to again together"}})
	}
	err = d.eachUnknown(ctx, c.ID, 0, func(s *work.Segment) error {
		ended, issued, some := Resend(*s)
		if !some {
			return nil
		}
		done, err := d.o.Segments.ReplaceSegment(ctx, time.Now(), *s, ended, []work.Segment{issued})
		if done {
			out.Resolved += issued.Counts[Unsent]
		}
		return err
	})
	if out.Resolved > 0 && d.o.Wake != nil {
		d.o.Wake()
	}
	return out, err
}

// unknownOf is the number of the member of an address, who must be unknown; 0 for no address.
func (d *Desk) unknownOf(ctx context.Context, tenant, name, address string) (int64, error) {
	if address == "" {
		return 0, nil
	}
	m, err := d.Who(ctx, tenant, name, address)
	if err == nil && m.Outcome != Unknown.String() {
		err = posthouse.Errorf(posthouse.CodeConflict, "it is %s: only who is unknown can be decided on", m.Outcome)
	}
	return m.Seq, err
}

// eachUnknown calls do for the segments of a campaign that have somebody who is unknown, or for the one with a member.
func (d *Desk) eachUnknown(ctx context.Context, id string, only int64, do func(s *work.Segment) error) error {
	var behind work.SegmentPlace
	for {
		list, err := d.o.Segments.Segments(ctx, id, behind, resolveSegments)
		if err != nil {
			return err
		}
		for i := range list {
			s := &list[i]
			if s.Counts[Unknown] == 0 || only > 0 && (only < s.First || only > s.Last) {
				continue
			}
			if err := do(s); err != nil {
				return err
			}
		}
		if len(list) < resolveSegments {
			return nil
		}
		last := &list[len(list)-1]
		behind = work.SegmentPlace{First: last.First, ID: last.ID}
	}
}

// resolve decides on those of one segment.
func (d *Desk) resolve(ctx context.Context, id string, only int64, to Outcome, why work.SegmentReason) (n int64, err error) {
	err = d.o.Segments.ReviseSegment(ctx, time.Now(), id, func(s work.Segment) (work.Segment, bool) {
		n = 0
		for i := range Len(&s) {
			if only > 0 && s.First+int64(i) != only {
				continue
			}
			after, changed := Witness(s, i, to, why)
			if changed {
				s, n = after, n+1
			}
		}
		return s, n > 0
	})
	return n, err
}
