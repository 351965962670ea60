// Package media has the commands of files that are to be sent. They call a server through package client, as package remote's do.
package media

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/wire"
)

// Commands are the commands in the order that the help shows them.
func Commands(sh *shell.Shell) []*cobra.Command {
	return []*cobra.Command{sh.Calling(shell.Group("media", "Files that are to be sent", mediaAdd(sh), mediaList(sh), mediaGet(sh), mediaDelete(sh)))}
}

func mediaAdd(sh *shell.Shell) *cobra.Command {
	var name, kind string
	cmd := &cobra.Command{
		Use: "add FILE", Short: "Store a file that is to be sent, from here or from a URL, and print its id", Args: shell.Takes("FILE"),
		Long: `Store a file that is to be sent, from here, from standard input (-), or from a URL that the server fetches, and print its id.
A content names it as {"type": "file", "media": [{"upload": "ID"}]}. The same file of the same name is stored once.`,
		Example: `  posthouse media add report.pdf
  posthouse media add https://files.example.com/report.pdf --name "Report of May.pdf"`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			m, err := added(ctx, sh, c, args[0], name, kind)
			if err != nil {
				return err
			}
			return sh.Show(m, func() { sh.Printf("%s\n", m.ID) })
		}),
	}
	cmd.Flags().StringVar(&name, "name", "", "the `NAME` that recipients see, in place of the file's own")
	cmd.Flags().StringVar(&kind, "type", "", "its media `TYPE`, such as image/png, where the server is not to find it out")
	return cmd
}

func added(ctx context.Context, sh *shell.Shell, c *client.Client, from, name, kind string) (wire.StoredMedia, error) {
	if strings.HasPrefix(from, "http://") || strings.HasPrefix(from, "https://") {
		return c.Media.Fetch(ctx, wire.FetchMedia{URL: from, Name: name})
	}
	if from == "-" {
		return c.Media.Add(ctx, name, kind, sh.In)
	}
	f, err := os.Open(from)
	if err != nil {
		return wire.StoredMedia{}, err
	}
	defer f.Close()
	if name == "" {
		name = filepath.Base(from)
	}
	return c.Media.Add(ctx, name, kind, f)
}

func mediaList(sh *shell.Shell) *cobra.Command {
	var f client.Filter
	cmd := &cobra.Command{
		Use: "list", Short: "List the files that are to be sent, newest first", Args: shell.Takes(),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, _ []string) error {
			page, err := c.Media.List(ctx, f)
			if err != nil {
				return err
			}
			return sh.Show(page, func() {
				var rows [][]string
				for _, m := range page.Items {
					rows = append(rows, []string{m.ID, m.Name, m.Type, strconv.FormatInt(m.Size, 10), sh.At(m.CreatedAt), sh.At(m.ExpiresAt)})
				}
				sh.Table([]string{"ID", "Name", "Type", "Bytes", "Stored", "Until"}, rows)
				sh.More(page.Next)
			})
		}),
	}
	shell.PageFlags(cmd.Flags(), &f.Limit, 100, &f.Cursor)
	return cmd
}

func mediaGet(sh *shell.Shell) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use: "show ID", Aliases: []string{"get"}, Short: "Show what is known of a file, or write it to --out", Args: shell.Takes("ID"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			if out == "-" && sh.JSON {
				return shell.Usagef("--json stands beside --out -, which writes the file itself: give one of them")
			}
			if out == "-" {
				return c.Media.Content(ctx, args[0], sh.Out)
			}
			m, err := c.Media.Get(ctx, args[0])
			if err != nil {
				return err
			}
			if out == "" {
				if sh.JSON {
					return sh.PrintJSON(m)
				}
				return sh.PrintYAML(m)
			}
			f, err := os.OpenFile(out, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
			if err != nil {
				return err
			}
			if err := c.Media.Content(ctx, args[0], f); err != nil {
				f.Close()
				return err
			}
			if err := f.Close(); err != nil {
				return err
			}
			return sh.Done(out, "written")
		}),
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "the `FILE` to write, which is not there yet; - for standard output")
	return cmd
}

func mediaDelete(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "delete ID", Short: "Delete a file; what still names it is not sent", Args: shell.Takes("ID"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			if err := c.Media.Delete(ctx, args[0]); err != nil {
				return err
			}
			return sh.Done(args[0], "deleted")
		}),
	}
}
