package campaign

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/audience"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// open are the outcomes of members who may still be sent to by their own campaign.
var open = []Outcome{Unsent, Started, HandedOver}

// addressField is the field of the address in what is imported: no column of people's files is called so.
const addressField = "posthouse_address"

// Repeat makes the next campaign of those members of one who ended in some way, with their variables. It is like the one before, but
// for whom that has told: they are meant.
func (d *Desk) Repeat(ctx context.Context, tenant string, by work.Caller, name string, in wire.CampaignAgain) (wire.Campaign, error) {
	c, err := d.named(ctx, tenant, name)
	if err != nil {
		return wire.Campaign{}, err
	}
	if err := checkOutcomes(in.Outcomes); err != nil {
		return wire.Campaign{}, err
	}
	next := likeBefore(&c, cmp.Or(in.Name, name+"-again"), time.Now())
	if _, err := d.Create(ctx, tenant, by, next); err != nil {
		return wire.Campaign{}, err
	}
	people, err := d.refill(ctx, tenant, name, next.Name, in.Outcomes)
	if err == nil && people.Members == 0 {
		err = posthouse.Errorf(posthouse.CodeConflict, "nobody of the campaign %s is %s", c.Name, strings.Join(in.Outcomes, " or "))
	}
	if err != nil { // a campaign of some of them is not what was asked for
		return wire.Campaign{}, errors.Join(err, Remover{Desk: d}.Delete(context.WithoutCancel(ctx), tenant, next.Name))
	}
	return d.Get(ctx, tenant, next.Name)
}

func checkOutcomes(outcomes []string) error {
	var p draft.Problems
	if len(outcomes) == 0 {
		p.Add("outcomes", "is required: want some of %s", strings.Join(settledNames(), ", "))
	}
	for _, o := range outcomes {
		if !slices.Contains(settledNames(), o) {
			p.Add("outcomes", "has %.60q: want some of %s", o, strings.Join(settledNames(), ", "))
		}
	}
	return posthouse.Invalid("the next campaign cannot be made", p.List)
}

// settledNames are the outcomes of whom nothing more is sent to.
func settledNames() []string {
	return slices.DeleteFunc(slices.Clone(Outcomes()), func(name string) bool {
		return slices.ContainsFunc(open, func(o Outcome) bool { return o.String() == name })
	})
}

// likeBefore is a draft like a campaign. A deadline that has passed is not taken over, nor is whom others have told.
func likeBefore(c *work.Campaign, name string, now time.Time) wire.CampaignDraft {
	next := wire.CampaignDraft{
		Name: name, Channel: c.Channel, Kind: c.Kind, Template: c.Template, Content: c.Content, Payload: c.Payload, Priority: c.Priority, OnUnknown: c.OnUnknown,
		SegmentSize: c.SegmentSize, CampaignRules: c.CampaignRules,
	}
	if next.NotToldWithin = 0; c.Deadline.After(now) {
		next.Deadline = c.Deadline
	}
	return next
}

// refill imports the members of a campaign who ended in some way into another one.
func (d *Desk) refill(ctx context.Context, tenant, from, to string, outcomes []string) (posthouse.Audience, error) {
	each, err := d.Export(ctx, tenant, from, "")
	if err != nil {
		return posthouse.Audience{}, err
	}
	p := Part{Format: audience.Format{Kind: audience.NDJSON, Address: addressField}}
	return stream(ctx, Fetcher{Desk: d}.ofCampaign(tenant, to), p, func(_ context.Context, w *bufio.Writer) error {
		var line []byte
		return each(func(m wire.CampaignMember) error {
			if !slices.Contains(outcomes, m.Outcome) {
				return nil
			}
			line = audience.AppendString(append(audience.AppendString(append(line[:0], '{'), addressField), ':'), m.Address)
			if own := bytes.TrimSpace(m.Variables); len(own) > 2 {
				line = append(append(line, ','), own[1:len(own)-1]...)
			}
			_, err := w.Write(append(line, "}\n"...))
			return err
		})
	})
}
