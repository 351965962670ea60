package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/cli/lksms"
	"github.com/posthouse/posthouse/internal/cli/retold"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/config"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/foreign"
)

func importGroup(sh *shell.Shell) *cobra.Command {
	return shell.Group("import", "Take over what another system has", importLksms(sh), importNotify(sh))
}

// importing takes over the tables of an SMS service.
type importing struct {
	*shell.Shell
	from, zone        string
	tenant, region    string
	history, rehearse bool
}

func importLksms(sh *shell.Shell) *cobra.Command {
	f := &importing{Shell: sh}
	cmd := &cobra.Command{
		Use: "lksms", Short: "Take over templates, default contents, tasks and logs of an SMS service built to the document",
		Long: `Take over the six tables of an SMS service: templates, default contents, tasks and the three logs. Nothing
is written to its database. Tasks keep their numbers, times and sources: GET /api/v1/sms/task/NUMBER finds
them, those that wait are sent, and those that a phone holds wait for its report.

Stop the old server before, or its phones send what ours send too. To be down for a short time only, run it
first with --history while the old server works, and again without once it is stopped: what is there is
passed over. So it can also be run again when it was interrupted.`,
		Example: `  posthouse import lksms --from "$DATABASE_URL" --dry-run
  posthouse import lksms --from "$DATABASE_URL" --time-zone Asia/Shanghai`,
		Args: shell.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	cmd.Flags().StringVar(&f.region, "region", "CN", "where phone numbers without + belong, a `COUNTRY` of two letters")
	f.flags(cmd, "sms_channel")
	return cmd
}

// flags are those of every import; settings are read beside those of the database and the log.
func (f *importing) flags(cmd *cobra.Command, settings ...string) {
	flags := cmd.Flags()
	flags.StringVar(&f.from, "from", "", "the `DSN` of the other system's database: postgresql://…, mysql://… or sqlite:PATH")
	flags.StringVar(&f.zone, "time-zone", "UTC", "the `ZONE` of the times in it, which have none, such as Asia/Shanghai")
	flags.StringVar(&f.tenant, "tenant", posthouse.DefaultTenant, "whose they become, a `TENANT`")
	flags.BoolVar(&f.history, "history", false, "leave out what may still be sent: the old one goes on")
	flags.BoolVar(&f.rehearse, "dry-run", false, "read everything and say what would be done")
	config.AddFlags(flags, append(settings, "dsn", "log_level", "log_format")...)
}

func (f *importing) run(cmd *cobra.Command) error {
	return f.into(cmd, "postgresql://user:password@host:5432/lksms_db", func(ctx context.Context, c config.Config, zone *time.Location, o retold.Options) (err error) {
		from, err := foreign.OpenLksms(ctx, f.from, zone)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, from.Close()) }()
		if err := f.warnOfTheLiving(ctx, from, zone); err != nil {
			return err
		}
		report, err := lksms.Run(ctx, lksms.Options{Options: o, From: from, Channel: c.Server.SMS.Channel, Region: f.region})
		if c.Server.SMS.Format != pageForm {
			f.warnOfPages(report.Paged)
		}
		made := 0
		for _, t := range report.Tables {
			made += t.New
		}
		return errors.Join(f.Show(report, func() { f.print(report) }), err, f.note(ctx, o, "sms.import", made))
	})
}

// into opens the store that an import goes into, and takes it.
func (f *importing) into(cmd *cobra.Command, example string, take func(ctx context.Context, c config.Config, zone *time.Location, o retold.Options) error) error {
	zone, err := f.source(example)
	if err != nil {
		return err
	}
	c, err := f.Settings(cmd)
	if err != nil {
		return err
	}
	return withStore(f.Shell, cmd, changes, func(ctx context.Context, _ *shell.Shell, to *store.Store) error {
		if err := currentSchema(ctx, to); err != nil {
			return err
		}
		err := take(ctx, c, zone, retold.Options{To: to, Tenant: f.tenant, History: f.history, DryRun: f.rehearse, Progress: f.progress()})
		if errors.Is(err, context.Canceled) {
			f.Notef("stopped: run it again, and it goes on from here\n")
		}
		return err
	})
}

// source checks what names the other system's database, and returns the zone of its times.
func (f *importing) source(example string) (*time.Location, error) {
	if f.from == "" {
		return nil, shell.Usagef("--from is missing: the DSN of the database to take over, such as %s", example)
	}
	zone, err := time.LoadLocation(f.zone)
	if err != nil || f.zone == "" || f.zone == "Local" {
		return nil, shell.Usagef("--time-zone: is %q: want a name such as UTC or Asia/Shanghai", f.zone)
	}
	return zone, nil
}

// note writes to the audit log that something was brought over.
func (f *importing) note(ctx context.Context, o retold.Options, action string, made int) error {
	if o.DryRun || made == 0 {
		return nil
	}
	return noted(context.WithoutCancel(ctx), o.To, cmp.Or(f.tenant, posthouse.DefaultTenant), action, "", made)
}

// warnOfTheLiving says when the other system was last heard of: where it still works, its phones and ours would send
// the same, and where that is hours away, the zone is wrong.
func (f *importing) warnOfTheLiving(ctx context.Context, from *foreign.Lksms, zone *time.Location) error {
	newest, err := from.Newest(ctx)
	if err != nil || newest.IsZero() {
		return err
	}
	ago := time.Since(newest).Round(time.Second)
	switch {
	case ago < -time.Minute:
		f.Notef("the last change there is %s in the future: is --time-zone %s right?\n", -ago, f.zone)
	case ago < time.Minute && !f.history && !f.rehearse:
		f.Notef("the last change there is %s old: is the old server stopped?\n", max(0, ago))
	default:
		f.Notef("the last change there was at %s\n", newest.In(zone).Format("2006-01-02 15:04:05 -07:00"))
	}
	return nil
}

// pageForm is the form of tasks that some apps want, and that is not the default.
const pageForm = "page"

// warnOfPages says which form apps will get, and that one that wants another reads nothing.
func (f *importing) warnOfPages(seen bool) {
	if seen {
		f.Notef("warning: the old server answered apps {total_count, app_id, tasks}, and they read nothing of the form list: set POSTHOUSE_SMS_PENDING_FORMAT=page before they poll\n")
		return
	}
	f.Notef("apps will get their tasks in the form list: where yours want {total_count, app_id, tasks}, set POSTHOUSE_SMS_PENDING_FORMAT=page before they poll\n")
}

// progressEvery is how many rows of a table lie between two lines of progress where there is no terminal.
const progressEvery = 100_000

// progress tells how far a table is: on a terminal on one line that is written over, else now and then.
func (f *importing) progress() func(table string, read, of int) {
	told := 0
	return func(table string, read, of int) {
		switch line := f.Text("%s: %d of %d rows", table, read, of); {
		case f.ErrTerminal && read < of:
			f.Notef("\r\x1b[K%s", line)
		case f.ErrTerminal:
			f.Notef("\r\x1b[K")
		case read < told:
			told = 0 // another table
		case read-told >= progressEvery:
			told = read
			f.Notef("%s\n", line)
		}
	}
}

func (f *importing) print(report lksms.Report) {
	stored := "New"
	if report.DryRun {
		stored = "Would be stored"
	}
	var rows [][]string
	var notes []string
	for _, t := range report.Tables {
		if t.Missing {
			notes = append(notes, f.Text("%s: there is no such table", t.Name))
			continue
		}
		left := 0
		for _, why := range slices.Sorted(maps.Keys(t.Left)) {
			left += t.Left[why]
			notes = append(notes, f.Text("%s: %d left out, %s", t.Name, t.Left[why], why))
		}
		for _, why := range slices.Sorted(maps.Keys(t.Odd)) {
			notes = append(notes, f.Text("%s: %d taken over, %s", t.Name, t.Odd[why], why))
		}
		rows = append(rows, []string{t.Name, fmt.Sprint(t.Rows), fmt.Sprint(t.New), fmt.Sprint(t.There), fmt.Sprint(left)})
	}
	f.Table([]string{"Table", "Rows", stored, "There before", "Left out"}, rows)
	for _, note := range notes {
		f.Printf("  %s\n", note)
	}
}
