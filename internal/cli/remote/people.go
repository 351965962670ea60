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

func peopleGroup(sh *shell.Shell) *cobra.Command {
	return sh.Calling(shell.Group("people", "Who may use the console, and as what", peopleList(sh), peopleAdd(sh), peopleRole(sh), peopleLink(sh), peopleDisable(sh, true), peopleDisable(sh, false), peopleSignOut(sh), peopleResetTOTP(sh), peopleDelete(sh)))
}

func peopleList(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List who may use the console", Args: shell.Takes(),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, _ []string) error {
			all, err := c.People.List(ctx)
			if err != nil {
				return err
			}
			return sh.Show(all, func() {
				var rows [][]string
				for _, p := range all {
					rows = append(rows, []string{p.Name, p.Title, rolesText(p), sh.At(p.SeenAt), heldText(sh, p)})
				}
				sh.Table([]string{"Name", "Title", "Roles", "Last seen", "State"}, rows)
			})
		}),
	}
}

// rolesText lists the roles of a person by tenant.
func rolesText(p posthouse.Person) string {
	var list []string
	for tenant, role := range p.Roles {
		list = append(list, tenant+"="+string(role))
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

func heldText(sh *shell.Shell, p posthouse.Person) string {
	switch {
	case p.Disabled:
		return sh.Text("disabled")
	case !p.Password:
		return sh.Text("no password")
	case p.TOTP:
		return sh.Text("one-time codes")
	}
	return ""
}

func peopleAdd(sh *shell.Shell) *cobra.Command {
	var in wire.PutPerson
	var roles map[string]string
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Make a person, and the link by which the person signs in", Args: shell.Takes("NAME"),
		Example: `  posthouse people add zhang.san --title 张三 --role default=operator
  posthouse people add li.na --role default=viewer,branch-7=admin`,
	}
	cmd.RunE = sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
		in.Roles = map[string]posthouse.Role{}
		for tenant, role := range roles {
			in.Roles[tenant] = posthouse.Role(role)
		}
		if _, err := c.People.Get(ctx, args[0]); err == nil {
			return posthouse.Errorf(posthouse.CodeConflict, "there is a person %q already: posthouse people role changes roles, posthouse people link makes a link", args[0])
		} else if posthouse.CodeOf(err) != posthouse.CodeNotFound {
			return err
		}
		if _, err := c.People.Put(ctx, args[0], in); err != nil {
			return err
		}
		return showLink(ctx, sh, c, args[0])
	})
	cmd.Flags().StringVar(&in.Title, "title", "", "how the person is called on pages, a `TEXT` (default the name)")
	cmd.Flags().StringToStringVar(&roles, "role", map[string]string{posthouse.DefaultTenant: string(posthouse.RoleViewer)}, "what the person may do, `TENANT=ROLE` with commas between: viewer, operator, sender or admin")
	return cmd
}

// showLink makes a link and prints it alone, so that it can be copied.
func showLink(ctx context.Context, sh *shell.Shell, c *client.Client, name string) error {
	link, err := c.People.Link(ctx, name)
	if err != nil {
		return err
	}
	return sh.Show(link, func() {
		sh.Printf("%s\n", c.URL()+link.Path)
		sh.Notef("  → signs %s in to the console once, until %s\n", name, sh.At(link.EndsAt))
	})
}

func peopleLink(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "link NAME", Short: "Make a link by which a person signs in, once and within a day", Args: shell.Takes("NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			return showLink(ctx, sh, c, args[0])
		}),
	}
}

// noRole takes a role away.
const noRole = "none"

func peopleRole(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "role NAME TENANT ROLE", Short: "Give a person a role in a tenant: viewer, operator, sender, admin, or none", Args: shell.Takes("NAME", "TENANT", "ROLE"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			return changePerson(ctx, sh, c, args[0], func(p *posthouse.Person) {
				if args[2] == noRole {
					delete(p.Roles, args[1])
					return
				}
				p.Roles[args[1]] = posthouse.Role(args[2])
			})
		}),
	}
}

// changePerson reads a person, and stores what was changed.
func changePerson(ctx context.Context, sh *shell.Shell, c *client.Client, name string, change func(*posthouse.Person)) error {
	p, err := c.People.Get(ctx, name)
	if err != nil {
		return err
	}
	if p.Roles == nil {
		p.Roles = map[string]posthouse.Role{}
	}
	change(&p)
	p, err = c.People.Put(ctx, name, wire.PutPerson{Title: p.Title, Roles: p.Roles, Disabled: p.Disabled})
	if err != nil {
		return err
	}
	return sh.Show(p, func() {
		sh.Fields([][2]string{{"person", p.Name}, {"title", p.Title}, {"roles", rolesText(p)}, {"state", heldText(sh, p)}}...)
	})
}

func peopleDisable(sh *shell.Shell, disabled bool) *cobra.Command {
	use, short := "enable NAME", "Let a person in again"
	if disabled {
		use, short = "disable NAME", "Keep a person out; sessions and links end at once"
	}
	return &cobra.Command{
		Use: use, Short: short, Args: shell.Takes("NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			return changePerson(ctx, sh, c, args[0], func(p *posthouse.Person) { p.Disabled = disabled })
		}),
	}
}

func peopleSignOut(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "sign-out NAME", Short: "End all sessions and links of a person", Args: shell.Takes("NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			done, err := c.People.SignOut(ctx, args[0])
			if err != nil {
				return err
			}
			return sh.Done(args[0], "signed out: %d sessions and links ended", done.Ended)
		}),
	}
}

func peopleResetTOTP(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "reset-totp NAME", Short: "Turn a person's one-time codes off: for a phone that is lost", Args: shell.Takes("NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			if _, err := c.People.ResetTOTP(ctx, args[0]); err != nil {
				return err
			}
			return sh.Done(args[0], "one-time codes are off")
		}),
	}
}

func peopleDelete(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME", Short: "Delete a person", Args: shell.Takes("NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			if err := c.People.Delete(ctx, args[0]); err != nil {
				return err
			}
			return sh.Done(args[0], "deleted")
		}),
	}
}
