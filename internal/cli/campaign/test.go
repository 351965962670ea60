package campaign

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/shellword"
	"github.com/posthouse/posthouse/wire"
)

func test(sh *shell.Shell) *cobra.Command {
	var t wire.CampaignTest
	var variables string
	cmd := &cobra.Command{
		Use: "test NAME", Short: "Send a campaign's content to a few addresses at once; nothing of the campaign changes", Args: shell.Takes("NAME"),
		Example: `  posthouse campaign test coupon-a --to o6_bmjrPT,o6_kLzQ7x
  posthouse campaign test coupon-a --to o6_bmjrPT --variables '{"name": "Ann", "sum": 20}'`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) (err error) {
			if t.Variables, err = sh.Object("--variables", variables); err != nil {
				return err
			}
			sent, err := c.Campaigns.Test(ctx, args[0], t)
			if err != nil {
				return err
			}
			return sh.Show(sent, func() {
				var rows [][]string
				for _, d := range sent.Deliveries {
					rows = append(rows, []string{d.ID, string(d.State), d.Reason})
				}
				sh.Table([]string{"Delivery", "State", "Reason"}, rows)
				sh.Printf("  → posthouse status %s\n", shellword.Quote(sent.ID))
			})
		}),
	}
	cmd.Flags().StringSliceVar(&t.To, "to", nil, "the `ADDRESSES` that get it, with commas between")
	cmd.Flags().StringVar(&variables, "variables", "", "what the template is filled with, as of a member: a `JSON` object, @FILE, or - (default those of the first member)")
	return cmd
}
