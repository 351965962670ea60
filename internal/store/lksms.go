package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/posthouse/posthouse/internal/work"
)

// The tables of the SMS document that an import reads.
const (
	LksmsTemplates = "sms_templates"
	LksmsDefaults  = "default_sms_data"
	LksmsTasks     = "sms_tasks"
	LksmsReceived  = "receive_logs"
	LksmsHanded    = "send_logs"
	LksmsReported  = "report_logs"
)

// Lksms is a database with the tables of the SMS document, opened to be read. Nothing is written to it.
type Lksms struct {
	db      *sql.DB
	dialect *dialect
	zone    *time.Location
	tables  map[string]bool
}

// OpenLksms opens such a database: on PostgreSQL, SQLite, MySQL or MariaDB. Its columns have times without a
// zone: they are read as times of zone. It refuses a database without tasks, and takes one for which logs
// are missing.
func OpenLksms(ctx context.Context, dsn string, zone *time.Location) (*Lksms, error) {
	scheme, rest, _ := strings.Cut(dsn, ":")
	scheme, _, _ = strings.Cut(scheme, "+") // postgresql+asyncpg: how SQLAlchemy names a driver
	d, dsn, err := dialectOf(scheme+":"+rest, knownDatabases)
	if err != nil {
		return nil, err
	}
	db, err := d.former.open(dsn, zone)
	if err != nil {
		return nil, fmt.Errorf("open the database to import from: %w", err)
	}
	l := &Lksms{db: db, dialect: d, zone: zone}
	if l.tables, err = l.find(ctx); err == nil && !l.tables[LksmsTasks] {
		err = errors.New("the database to import from has no table sms_tasks: it is none of the document")
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return l, nil
}

func openFormerPostgres(dsn string, zone *time.Location) (*sql.DB, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, errors.New("the DSN can not be read: want postgresql://user:password@host:port/database")
	}
	config.RuntimeParams["timezone"] = zone.String()
	config.RuntimeParams["default_transaction_read_only"] = "on"
	return stdlib.OpenDB(*config), nil
}

func openFormerMySQL(dsn string, zone *time.Location) (*sql.DB, error) {
	config, err := mysqlConfig(dsn)
	if err != nil {
		return nil, err
	}
	config.ReadTimeout = 0 // it may scan for long
	config.Params["time_zone"] = "'" + time.Now().In(zone).Format("-07:00") + "'"
	return mysqlPool(config)
}

func openFormerSQLite(dsn string, _ *time.Location) (*sql.DB, error) {
	path, _ := SQLiteFile(dsn)
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	return sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?mode=ro&_pragma=busy_timeout(10000)")
}

// Close ends its connections.
func (l *Lksms) Close() error { return l.db.Close() }

// Has reports whether a table is there.
func (l *Lksms) Has(table string) bool { return l.tables[table] }

// find looks for the tables that are there.
func (l *Lksms) find(ctx context.Context) (map[string]bool, error) {
	found := map[string]bool{}
	err := l.look(ctx, l.dialect.former.tables, nil, func(scan scanner) error {
		name, err := word(scan)
		found[name] = true
		return err
	})
	return found, err
}

// Count says how many rows a table has.
func (l *Lksms) Count(ctx context.Context, table string) (n int, err error) {
	err = l.look(ctx, "SELECT COUNT(*) FROM "+table, nil, func(scan scanner) error { return scan(&n) })
	return n, err
}

// Newest is when a task was last changed, zero where there is none.
func (l *Lksms) Newest(ctx context.Context) (time.Time, error) {
	var at moment
	err := l.look(ctx, "SELECT "+l.at("MAX(updated_at)")+" FROM sms_tasks", nil, func(scan scanner) error { return scan(&at.value) })
	return at.in(l.zone), err
}

// Tasks reads tasks in the order of their rows, those behind a row.
func (l *Lksms) Tasks(ctx context.Context, after int64, limit int) (list []work.LksmsTask, err error) {
	query := "SELECT id, " + l.texts("task_id", "phone_number", "content", "source", "processing_app_id", "result") + ", " + l.numbers("status", "retry_count") +
		", " + l.at("created_at") + ", " + l.at("updated_at") + ", " + l.at("sent_at") + ", " + l.at("reported_at") + " FROM sms_tasks"
	err = l.rows(ctx, query, after, limit, func(scan scanner) error {
		var t work.LksmsTask
		var created, updated, sent, reported moment
		err := scan(&t.Row, &t.ID, &t.Phone, &t.Content, &t.Source, &t.App, &t.Result, &t.Status, &t.Retries,
			&created.value, &updated.value, &sent.value, &reported.value)
		t.CreatedAt, t.UpdatedAt, t.SentAt, t.ReportedAt = created.in(l.zone), updated.in(l.zone), sent.in(l.zone), reported.in(l.zone)
		list = append(list, t)
		return err
	})
	return list, err
}

// Templates reads templates. Their names and texts are as they stand there.
func (l *Lksms) Templates(ctx context.Context, after int64, limit int) (list []work.SMSTemplate, err error) {
	query := "SELECT id, " + l.texts("template_name", "template_content") + ", " + l.flag("is_active") + ", " + l.at("created_at") + ", " + l.at("updated_at") + " FROM sms_templates"
	err = l.rows(ctx, query, after, limit, func(scan scanner) error {
		var t work.SMSTemplate
		var active int64
		var created, updated moment
		err := scan(&t.ID, &t.Name, &t.Text, &active, &created.value, &updated.value)
		t.Active, t.CreatedAt, t.UpdatedAt = active != 0, created.in(l.zone), updated.in(l.zone)
		list = append(list, t)
		return err
	})
	return list, err
}

// Defaults reads default contents. Phones are as they were written.
func (l *Lksms) Defaults(ctx context.Context, after int64, limit int) (list []work.LksmsDefault, err error) {
	query := "SELECT id, " + l.texts("phone_number", "content") + ", " + l.flag("use_template") + ", " + l.flag("is_sent") + ", " +
		l.at("created_at") + ", " + l.at("updated_at") + " FROM default_sms_data"
	err = l.rows(ctx, query, after, limit, func(scan scanner) error {
		var d work.LksmsDefault
		var templated, sent int64
		var created, updated moment
		err := scan(&d.Row, &d.Phone, &d.Text, &templated, &sent, &created.value, &updated.value)
		d.Templated, d.Sent, d.CreatedAt, d.UpdatedAt = templated != 0, sent != 0, created.in(l.zone), updated.in(l.zone)
		list = append(list, d)
		return err
	})
	return list, err
}

// Received reads the log of requests.
func (l *Lksms) Received(ctx context.Context, after int64, limit int) (list []work.LksmsLine, err error) {
	query := "SELECT id, " + l.texts("request_id", "phone_number", "content", "source_ip", "user_agent", "request_data", "response_data") + ", " +
		l.flag("use_template") + ", " + l.numbers("status_code") + ", " + l.at("created_at") + " FROM receive_logs"
	err = l.rows(ctx, query, after, limit, func(scan scanner) error {
		v := work.LksmsLine{Line: work.Line{Log: work.ReceiveLog}}
		var templated int64
		var at moment
		err := scan(&v.Row, &v.RequestID, &v.Phone, &v.Content, &v.SourceIP, &v.UserAgent, (*kept)(&v.Request), (*kept)(&v.Response), &templated, &v.Status, &at.value)
		v.Templated, v.At = templated != 0, at.in(l.zone)
		list = append(list, v)
		return err
	})
	return list, err
}

// Handed reads the log of hand-outs. Their answers are only looked at.
func (l *Lksms) Handed(ctx context.Context, after int64, limit int) (list []work.LksmsLine, err error) {
	query := "SELECT id, " + l.texts("task_id", "app_id", "request_data", "response_data") + ", " + l.at("created_at") + " FROM send_logs"
	err = l.rows(ctx, query, after, limit, func(scan scanner) error {
		v := work.LksmsLine{Line: work.Line{Log: work.SendLog}}
		var at moment
		err := scan(&v.Row, &v.Delivery, &v.Agent, (*kept)(&v.Request), (*kept)(&v.Response), &at.value)
		v.At = at.in(l.zone)
		list = append(list, v)
		return err
	})
	return list, err
}

// Reported reads the log of reports. Status is 2 or 3, as the app said.
func (l *Lksms) Reported(ctx context.Context, after int64, limit int) (list []work.LksmsLine, err error) {
	query := "SELECT id, " + l.texts("task_id", "app_id", "error_message", "request_data") + ", " + l.numbers("status") + ", " + l.at("created_at") + " FROM report_logs"
	err = l.rows(ctx, query, after, limit, func(scan scanner) error {
		v := work.LksmsLine{Line: work.Line{Log: work.ReportLog}}
		var at moment
		err := scan(&v.Row, &v.Delivery, &v.Agent, &v.Error, (*kept)(&v.Request), &v.Status, &at.value)
		v.At = at.in(l.zone)
		list = append(list, v)
		return err
	})
	return list, err
}

// rows reads a page of a table in the order of its ids.
func (l *Lksms) rows(ctx context.Context, query string, after int64, limit int, read func(scan scanner) error) error {
	return l.look(ctx, query+" WHERE id > ? ORDER BY id LIMIT ?", []any{after, limit}, read)
}

func (l *Lksms) look(ctx context.Context, query string, args []any, read func(scan scanner) error) error {
	rows, err := l.db.QueryContext(ctx, l.dialect.rebind(query), args...)
	if err == nil {
		err = drain(rows, read)
	}
	if err != nil {
		return fmt.Errorf("read the database to import from: %w", err)
	}
	return nil
}

// texts are columns as texts, empty for NULL.
func (l *Lksms) texts(columns ...string) string {
	return inForm(columns, "COALESCE(CAST(%s AS "+l.dialect.former.text+"), '')")
}

// numbers are columns that hold whole numbers, 0 for NULL.
func (l *Lksms) numbers(columns ...string) string {
	return inForm(columns, "COALESCE(%s, 0)")
}

// inForm writes every column into a form.
func inForm(columns []string, form string) string {
	parts := make([]string, len(columns))
	for i, c := range columns {
		parts[i] = fmt.Sprintf(form, c)
	}
	return strings.Join(parts, ", ")
}

// flag is a column that is true or false as 1 or 0, whatever type it has.
func (l *Lksms) flag(column string) string { return "CASE WHEN " + column + " THEN 1 ELSE 0 END" }

// at is a time as moment reads it: microseconds, or text where the database has no type for times.
func (l *Lksms) at(column string) string { return l.dialect.former.moment(column) }

// moment is a time as at has it.
type moment struct{ value any }

// in reads a time, the zero one for NULL and for what can not be read. A text without a zone is of zone.
func (m moment) in(zone *time.Location) time.Time {
	var text string
	switch v := m.value.(type) {
	case int64:
		return timeOf(v)
	case string:
		text = v
	case []byte:
		text = string(v)
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999"} {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return at.UTC()
		}
	}
	return time.Time{}
}
