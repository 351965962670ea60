package remote

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/shellword"
	"github.com/posthouse/posthouse/wire"
)

func decisionsGroup(sh *shell.Shell) *cobra.Command {
	return sh.Calling(shell.Group("decisions", "Bulk actions on many deliveries, which the server carries out step by step",
		decisionsMake(sh), decisionsList(sh), decisionDoing(sh, "show ID", "Show how far a decision is", client.Decisions.Get),
		decisionDoing(sh, "stop ID", "Stop a decision where it is; what it has decided stays decided", client.Decisions.Stop),
		decisionDoing(sh, "undo ID", "Take back what a retry or replay let go and has not begun; the rest stays decided", client.Decisions.Undo)))
}

// verdict is a person's word on all that a filter selects.
type verdict struct {
	*shell.Shell
	selection
	account, reason, confirm string
	forceNew                 bool
}

func decisionsMake(sh *shell.Shell) *cobra.Command {
	f := &verdict{Shell: sh}
	outcomes := append(wire.Outcomes(), wire.OutcomeReplay)
	cmd := &cobra.Command{
		Use: "make (sent | not_sent | retry | replay)", Short: "Decide about all deliveries that a filter selects",
		Long: `Decide about all deliveries that the flags select, up to 100,000: sent, not_sent or retry of what is unknown
or quarantined, replay of what failed, expired or was quarantined. The first call counts them and prints what
confirms that count. The same call with --confirm begins, and comes back at once: the server goes on step by
step, and decides about nothing that has changed since.`,
		Example: `  posthouse decisions make retry --channel oa --reason epoch_hold # says how many
  posthouse decisions make retry --channel oa --reason epoch_hold --confirm 81200-…`,
		Args: shell.Takes("OUTCOME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			outcome := wire.Outcome(strings.ReplaceAll(args[0], "-", "_"))
			if !slices.Contains(outcomes, outcome) {
				return shell.Usagef("OUTCOME: %s", channel.Want(outcome, outcomes))
			}
			c, err := sh.Dial(cmd)
			if err != nil {
				return err
			}
			return f.decide(cmd.Context(), c, outcome)
		},
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.account, "account", "", "only what this `ACCOUNT` of the channel sent, or tried to")
	flags.StringVar(&f.reason, "reason", "", "only what stopped for this `REASON`, such as tries_used_up")
	flags.BoolVar(&f.forceNew, "force-new", false, "of replay: give the provider new idempotency keys, so that one who remembers the old ones sends again")
	flags.StringVar(&f.confirm, "confirm", "", "decide about what was counted: the `TEXT` that the count printed")
	return cmd
}

func (f *verdict) decide(ctx context.Context, c *client.Client, outcome wire.Outcome) error {
	filter, err := f.filter(f.Shell)
	if err != nil {
		return err
	}
	out, err := c.Decisions.Begin(ctx, wire.Decide{
		Outcome: outcome, DryRun: f.confirm == "", Confirm: f.confirm,
		Selected: wire.Selected{
			Channel: filter.Channel, Kind: filter.Kind, Ref: filter.Ref, User: filter.User, Account: f.account, Reason: f.reason,
			States: filter.States, Since: filter.Since, Until: filter.Until, ForceNew: f.forceNew,
		},
	})
	if err != nil {
		return err
	}
	return f.Show(out, func() {
		switch {
		case out.ID != "":
			printDecision(f.Shell, out)
			f.Printf("  → posthouse decisions show %s says how far it is\n", shellword.Quote(out.ID))
		case out.Matched == 0:
			f.Printf("no delivery fits\n")
		default:
			f.Printf("%d deliveries would be decided as %s\n  → the same with --confirm %s does it\n", out.Matched-out.Shared, outcome, out.Confirm)
			if out.Shared > 0 {
				f.Printf("%d more went in the text of a digest and share what is decided of its delivery\n", out.Shared)
			}
		}
	})
}

// leftAlone is how many deliveries a decision has left, and how many of them are decided of with others.
func leftAlone(sh *shell.Shell, d wire.Decision) string {
	if d.Shared == 0 {
		return strconv.Itoa(d.Left)
	}
	return sh.Text("%d, of which %d went in the text of a digest and share what is decided of its delivery", d.Left, d.Shared)
}

func printDecision(sh *shell.Shell, d wire.Decision) {
	sh.Fields([][2]string{
		{"decision", d.ID}, {"state", string(d.State)}, {"last error", d.Error}, {"outcome", string(d.Outcome)},
		{"channel", d.Channel}, {"kind", d.Kind}, {"ref", d.Ref}, {"user", d.User}, {"account", d.Account}, {"reason", d.Reason}, {"states", shell.Words(texts(d.States))},
		{"done", sh.Text("%d of %d", d.Done, d.Matched)}, {"left alone", leftAlone(sh, d)}, {"undoes", d.Undoes}, {"undone by", d.UndoneBy}, {"by", d.By}, {"begun", sh.At(d.CreatedAt)},
	}...)
}

func decisionsList(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the newest decisions", Args: shell.Takes(),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, _ []string) error {
			list, err := c.Decisions.List(ctx)
			if err != nil {
				return err
			}
			return sh.Show(list, func() {
				var rows [][]string
				for _, d := range list {
					rows = append(rows, []string{d.ID, sh.At(d.CreatedAt), d.By, string(d.Outcome), d.Channel, d.Reason, string(d.State), strconv.Itoa(d.Done) + "/" + strconv.Itoa(d.Matched)})
				}
				sh.Table([]string{"Decision", "Begun", "By", "Outcome", "Channel", "Reason", "State", "Done"}, rows)
			})
		}),
	}
}

// decisionDoing is a command that does something with one decision.
func decisionDoing(sh *shell.Shell, use, short string, do func(client.Decisions, context.Context, string) (wire.Decision, error)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: shell.Takes("ID"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			d, err := do(c.Decisions, ctx, args[0])
			if err != nil {
				return err
			}
			return sh.Show(d, func() { printDecision(sh, d) })
		}),
	}
}
