package campaign

import (
	"context"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/audience"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// Stored reads campaigns by their ids.
type Stored interface {
	CampaignOf(ctx context.Context, id string) (c work.Campaign, found bool, err error)
}

// Post is where workers get what sending to the members of a segment needs.
type Post struct {
	Campaigns Stored
	Lists     Lists
	Templates Templates
	Importer  *Importer
	// Channel is an open channel, nil for none of that name: members of a list that is for no channel get their addresses as it keeps
	// them. Defaults to none.
	Channel func(tenant, name string) *state.Channel
}

// Leg is a segment's part of a campaign: its members, and what they get.
type Leg struct {
	Campaign work.Campaign
	Letter   *Letter
	Members  []audience.Member // by their places in the segment
	Users    Users
}

// Leg reads what sending to the members of a segment needs.
func (p Post) Leg(ctx context.Context, s *work.Segment) (*Leg, error) {
	c, found, err := p.Campaigns.CampaignOf(ctx, s.Campaign)
	if err == nil && !found {
		err = fmt.Errorf("the segment %s has lost its campaign", s.ID)
	}
	if err != nil {
		return nil, err
	}
	a, found, err := p.Lists.AudienceOf(ctx, c.Tenant, c.AudienceID)
	if err == nil && !found {
		err = fmt.Errorf("the campaign %s has lost its audience", c.Name)
	}
	if err != nil {
		return nil, err
	}
	var t *posthouse.Template
	if c.Template != "" {
		read, err := p.Templates.Template(ctx, c.Tenant, c.Template, c.Version)
		if err != nil {
			return nil, err
		}
		t = &read
	}
	leg := &Leg{Campaign: c, Letter: NewLetter(&c, t), Members: make([]audience.Member, 0, Len(s))}
	keep := p.keeper(&c, &a)
	err = p.Importer.Members(ctx, a, s.First, s.Last, func(m audience.Member) error {
		m.Address = keep(m.Address)
		leg.Members = append(leg.Members, m)
		return nil
	})
	if err == nil && len(leg.Members) != Len(s) {
		err = fmt.Errorf("%d of %d members of the segment %s are stored", len(leg.Members), Len(s), s.ID)
	}
	return leg, err
}

// keeper makes of an address the one that the campaign's channel keeps, where the list was not imported for it.
func (p Post) keeper(c *work.Campaign, a *work.Audience) func(address string) string {
	if a.Channel == "" && p.Channel != nil {
		if ch := p.Channel(c.Tenant, c.Channel); ch != nil {
			return ch.Kept
		}
	}
	return func(address string) string { return address }
}

// MemberID names a member among all that is sent: its campaign's id and its number.
func MemberID(campaign string, seq int64) string { return fmt.Sprintf("%s.%d", campaign, seq) }
