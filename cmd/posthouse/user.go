package main

import (
	"context"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
)

func (p *program) user() *cobra.Command {
	return calling(group("user", "The directory: where each channel reaches whom",
		p.userList(), p.userShow(), p.userSet(), p.userImport(), p.userDelete()))
}

func (p *program) userList() *cobra.Command {
	var f client.Filter
	cmd := &cobra.Command{
		Use: "list", Short: "List the directory", Args: takes(),
		RunE: p.over(func(ctx context.Context, c *client.Client, _ []string) error {
			page, err := c.Users.List(ctx, f)
			if err != nil {
				return err
			}
			return p.show(page, func() {
				var rows [][]string
				for _, u := range page.Items {
					rows = append(rows, []string{u.ID, u.Name, u.Type, words(u.Roles), addresses(u)})
				}
				p.printTable([]string{"User", "Name", "Type", "Roles", "Addresses"}, rows)
				if page.Next != "" {
					p.printf("  … and more: --cursor %s\n", page.Next)
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
	return words(out)
}

func (p *program) userShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show one user", Args: takes("ID"),
		RunE: p.over(func(ctx context.Context, c *client.Client, args []string) error {
			u, err := c.Users.Get(ctx, args[0])
			if err != nil {
				return err
			}
			return p.show(u, func() {
				p.printFields([][2]string{{"user", u.ID}, {"name", u.Name}, {"type", u.Type}, {"roles", words(u.Roles)}, {"addresses", addresses(u)}, {"updated", at(u.UpdatedAt)}}...)
			})
		}),
	}
}

func (p *program) userSet() *cobra.Command {
	var u posthouse.User
	var at []string
	cmd := &cobra.Command{
		Use: "set ID", Short: "Store a user; what was stored before is gone", Args: takes("ID"),
		RunE: p.over(func(ctx context.Context, c *client.Client, args []string) error {
			var err error
			u.ID = args[0]
			if u.Addresses, err = pairs("--address", at); err != nil {
				return err
			}
			if _, err := c.Users.Put(ctx, u); err != nil {
				return err
			}
			return p.done(u.ID, "stored")
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&u.Name, "name", "", "the `NAME`")
	flags.StringVar(&u.Type, "type", "", "what rules look at, a `TYPE` such as head_office or branch")
	flags.StringArrayVar(&u.Roles, "role", nil, "a `ROLE` the user has, by which workflows name who handles a node; may be repeated")
	flags.StringArrayVar(&at, "address", nil, "`CHANNEL=ADDRESS`: where a channel reaches the user; may be repeated")
	return cmd
}

func (p *program) userImport() *cobra.Command {
	return &cobra.Command{
		Use: "import FILE", Short: "Store users from CSV, all or none", Args: takes("FILE"),
		Long: `Store users from CSV with the columns id, name, type, roles (with ; between them), and one for
each channel that holds the address there. Users that are there already are replaced. FILE may be - for standard input.`,
		RunE: p.over(func(ctx context.Context, c *client.Client, args []string) error {
			text, err := p.readFile(args[0])
			if err != nil {
				return err
			}
			out, err := c.Users.Import(ctx, text)
			if err != nil {
				return err
			}
			return p.show(out, func() { p.printf("users stored: %d\n", out.Stored) })
		}),
	}
}

func (p *program) userDelete() *cobra.Command {
	return &cobra.Command{
		Use: "delete ID", Short: "Delete a user", Args: takes("ID"),
		RunE: p.over(func(ctx context.Context, c *client.Client, args []string) error {
			if err := c.Users.Delete(ctx, args[0]); err != nil {
				return err
			}
			return p.done(args[0], "deleted")
		}),
	}
}
