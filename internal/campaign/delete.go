package campaign

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
)

// Remover deletes what a desk has.
type Remover struct{ Desk *Desk }

// Delete deletes a campaign that was never started, or has ended, with its members and where they stand. Those whom it has told count
// as told by nobody from then on.
func (r Remover) Delete(ctx context.Context, tenant, name string) error {
	c, err := r.Desk.named(ctx, tenant, name)
	switch {
	case err != nil:
		return err
	case c.State.Final() && c.FinishedAt.IsZero():
		return posthouse.Errorf(posthouse.CodeConflict, "the campaign %s is %s, and some members are under way: delete it in a moment", c.Name, c.State)
	case c.State == posthouse.CampaignRunning, c.State == posthouse.CampaignPaused:
		return posthouse.Errorf(posthouse.CodeConflict, "the campaign %s is %s: cancel it first", c.Name, c.State)
	}
	if err := r.swept(r.Desk.o.Campaigns.DeleteCampaign(ctx, time.Now(), c)); err != nil {
		return err
	}
	return r.Desk.forgetText(ctx, &c)
}

// swept has what a deletion has left deleted too.
func (r Remover) swept(err error) error {
	if err == nil && r.Desk.o.Sweep != nil {
		r.Desk.o.Sweep()
	}
	return err
}

// DeleteList deletes a stored list that no campaign uses.
func (r Remover) DeleteList(ctx context.Context, tenant, name string) error {
	a, err := r.Desk.list(ctx, tenant, name)
	if err == nil {
		err = r.swept(r.Desk.o.Lists.DeleteAudience(ctx, time.Now(), a))
	}
	return err
}
