package remote

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
)

func callbackGroup(sh *shell.Shell) *cobra.Command {
	return shell.Group("callbacks", "The addresses at which a channel's provider calls the server", callbackList(sh), callbackAdd(sh), callbackDelete(sh))
}

func callbackList(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "list CHANNEL", Short: "List the addresses at which a channel's provider calls the server", Args: shell.Takes("CHANNEL"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			list, err := c.Callbacks.List(ctx, args[0])
			if err != nil {
				return err
			}
			return sh.Show(list, func() {
				var rows [][]string
				for _, a := range list {
					rows = append(rows, []string{a.Address, a.Account, sh.At(a.CreatedAt)})
				}
				sh.Table([]string{"Address", "Account", "Made"}, rows)
			})
		}),
	}
}

func callbackAdd(sh *shell.Shell) *cobra.Command {
	var account string
	cmd := &cobra.Command{
		Use: "add CHANNEL", Short: "Make an address at which a channel's provider calls the server", Args: shell.Takes("CHANNEL"),
		Long: `Make an address at which a channel's provider calls the server. It is printed without the server's public URL:
both together are entered at the provider, beside the channel's callback_token. Nobody can guess it. Two may be there at once, so that one can replace the other.`,
		Example: `  posthouse channel callbacks add mp
  posthouse channel callbacks add wecom --account sales-07`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			made, err := c.Callbacks.Create(ctx, args[0], account)
			if err != nil {
				return err
			}
			return sh.Show(made, func() { sh.Printf("%s\n", made.Path) })
		}),
	}
	cmd.Flags().StringVar(&account, "account", "", "the `NAME` of the account that is called for, of a channel that has several")
	return cmd
}

func callbackDelete(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "delete CHANNEL ADDRESS", Short: "Delete an address: who calls it is refused", Args: shell.Takes("CHANNEL", "ADDRESS"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			if err := c.Callbacks.Delete(ctx, args[0], args[1]); err != nil {
				return err
			}
			return sh.Done(args[1], "deleted")
		}),
	}
}
