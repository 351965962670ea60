package remote

import (
	"context"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
)

func userGroup(sh *shell.Shell) *cobra.Command {
	return sh.Calling(shell.Group("user", "The directory: where each channel reaches whom",
		userList(sh), userShow(sh), userSet(sh), userImport(sh), userDelete(sh)))
}

func userList(sh *shell.Shell) *cobra.Command {
	var f client.Filter
	cmd := &cobra.Command{
		Use: "list", Short: "List the directory", Args: shell.Takes(),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, _ []string) error {
			page, err := c.Users.List(ctx, f)
			if err != nil {
				return err
			}
			return sh.Show(page, func() {
				var rows [][]string
				for _, u := range page.Items {
					rows = append(rows, []string{u.ID, u.Name, u.Type, shell.Words(u.Roles), addresses(u)})
				}
				sh.Table([]string{"User", "Name", "Type", "Roles", "Addresses"}, rows)
				if page.Next != "" {
					sh.Printf("  … and more: --cursor %s\n", page.Next)
				}
			})
		}),
	}
	cmd.Flags().IntVar(&f.Limit, "limit", 100, "how many at most, 1 to 1000")
	cmd.Flags().StringVar(&f.Cursor, "cursor", "", "where the page before ended, a `CURSOR`")
	return cmd
}

func addresses(u posthouse.User) string {
	var out []string
	for _, channel := range slices.Sorted(maps.Keys(u.Addresses)) {
		out = append(out, channel+"="+u.Addresses[channel])
	}
	return shell.Words(out)
}

func userShow(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show one user", Args: shell.Takes("ID"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			u, err := c.Users.Get(ctx, args[0])
			if err != nil {
				return err
			}
			return sh.Show(u, func() {
				sh.Fields([][2]string{{"user", u.ID}, {"name", u.Name}, {"type", u.Type}, {"roles", shell.Words(u.Roles)}, {"addresses", addresses(u)}, {"updated", sh.At(u.UpdatedAt)}}...)
			})
		}),
	}
}

func userSet(sh *shell.Shell) *cobra.Command {
	var u posthouse.User
	var at []string
	cmd := &cobra.Command{
		Use: "set ID", Short: "Store a user; what was stored before is gone", Args: shell.Takes("ID"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			var err error
			u.ID = args[0]
			if u.Addresses, err = shell.Pairs("--address", at); err != nil {
				return err
			}
			if _, err := c.Users.Put(ctx, u); err != nil {
				return err
			}
			return sh.Done(u.ID, "stored")
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&u.Name, "name", "", "the `NAME`")
	flags.StringVar(&u.Type, "type", "", "what rules look at, a `TYPE` such as head_office or branch")
	flags.StringArrayVar(&u.Roles, "role", nil, "a `ROLE` the user has, by which workflows name who handles a node; may be repeated")
	flags.StringArrayVar(&at, "address", nil, "`CHANNEL=ADDRESS`: where a channel reaches the user; may be repeated")
	return cmd
}

func userImport(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "import FILE", Short: "Store users from CSV, all or none", Args: shell.Takes("FILE"),
		Long: `Store users from CSV with the columns id, name, type, roles (with ; between them), and one for
each channel that holds the address there. Users that are there already are replaced. FILE may be - for standard input.`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			text, err := sh.ReadFile(args[0])
			if err != nil {
				return err
			}
			out, err := c.Users.Import(ctx, text)
			if err != nil {
				return err
			}
			return sh.Show(out, func() { sh.Printf("users stored: %d\n", out.Stored) })
		}),
	}
}

func userDelete(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "delete ID", Short: "Delete a user", Args: shell.Takes("ID"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			if err := c.Users.Delete(ctx, args[0]); err != nil {
				return err
			}
			return sh.Done(args[0], "deleted")
		}),
	}
}
