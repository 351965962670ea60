package campaign

import (
	"context"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/wire"
)

func audienceCreate(sh *shell.Shell) *cobra.Command {
	var draft wire.AudienceDraft
	cmd := &cobra.Command{
		Use: "add NAME", Aliases: []string{"create"}, Short: "Make an empty list", Args: shell.Takes("NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			draft.Name = args[0]
			a, err := c.Audiences.Create(ctx, draft)
			if err != nil {
				return err
			}
			return sh.Show(a, func() { printAudience(sh, a) })
		}),
	}
	cmd.Flags().StringVar(&draft.Channel, "channel", "", "the `NAME` of the channel whose addresses it has (default any)")
	return cmd
}

func audienceList(sh *shell.Shell) *cobra.Command {
	var f client.Filter
	cmd := &cobra.Command{
		Use: "list", Short: "List the stored lists", Args: shell.Takes(),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, _ []string) error {
			page, err := c.Audiences.List(ctx, f)
			if err != nil {
				return err
			}
			return sh.Show(page, func() {
				var rows [][]string
				for _, a := range page.Items {
					rows = append(rows, []string{a.Name, string(a.State), a.Channel, strconv.FormatInt(a.Members, 10), sh.At(a.CreatedAt)})
				}
				sh.Table([]string{"List", "State", "Channel", "People", "Made"}, rows)
				sh.More(page.Next)
			})
		}),
	}
	shell.PageFlags(cmd.Flags(), &f.Limit, 50, &f.Cursor)
	return cmd
}

func audienceShow(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show a stored list", Args: shell.Takes("NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			a, err := c.Audiences.Get(ctx, args[0])
			if err != nil {
				return err
			}
			return sh.Show(a, func() { printAudience(sh, a) })
		}),
	}
}

func printAudience(sh *shell.Shell, a posthouse.Audience) {
	sh.Fields([][2]string{{"list", a.Name}, {"id", a.ID}, {"channel", a.Channel}, {"made", sh.At(a.CreatedAt)}, {"import", told(sh, a)}}...)
}

func audienceImport(sh *shell.Shell) *cobra.Command {
	var how people
	cmd := &cobra.Command{
		Use: "import NAME FILE", Short: "Import people into a stored list from a file", Long: importLong, Args: shell.Takes("NAME", "FILE"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			return how.run(ctx, sh, ofList(c, args[0]), args[1])
		}),
	}
	how.describe(cmd)
	return cmd
}

func audienceRefused(sh *shell.Shell) *cobra.Command {
	var f shell.Export
	cmd := &cobra.Command{
		Use: "refused NAME", Short: "Write the records that could not be read, with line, column and reason", Args: shell.Takes("NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			return f.Write(sh, func(w io.Writer, format string) error { return c.Audiences.Refused(ctx, w, args[0], format) })
		}),
	}
	f.Describe(cmd.Flags(), "csv")
	return cmd
}
