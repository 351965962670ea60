package foreign

import (
	"context"
	"time"

	"github.com/posthouse/posthouse/internal/store/sqldb"
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
type Lksms struct{ *database }

// OpenLksms opens such a database: on PostgreSQL, SQLite, MySQL or MariaDB. Its columns have times without a
// zone: they are read as times of zone. It refuses a database without tasks, and takes one for which logs
// are missing.
func OpenLksms(ctx context.Context, dsn string, zone *time.Location) (*Lksms, error) {
	f, err := open(ctx, dsn, zone, LksmsTasks)
	if err != nil {
		return nil, err
	}
	return &Lksms{f}, nil
}

// Newest is when a task was last changed, zero where there is none.
func (l *Lksms) Newest(ctx context.Context) (time.Time, error) {
	var at moment
	err := l.look(ctx, "SELECT "+l.at("MAX(updated_at)")+" FROM sms_tasks", nil, func(scan sqldb.Scanner) error { return scan(&at.value) })
	return at.in(l.zone), err
}

// Tasks reads tasks in the order of their rows, those behind a row.
func (l *Lksms) Tasks(ctx context.Context, after int64, limit int) (list []work.LksmsTask, err error) {
	query := "SELECT id, " + l.texts("task_id", "phone_number", "content", "source", "processing_app_id", "result") + ", " + l.numbers("status", "retry_count") +
		", " + l.at("created_at") + ", " + l.at("updated_at") + ", " + l.at("sent_at") + ", " + l.at("reported_at") + " FROM sms_tasks"
	err = l.rows(ctx, query, after, limit, func(scan sqldb.Scanner) error {
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
	err = l.rows(ctx, query, after, limit, func(scan sqldb.Scanner) error {
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
	err = l.rows(ctx, query, after, limit, func(scan sqldb.Scanner) error {
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
	err = l.rows(ctx, query, after, limit, func(scan sqldb.Scanner) error {
		v := work.LksmsLine{Line: work.Line{Log: work.ReceiveLog}}
		var templated int64
		var at moment
		err := scan(&v.Row, &v.RequestID, &v.Phone, &v.Content, &v.SourceIP, &v.UserAgent, (*sqldb.JSON)(&v.Request), (*sqldb.JSON)(&v.Response), &templated, &v.Status, &at.value)
		v.Templated, v.At = templated != 0, at.in(l.zone)
		list = append(list, v)
		return err
	})
	return list, err
}

// Handed reads the log of hand-outs. Their answers are only looked at.
func (l *Lksms) Handed(ctx context.Context, after int64, limit int) (list []work.LksmsLine, err error) {
	query := "SELECT id, " + l.texts("task_id", "app_id", "request_data", "response_data") + ", " + l.at("created_at") + " FROM send_logs"
	err = l.rows(ctx, query, after, limit, func(scan sqldb.Scanner) error {
		v := work.LksmsLine{Line: work.Line{Log: work.SendLog}}
		var at moment
		err := scan(&v.Row, &v.Delivery, &v.Agent, (*sqldb.JSON)(&v.Request), (*sqldb.JSON)(&v.Response), &at.value)
		v.At = at.in(l.zone)
		list = append(list, v)
		return err
	})
	return list, err
}

// Reported reads the log of reports. Status is 2 or 3, as the app said.
func (l *Lksms) Reported(ctx context.Context, after int64, limit int) (list []work.LksmsLine, err error) {
	query := "SELECT id, " + l.texts("task_id", "app_id", "error_message", "request_data") + ", " + l.numbers("status") + ", " + l.at("created_at") + " FROM report_logs"
	err = l.rows(ctx, query, after, limit, func(scan sqldb.Scanner) error {
		v := work.LksmsLine{Line: work.Line{Log: work.ReportLog}}
		var at moment
		err := scan(&v.Row, &v.Delivery, &v.Agent, &v.Error, (*sqldb.JSON)(&v.Request), &v.Status, &at.value)
		v.At = at.in(l.zone)
		list = append(list, v)
		return err
	})
	return list, err
}
