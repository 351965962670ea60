package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/cli/notify"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/config"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/foreign"
)

// importingNotify takes over the tables of a notification service.
type importingNotify struct{ importing }

func importNotify(sh *shell.Shell) *cobra.Command {
	f := &importingNotify{importing{Shell: sh}}
	cmd := &cobra.Command{
		Use: "notify", Short: "Take over templates, people and jobs of a notification service",
		Long: `Take over the tables tc_notify_template, tc_notify_job and tc_notify_recipient of a notification service
built to the document, and the people of sys_user and sys_user_role where they are there. Nothing is
written to its database. Jobs keep their keys, times, states and recipients: those that wait are sent
when their next_run_time comes, time-outs go on coming, and a key that was used stays used. Channels are
a person's to configure: what their settings are is said.

Stop the old service before, or it sends what is sent here too. To be down for a short time only, run it
first with --history while the old one works, and again without once it is stopped: what is there is
passed over. So it can also be run again when it was interrupted. Whatever is not carried over is named,
a line each.`,
		Example: `  posthouse import notify --from "$OLD_DSN" --time-zone Asia/Shanghai --dry-run
  posthouse import notify --from "$OLD_DSN" --time-zone Asia/Shanghai`,
		Args: shell.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.from, "from", "", "the `DSN` of the other system's database: mysql://…, postgresql://… or sqlite:PATH")
	flags.StringVar(&f.zone, "time-zone", "UTC", "the `ZONE` of the times in it, which have none, such as Asia/Shanghai")
	flags.StringVar(&f.tenant, "tenant", posthouse.DefaultTenant, "whose they become, a `TENANT`")
	flags.BoolVar(&f.history, "history", false, "leave out what still waits: the old service goes on")
	flags.BoolVar(&f.rehearse, "dry-run", false, "read everything and say what would be done")
	config.AddFlags(flags, "dsn", "platform_url", "log_level", "log_format")
	return cmd
}

func (f *importingNotify) run(cmd *cobra.Command) error {
	zone, err := f.source("mysql://user:password@host:3306/dspp")
	if err != nil {
		return err
	}
	c, err := f.Settings(cmd)
	if err != nil {
		return err
	}
	return withStore(f.Shell, cmd, changes, func(ctx context.Context, _ *shell.Shell, to *store.Store) (err error) {
		if err := currentSchema(ctx, to); err != nil {
			return err
		}
		from, err := foreign.OpenNotify(ctx, f.from, zone)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, from.Close()) }()
		report, err := notify.Run(ctx, notify.Options{
			From: from, To: to, Zone: zone, Tenant: f.tenant, PlatformURL: c.Server.PlatformURL, History: f.history, DryRun: f.rehearse, Progress: f.progress(),
		})
		if errors.Is(err, context.Canceled) {
			fmt.Fprintln(f.Err, "stopped: run it again, and it goes on from here")
		}
		return errors.Join(f.Show(report, func() { f.print(report) }), err, f.note(ctx, to, report))
	})
}

// note writes to the audit log that jobs were brought over.
func (f *importingNotify) note(ctx context.Context, to *store.Store, report notify.Report) error {
	made := 0
	for _, t := range report.Tables {
		made += t.New
	}
	if report.DryRun || made == 0 {
		return nil
	}
	return noted(context.WithoutCancel(ctx), to, cmp.Or(f.tenant, posthouse.DefaultTenant), "notify.import", "", made)
}

func (f *importingNotify) print(report notify.Report) {
	stored := "New"
	if report.DryRun {
		stored = "Would be stored"
	}
	var rows [][]string
	for _, t := range report.Tables {
		if t.Missing {
			report.Lines = append(report.Lines, t.Name+": there is no such table")
			continue
		}
		rows = append(rows, []string{t.Name, fmt.Sprint(t.Rows), fmt.Sprint(t.New), fmt.Sprint(t.There), fmt.Sprint(t.Left)})
	}
	f.Table([]string{"Table", "Rows", stored, "There before", "Left out"}, rows)
	for _, line := range report.Lines {
		f.Printf("  %s\n", line)
	}
}
