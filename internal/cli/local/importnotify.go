package local

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/internal/cli/notify"
	"github.com/posthouse/posthouse/internal/cli/retold"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/config"
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
	f.flags(cmd, "platform_url")
	return cmd
}

func (f *importingNotify) run(cmd *cobra.Command) error {
	return f.into(cmd, "mysql://user:password@host:3306/dspp", func(ctx context.Context, c config.Config, zone *time.Location, o retold.Options) (err error) {
		from, err := foreign.OpenNotify(ctx, f.from, zone)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, from.Close()) }()
		report, err := notify.Run(ctx, notify.Options{Options: o, From: from, Zone: zone, PlatformURL: c.Server.PlatformURL})
		made := 0
		for _, t := range report.Tables {
			made += t.New
		}
		return errors.Join(f.Show(report, func() { f.print(report) }), err, f.note(ctx, o, "notify.import", made))
	})
}

func (f *importingNotify) print(report notify.Report) {
	stored := "New"
	if report.DryRun {
		stored = "Would be stored"
	}
	var rows [][]string
	for _, t := range report.Tables {
		if t.Missing {
			report.Lines = append(report.Lines, f.Text("%s: there is no such table", t.Name))
			continue
		}
		rows = append(rows, []string{t.Name, fmt.Sprint(t.Rows), fmt.Sprint(t.New), fmt.Sprint(t.There), fmt.Sprint(t.Left)})
	}
	f.Table([]string{"Table", "Rows", stored, "There before", "Left out"}, rows)
	for _, line := range report.Lines {
		f.Printf("  %s\n", line)
	}
}
