package roster

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/wire"
)

// override changes single dates of a roster.
func override(sh *shell.Shell) *cobra.Command {
	var in wire.Override
	var dates []string
	var swap string
	cmd := &cobra.Command{
		Use: "override [NAME]", Short: "Change who is on duty on single dates (default roster duty)", Args: shell.UpTo(1),
		Long: `Change who is on duty on single dates from today on, or have two users swap, and say who is on duty then.
The rest of the roster stays as it is.`,
		Example: `  posthouse roster override --date 2030-10-01=zhao.min
  posthouse roster override night --swap li.na@2030-10-01=wang.fang@2030-10-03 --dry-run`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) (err error) {
			if in.Dates, err = usersBy("--date", dates); err != nil {
				return err
			}
			if swap != "" {
				if in.Swap, err = swapOf(swap); err != nil {
					return err
				}
			}
			out, err := c.Rosters.Override(ctx, named(args), in)
			if err != nil {
				return err
			}
			return sh.Show(out, func() { printOverridden(sh, out) })
		}),
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&dates, "date", nil, "`DATE=USERS`: the users of a date, with commas between; no users: nobody; may be repeated")
	flags.StringSliceVar(&in.Clear, "clear", nil, "`DATES` that have the users of their day of the week again")
	flags.StringVar(&swap, "swap", "", "two users who take each other's duty: `USER@DATE=USER@DATE`")
	flags.BoolVar(&in.DryRun, "dry-run", false, "say what would change, and change nothing")
	return cmd
}

// swapOf reads USER@DATE=USER@DATE. A user may have an @ in it.
func swapOf(text string) (*wire.DutySwap, error) {
	one, other, ok := strings.Cut(text, "=")
	i, j := strings.LastIndexByte(one, '@'), strings.LastIndexByte(other, '@')
	if !ok || i < 1 || j < 1 {
		return nil, shell.Usagef("--swap: is %q: want USER@DATE=USER@DATE", text)
	}
	return &wire.DutySwap{User: one[:i], Date: one[i+1:], With: other[:j], WithDate: other[j+1:]}, nil
}

func printOverridden(sh *shell.Shell, out wire.Overridden) {
	var rows [][]string
	for _, one := range out.Changed {
		rows = append(rows, []string{one.Date, onDuty(sh, one.Before), onDuty(sh, one.After)})
	}
	sh.Table([]string{"Date", "Before", "After"}, rows)
	if out.DryRun {
		sh.Printf("\nnothing was changed: this is what would be\n")
	}
	sh.Printf("\n")
	sh.Fields([][2]string{
		{"on duty", sh.Text("%s, until %s", onDuty(sh, out.Now.Users), sh.At(out.Now.Until))}, {"then", sh.Text("%s, until %s", onDuty(sh, out.Next.Users), sh.At(out.Next.Until))},
	}...)
}
