package lksms

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/cli/retold"
	"github.com/posthouse/posthouse/internal/ids"
	"github.com/posthouse/posthouse/internal/store/foreign"
	"github.com/posthouse/posthouse/internal/work"
)

// Kind is the kind of a message that is a task of the front door.
const Kind = "sms"

// Options makes an import. From and To are required.
type Options struct {
	retold.Options
	From *foreign.Lksms
	// Channel is the one that the tasks become messages of. Defaults to "sms".
	Channel string
	// Region is where a number without + belongs. Defaults to CN.
	Region string
}

// Table is what became of the rows of a table.
type Table struct {
	retold.Counts
	// Left were left out, by reason.
	Left map[string]int `json:"left,omitempty"`
	// Odd were taken although something is strange about them, by what is.
	Odd map[string]int `json:"odd,omitempty"`
}

// Report is what an import did.
type Report struct {
	DryRun bool `json:"dry_run"`
	// Paged says that the old server's log has apps that were answered {total_count, app_id, tasks}.
	Paged  bool    `json:"paged"`
	Tables []Table `json:"tables"`
}

// run is an import under way.
type run struct {
	Options
	now   time.Time
	epoch int64
	paged bool // an app was answered a page
}

// Run imports all tables: logs last, because their lines belong to tasks. The report has what was done until
// an error, too.
func Run(ctx context.Context, o Options) (Report, error) {
	o.Tenant, o.Channel, o.Region = cmp.Or(o.Tenant, "default"), cmp.Or(o.Channel, "sms"), cmp.Or(o.Region, "CN")
	o.Batch = cmp.Or(o.Batch, 500)
	report := Report{DryRun: o.DryRun}
	epoch, err := o.To.Epochs.Epoch(ctx)
	if err != nil {
		return report, err
	}
	r := &run{Options: o, now: time.Now(), epoch: epoch}
	for _, part := range []struct {
		name string
		work func(context.Context, *Table) error
	}{
		{foreign.LksmsTemplates, r.templates},
		{foreign.LksmsDefaults, r.defaults},
		{foreign.LksmsTasks, r.tasks},
		{foreign.LksmsReceived, r.received},
		{foreign.LksmsHanded, r.handed},
		{foreign.LksmsReported, r.reported},
	} {
		t := Table{Counts: retold.Counts{Name: part.name, Missing: !o.From.Has(part.name)}, Left: map[string]int{}, Odd: map[string]int{}}
		if !t.Missing {
			err = part.work(ctx, &t)
		}
		report.Tables, report.Paged = append(report.Tables, t), r.paged
		if err != nil {
			return report, fmt.Errorf("import %s: %w", part.name, err)
		}
	}
	return report, nil
}

// copyRows reads a table batch by batch. convert makes what is stored of a row, or says why it is left out;
// put stores a batch and says how many of it were new.
func copyRows[R, V any](ctx context.Context, r *run, t *Table,
	read func(ctx context.Context, after int64, limit int) ([]R, error), number func(R) int64,
	convert func(ctx context.Context, rows []R) ([]V, error), put func(ctx context.Context, list []V) (int, error)) error {
	of, err := r.From.Count(ctx, t.Name)
	if err != nil {
		return err
	}
	for after := int64(-1) << 31; ; { // the lowest that a SERIAL compares with
		rows, err := read(ctx, after, r.Batch)
		if err != nil || len(rows) == 0 {
			return err
		}
		after = number(rows[len(rows)-1])
		list, err := convert(ctx, rows)
		if err != nil {
			return err
		}
		stored := len(list)
		if !r.DryRun && len(list) > 0 {
			if stored, err = put(ctx, list); err != nil {
				return err
			}
		}
		t.Rows += len(rows)
		t.New += stored
		t.There += len(list) - stored
		if r.Progress != nil {
			r.Progress(t.Name, t.Rows, max(of, t.Rows))
		}
	}
}

func (r *run) templates(ctx context.Context, t *Table) error {
	return copyRows(ctx, r, t, r.From.Templates, func(x work.SMSTemplate) int64 { return x.ID },
		func(_ context.Context, rows []work.SMSTemplate) ([]work.SMSTemplate, error) {
			for i := range rows {
				rows[i].CreatedAt, rows[i].UpdatedAt = r.times(rows[i].CreatedAt, rows[i].UpdatedAt)
			}
			return rows, nil
		},
		func(ctx context.Context, list []work.SMSTemplate) (int, error) {
			return r.To.Texts.ImportTemplates(ctx, r.now, r.Tenant, list)
		})
}

func (r *run) defaults(ctx context.Context, t *Table) error {
	seen := map[string]bool{}
	return copyRows(ctx, r, t, r.From.Defaults, func(d work.LksmsDefault) int64 { return d.Row },
		func(_ context.Context, rows []work.LksmsDefault) ([]work.DefaultSMS, error) {
			if r.History {
				t.Left["may still be sent"] += len(rows)
				return nil, nil
			}
			var list []work.DefaultSMS
			for _, row := range rows {
				d := row.DefaultSMS
				d.Tenant, d.Phone = r.Tenant, r.phone(t, row.Phone)
				if seen[d.Phone] {
					t.Left["whose phone has another one, written differently"]++
					continue
				}
				seen[d.Phone] = true
				d.CreatedAt, d.UpdatedAt = r.times(row.CreatedAt, row.UpdatedAt)
				list = append(list, d)
			}
			return list, nil
		},
		func(ctx context.Context, list []work.DefaultSMS) (int, error) {
			return r.To.Texts.ImportDefaults(ctx, r.now, r.Tenant, list)
		})
}

func (r *run) tasks(ctx context.Context, t *Table) error {
	return copyRows(ctx, r, t, r.From.Tasks, func(x work.LksmsTask) int64 { return x.Row },
		func(_ context.Context, rows []work.LksmsTask) ([]work.Imported, error) {
			var list []work.Imported
			for _, row := range rows {
				if why := r.leaves(row); why != "" {
					t.Left[why]++
					continue
				}
				list = append(list, r.task(t, row))
			}
			return list, nil
		},
		func(ctx context.Context, list []work.Imported) (int, error) {
			return r.To.Imports.Import(ctx, r.now, r.Tenant, list)
		})
}

// leaves says why a task is not taken over, empty where it is.
func (r *run) leaves(row work.LksmsTask) string {
	switch {
	case row.ID == "":
		return "without a task_id"
	case row.Status < pending || row.Status > failed:
		return fmt.Sprintf("of status %d, which is none", row.Status)
	case r.History && row.Status <= processing:
		return "may still be sent"
	}
	return ""
}

// idOf is the id of what becomes of a row: the same in each run, also where the row has no time.
func idOf(created, updated time.Time, names ...string) string {
	at := cmp.Or(created, updated, time.Unix(0, 0))
	return ids.At(at, strings.Join(names, "\n"))
}

// times are those of a row, and now where it has none. One that nobody means is none.
func (r *run) times(created, updated time.Time) (time.Time, time.Time) {
	created, updated = meant(created), meant(updated)
	if created.IsZero() {
		created = updated
	}
	if created.IsZero() {
		created = r.now
	}
	if updated.Before(created) {
		updated = created
	}
	return created, updated
}

// meant is a time, or the zero one in place of one that nobody means.
func meant(t time.Time) time.Time {
	if !posthouse.ValidTime(t) {
		return time.Time{}
	}
	return t
}
