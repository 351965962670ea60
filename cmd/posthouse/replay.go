package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
)

type replayFlags struct {
	filterFlags
	forceNew, yes bool
	max           int
}

func (p *program) replay() *cobra.Command {
	var f replayFlags
	cmd := calling(&cobra.Command{
		Use: "replay [DELIVERY…]", Short: "Send again what failed, expired or was set aside, as new deliveries",
		Example: `  posthouse replay 01K…
  posthouse replay --channel oa --state failed --since 2h          # says how many that would be
  posthouse replay --channel oa --state failed --since 2h --yes`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.dial(cmd)
			if err != nil {
				return err
			}
			if len(args) > 0 {
				return p.replayEach(cmd.Context(), c, args, f.forceNew)
			}
			return p.replayFilter(cmd.Context(), c, f)
		},
	})
	f.add(cmd)
	cmd.Flags().BoolVar(&f.forceNew, "force-new", false, "give the provider a new idempotency key, so that one who remembers the old one sends again")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "replay all that the filter selects; without it they are only counted")
	cmd.Flags().IntVar(&f.max, "max", 1000, "how many at most, up to 100000")
	return cmd
}

func (p *program) replayEach(ctx context.Context, c *client.Client, ids []string, forceNew bool) error {
	for _, id := range ids {
		if !posthouse.ValidID(id) || posthouse.DeliveryNumber(id) == 0 {
			return usagef("%q is not the id of a delivery: posthouse status MESSAGE lists them", id)
		}
	}
	var out []client.Replay
	for _, id := range ids {
		r, err := c.Deliveries.Replay(ctx, id, forceNew)
		if err != nil {
			return err
		}
		out = append(out, r)
	}
	return p.show(out, func() { p.printReplays(out) })
}

func (p *program) replayFilter(ctx context.Context, c *client.Client, f replayFlags) error {
	filter, err := f.filter()
	if err != nil {
		return err
	}
	if filter.Channel+filter.Kind+filter.Ref+filter.User == "" && len(filter.States) == 0 && filter.Since.IsZero() {
		return usagef("delivery ids or a filter such as --channel oa --state failed say what is replayed")
	}
	out, err := c.Deliveries.ReplayAll(ctx, client.ReplayRequest{
		Channel: filter.Channel, Kind: filter.Kind, Ref: filter.Ref, User: filter.User, States: filter.States,
		Since: filter.Since, Until: filter.Until, ForceNew: f.forceNew, DryRun: !f.yes, Max: f.max,
	})
	if err != nil {
		return err
	}
	return p.show(out, func() {
		if out.DryRun {
			p.printf("%d deliveries would be sent again\n  → say --yes to do it\n", out.Matched)
			return
		}
		p.printf("%d of %d deliveries are being sent again\n", out.Replayed, out.Matched)
		p.printReplays(out.Replays)
	})
}

func (p *program) printReplays(all []client.Replay) {
	var rows [][]string
	for _, r := range all {
		why := r.Reason
		if r.Code != "" {
			why = fmt.Sprintf("%s: %s", r.Code, r.Reason)
		}
		rows = append(rows, []string{r.Of, r.ID, why})
	}
	p.printTable([]string{"Replay of", "New delivery", "Not replayed because"}, rows)
}
