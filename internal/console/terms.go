package console

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// terms is what the page shows on which the rules of a campaign are changed that has not begun.
type terms struct {
	wire.Campaign
	brief
	Priority  string
	OnUnknown string
	Copy      string // what a copy is to be called
	Moved     bool   // somebody else has changed it since the form was drawn
}

// Priorities and Policies are those to choose from.
func (terms) Priorities() []posthouse.Priority {
	return []posthouse.Priority{posthouse.High, posthouse.Normal, posthouse.Low}
}

// Policies are those of a campaign.
func (terms) Policies() []posthouse.Policy {
	return []posthouse.Policy{posthouse.Hold, posthouse.Retry}
}

// termsOf are the rules of a campaign as a form has them.
func termsOf(v *visit, c wire.Campaign) terms {
	t := terms{Campaign: c, Priority: string(c.Priority), OnUnknown: string(c.OnUnknown), brief: brief{Name: c.Name, Payload: string(c.Payload), Failures: "5", After: "100"}}
	if !c.Deadline.IsZero() {
		t.brief.Deadline = c.Deadline.In(zoneFor(v)).Format("2006-01-02T15:04")
	}
	if c.Spread > 0 {
		t.brief.Spread = c.Spread.String()
	}
	if c.NotToldWithin > 0 {
		t.NotWithin = c.NotToldWithin.String()
	}
	if c.Canary != nil {
		t.brief.Canary, t.Failures = strconv.FormatInt(c.Canary.Members, 10), percent(c.Canary.MaxFailures)
	}
	if c.Brake != nil {
		t.brief.Brake, t.After = percent(c.Brake.Above), strconv.FormatInt(c.Brake.After, 10)
	}
	return t
}

// percent is a share as people type it.
func percent(share float64) string { return strconv.FormatFloat(share*100, 'f', -1, 64) }

func showTerms(v *visit) error {
	c, err := v.call().Campaigns.Get(v.ctx(), v.r.PathValue("name"))
	if err != nil {
		return err
	}
	return v.show("campaign-rules", "campaigns", termsOf(v, c))
}

// changeTerms stores the rules of a form, where the campaign is still as the form showed it.
func changeTerms(v *visit) error {
	c, err := v.call().Campaigns.Get(v.ctx(), v.r.PathValue("name"))
	if err != nil {
		return err
	}
	t := termsOf(v, c)
	t.brief = brief{
		Name: v.form("name"), Payload: v.form("payload"), Deadline: v.form("deadline"), NotWithin: v.form("not_told_within"), Canary: v.form("canary"), Failures: v.form("failures"),
		Spread: v.form("spread"), Brake: v.form("brake"), After: v.form("brake_after"),
	}
	t.Priority, t.OnUnknown = v.form("priority"), v.form("on_unknown")
	if t.Moved = v.form("version") != strconv.FormatInt(c.Edition, 10); t.Moved {
		return v.draw(http.StatusConflict, "campaign-rules", "campaigns", t)
	}
	change := t.change(v)
	if len(t.Problems) == 0 {
		changed, err := v.call().Campaigns.Change(withNote(v.ctx(), v.form("note")), c.Name, change)
		if err == nil {
			return v.goTo(v.at("campaigns", changed.Name) + "?said=stored")
		}
		if t.Problems = refusalOf(err, "campaign"); t.Problems == nil {
			return err
		}
	}
	return v.draw(http.StatusUnprocessableEntity, "campaign-rules", "campaigns", t)
}

// change is what the form says of the rules; what it leaves empty is taken away.
func (t *terms) change(v *visit) wire.CampaignChange {
	d := t.draft(v)
	in := wire.CampaignChange{Name: t.brief.Name, Priority: posthouse.Priority(t.Priority), OnUnknown: posthouse.Policy(t.OnUnknown), Canary: d.Canary, Brake: d.Brake}
	if in.Brake != nil && t.Campaign.Brake != nil {
		in.Brake.Classes = t.Campaign.Brake.Classes // the form has none
	}
	for _, one := range []struct {
		name       string
		given, was bool
		set        func()
	}{
		{"payload", t.brief.Payload != "", len(t.Campaign.Payload) > 0, func() { in.Payload = json.RawMessage(t.brief.Payload) }},
		{"deadline", !d.Deadline.IsZero(), !t.Campaign.Deadline.IsZero(), func() { in.Deadline = momentOver(d.Deadline, t.Campaign.Deadline) }},
		{"spread", t.brief.Spread != "", t.Campaign.Spread > 0, func() { in.Spread = &d.Spread }},
		{"not_told_within", t.NotWithin != "", t.Campaign.NotToldWithin > 0, func() { in.NotToldWithin = &d.NotToldWithin }},
		{"canary", d.Canary != nil, t.Campaign.Canary != nil, func() {}},
		{"brake", d.Brake != nil, t.Campaign.Brake != nil, func() {}},
	} {
		switch {
		case one.given:
			one.set()
		case one.was:
			in.Remove = append(in.Remove, one.name)
		}
	}
	return in
}

// momentOver is a deadline as the form says it; where it names the minute of the one that is kept, its seconds stay.
func momentOver(typed, kept time.Time) *time.Time {
	if kept.Truncate(time.Minute).Equal(typed) {
		typed = kept
	}
	return &typed
}

// copyCampaign makes a campaign like this one under another name, and shows it: nothing is sent yet.
func copyCampaign(v *visit) error {
	name := v.r.PathValue("name")
	if v.form("name") == "" {
		return refuseCopy(v, problemAt("name", say("name_missing", v.zh)))
	}
	made, err := v.call().Campaigns.Clone(withNote(v.ctx(), v.form("note")), name, wire.CampaignClone{Name: v.form("name")})
	if err == nil {
		return v.goTo(v.at("campaigns", made.Name) + "?said=stored")
	}
	if problems := refusalOf(err, "name"); problems != nil {
		return refuseCopy(v, problems)
	}
	return err
}

// refuseCopy shows what is wrong with the name of a copy.
func refuseCopy(v *visit, problems []posthouse.Problem) error {
	c, err := v.call().Campaigns.Get(v.ctx(), v.r.PathValue("name"))
	if err != nil {
		return err
	}
	t := termsOf(v, c)
	t.Problems, t.Copy = problems, v.form("name")
	return v.draw(http.StatusUnprocessableEntity, "campaign-rules", "campaigns", t)
}
