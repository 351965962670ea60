// Package suppression has the commands of addresses to which nothing is sent. They call a server through package client.
package suppression

import (
	"context"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/wire"
)

// Group is the command with those below it.
func Group(sh *shell.Shell) *cobra.Command {
	return sh.Calling(shell.Group("suppression", "Addresses to which nothing is sent", add(sh), list(sh), deletion(sh), importFile(sh)))
}

// draft is what the flags say of a suppression.
type draft struct {
	wire.SuppressionDraft
	until string
}

func (d *draft) describe(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&d.Channel, "channel", "", "the `NAME` of the channel where it holds (default all)")
	flags.StringVar(&d.Reason, "reason", "", "why, in your own `WORDS`")
	flags.StringVar(&d.until, "until", "", "the `TIME` when it ends: \"2030-10-01 20:00\", 20:00, or 2h from now (default never)")
}

func (d *draft) read(sh *shell.Shell) (err error) {
	d.Until, err = sh.Moment("--until", d.until)
	return err
}

func add(sh *shell.Shell) *cobra.Command {
	var d draft
	cmd := &cobra.Command{
		Use: "add ADDRESS", Short: "Send nothing more to an address", Args: shell.Takes("ADDRESS"),
		Long: `Send nothing more to an address: no message, and no member of a campaign. Nothing starts for it once the
command has returned. Kinds that the channel exempts (exempt_kinds), such as one-time passwords, are sent all the same.`,
		Example: `  posthouse suppression add o6_bmjrPTlm6_2sgVt7hMZOPfL2M --channel wechat --reason "by telephone"`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			if err := d.read(sh); err != nil {
				return err
			}
			d.Address = args[0]
			added, err := c.Suppressions.Add(ctx, d.SuppressionDraft)
			if err != nil {
				return err
			}
			return sh.Show(added, func() { table(sh, added.Items) })
		}),
	}
	d.describe(cmd)
	return cmd
}

func table(sh *shell.Shell, list []posthouse.Suppression) {
	var rows [][]string
	for _, s := range list {
		channel, until := s.Channel, sh.Text("for good")
		if channel == "" {
			channel = sh.Text("all")
		}
		if !s.Until.IsZero() {
			until = sh.At(s.Until)
		}
		rows = append(rows, []string{s.Address, channel, s.Reason, string(s.Source), until})
	}
	sh.Table([]string{"Address", "Channel", "Reason", "Source", "Until"}, rows)
}

func list(sh *shell.Shell) *cobra.Command {
	var f client.Filter
	var channel, address string
	cmd := &cobra.Command{
		Use: "list", Short: "List the addresses to which nothing is sent, or look one up", Args: shell.Takes(),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, _ []string) error {
			page, err := c.Suppressions.List(ctx, channel, address, f)
			if err != nil {
				return err
			}
			return sh.Show(page, func() {
				table(sh, page.Items)
				sh.More(page.Next)
			})
		}),
	}
	cmd.Flags().StringVar(&channel, "channel", "", "only those of the channel `NAME`")
	cmd.Flags().StringVar(&address, "address", "", "only those of the `ADDRESS`")
	shell.PageFlags(cmd.Flags(), &f.Limit, 50, &f.Cursor)
	return cmd
}

func deletion(sh *shell.Shell) *cobra.Command {
	var channel string
	cmd := &cobra.Command{
		Use: "delete ADDRESS", Short: "Send to an address again", Args: shell.Takes("ADDRESS"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			if err := c.Suppressions.Delete(ctx, channel, args[0]); err != nil {
				return err
			}
			return sh.Done(args[0], "is sent to again")
		}),
	}
	cmd.Flags().StringVar(&channel, "channel", "", "the `NAME` of the channel where it was suppressed (default all channels)")
	return cmd
}

func importFile(sh *shell.Shell) *cobra.Command {
	var d draft
	var p client.Part
	var trial bool
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Import addresses to which nothing is sent from a file", Args: shell.Takes("FILE"),
		Long: `Import addresses to which nothing is sent: CSV, a sheet of a workbook (.xlsx), or lines of JSON, plain or
compressed by gzip or zstd. FILE may be - for standard input. Encoding, delimiter and columns are found in the file. One column is the address; channel, reason and until
hold for their record, and the flags for records that do not say them. The same file again stores the same.`,
		Example: `  posthouse suppression import unsubscribed.csv --channel wechat --address openid --reason STOP`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			if err := d.read(sh); err != nil {
				return err
			}
			in := io.NopCloser(sh.In)
			if args[0] != "-" {
				file, err := os.Open(args[0])
				if err != nil {
					return err
				}
				if p.Sheet == "" {
					sh.TellSheets(file)
				}
				in = file
			}
			defer in.Close()
			take := c.Suppressions.Import
			if trial {
				take = c.Suppressions.TryImport
			}
			done, err := take(ctx, p, d.SuppressionDraft, in)
			if err != nil {
				return err
			}
			return sh.Show(done, func() { printImport(sh, done) })
		}),
	}
	d.describe(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&trial, "dry-run", false, "say what would be stored, and store nothing")
	flags.StringVar(&p.Format, "format", "", "the `FORM` of the file: csv or ndjson (default: what the first byte tells)")
	flags.StringVar(&p.Delimiter, "delimiter", "", "the `CHARACTER` between the fields of a CSV (default: what most lines agree on)")
	flags.StringSliceVar(&p.Columns, "columns", nil, "the `NAMES` of a CSV's columns, with commas, where its first line has none; an empty one leaves a column out")
	flags.StringVar(&p.Address, "address", "", "the `COLUMN` of the address (default: one named openid, phone, email, 手机号, 邮箱 or alike)")
	flags.StringVar(&p.Encoding, "encoding", "", "how its characters are written, a `WORD`: utf-8 or gbk (default: what the file shows to be)")
	flags.StringVar(&p.Sheet, "sheet", "", "the `NAME` of the sheet of a workbook (default: the first with a column of addresses)")
	return cmd
}

func printImport(sh *shell.Shell, done wire.SuppressionImport) {
	if done.DryRun {
		sh.Printf("would store %d, of which %d take the place of others, refuse %d\n", done.Stored, done.Replaced, done.Refused)
	} else {
		sh.Printf("stored %d, refused %d\n", done.Stored, done.Refused)
	}
	var rows [][]string
	for _, r := range done.First {
		rows = append(rows, []string{strconv.FormatInt(r.Line, 10), strconv.FormatInt(r.Column, 10), r.Reason, r.Text})
	}
	if len(rows) > 0 {
		sh.Table([]string{"Line", "Column", "Reason", "Text"}, rows)
	}
}
