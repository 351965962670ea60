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
	p := &draft.Problems{}
	some := selectionOf(in.MemberSelection, "", name, p)
	if checkOutcomes(in.Outcomes, p); len(p.List) > 0 {
		return wire.Campaign{}, posthouse.Invalid("the next campaign cannot be made", p.List)
	}
	next, err := d.likeBefore(ctx, &c, cmp.Or(in.Name, name+"-again"), time.Now())
	if err != nil {
		return wire.Campaign{}, err
	}
	next.NotToldWithin = 0
	return d.makeOf(ctx, tenant, by, next, strings.Join(in.Outcomes, " or "), d.membersOf(tenant, name, in.Outcomes), some)
}

// Clone makes a campaign like another one: for the same stored list, or for a copy of its members, or of some of them.
func (d *Desk) Clone(ctx context.Context, tenant string, by work.Caller, name string, in wire.CampaignClone) (wire.Campaign, error) {
	c, err := d.named(ctx, tenant, name)
	if err != nil {
		return wire.Campaign{}, err
	}
	p := &draft.Problems{}
	some := selectionOf(in.MemberSelection, "", cmp.Or(c.Audience, name), p)
	if err := posthouse.Invalid("the campaign cannot be made", p.List); err != nil {
		return wire.Campaign{}, err
	}
	next, err := d.likeBefore(ctx, &c, cmp.Or(in.Name, name+"-copy"), time.Now())
	if err != nil {
		return wire.Campaign{}, err
	}
	if c.Audience != "" && some.all() {
		next.Audience = c.Audience
		return d.Create(ctx, tenant, by, next)
	}
	return d.makeOf(ctx, tenant, by, next, "meant", d.membersOf(tenant, name, nil), some)
}

// createOf makes a campaign of some members of a stored list.
func (d *Desk) createOf(ctx context.Context, tenant string, by work.Caller, in wire.CampaignDraft) (wire.Campaign, error) {
	p := &draft.Problems{}
	some := selectionOf(*in.Select, "select.", in.Audience, p)
	if in.Audience == "" {
		p.Add("select", "chooses among the members of a stored list: name it as audience")
	}
	if err := posthouse.Invalid("the campaign cannot be made", p.List); err != nil {
		return wire.Campaign{}, err
	}
	checked := in
	if _, _, err := d.check(ctx, tenant, by, &checked, posthouse.NewID()); err != nil { // its list too
		return wire.Campaign{}, err
	}
	a, err := d.list(ctx, tenant, in.Audience)
	if err != nil {
		return wire.Campaign{}, err
	}
	in.Audience, in.Select = "", nil
	return d.makeOf(ctx, tenant, by, in, "meant", d.membersIn(a), some)
}

// people calls each for members, in order.
type people func(ctx context.Context, each func(m wire.CampaignMember) error) error

// membersOf are the members of a campaign who ended in one of some ways, or all of them.
func (d *Desk) membersOf(tenant, name string, outcomes []string) people {
	return func(ctx context.Context, each func(m wire.CampaignMember) error) error {
		export, err := d.Export(ctx, tenant, name, MembersOf{})
		if err != nil {
			return err
		}
		return export(func(m wire.CampaignMember) error {
			if len(outcomes) > 0 && !slices.Contains(outcomes, m.Outcome) {
				return nil
			}
			return each(m)
		})
	}
}

// membersIn are the members of a list, nobody twice.
func (d *Desk) membersIn(a work.Audience) people {
	return func(ctx context.Context, each func(m wire.CampaignMember) error) error {
		twice := d.o.Importer.Repeated(ctx, a)
		return d.o.Importer.Members(ctx, a, 1, a.Last, func(m audience.Member) error {
			if again, err := twice(m.Seq); err != nil || again {
				return err
			}
			return each(wire.CampaignMember{Seq: m.Seq, Address: m.Address, Variables: m.Variables})
		})
	}
}

// makeOf makes a campaign of some people, who are called so. A campaign of a part of them is not what was asked for: none is left.
func (d *Desk) makeOf(ctx context.Context, tenant string, by work.Caller, in wire.CampaignDraft, called string, from people, some *selection) (wire.Campaign, error) {
	if _, err := d.Create(ctx, tenant, by, in); err != nil {
		return wire.Campaign{}, err
	}
	filled, err := d.fill(ctx, tenant, in.Name, from, some)
	if err == nil && filled.Members == 0 || errors.Is(err, errNobody) {
		err = posthouse.Errorf(posthouse.CodeConflict, "nobody is %s: there is no campaign to make", called)
	}
	if err != nil {
		return wire.Campaign{}, errors.Join(err, Remover{Desk: d}.Delete(context.WithoutCancel(ctx), tenant, in.Name))
	}
	return d.Get(ctx, tenant, in.Name)
}

func checkOutcomes(outcomes []string, p *draft.Problems) {
	if len(outcomes) == 0 {
		p.Add("outcomes", "is required: want some of %s", strings.Join(settledNames(), ", "))
	}
	for _, o := range outcomes {
		if !slices.Contains(settledNames(), o) {
			p.Add("outcomes", "has %.60q: want some of %s", o, strings.Join(settledNames(), ", "))
		}
	}
}

// settledNames are the outcomes of whom nothing more is sent to.
func settledNames() []string {
	return slices.DeleteFunc(slices.Clone(Outcomes()), func(name string) bool {
		return slices.ContainsFunc(open, func(o Outcome) bool { return o.String() == name })
	})
}

// likeBefore is a draft like a campaign, with a copy of its own text. A deadline that has passed is not taken over.
func (d *Desk) likeBefore(ctx context.Context, c *work.Campaign, name string, now time.Time) (wire.CampaignDraft, error) {
	next := wire.CampaignDraft{
		Name: name, Channel: c.Channel, Kind: c.Kind, Template: c.Template, Content: c.Content, Payload: c.Payload, Priority: c.Priority, OnUnknown: c.OnUnknown,
		SegmentSize: c.SegmentSize, CampaignRules: c.CampaignRules,
	}
	if c.Deadline.After(now) {
		next.Deadline = c.Deadline
	}
	if c.Template != ownTemplate(c.ID) {
		return next, nil
	}
	next.Template, next.OwnText = "", &wire.CampaignText{}
	t, err := d.templateOf(ctx, c)
	if posthouse.CodeOf(err) == posthouse.CodeNotFound { // it is not written yet
		return next, nil
	}
	if err == nil {
		next.OwnText = &wire.CampaignText{Title: t.Title, Text: t.Text}
	}
	return next, err
}

// fill imports some people into a campaign.
func (d *Desk) fill(ctx context.Context, tenant, to string, from people, some *selection) (posthouse.Audience, error) {
	p := Part{Format: audience.Format{Kind: audience.NDJSON, Address: addressField}}
	return stream(ctx, Fetcher{Desk: d}.ofCampaign(tenant, to), p, func(ctx context.Context, w *bufio.Writer) error {
		var line []byte
		return from(ctx, func(m wire.CampaignMember) error {
			if is, err := some.has(m.Seq, m.Address, m.Variables); err != nil || !is {
				return err
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
