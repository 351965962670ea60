package campaign

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// actTries is how often a step is tried again that somebody else's came between: a steward's, mostly.
const actTries = 10

// Act starts, pauses, resumes, repairs or cancels a campaign. force lets one start that a plan has something against.
func (d *Desk) Act(ctx context.Context, tenant, name string, a Action, force bool) (wire.Campaign, error) {
	if a == Mend {
		return d.mend(ctx, tenant, name)
	}
	for try := 1; ; try++ {
		c, err := d.named(ctx, tenant, name)
		if err == nil {
			err = d.prepare(ctx, &c, a, force)
		}
		if err != nil {
			return wire.Campaign{}, err
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

// prepare fills in what an action makes of a campaign.
func (d *Desk) prepare(ctx context.Context, c *work.Campaign, a Action, force bool) error {
	to, err := Next(&c.Campaign, a)
	if err != nil {
		return err
	}
	now := time.Now()
	switch a {
	case Start:
		if err := d.mayStart(ctx, c, force); err != nil {
			return err
		}
		c.StartedAt = now
	case Resume:
		if err := d.resumed(ctx, c); err != nil {
			return err
		}
	case Cancel:
		if c.Planned == 0 { // nobody is in a segment: all is said with the state
			c.FinishedAt = now
		}
	}
	c.State, c.Reason = to, ""
	return nil
}

// mayStart says why a campaign cannot start, and pins the version of its template.
func (d *Desk) mayStart(ctx context.Context, c *work.Campaign, force bool) error {
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
	}
	c.Last = a.Last
	t, err := d.templateOf(ctx, c)
	if err != nil {
		return err
	}
	if t != nil {
		c.Version = t.Version
	}
	if force {
		return nil
	}
	var against []string
	if takes := Takes(a.Members, ch); !c.Deadline.IsZero() && time.Now().Add(takes).After(c.Deadline) {
		against = append(against, "sending takes at least "+takes.String()+" under the limits, and the deadline comes before")
	}
	if end := time.Now().Add(c.Spread.Std()); !c.Deadline.IsZero() && end.After(c.Deadline) {
		against = append(against, "it is spread over "+c.Spread.String()+", and the deadline comes before")
	}
	if t != nil && !t.Lenient {
		lacking := missing(t, c.Payload, &a)
		for _, name := range slices.Sorted(maps.Keys(lacking)) {
			against = append(against, fmt.Sprintf("%d records have no %s", lacking[name], name))
		}
	}
	if len(against) > 0 {
		return posthouse.Errorf(posthouse.CodeConflict, "%s does not start: %s. Start it with force all the same", c.Name, strings.Join(against, "; "))
	}
	return nil
}

// mend looks for segments that their workers have left.
func (d *Desk) mend(ctx context.Context, tenant, name string) (wire.Campaign, error) {
	c, err := d.named(ctx, tenant, name)
	if err == nil {
		_, err = Next(&c.Campaign, Mend)
	}
	if err == nil && d.o.Repair != nil {
		err = d.o.Repair(ctx)
	}
	if err != nil {
		return wire.Campaign{}, err
	}
	return d.show(ctx, c)
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
