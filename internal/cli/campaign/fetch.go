package campaign

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/wire"
)

const queryLong = `Import people from a database that the server's setting databases names. One column of the query is the address, all
others are variables; NULL is a variable that is missing. The server makes the query in a transaction that may only read; the
database's user should have no other right. It takes a key of scope admin. SQL may be @FILE, or - for standard input.

An import that was interrupted goes on when the command is given again: give the query an ORDER BY, so that it gives the
same people in each run.`

// query imports people from a database.
func query(sh *shell.Shell, of func(*client.Client, string) target) *cobra.Command {
	var q wire.PeopleQuery
	cmd := &cobra.Command{
		Use: "query NAME DATABASE SQL", Short: "Import people from a database that the server's settings name", Long: queryLong, Args: shell.Takes("NAME", "DATABASE", "SQL"),
		Example: `  posthouse campaign query coupon-a crm @fans.sql`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			text, err := sh.Input(args[2])
			if err != nil {
				return err
			}
			q.Database, q.Query = args[1], string(text)
			to := of(c, args[0])
			return fetch(ctx, sh, to, func() (posthouse.Audience, error) { return to.query(ctx, q) })
		}),
	}
	cmd.Flags().StringVar(&q.Address, "address", "", "the `COLUMN` of the address (default address, openid, phone, mobile, email or user)")
	return cmd
}

// followers imports everybody who follows a channel's account.
func followers(sh *shell.Shell, of func(*client.Client, string) target) *cobra.Command {
	var who wire.PeopleFollowing
	cmd := &cobra.Command{
		Use: "followers NAME", Short: "Import everybody who follows the channel's account, such as a WeChat service account", Args: shell.Takes("NAME"),
		Long: `Import everybody who follows the channel's account, such as that of a WeChat service account, page by page. An import that was
interrupted, or that the provider has ended for today, goes on when the command is given again.`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			to := of(c, args[0])
			return fetch(ctx, sh, to, func() (posthouse.Audience, error) { return to.followers(ctx, who) })
		}),
	}
	cmd.Flags().StringVar(&who.Account, "account", "", "the `ACCOUNT` of the channel, where it has several")
	return cmd
}

// fetch imports what is not stored yet.
func fetch(ctx context.Context, sh *shell.Shell, to target, more func() (posthouse.Audience, error)) error {
	a, err := persist(ctx, sh, func() (posthouse.Audience, error) {
		if a, err := to.now(ctx); err != nil || a.State == posthouse.AudienceReady {
			return a, err
		}
		return more()
	})
	if err != nil {
		return err
	}
	return sh.Show(a, func() { sh.Printf("%s\n", told(sh, a)) })
}
