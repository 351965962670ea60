package console

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/wire"
)

// campaignsPage is a page of the list of campaigns.
type campaignsPage struct {
	wire.Page[wire.CampaignListed]
	States []choice // to choose from
	State  string   // that is chosen
	Older  string   // the query of the next page
}

func showCampaigns(v *visit) error {
	p := campaignsPage{State: v.query("state")}
	var err error
	if p.Page, err = v.call().Campaigns.List(v.ctx(), posthouse.CampaignState(p.State), client.Filter{Cursor: v.query("cursor"), Limit: pageLength}); err != nil {
		return err
	}
	p.Older = v.onward(p.Next)
	p.States = []choice{{Word: "all_campaigns", Link: v.at("campaigns"), Current: p.State == ""}}
	for _, s := range posthouse.CampaignStates() {
		p.States = append(p.States, choice{Name: string(s), Word: "campaign_" + string(s), Link: v.at("campaigns") + "?state=" + string(s), Current: p.State == string(s)})
	}
	return v.show("campaigns", "campaigns", p)
}

// march is what the page of a campaign shows.
type march struct {
	wire.Campaign
	Member   *wire.CampaignMember
	Asked    string
	Of       client.MemberFilter // of whom the page names some
	Some     []wire.CampaignMember
	Live     bool
	Actions  []string            // what can be done with it now
	Takes    bool                // people can be added
	Queries  bool                // from a database, too
	Follows  bool                // from those who follow the channel's account, too
	Problems []posthouse.Problem // of the file of people
	Read     *reading            // how that file would be read, nil before it was looked at
}

// OwnText reports whether the campaign has a text of its own: its template is kept under a name that nobody has given.
func (m march) OwnText() bool { return strings.HasPrefix(m.Template, ownTemplates) }

// Undecided says that a page which shows how a file would be read has changed nothing.
func (m march) Undecided() bool { return m.Read != nil }

// Again are the outcomes of those whom another campaign may be made for.
func (m march) Again() (list []string) {
	p := m.Progress
	for _, o := range []struct {
		name string
		n    int64
	}{{"failed", p.Failed}, {"undelivered", p.Undelivered}, {"expired", p.Expired}, {"unknown", p.Unknown}} {
		if o.n > 0 {
			list = append(list, o.name)
		}
	}
	return list
}

// actions are what people do with a campaign, by its state.
func actions(s posthouse.CampaignState) []string {
	switch s {
	case posthouse.CampaignReady:
		return []string{"cancel"} // it is started from its plan
	case posthouse.CampaignScheduled:
		return []string{"unschedule", "cancel"}
	case posthouse.CampaignRunning:
		return []string{"pause", "repair", "cancel"}
	case posthouse.CampaignPaused:
		return []string{"resume", "repair", "cancel"}
	}
	return nil
}

func showCampaign(v *visit) error {
	name := v.r.PathValue("name")
	m, err := marchOf(v, name)
	if err != nil {
		return err
	}
	if m.Asked = v.query("address"); m.Asked != "" {
		who, err := v.call().Campaigns.Who(v.ctx(), name, m.Asked)
		if code := posthouse.CodeOf(err); err != nil && code != posthouse.CodeNotFound && code != posthouse.CodeConflict { // nobody of the address, or nobody yet
			return err
		}
		if err == nil {
			m.Member = &who
		}
	}
	if m.Of = (client.MemberFilter{Outcome: v.query("outcome"), Code: v.query("code"), Limit: somePeople}); m.Of.Outcome != "" && m.Begun() {
		ctx, cancel := context.WithTimeout(v.ctx(), untilSome)
		defer cancel()
		if m.Some, err = v.call().Campaigns.Members(ctx, name, m.Of); err != nil && ctx.Err() == nil {
			return err
		}
	}
	v.drawnIn(string(m.State))
	return v.show("campaign", "campaigns", m)
}

const (
	// somePeople is how many people the page names who ended for one reason.
	somePeople = 20
	// untilSome bounds how long these are looked for, among millions: the file has all of them.
	untilSome = 2 * time.Second
)

// Told reports whether the page names people who ended for a reason.
func (m march) Told(outcome, code string) bool {
	return len(m.Some) > 0 && m.Of.Outcome == outcome && m.Of.Code == code
}

// MembersAt is the address of members of a campaign who ended for a reason: on its page, or as a file.
func (f frame) MembersAt(name, as, outcome, code string) string {
	q := url.Values{"outcome": {outcome}}
	if code != "" {
		q.Set("code", code)
	}
	if as != "" {
		return f.At("campaigns", name, as) + "?" + q.Encode()
	}
	return f.At("campaigns", name) + "?" + q.Encode() + "#reasons"
}

// marchOf reads what the page of a campaign shows.
func marchOf(v *visit, name string) (m march, err error) {
	if m.Campaign, err = v.call().Campaigns.Get(v.ctx(), name); err != nil {
		return m, err
	}
	m.Live = m.State == posthouse.CampaignRunning || m.State == posthouse.CampaignImporting
	m.Takes = m.Audience == "" && (m.State == posthouse.CampaignDraft || m.State == posthouse.CampaignImporting) && m.People.State == posthouse.AudienceOpen && v.may(posthouse.ScopeSend, "campaigns.members")
	if m.Takes {
		ch, err := senderOf(v, m.Channel)
		if err != nil {
			return m, err
		}
		m.Queries, m.Follows = v.may(admin, "campaigns.query"), strings.HasPrefix(ch.Driver, "wechat") && v.may(posthouse.ScopeSend, "campaigns.followers")
	}
	for _, a := range actions(m.State) {
		if v.may(admin, "campaigns."+a) {
			m.Actions = append(m.Actions, a)
		}
	}
	return m, nil
}

// actOnCampaign does what a button of the page says, where the campaign is still in the state that the page showed.
func actOnCampaign(act func(c client.Campaigns, v *visit, ctx context.Context, name string) (wire.Campaign, error)) func(*visit) error {
	return func(v *visit) error {
		name := v.r.PathValue("name")
		c, err := v.call().Campaigns.Get(v.ctx(), name)
		if err != nil {
			return err
		}
		if v.form("state") != string(c.State) {
			return posthouse.Errorf(posthouse.CodeConflict, "the campaign is %s now", v.stateIn("campaign_", string(c.State)))
		}
		if _, err := act(v.call().Campaigns, v, withNote(v.ctx(), v.form("note")), name); err != nil {
			return err
		}
		return v.goTo(v.at("campaigns", name) + "?said=changed_said")
	}
}

// campaignActs are the decisions about a campaign by their names.
func campaignActs() map[string]func(*visit) error {
	plain := func(act func(client.Campaigns, context.Context, string) (wire.Campaign, error)) func(*visit) error {
		return actOnCampaign(func(c client.Campaigns, _ *visit, ctx context.Context, name string) (wire.Campaign, error) {
			return act(c, ctx, name)
		})
	}
	return map[string]func(*visit) error{
		"start": actOnCampaign(func(c client.Campaigns, v *visit, ctx context.Context, name string) (wire.Campaign, error) {
			return startCampaign(ctx, c, v, name)
		}),
		"repair": actOnCampaign(func(c client.Campaigns, _ *visit, ctx context.Context, name string) (wire.Campaign, error) {
			done, err := c.Repair(ctx, name)
			return done.Campaign, err
		}),
		"pause": plain(client.Campaigns.Pause), "resume": plain(client.Campaigns.Resume), "unschedule": plain(client.Campaigns.Unschedule), "cancel": plain(client.Campaigns.Cancel),
	}
}

// startCampaign starts a campaign at once or at a time. What speaks against it, such as records that lack a variable, stands at the box
// that starts it all the same: nothing has changed meanwhile, as a conflict would say.
func startCampaign(ctx context.Context, c client.Campaigns, v *visit, name string) (wire.Campaign, error) {
	at, ok := momentIn(v, v.form("at"))
	if !ok {
		return wire.Campaign{}, posthouse.Invalid(say("camp_not_started", v.zh), problemAt("at", say("want_time", v.zh)))
	}
	force := v.form("force") != ""
	started, err := c.StartAt(ctx, name, at, force)
	if posthouse.CodeOf(err) != posthouse.CodeConflict {
		return started, err
	}
	if now, wrong := c.Get(ctx, name); wrong != nil || string(now.State) != v.form("state") {
		return started, err // somebody else was faster
	}
	path := "force"
	if force {
		path = "at"
	}
	return started, posthouse.Invalid(say("camp_not_started", v.zh), refusalOf(err, path))
}

// repeatCampaign makes the next campaign of those who ended in some ways, and shows its plan: nothing is sent yet.
func repeatCampaign(v *visit) error {
	name := v.r.PathValue("name")
	c, err := v.call().Campaigns.Again(withNote(v.ctx(), v.form("note")), name, wire.CampaignAgain{Outcomes: v.r.PostForm["outcome"]})
	if err == nil {
		return v.goTo(v.at("campaigns", c.Name, "plan") + "?said=again_said")
	}
	return refuseCampaign(v, name, "outcome", nil, err)
}

// refuseCampaign shows the page of a campaign again with what is wrong with one of its forms, at a place where the API names none.
func refuseCampaign(v *visit, name, path string, read *reading, err error) error {
	return drawRefused(v, http.StatusUnprocessableEntity, name, path, read, err)
}

func drawRefused(v *visit, status int, name, path string, read *reading, err error) error {
	problems := refusalOf(err, path)
	if problems == nil {
		return err
	}
	m, err := marchOf(v, name)
	if err != nil {
		return err
	}
	m.Problems, m.Read = problems, read
	return v.draw(status, "campaign", "campaigns", m)
}

// Columns are what the file says of people, each with how many of the records have it.
func (m march) Columns() []string { return slices.Sorted(maps.Keys(m.People.Fields)) }

// Begun reports whether there is something to count.
func (m march) Begun() bool {
	return !slices.Contains([]posthouse.CampaignState{posthouse.CampaignDraft, posthouse.CampaignImporting, posthouse.CampaignReady, posthouse.CampaignScheduled}, m.State)
}

// Done is how many members of a campaign are through.
func (m march) Done() int64 { return m.Progress.Members - m.Progress.Unsent - m.Progress.Started }
