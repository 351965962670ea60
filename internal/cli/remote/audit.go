package remote

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/wire"
)

func auditGroup(sh *shell.Shell) *cobra.Command {
	return sh.Calling(shell.Group("audit", "Who changed what: configuration, keys, and decisions about deliveries", auditList(sh), auditExport(sh)))
}

// auditFlags select lines of the audit log.
type auditFlags struct {
	client.AuditFilter
	since, until string
}

func (f *auditFlags) describe(flags *pflag.FlagSet) {
	flags.StringVar(&f.Key, "key", "", "only what the key with this `ID` did")
	flags.StringVar(&f.Action, "action", "", "only this `ACTION`, such as channels.put, or all of a thing, such as 'accounts.*'; several by commas")
	flags.StringVar(&f.Target, "target", "", "only what was done to this `NAME` or id")
	flags.StringVar(&f.since, "since", "", "only from this `TIME`: \"2026-10-01 08:30\", or 2h ago")
	flags.StringVar(&f.until, "until", "", "only before this `TIME`")
}

func (f *auditFlags) read(sh *shell.Shell) (err error) {
	if f.Since, err = sh.Past("--since", f.since); err != nil {
		return err
	}
	f.Until, err = sh.Past("--until", f.until)
	return err
}

func auditList(sh *shell.Shell) *cobra.Command {
	var f auditFlags
	cmd := &cobra.Command{Use: "list", Short: "List lines of the audit log, newest first", Args: shell.Takes()}
	f.describe(cmd.Flags())
	shell.PageFlags(cmd.Flags(), &f.Limit, 50, &f.Cursor)
	cmd.RunE = sh.Over(func(ctx context.Context, c *client.Client, _ []string) error {
		if err := f.read(sh); err != nil {
			return err
		}
		page, err := c.Audit.List(ctx, f.AuditFilter)
		if err != nil {
			return err
		}
		return sh.Show(page, func() { printAudit(sh, page) })
	})
	return cmd
}

func printAudit(sh *shell.Shell, page wire.Page[wire.AuditEntry]) {
	var rows [][]string
	for _, e := range page.Items {
		count := ""
		if e.Affected > 0 {
			count = fmt.Sprint(e.Affected)
		}
		rows = append(rows, []string{sh.At(e.At), cmp.Or(e.KeyName, e.Key), e.Source, e.Action, calledTarget(e), count, e.Note})
	}
	sh.Table([]string{"When", "Who", "From", "Did", "To", "Changed", "Note"}, rows)
	sh.More(page.Next)
}

// calledTarget is what was changed; a user of the directory by name and id.
func calledTarget(e wire.AuditEntry) string {
	if e.TargetName == "" {
		return e.Target
	}
	return e.TargetName + " (" + e.Target + ")"
}

func auditExport(sh *shell.Shell) *cobra.Command {
	var f auditFlags
	var x shell.Export
	cmd := &cobra.Command{
		Use: "export", Short: "Write the audit log with all details, to a file or a pipe", Args: shell.Takes(),
		Example: `  posthouse audit export --since "2026-10-01" --output audit.ndjson
  posthouse audit export --format csv --action channels.put | gzip > audit.csv.gz`,
	}
	f.describe(cmd.Flags())
	x.Describe(cmd.Flags(), "ndjson")
	cmd.RunE = sh.Over(func(ctx context.Context, c *client.Client, _ []string) error {
		if err := f.read(sh); err != nil {
			return err
		}
		return x.Write(sh, func(to io.Writer, format string) error { return c.Audit.Export(ctx, to, format, f.AuditFilter) })
	})
	return cmd
}
