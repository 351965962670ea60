package remote

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/wire"
)

// resolve is a person's word on one delivery, or on all that a filter selects.
type resolve struct {
	*shell.Shell
	selection
	account, reason, confirm string
	max                      int
}

func resolveCommand(sh *shell.Shell) *cobra.Command {
	f := &resolve{Shell: sh}
	cmd := sh.Calling(&cobra.Command{
		Use: "resolve [DELIVERY] (sent | not_sent | retry)", Short: "Decide about deliveries that are unknown or quarantined",
		Long: `Decide about a delivery of which nobody knows whether it arrived, or which was quarantined:
  sent      it arrived
  not_sent  it did not; it counts as failed
  retry     it did not, and is sent again

Without a delivery, the flags select those that are decided. The first call counts them and prints what
confirms that count; the same call with --confirm decides about what was counted, and about nothing
that has changed since.`,
		Example: `  posthouse resolve 01K… sent
  posthouse resolve retry --channel oa --reason epoch_hold            # says how many that would be
  posthouse resolve retry --channel oa --reason epoch_hold --confirm 812-…`,
		Args: shell.UpTo(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return shell.Usagef("%s is missing: posthouse %s", "OUTCOME", cmd.Use)
			}
			outcome := wire.Outcome(strings.ReplaceAll(args[len(args)-1], "-", "_"))
			switch {
			case len(args) == 2 && (!posthouse.ValidID(args[0]) || posthouse.DeliveryNumber(args[0]) == 0):
				return shell.Usagef("%q is not the id of a delivery: posthouse status --state unknown,quarantined lists them", args[0])
			case !slices.Contains(wire.Outcomes(), outcome):
				return shell.Usagef("%q is not an outcome; sent, not_sent and retry are", args[len(args)-1])
			}
			c, err := sh.Dial(cmd)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				return f.all(cmd.Context(), c, outcome)
			}
			d, err := c.Deliveries.Resolve(cmd.Context(), args[0], outcome)
			if err != nil {
				return err
			}
			return sh.Show(d, func() { sh.Printf("%s is %s\n", d.ID, sh.State(string(d.State))) })
		},
	})
	f.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.account, "account", "", "only what this `ACCOUNT` of the channel sent")
	flags.StringVar(&f.reason, "reason", "", "only what stopped for this `REASON`, such as epoch_hold")
	flags.StringVar(&f.confirm, "confirm", "", "decide about what was counted: the `TEXT` that the count printed")
	flags.IntVar(&f.max, "max", 1000, "how many at most, a `NUMBER` up to 100000")
	return cmd
}

func (f *resolve) all(ctx context.Context, c *client.Client, outcome wire.Outcome) error {
	filter, err := f.filter(f.Shell)
	if err != nil {
		return err
	}
	if filter.Channel+filter.Kind+filter.Ref+filter.User+f.account+f.reason == "" && filter.Since.IsZero() && filter.Until.IsZero() {
		return shell.Usagef("a delivery's id or a filter such as --channel oa --reason epoch_hold says what is decided")
	}
	out, err := c.Deliveries.ResolveAll(ctx, wire.ResolveAll{
		Outcome: outcome, Channel: filter.Channel, Kind: filter.Kind, Ref: filter.Ref, User: filter.User, Account: f.account, Reason: f.reason,
		States: filter.States, Since: filter.Since, Until: filter.Until, DryRun: f.confirm == "", Confirm: f.confirm, Max: f.max,
	})
	if err != nil {
		return err
	}
	if err := f.Show(out, func() { f.print(out, outcome) }); err != nil || out.Stopped == "" {
		return err
	}
	return shell.ErrQuiet
}

func (f *resolve) print(out wire.ResolvedAll, outcome wire.Outcome) {
	switch {
	case out.DryRun && out.Matched == 0:
		f.Printf("no delivery fits\n")
	case out.DryRun:
		f.Printf("%d deliveries would be resolved as %s\n  → the same with --confirm %s does it\n", out.Matched, outcome, out.Confirm)
	default:
		f.Printf("%d of %d deliveries were resolved as %s\n", out.Resolved, out.Matched, outcome)
		if out.Stopped != "" {
			f.Printf("  → it ended early, the same call goes on: %s\n", out.Stopped)
		}
	}
}
