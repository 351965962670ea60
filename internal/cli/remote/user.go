package remote

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/wire"
)

func userGroup(sh *shell.Shell) *cobra.Command {
	return sh.Calling(shell.Group("user", "The directory: where each channel reaches whom",
		userList(sh), userShow(sh), userSet(sh), userChange(sh), userImport(sh), userDelete(sh), userPreferences(sh), userChoose(sh), userLink(sh)))
}

func userList(sh *shell.Shell) *cobra.Command {
	var f client.Filter
	var find string
	cmd := &cobra.Command{
		Use: "list", Short: "List the directory", Args: shell.Takes(),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, _ []string) error {
			list := func() (wire.Page[posthouse.User], error) { return c.Users.List(ctx, f) }
			if find != "" {
				list = func() (wire.Page[posthouse.User], error) { return c.Users.Find(ctx, find, f.Limit) }
			}
			page, err := list()
			if err != nil {
				return err
			}
			return sh.Show(page, func() {
				var rows [][]string
				for _, u := range page.Items {
					rows = append(rows, []string{u.ID, u.Name, u.Type, shell.Words(u.Roles), addresses(u)})
				}
				sh.Table([]string{"User", "Name", "Type", "Roles", "Addresses"}, rows)
				sh.More(page.Next)
			})
		}),
	}
	cmd.Flags().StringVar(&find, "find", "", "a `TEXT`: only whose id, address, name or part of a name begins with it, at most 100")
	shell.PageFlags(cmd.Flags(), &f.Limit, 100, &f.Cursor)
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
				sh.Fields([][2]string{{"user", u.ID}, {"name", u.Name}, {"type", u.Type}, {"roles", shell.Words(u.Roles)}, {"addresses", addresses(u)},
					{"time zone", u.TimeZone}, {"language", u.Language}, {"manager", u.Manager}, {"updated", sh.At(u.UpdatedAt)}, {"warnings", strings.Join(u.Warnings, "; ")}}...)
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
			before, err := c.Users.Get(ctx, u.ID)
			if code := posthouse.CodeOf(err); err != nil && code != posthouse.CodeNotFound && code != posthouse.CodeForbidden { // a key may store and not read
				return err
			}
			out, err := c.Users.Put(ctx, u)
			if err != nil {
				return err
			}
			warned(sh, out.Warnings)
			if lost := lostOf(before, u); len(lost) > 0 {
				warned(sh, []string{sh.Text("what was stored before is gone: %s. To keep what you do not name, use user change", strings.Join(lost, ", "))})
			}
			return sh.Done(u.ID, "stored")
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&u.Name, "name", "", "the `NAME`")
	flags.StringVar(&u.Type, "type", "", "what rules look at, a `TYPE` such as head_office or branch")
	flags.StringArrayVar(&u.Roles, "role", nil, "a `ROLE` the user has, by which workflows name who handles a node; may be repeated")
	flags.StringArrayVar(&at, "address", nil, "`CHANNEL=ADDRESS`: where a channel reaches the user; may be repeated")
	flags.StringVar(&u.TimeZone, "time-zone", "", "the IANA `ZONE` in which the user lives, such as Asia/Shanghai")
	flags.StringVar(&u.Language, "language", "", "the `LANGUAGE` the user reads, a tag such as zh or en")
	flags.StringVar(&u.Manager, "manager", "", "the `USER` who is the user's manager")
	return cmd
}

// lostOf are the fields, by their flags, that a user had before and has no more.
func lostOf(before, after posthouse.User) (lost []string) {
	for _, f := range []struct {
		flag         string
		had, remains bool
	}{
		{"--name", before.Name != "", after.Name != ""}, {"--type", before.Type != "", after.Type != ""},
		{"--role", len(before.Roles) > 0, len(after.Roles) > 0}, {"--time-zone", before.TimeZone != "", after.TimeZone != ""},
		{"--language", before.Language != "", after.Language != ""}, {"--manager", before.Manager != "", after.Manager != ""},
	} {
		if f.had && !f.remains {
			lost = append(lost, f.flag)
		}
	}
	for _, channel := range slices.Sorted(maps.Keys(before.Addresses)) {
		if _, there := after.Addresses[channel]; !there {
			lost = append(lost, "--address "+channel)
		}
	}
	return lost
}

// importUsers stores users from CSV.
type importUsers struct {
	*shell.Shell
	prune, rehearse bool
}

func userImport(sh *shell.Shell) *cobra.Command {
	f := &importUsers{Shell: sh}
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Store users from CSV, all or none", Args: shell.Takes("FILE"),
		Long: `Store users from CSV with the columns id, name, type, roles (with ; between them), time_zone, language,
manager, and one for each channel that holds the address there. Users that are there already are replaced: what the
file has no column for is empty then. FILE may be - for standard input.

With --prune the file is all of the directory: users it does not name are deleted. --dry-run says before
what that would change.`,
		Example: `  posthouse user import people.csv --prune --dry-run
  posthouse user import people.csv --prune`,
		RunE: sh.Over(f.run),
	}
	cmd.Flags().BoolVar(&f.prune, "prune", false, "delete the users that the file does not name")
	cmd.Flags().BoolVar(&f.rehearse, "dry-run", false, "say what --prune would change, and change nothing")
	return cmd
}

func (f *importUsers) run(ctx context.Context, c *client.Client, args []string) error {
	if f.rehearse && !f.prune {
		return shell.Usagef("--dry-run previews what --prune would do: give both")
	}
	text, err := f.ReadFile(args[0])
	if err != nil {
		return err
	}
	if !f.prune {
		out, err := c.Users.Import(ctx, text)
		if err != nil {
			return err
		}
		warned(f.Shell, out.Warnings)
		return f.Show(out, func() { f.Printf("users stored: %d\n", out.Stored) })
	}
	out, err := c.Users.ReplaceFrom(ctx, f.rehearse, text)
	if err != nil {
		return err
	}
	warned(f.Shell, out.Warnings)
	return f.Show(out, func() { f.printReplaced(*out.Replaced) })
}

func (f *importUsers) printReplaced(r wire.UsersReplaced) {
	for _, part := range []struct {
		what string
		ids  []string
	}{{"added", r.Added}, {"changed", r.Changed}, {"deleted", r.Removed}} {
		if r.DryRun {
			f.Printf("would be %s: %d\n", f.Label(part.what), len(part.ids))
		} else {
			f.Printf("%s: %d\n", f.Label(part.what), len(part.ids))
		}
		for _, id := range part.ids {
			f.Printf("  %s\n", id)
		}
	}
	for _, channel := range slices.Sorted(maps.Keys(r.Lost)) {
		f.Printf("users who lose their address on %s: %d\n", channel, r.Lost[channel])
	}
	f.Printf("stay as they are: %d\n", r.Unchanged)
}

func userChange(sh *shell.Shell) *cobra.Command {
	var name, kind, zone, language, manager string
	var roles, at []string
	cmd := &cobra.Command{
		Use: "change ID", Short: "Change what the flags name of a user, and keep the rest", Args: shell.Takes("ID"),
		Example: `  posthouse user change u7 --address dingtalk=li.na
  posthouse user change u7 --address dingtalk= --role planner`,
	}
	cmd.RunE = sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
		var change wire.UserChange
		named := false
		for flag, to := range map[string]struct {
			field **string
			value *string
		}{"name": {&change.Name, &name}, "type": {&change.Type, &kind}, "time-zone": {&change.TimeZone, &zone}, "language": {&change.Language, &language}, "manager": {&change.Manager, &manager}} {
			if cmd.Flags().Changed(flag) {
				*to.field, named = to.value, true
			}
		}
		if cmd.Flags().Changed("role") {
			roles = slices.DeleteFunc(roles, func(role string) bool { return role == "" })
			change.Roles = &roles
		}
		pairs, err := shell.Pairs("--address", at)
		if err != nil {
			return err
		}
		for channel, address := range pairs {
			if change.Addresses == nil {
				change.Addresses = map[string]*string{}
			}
			if change.Addresses[channel] = &address; address == "" {
				change.Addresses[channel] = nil
			}
		}
		if !named && change.Roles == nil && len(change.Addresses) == 0 {
			return shell.Usagef("nothing is named to change: want --name, --type, --role, --address, --time-zone, --language or --manager")
		}
		u, err := c.Users.Change(ctx, args[0], change)
		if err != nil {
			return err
		}
		warned(sh, u.Warnings)
		return sh.Show(u, func() { sh.Printf("%s: changed\n", u.ID) })
	})
	flags := cmd.Flags()
	flags.StringVar(&name, "name", "", "the `NAME`")
	flags.StringVar(&kind, "type", "", "what rules look at, a `TYPE` such as head_office or branch")
	flags.StringArrayVar(&roles, "role", nil, "a `ROLE` the user has, and no others than those named; empty for none")
	flags.StringArrayVar(&at, "address", nil, "`CHANNEL=ADDRESS`: where a channel reaches the user, nothing behind = forgets it; may be repeated")
	flags.StringVar(&zone, "time-zone", "", "the IANA `ZONE` in which the user lives, such as Asia/Shanghai; empty for none")
	flags.StringVar(&language, "language", "", "the `LANGUAGE` the user reads, a tag such as zh or en; empty for the tenant's")
	flags.StringVar(&manager, "manager", "", "the `USER` who is the user's manager; empty for none")
	return cmd
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

// warned prints what is stored and may not be meant.
func warned(sh *shell.Shell, warnings []string) {
	for _, w := range warnings {
		sh.Notef("%s: %s\n", sh.Says("warning"), sh.Says(w))
	}
}
