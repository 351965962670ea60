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
	if !known {
		return out, posthouse.Invalid("nothing can be decided", []posthouse.Problem{{Path: "outcome", Message: "is required: sent or not_sent"}})
	}
	c, err := d.named(ctx, tenant, name)
	if err != nil {
		return out, err
	}
	only := int64(0)
	if in.Address != "" {
		m, err := d.Who(ctx, tenant, name, in.Address)
		if err != nil {
			return out, err
		}
		if m.Outcome != Unknown.String() {
			return out, posthouse.Errorf(posthouse.CodeConflict, "it is %s: only who is unknown can be decided on", m.Outcome)
		}
		only = m.Seq
	}
	var behind work.SegmentPlace
	for {
		list, err := d.o.Segments.Segments(ctx, c.ID, behind, resolveSegments)
		if err != nil {
			return out, err
		}
		for i := range list {
			s := &list[i]
			if s.Counts[Unknown] == 0 || only > 0 && (only < s.First || only > s.Last) {
				continue
			}
			n, err := d.resolve(ctx, s.ID, only, says.to, says.why)
			if out.Resolved += n; err != nil {
				return out, err
			}
		}
		if len(list) < resolveSegments {
			return out, nil
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
