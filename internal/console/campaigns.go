package console

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/wire"
)

func showCampaigns(v *visit) error {
	page, err := v.call().Campaigns.List(v.ctx(), posthouse.CampaignState(v.query("state")), client.Filter{Cursor: v.query("cursor"), Limit: pageLength})
	if err != nil {
		return err
	}
	return v.show("campaigns", "campaigns", page)
}

// march is what the page of a campaign shows.
type march struct {
	wire.Campaign
	Member  *wire.CampaignMember
	Asked   string
	Live    bool
	Actions []string // what can be done with it now
}

// actions are what people do with a campaign, by its state.
func actions(s posthouse.CampaignState) []string {
	switch s {
	case posthouse.CampaignReady:
		return []string{"start", "cancel"}
	case posthouse.CampaignRunning:
		return []string{"pause", "cancel"}
	case posthouse.CampaignPaused:
		return []string{"resume", "cancel"}
	case posthouse.CampaignDone, posthouse.CampaignExpired:
		return []string{"repair"}
	}
	return nil
}

func showCampaign(v *visit) error {
	name := v.r.PathValue("name")
	c, err := v.call().Campaigns.Get(v.ctx(), name)
	if err != nil {
		return err
	}
	m := march{Campaign: c, Asked: v.query("address"), Live: c.State == posthouse.CampaignRunning || c.State == posthouse.CampaignImporting}
	for _, a := range actions(c.State) {
		if v.may(admin, "campaigns."+a) {
			m.Actions = append(m.Actions, a)
		}
	}
	if m.Asked != "" {
		who, err := v.call().Campaigns.Who(v.ctx(), name, m.Asked)
		if code := posthouse.CodeOf(err); err != nil && code != posthouse.CodeNotFound && code != posthouse.CodeConflict { // nobody of the address, or nobody yet
			return err
		}
		if err == nil {
			m.Member = &who
		}
	}
	return v.show("campaign", "campaigns", m)
}

// actOnCampaign does what a button of the page says, where the campaign is still in the state that the page showed.
func actOnCampaign(act func(c client.Campaigns, ctx context.Context, name string) error) func(*visit) error {
	return func(v *visit) error {
		name := v.r.PathValue("name")
		c, err := v.call().Campaigns.Get(v.ctx(), name)
		if err != nil {
			return err
		}
		if v.form("state") != string(c.State) {
			return posthouse.Errorf(posthouse.CodeConflict, "the campaign is %s now", c.State)
		}
		if err := act(v.call().Campaigns, withNote(v.ctx(), v.form("note")), name); err != nil {
			return err
		}
		return v.goTo(v.at("campaigns", name) + "?said=changed_said")
	}
}

// campaignActs are the decisions about a campaign by their names.
func campaignActs() map[string]func(*visit) error {
	return map[string]func(*visit) error{
		"start": actOnCampaign(func(c client.Campaigns, ctx context.Context, name string) error {
			_, err := c.Start(ctx, name, false)
			return err
		}),
		"pause": actOnCampaign(func(c client.Campaigns, ctx context.Context, name string) error {
			_, err := c.Pause(ctx, name)
			return err
		}),
		"resume": actOnCampaign(func(c client.Campaigns, ctx context.Context, name string) error {
			_, err := c.Resume(ctx, name)
			return err
		}),
		"repair": actOnCampaign(func(c client.Campaigns, ctx context.Context, name string) error {
			_, err := c.Repair(ctx, name)
			return err
		}),
		"cancel": actOnCampaign(func(c client.Campaigns, ctx context.Context, name string) error {
			_, err := c.Cancel(ctx, name)
			return err
		}),
	}
}

// Done is how many members of a campaign are through.
func (m march) Done() int64 { return m.Progress.Members - m.Progress.Unsent - m.Progress.Started }
