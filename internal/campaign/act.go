package campaign

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// actTries is how often a step is tried again that somebody else's came between: a steward's, mostly.
const actTries = 10

// Act pauses, resumes or cancels a campaign, or takes back when it is to begin.
func (d *Desk) Act(ctx context.Context, tenant, name string, a Action) (wire.Campaign, error) {
	return d.step(ctx, tenant, name, func(c *work.Campaign) (Action, error) {
		switch a {
		case Resume:
			return a, d.resumed(ctx, c)
		case Unschedule:
			c.StartAt = time.Time{}
		case Cancel:
			if c.Planned == 0 { // nobody is in a segment: all is said with the state
				c.FinishedAt = time.Now()
			}
		}
		return a, nil
	})
}

// Start lets a campaign begin now, or by itself when its time has come. What a plan has against it is looked at now in either case,
// and the version of its template that there is now counts.
func (d *Desk) Start(ctx context.Context, tenant string, by work.Caller, name string, in wire.CampaignStart) (wire.Campaign, error) {
	now := time.Now()
	if !in.At.IsZero() {
		var p draft.Problems
		if p.Time("at", in.At); !in.At.After(now) {
			p.Add("at", "is %s, which has passed", in.At.Format(time.RFC3339))
		}
		if err := posthouse.Invalid("the campaign cannot be scheduled", p.List); err != nil {
			return wire.Campaign{}, err
		}
	}
	return d.step(ctx, tenant, name, func(c *work.Campaign) (Action, error) {
		if in.At.IsZero() {
			c.StartAt, c.StartedAt = time.Time{}, now
			return Start, d.mayStart(ctx, by, c, now, in.Force)
		}
		c.StartAt = in.At
		return Schedule, d.mayStart(ctx, by, c, in.At, in.Force)
	})
}

// Change changes the name of a campaign that has not begun, what it says, and its terms: those that are given, and those that are taken away.
func (d *Desk) Change(ctx context.Context, tenant string, by work.Caller, name string, in wire.CampaignChange) (wire.Campaign, error) {
	return d.step(ctx, tenant, name, func(c *work.Campaign) (Action, error) {
		p := &draft.Problems{}
		if err := d.rename(ctx, c, in.Name, p); err != nil {
			return Change, err
		}
		takeAway(c, in.Remove, p)
		own, err := d.sayAnew(ctx, by, c, &in, p)
		if err != nil {
			return Change, err
		}
		if in.Deadline != nil {
			c.Deadline = *in.Deadline
		}
		if in.Spread != nil {
			c.Spread = *in.Spread
		}
		if in.NotToldWithin != nil {
			c.NotToldWithin = *in.NotToldWithin
		}
		if in.Parameters != nil {
			c.Parameters = in.Parameters
		}
		c.Canary, c.Brake = cmp.Or(in.Canary, c.Canary), cmp.Or(in.Brake, c.Brake)
		c.Priority, c.OnUnknown = cmp.Or(in.Priority, c.Priority), cmp.Or(in.OnUnknown, c.OnUnknown)
		if len(c.Parameters) > 0 && c.Template == "" {
			p.Add("parameters", "are given to a campaign without a template: each member gets the same")
		}
		checkTerms(&terms{c.Priority, c.OnUnknown, c.Deadline, c.CampaignRules}, p)
		if !c.StartAt.IsZero() && !c.Deadline.IsZero() && !c.StartAt.Before(c.Deadline) {
			p.Add("deadline", "is %s: it is scheduled for %s", c.Deadline.Format(time.RFC3339), c.StartAt.Format(time.RFC3339))
		}
		if err := posthouse.Invalid("the campaign cannot be changed", p.List); err != nil {
			return Change, err
		}
		if _, err := Next(&c.Campaign, Change); err != nil { // it has begun, by a text that stays
			return Change, err
		}
		return Change, d.keepText(ctx, own)
	})
}

// rename gives a campaign another name, empty for the one it has. Nothing but people and schedules knows a campaign by its name.
func (d *Desk) rename(ctx context.Context, c *work.Campaign, name string, p *draft.Problems) error {
	if name == "" || name == c.Name {
		return nil
	}
	if _, found, err := d.o.Campaigns.Campaign(ctx, c.Tenant, name); err != nil || found {
		p.Add("name", "there is a campaign %q already", name)
		return err
	}
	c.Name = name
	return nil
}

// takeAway takes terms from a campaign by their names.
func takeAway(c *work.Campaign, names []string, p *draft.Problems) {
	for i, name := range names {
		switch name {
		case "deadline":
			c.Deadline = time.Time{}
		case "spread":
			c.Spread = 0
		case "canary":
			c.Canary = nil
		case "brake":
			c.Brake = nil
		case "not_told_within":
			c.NotToldWithin = 0
		case "parameters":
			c.Parameters = nil
		case "payload":
			c.Payload = nil
		default:
			p.Add(fmt.Sprintf("remove[%d]", i), "is %.60q: want deadline, spread, canary, brake, not_told_within, parameters or payload", name)
		}
	}
}

// step does something to a campaign, anew where somebody else's step came between.
func (d *Desk) step(ctx context.Context, tenant, name string, do func(c *work.Campaign) (Action, error)) (wire.Campaign, error) {
	for try := 1; ; try++ {
		c, err := d.named(ctx, tenant, name)
		if err != nil {
			return wire.Campaign{}, err
		}
		before := c.Campaign
		a, err := do(&c)
		to, refused := Next(&before, a)
		if err := cmp.Or(refused, err); err != nil {
			return wire.Campaign{}, err
		}
		if c.State = to; a != Change {
			c.Reason = ""
		}
		stepped, err := write(ctx, &d.o, c, a)
		if posthouse.CodeOf(err) == posthouse.CodeConflict && try < actTries && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return wire.Campaign{}, err
		}
		if d.o.Wake != nil {
			d.o.Wake()
		}
		return d.show(ctx, stepped)
	}
}

// write stores what an action has made of a campaign.
func write(ctx context.Context, o *Options, c work.Campaign, a Action) (work.Campaign, error) {
	if a == Start && c.NotToldWithin > 0 {
		return recallOf(o).begin(ctx, c)
	}
	return o.Campaigns.StepCampaign(ctx, time.Now(), c, nil)
}

// mayStart says why a campaign cannot start at a moment on behalf of a caller, and pins the version of its template: it may say something else than the
// one by which the campaign was made.
func (d *Desk) mayStart(ctx context.Context, by work.Caller, c *work.Campaign, at time.Time, force bool) error {
	a, err := d.audienceOf(ctx, c)
	if err != nil {
		return err
	}
	ch := d.o.Channel(c.Tenant, c.Channel)
	switch {
	case a.State != posthouse.AudienceReady:
		return posthouse.Errorf(posthouse.CodeConflict, "the import of the people of %s is not complete", c.Name)
	case a.Members == 0:
		return posthouse.Errorf(posthouse.CodeConflict, "nobody is in the audience of %s", c.Name)
	case ch == nil:
		return posthouse.Errorf(posthouse.CodeConflict, "the channel %s is not open", c.Channel)
	case !c.Deadline.IsZero() && !time.Now().Before(c.Deadline):
		return posthouse.Errorf(posthouse.CodeConflict, "the deadline of %s has passed: %s", c.Name, c.Deadline.Format(time.RFC3339))
	case !c.Deadline.IsZero() && !at.Before(c.Deadline):
		return posthouse.Errorf(posthouse.CodeConflict, "%s would begin after its deadline: %s", c.Name, c.Deadline.Format(time.RFC3339))
	}
	c.Last = a.Last
	t, err := d.templateOf(ctx, c)
	if posthouse.CodeOf(err) == posthouse.CodeNotFound && c.Template == ownTemplate(c.ID) {
		return posthouse.Errorf(posthouse.CodeConflict, "the text of %s is not written yet", c.Name)
	}
	if err != nil {
		return err
	}
	if t != nil {
		c.Version = t.Version
	}
	if err := mayCall(by, ch, c.Content, c.Payload, t); err != nil {
		return err
	}
	if force {
		return nil
	}
	var against []string
	if takes := Takes(a.Members, ch, c.Template); !c.Deadline.IsZero() && at.Add(takes).After(c.Deadline) {
		against = append(against, "sending takes at least "+takes.String()+" under the limits, and the deadline comes before")
	}
	if end := at.Add(c.Spread.Std()); !c.Deadline.IsZero() && end.After(c.Deadline) {
		against = append(against, "it is spread over "+c.Spread.String()+", and the deadline comes before")
	}
	if t != nil && !t.Lenient {
		lacking := missing(t, c.Payload, &a)
		for _, name := range slices.Sorted(maps.Keys(lacking)) {
			against = append(against, fmt.Sprintf("%d records have no %s", lacking[name], name))
		}
	}
	vain, err := d.inVain(ctx, c, &a, t, ch)
	if err != nil {
		return err
	}
	if against = append(against, vain...); len(against) > 0 {
		return posthouse.Errorf(posthouse.CodeConflict, "%s does not start: %s. Start it with force all the same", c.Name, strings.Join(against, "; "))
	}
	return nil
}

// Repair looks at once for segments that their workers have left, and says what it has issued anew.
func (d *Desk) Repair(ctx context.Context, tenant, name string) (out wire.CampaignRepaired, err error) {
	c, err := d.named(ctx, tenant, name)
	if err == nil {
		_, err = Next(&c.Campaign, Mend)
	}
	if err == nil && d.o.Repair != nil {
		var done map[string]Repaired
		if done, err = d.o.Repair(ctx); err == nil {
			out.Repaired = wire.Repaired{Segments: done[c.ID].Segments, Members: done[c.ID].Members}
		}
	}
	if err != nil {
		return out, err
	}
	out.Campaign, err = d.show(ctx, c)
	return out, err
}

// resumed notes that a person has decided: the others follow a canary that had stopped them, and the brake counts from here on.
func (d *Desk) resumed(ctx context.Context, c *work.Campaign) error {
	if strings.HasPrefix(c.Reason, reasonCanary) {
		c.Marks.CanaryDone = true
	}
	if !braked(c) {
		return nil
	}
	p, err := d.o.Segments.Progress(ctx, c.ID)
	c.Marks.Answered, c.Marks.Failed = tallied(&p, classesOf(c))
	return err
}
