package remote

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/wire"
)

// replay sends again what it is told by ids or by a filter.
type replay struct {
	*shell.Shell
	selection
	forceNew, yes   bool
	account, reason string
	max             int
}

func replayCommand(sh *shell.Shell) *cobra.Command {
	f := &replay{Shell: sh}
	cmd := sh.Calling(&cobra.Command{
		Use: "replay [DELIVERY…]", Short: "Send again what failed, expired or was quarantined, as new deliveries",
		Example: `  posthouse replay 01K…
  posthouse replay --channel oa --state failed --since 2h          # says how many that would be
  posthouse replay --channel oa --state failed --since 2h --yes`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := sh.Dial(cmd)
			if err != nil {
				return err
			}
			if len(args) > 0 {
				return f.each(cmd.Context(), c, args)
			}
			return f.all(cmd.Context(), c)
		},
	})
	f.add(cmd)
	cmd.Flags().BoolVar(&f.forceNew, "force-new", false, "give the provider a new idempotency key, so that one who remembers the old one sends again")
	cmd.Flags().StringVar(&f.account, "account", "", "only what this `ACCOUNT` of the channel tried to send")
	cmd.Flags().StringVar(&f.reason, "reason", "", "only what stopped for this `REASON`, such as tries_used_up")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "replay all that the filter selects; without it they are only counted")
	cmd.Flags().IntVar(&f.max, "max", 1000, "how many at most, a `NUMBER` up to 100000")
	return cmd
}

func (f *replay) each(ctx context.Context, c *client.Client, ids []string) error {
	for _, id := range ids {
		if !posthouse.ValidID(id) || posthouse.DeliveryNumber(id) == 0 {
			return shell.Usagef("%q is not the id of a delivery: posthouse status MESSAGE lists them", id)
		}
	}
	var out []wire.Replayed
	for _, id := range ids {
		r, err := c.Deliveries.Replay(ctx, id, f.forceNew)
		if err != nil {
			return err
		}
		out = append(out, r)
	}
	return f.Show(out, func() { printReplays(f.Shell, out) })
}

func (f *replay) all(ctx context.Context, c *client.Client) error {
	filter, err := f.filter(f.Shell)
	if err != nil {
		return err
	}
	if filter.Channel+filter.Kind+filter.Ref+filter.User+f.account+f.reason == "" && len(filter.States) == 0 && filter.Since.IsZero() {
		return shell.Usagef("delivery ids or a filter such as --channel oa --state failed say what is replayed")
	}
	out, err := c.Deliveries.ReplayAll(ctx, wire.ReplayAll{
		Channel: filter.Channel, Kind: filter.Kind, Ref: filter.Ref, User: filter.User, Account: f.account, Reason: f.reason, States: filter.States,
		Since: filter.Since, Until: filter.Until, ForceNew: f.forceNew, DryRun: !f.yes, Max: f.max,
	})
	if err != nil {
		return err
	}
	return f.Show(out, func() {
		if out.DryRun {
			f.Printf("%d deliveries would be sent again\n  → say --yes to do it\n", out.Matched-out.Shared)
			if out.Shared > 0 {
				f.Printf("%d more went in the text of a digest: its delivery is sent again, once for all of them\n", out.Shared)
			}
			return
		}
		f.Printf("%d of %d deliveries are being sent again\n", out.Replayed, out.Matched)
		if out.Shared > 0 {
			f.Printf("%d of the others went in the text of a digest: its delivery is sent again, once for all of them\n", out.Shared)
		}
		printReplays(f.Shell, out.Replays)
	})
}

func printReplays(sh *shell.Shell, all []wire.Replayed) {
	var rows [][]string
	for _, r := range all {
		why := r.Reason
		if r.Code != "" {
			why = fmt.Sprintf("%s: %s", r.Code, r.Reason)
		}
		rows = append(rows, []string{r.Of, r.ID, why})
	}
	sh.Table([]string{"Replay of", "New delivery", "Not replayed because"}, rows)
}
