package remote

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
)

func digestGroup(sh *shell.Shell) *cobra.Command {
	return sh.Calling(shell.Group("digest", "Which messages become one, and what was gathered by that",
		digestList(sh), digestShow(sh), digestSet(sh), digestDelete(sh), digestGathered(sh), digestCollection(sh), digestLeave(sh)))
}

func digestList(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the digests", Args: shell.Takes(),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, _ []string) error {
			all, err := c.Digests.List(ctx)
			if err != nil {
				return err
			}
			return sh.Show(all, func() {
				var rows [][]string
				for i := range all {
					d := &all[i]
					rows = append(rows, []string{d.Name, fmt.Sprint(d.Version), leavesInWords(sh, d), fmt.Sprint(d.Max), d.By, d.Template, shell.Cut(d.Note, 50)})
				}
				sh.Table([]string{"Digest", "Version", "Leaves", "Max", "By", "Template", "Note"}, rows)
			})
		}),
	}
}

// leavesInWords is when a digest's collections leave: after 10m, or by a cron.
func leavesInWords(sh *shell.Shell, d *posthouse.Digest) string {
	if d.Cron == "" {
		return sh.Text("after %s", d.Window)
	}
	if d.TimeZone == "" {
		return d.Cron
	}
	return d.Cron + " " + d.TimeZone
}

func digestShow(sh *shell.Shell) *cobra.Command {
	var version int
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show a digest", Args: shell.Takes("NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			d, err := c.Digests.Get(ctx, args[0], version)
			if err != nil {
				return err
			}
			return sh.Show(d, func() {
				sh.Fields([][2]string{
					{"digest", d.Name}, {"version", fmt.Sprint(d.Version)}, {"leaves", leavesInWords(sh, &d)}, {"max", fmt.Sprint(d.Max)}, {"by", d.By},
					{"template", d.Template}, {"line", d.Line}, {"always", fmt.Sprint(d.Always)}, {"made", sh.At(d.CreatedAt)}, {"note", d.Note},
				}...)
			})
		}),
	}
	cmd.Flags().IntVar(&version, "version", 0, "a `NUMBER` (default the latest)")
	return cmd
}

func digestSet(sh *shell.Shell) *cobra.Command {
	var d posthouse.Digest
	var window string
	cmd := &cobra.Command{
		Use: "set NAME", Short: "Store a new version of a digest", Args: shell.Takes("NAME"),
		Example: `  posthouse digest set alerts --window 5m --max 20
  posthouse digest set evening --cron '0 18 * * *' --time-zone Asia/Shanghai`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			if window != "" {
				if err := d.Window.UnmarshalText([]byte(window)); err != nil {
					return shell.Usagef("--window: %w", err)
				}
			}
			d.Name = args[0]
			stored, err := c.Digests.Put(ctx, d)
			if err != nil {
				return err
			}
			return sh.Show(stored, func() {
				sh.Printf("%s: version %d: at most %d messages, %s\n", stored.Name, stored.Version, stored.Max, leavesInWords(sh, &stored))
			})
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&window, "window", "", "how `LONG` messages are gathered from the first one on: 10m, at most 31d")
	flags.StringVar(&d.Cron, "cron", "", "when they leave, in place of --window, an `EXPRESSION` such as '0 18 * * *'")
	flags.StringVar(&d.TimeZone, "time-zone", "", "the `ZONE` of --cron (default the server's)")
	flags.IntVar(&d.Max, "max", 0, "how `MANY` messages leave together, 2 to 100 (default 100)")
	flags.StringVar(&d.By, "by", "", "what messages of one have in common, an `EXPRESSION` such as payload.cluster (default kind)")
	flags.StringVar(&d.Template, "template", "", "the `NAME` of the template of the text: it has ${count} and ${list}")
	flags.StringVar(&d.Line, "line", "", "a line of the list, a `TEXT` such as '${n}. ${title} ${text}'")
	flags.BoolVar(&d.Always, "always", false, "use the template for a single message too, which leaves as it is otherwise")
	flags.StringVar(&d.Note, "note", "", "what it is for, a `TEXT`")
	return cmd
}

func digestDelete(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME", Short: "Delete a digest with all its versions; what it has gathered leaves", Args: shell.Takes("NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			if err := c.Digests.Delete(ctx, args[0]); err != nil {
				return err
			}
			return sh.Done(args[0], "deleted")
		}),
	}
}

func digestGathered(sh *shell.Shell) *cobra.Command {
	var state string
	var f client.Filter
	cmd := &cobra.Command{
		Use: "gathered", Short: "List what digests gather, newest first", Args: shell.Takes(),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, _ []string) error {
			page, err := c.Collections.List(ctx, posthouse.CollectionState(state), f)
			if err != nil {
				return err
			}
			return sh.Show(page, func() {
				var rows [][]string
				for i := range page.Items {
					one := &page.Items[i]
					rows = append(rows, []string{one.ID, one.Digest, cmp.Or(one.To.User, one.To.Address), one.Channel, string(one.State), string(one.Outcome), fmt.Sprint(one.Together()), sh.At(one.LeavesAt)})
				}
				sh.Table([]string{"Collection", "Digest", "Whom", "Channel", "State", "Outcome", "Members", "Leaves"}, rows)
				if page.Next != "" {
					sh.Printf("There are more: --cursor %s\n", page.Next)
				}
			})
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&state, "state", "", "only those in a `STATE`: waiting, leaving, settled, alone or empty")
	flags.IntVar(&f.Limit, "limit", 0, "at most so `MANY` (default 50)")
	flags.StringVar(&f.Cursor, "cursor", "", "the `CURSOR` of the page before")
	return cmd
}

func digestCollection(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "collection ID", Short: "Show what a digest has gathered, with its members", Args: shell.Takes("ID"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			one, err := c.Collections.Get(ctx, args[0])
			if err != nil {
				return err
			}
			return sh.Show(one, func() { printCollection(sh, &one) })
		}),
	}
}

func printCollection(sh *shell.Shell, c *posthouse.Collection) {
	sh.Fields([][2]string{
		{"collection", c.ID}, {"digest", sh.Text("%s, version %d", c.Digest, c.DigestVersion)}, {"whom", cmp.Or(c.To.User, c.To.Address)}, {"channel", c.Channel},
		{"by", c.By}, {"state", string(c.State)}, {"leaves", sh.At(c.LeavesAt)}, {"delivery", c.Delivery}, {"outcome", string(c.Outcome)}, {"error", c.Error},
	}...)
	var rows [][]string
	for _, m := range c.Members {
		left := ""
		if m.Left {
			left = sh.Text("left")
		}
		rows = append(rows, []string{m.Delivery, string(m.State), left})
	}
	sh.Table([]string{"Member", "State", ""}, rows)
}

func digestLeave(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "leave ID", Short: "Have a collection leave now that waits for its moment", Args: shell.Takes("ID"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			one, err := c.Collections.Leave(ctx, args[0])
			if err != nil {
				return err
			}
			return sh.Show(one, func() { printCollection(sh, &one) })
		}),
	}
}
