package roster

import (
	"bytes"
	"context"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/rule"
)

// holidays is a command that puts a year's public holidays into a roster, and keeps everything else of it.
func holidays(sh *shell.Shell) *cobra.Command {
	var name string
	var dry bool
	cmd := &cobra.Command{
		Use: "holidays FILE", Short: "Put a list of public holidays into a roster, such as one that is a calendar of workdays", Args: shell.Takes("FILE"),
		Long: `Put a list of public holidays into a roster: a line for each date or span of dates, such as
2027-10-01..2027-10-07,off or 2027-10-09,work (休 and 班 too); further columns are left out. On a day
off nobody is on duty, on a workday the users of the roster's first day of the week. Overrides of
other dates stay. FILE may be - for standard input.`,
		Example: `  posthouse roster set workdays --day 1=work --day 2=work --day 3=work --day 4=work --day 5=work
  posthouse roster holidays 2027.csv --name workdays`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			text, err := sh.ReadFile(args[0])
			if err != nil {
				return err
			}
			list, problems, err := rule.ReadHolidays(bytes.NewReader(text))
			if err != nil {
				return err
			}
			if err := posthouse.Invalid("the holidays cannot be read", problems); err != nil {
				return err
			}
			before, err := c.Rosters.Get(ctx, name)
			if err != nil {
				return err
			}
			next, problems := list.Over(before)
			if err := posthouse.Invalid("the roster cannot take the holidays", problems); err != nil {
				return err
			}
			if !dry {
				if next, err = c.Rosters.Put(client.IfMatch(ctx, before.Tag()), next); err != nil {
					return err
				}
			}
			return sh.Show(next, func() {
				printRoster(sh, next)
				if dry {
					sh.Printf("\nnothing was stored: without --dry-run it is\n")
				}
			})
		}),
	}
	cmd.Flags().StringVar(&name, "name", defaultRoster, "the roster's `NAME`")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "show what would be stored, and store nothing")
	return cmd
}
