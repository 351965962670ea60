package lksms_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/cli/lksms"
	"github.com/posthouse/posthouse/internal/cli/retold"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/foreign"
	"github.com/posthouse/posthouse/internal/verify"
	"github.com/posthouse/posthouse/internal/work"
)

// The tables of the document. Its COMMENTs are no PostgreSQL, so whoever runs it has left them out.
const tables = `
CREATE TABLE sms_templates (id SERIAL PRIMARY KEY, template_name VARCHAR(100) NOT NULL, template_content VARCHAR(200) NOT NULL,
  is_active BOOLEAN DEFAULT TRUE, created_at TIMESTAMP NULL, updated_at TIMESTAMP NULL);
CREATE TABLE default_sms_data (id SERIAL PRIMARY KEY, phone_number VARCHAR(20) NOT NULL UNIQUE, content VARCHAR(200) NOT NULL,
  use_template BOOLEAN DEFAULT FALSE, is_sent BOOLEAN DEFAULT FALSE, created_at TIMESTAMP NULL, updated_at TIMESTAMP NULL);
CREATE TABLE sms_tasks (id SERIAL PRIMARY KEY, task_id VARCHAR(50) UNIQUE NOT NULL, phone_number VARCHAR(20) NOT NULL, content VARCHAR(200) NOT NULL,
  status INTEGER DEFAULT 0, source VARCHAR(50), retry_count INTEGER DEFAULT 0, processing_app_id VARCHAR(50), result VARCHAR(500),
  created_at TIMESTAMP NULL, updated_at TIMESTAMP NULL, sent_at TIMESTAMP NULL, reported_at TIMESTAMP NULL);
CREATE TABLE receive_logs (id SERIAL PRIMARY KEY, request_id VARCHAR(50), phone_number VARCHAR(20), content VARCHAR(200), use_template BOOLEAN,
  source_ip VARCHAR(45), user_agent VARCHAR(500), request_data JSONB, response_data JSONB, status_code INTEGER, created_at TIMESTAMP NULL);
CREATE TABLE send_logs (id SERIAL PRIMARY KEY, task_id VARCHAR(50), app_id VARCHAR(50), phone_number VARCHAR(20), content VARCHAR(200),
  request_data JSONB, response_data JSONB, created_at TIMESTAMP NULL);
CREATE TABLE report_logs (id SERIAL PRIMARY KEY, task_id VARCHAR(50), app_id VARCHAR(50), status INTEGER, error_message VARCHAR(500),
  request_data JSONB, created_at TIMESTAMP NULL);
INSERT INTO sms_templates VALUES (1, '验证码模板', '您的验证码是{code}，用户{name}', TRUE, '2023-11-01 08:00:00', '2023-11-01 08:00:00'),
  (4, '旧', '{x}', FALSE, NULL, NULL);
INSERT INTO default_sms_data VALUES (1, '13800138000', '欢迎使用我们的服务', FALSE, TRUE, '2023-11-01 08:00:00', '2023-11-02 08:00:00'),
  (2, '13800138001', 'code=1', TRUE, FALSE, '2023-11-01 08:00:00', '2023-11-01 08:00:00');
INSERT INTO sms_tasks VALUES
  (1, 'task_20231201_001', '13800138000', '您的验证码是123456', 2, 'system_a', 0, NULL, '', '2023-12-01 10:00:00', '2023-12-01 10:01:02', '2023-12-01 10:01:00', '2023-12-01 10:01:02'),
  (2, 'task_20231201_002', '13800138001', '等待', 0, NULL, 0, NULL, NULL, '2023-12-01 10:00:01', '2023-12-01 10:00:01', NULL, NULL),
  (3, 'task_20231201_003', '13800138002', '再试', 0, 'b', 2, NULL, '处理超时，自动重试', '2023-12-01 10:00:02', '2023-12-01 11:00:02', NULL, NULL),
  (4, 'task_20231201_004', '13800138003', '手中', 1, 'b', 1, 'sms_app_001', '空号', '2023-12-01 10:00:03', '2023-12-01 11:00:03', NULL, NULL),
  (5, 'task_20231201_005', '13800138004', '失败', 3, 'b', 3, NULL, '超过最大重试次数: 空号', '2023-12-01 10:00:04', '2023-12-01 12:00:04', NULL, '2023-12-01 12:00:04'),
  (6, 'task_20231201_006', '13800138005', '超时', 3, 'b', 3, NULL, '处理超时，超过最大重试次数', '2023-12-01 10:00:05', '2023-12-01 12:00:05', NULL, '2023-12-01 12:00:05'),
  (7, 'task_20231201_007', '12', '号码', 3, 'b', 0, NULL, '空号', '2023-12-01 10:00:06', '2023-12-01 10:02:06', NULL, '2023-12-01 10:02:06'),
  (8, 'task_20231201_008', '13800138006', '?', 9, 'b', 0, NULL, NULL, '2023-12-01 10:00:07', NULL, NULL, NULL);
INSERT INTO receive_logs VALUES
  (1, 'r1', '13800138000', '您的验证码是123456', FALSE, '10.0.0.1', 'curl/8', '{"source": "system_a"}', '{"code": 200, "data": {"task_id": "task_20231201_001"}}', 200, '2023-12-01 10:00:00'),
  (2, 'r2', '138', '', FALSE, '10.0.0.2', 'curl/8', '{}', '{"code": 400}', 400, '2023-12-01 10:00:00');
INSERT INTO send_logs VALUES (1, 'task_20231201_001', 'sms_app_001', '13800138000', '您的验证码是123456', '{}', '{"code": 200, "data": {"total_count": 1, "app_id": "sms_app_001", "tasks": []}}', '2023-12-01 10:00:30'),
  (2, 'task_20231201_004', 'sms_app_001', '13800138003', '手中', '{}', '{}', '2023-12-01 11:00:03'), (3, 'task_gone', 'sms_app_001', '1', 'x', NULL, NULL, '2023-12-01 11:00:03');
INSERT INTO report_logs VALUES (1, 'task_20231201_001', 'sms_app_001', 2, '', '{}', '2023-12-01 10:01:02'), (2, 'task_20231201_005', 'sms_app_002', 3, '空号', '{}', '2023-12-01 12:00:04');
`

// dialects say the same to each database.
var dialects = map[string]struct {
	dsn   func(testing.TB) string
	zone  string // makes the times of the rows those of Shanghai
	words *strings.Replacer
}{
	"postgres": {dbtest.Postgres, "", strings.NewReplacer()},
	"sqlite":   {dbtest.SQLite, "", strings.NewReplacer("SERIAL", "INTEGER", "JSONB", "TEXT")},
	"mysql":    {dbtest.MariaDB, "SET time_zone = '+08:00';\n", strings.NewReplacer("SERIAL PRIMARY KEY", "INT PRIMARY KEY", "JSONB", "JSON")},
}

// old makes a database as the document's server leaves it.
func old(t *testing.T, kind string) (dsn string, exec func(statement string)) {
	t.Helper()
	d := dialects[kind]
	dsn = d.dsn(t)
	db := dbtest.SQL(t, dsn)
	db.SetMaxOpenConns(1)
	exec = func(statement string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	for statement := range strings.SplitSeq(d.zone+d.words.Replace(tables), ";\n") {
		if strings.TrimSpace(statement) != "" {
			exec(statement)
		}
	}
	return dsn, exec
}

func open(t *testing.T, dsn string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{DSN: dsn, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if _, err := s.Schema.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func source(t *testing.T, dsn string) *foreign.Lksms {
	t.Helper()
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	from, err := foreign.OpenLksms(t.Context(), dsn, shanghai)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { from.Close() })
	return from
}

func imported(t *testing.T, o lksms.Options) lksms.Report {
	t.Helper()
	report, err := lksms.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// brief writes a report in a line for each table: rows, new, there, left and odd.
func brief(r lksms.Report) string {
	var b strings.Builder
	for _, t := range r.Tables {
		left, odd := 0, 0
		for _, n := range t.Left {
			left += n
		}
		for _, n := range t.Odd {
			odd += n
		}
		fmt.Fprintf(&b, "%s %d: %d %d %d %d\n", t.Name, t.Rows, t.New, t.There, left, odd)
	}
	return b.String()
}

const first = `sms_templates 2: 2 0 0 0
default_sms_data 2: 2 0 0 0
sms_tasks 8: 7 0 1 1
receive_logs 2: 2 0 0 1
send_logs 3: 2 0 1 0
report_logs 2: 2 0 0 0
`

const again = `sms_templates 2: 0 2 0 0
default_sms_data 2: 0 2 0 0
sms_tasks 8: 0 7 1 1
receive_logs 2: 0 2 0 1
send_logs 3: 0 2 1 0
report_logs 2: 0 2 0 0
`

// PULL-11: the six tables are carried over, from and to each database, into the old one itself too; again
// nothing comes twice.
func TestTheSixTablesAreCarriedOver(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ from, to string }{
		{"postgres", "sqlite"}, {"postgres", "itself"}, {"mysql", "postgres"}, {"sqlite", "mysql"}, {"mysql", "itself"}, {"sqlite", "itself"},
	} {
		t.Run(c.from+" to "+c.to, func(t *testing.T) {
			t.Parallel()
			dsn, _ := old(t, c.from)
			target := dsn
			if c.to != "itself" {
				target = dialects[c.to].dsn(t)
			}
			o := lksms.Options{From: source(t, dsn), Options: retold.Options{To: open(t, target), Batch: 3}}
			report := imported(t, o)
			if diff := cmp.Diff(first, brief(report)); diff != "" || !report.Paged {
				t.Errorf("first, an app that was answered a page seen: %t (-want +got):\n%s", report.Paged, diff)
			}
			if diff := cmp.Diff(again, brief(imported(t, o))); diff != "" {
				t.Errorf("again (-want +got):\n%s", diff)
			}
			tasksAre(t, o.To)
			logsAre(t, o.To)
			lawful(t, o.To)
		})
	}
}

// tasksAre compares what tasks have become.
func tasksAre(t *testing.T, s *store.Store) {
	t.Helper()
	want := map[string]string{
		"task_20231201_001": "sent  tries 0 attempts 1 +8613800138000 2023-12-01T02:01:00Z",
		"task_20231201_002": "pending imported tries 0 attempts 0 +8613800138001 2023-12-01T02:00:01Z",
		"task_20231201_003": "pending unknown tries 2 attempts 2 +8613800138002 2023-12-01T03:00:02Z",
		"task_20231201_004": "sending transient tries 1 attempts 2 +8613800138003 2023-12-01T03:00:03Z agent/sms_app_001",
		"task_20231201_005": "failed tries_used_up tries 4 attempts 4 +8613800138004 2023-12-01T04:00:04Z 空号",
		"task_20231201_006": "failed tries_used_up tries 4 attempts 4 +8613800138005 2023-12-01T04:00:05Z",
		"task_20231201_007": "failed no_retry tries 1 attempts 1 12 2023-12-01T02:02:06Z 空号",
	}
	got := map[string]string{}
	list, _, err := s.Messages.Deliveries(t.Context(), work.Filter{Sight: work.SeeAll(), Tenant: "default", Kind: "sms", Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list {
		m, _, err := s.Messages.Message(t.Context(), "default", d.Message)
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("%s %s tries %d attempts %d %s %s %s %s", d.State, d.Reason, d.Tries, d.Attempts, d.Address, d.UpdatedAt.Format(time.RFC3339), d.LeaseOwner, d.Error)
		got[m.Ref] = strings.TrimSpace(strings.ReplaceAll(text, "Z  ", "Z "))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tasks (-want +got):\n%s", diff)
	}
	tally, err := s.Handouts.Tally(t.Context(), "default", "sms")
	if diff := cmp.Diff(work.Tally{New: 1, Retry: 1, Processing: 1, Success: 1, Failed: 3}, tally); err != nil || diff != "" {
		t.Errorf("tally: %v (-want +got):\n%s", err, diff)
	}
}

// logsAre looks at templates, default contents and logs.
func logsAre(t *testing.T, s *store.Store) {
	t.Helper()
	templates, err := s.Texts.SMSTemplates(t.Context(), "default")
	if err != nil || len(templates) != 2 || templates[0].Text != "您的验证码是{code}，用户{name}" || templates[1].ID != 4 || templates[1].Active {
		t.Errorf("templates = %+v, %v", templates, err)
	}
	for phone, sent := range map[string]bool{"+8613800138000": true, "+8613800138001": false} {
		d, found, err := s.Texts.DefaultSMS(t.Context(), "default", "sms", phone)
		if err != nil || !found || d.Sent != sent || d.Templated == sent {
			t.Errorf("default content of %s = %+v, %t, %v", phone, d, found, err)
		}
	}
	want := map[work.Log]string{
		work.ReceiveLog: "+8613800138000 200 task; 138 400 ;",
		work.SendLog:    "+8613800138003 sms_app_001 task; +8613800138003 sms_app_001 task; +8613800138000 sms_app_001 task;", // two of the log, and what is held
		work.ReportLog:  "sms_app_001 sent done task; sms_app_002 not_sent done 空号 task;",
	}
	for log, want := range want {
		lines, _, err := s.Logs.Log(t.Context(), work.LogFilter{Tenant: "default", Log: log, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range lines {
			words := strings.Fields(strings.Join([]string{l.Phone, l.Agent, l.Outcome, l.Answer, l.Error}, " "))
			if l.Status != 0 {
				words = append(words, fmt.Sprint(l.Status))
			}
			task := ""
			if posthouse.ValidID(l.Delivery) {
				task = "task"
			}
			got = append(got, strings.Join(append(words, task), " ")+";")
		}
		if !sameLines(strings.SplitAfter(want, ";"), got) {
			t.Errorf("%s log = %q, want %q", log, got, want)
		}
	}
}

func sameLines(want, got []string) bool {
	count := map[string]int{}
	for _, w := range want {
		if w = strings.TrimSpace(w); w != "" {
			count[w]++
		}
	}
	for _, g := range got {
		count[strings.TrimSpace(g)]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

// lawful holds what was imported to the invariants of what we have sent ourselves.
func lawful(t *testing.T, s *store.Store) {
	t.Helper()
	events := func(yield func(posthouse.Event, error) bool) {
		if _, err := s.History.ExportEvents(t.Context(), "default", "", func(e posthouse.Event) error {
			yield(e, nil)
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
	report, err := verify.Check(t.Context(), verify.Inputs{Events: events, Sometimes: []string{"none"}})
	if err != nil {
		t.Fatal(err)
	}
	if report.Totals.Deliveries != 7 {
		t.Errorf("the log has %d deliveries, want 7", report.Totals.Deliveries)
	}
	for _, inv := range report.Invariants {
		if inv.Count > 0 {
			t.Errorf("%s %s: %+v", inv.ID, inv.Name, inv.Violations)
		}
	}
}

// PULL-11: a first run while the old server works leaves out what it may still send.
func TestHistoryLeavesOutWhatMayStillBeSent(t *testing.T) {
	t.Parallel()
	dsn, exec := old(t, "sqlite")
	o := lksms.Options{From: source(t, dsn), Options: retold.Options{To: open(t, dbtest.SQLite(t)), History: true}}
	report := imported(t, o)
	if tasks := report.Tables[2]; tasks.New != 4 || tasks.Left["may still be sent"] != 3 {
		t.Errorf("tasks = %+v", tasks)
	}
	exec("UPDATE sms_tasks SET status = 2, sent_at = '2023-12-01 12:00:00' WHERE id = 2")
	o.History = false
	imported(t, o)
	found, err := o.To.Imports.FormerTasks(t.Context(), time.Now(), "default", "sms", []string{"task_20231201_002"})
	if err != nil {
		t.Fatal(err)
	}
	d, err := o.To.Messages.Delivery(t.Context(), "default", found["task_20231201_002"])
	if err != nil || d.State != posthouse.Sent {
		t.Errorf("a task that the old server sent in between is %s, %v; want sent", d.State, err)
	}
}

func TestADryRunWritesNothing(t *testing.T) {
	t.Parallel()
	dsn, _ := old(t, "sqlite")
	var seen []string
	o := lksms.Options{From: source(t, dsn), Options: retold.Options{To: open(t, dbtest.SQLite(t)), DryRun: true, Progress: func(table string, read, of int) {
		seen = append(seen, fmt.Sprintf("%s %d/%d", table, read, of))
	}}}
	report := imported(t, o)
	if !report.DryRun || report.Tables[2].New != 7 {
		t.Errorf("report = %+v", report)
	}
	if len(seen) != 6 || seen[2] != "sms_tasks 8/8" {
		t.Errorf("progress = %q", seen)
	}
	list, _, err := o.To.Messages.Deliveries(t.Context(), work.Filter{Sight: work.SeeAll(), Tenant: "default", Limit: 10})
	if err != nil || len(list) != 0 {
		t.Errorf("a dry run stored %d deliveries, %v", len(list), err)
	}
}

// PULL-11: it goes on where it was stopped.
func TestAnImportThatWasStoppedGoesOn(t *testing.T) {
	t.Parallel()
	dsn, _ := old(t, "sqlite")
	ctx, stop := context.WithCancel(t.Context())
	o := lksms.Options{From: source(t, dsn), Options: retold.Options{To: open(t, dbtest.SQLite(t)), Batch: 2, Progress: func(table string, read, _ int) {
		if table == foreign.LksmsTasks && read == 4 {
			stop()
		}
	}}}
	report, err := lksms.Run(ctx, o)
	if err == nil || len(report.Tables) != 3 || report.Tables[2].New != 4 {
		t.Fatalf("a stopped import says %v, %+v; want 4 new tasks, and an error", err, report)
	}
	o.Progress = nil
	report = imported(t, o)
	if tasks := report.Tables[2]; tasks.There != 4 || tasks.New != 3 {
		t.Errorf("tasks = %+v, want 4 there and 3 new", tasks)
	}
	tasksAre(t, o.To)
}

func TestASourceOfAnotherKindIsRefused(t *testing.T) {
	t.Parallel()
	ours := dbtest.SQLite(t)
	open(t, ours) // has views of these names
	for dsn, want := range map[string]string{
		ours:                                 "has no table sms_tasks",
		"sqlite:" + t.TempDir() + "/none.db": "no such file",
		"oracle://x":                         "names no database we know",
		"postgresql+asyncpg://u:p@%zz/x":     "the DSN cannot be read",
	} {
		_, err := foreign.OpenLksms(t.Context(), dsn, time.UTC)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("OpenLksms(%q) = %v, want %q", dsn, err, want)
		}
	}
}

// A table that somebody does not have is passed over.
func TestATableThatIsMissingIsPassedOver(t *testing.T) {
	t.Parallel()
	dsn, exec := old(t, "sqlite")
	exec("DROP TABLE send_logs")
	report := imported(t, lksms.Options{From: source(t, dsn), Options: retold.Options{To: open(t, dbtest.SQLite(t))}})
	if logs := report.Tables[4]; !logs.Missing || logs.Rows != 0 || report.Paged {
		t.Errorf("send_logs = %+v", logs)
	}
}

// PULL-11: rows as nobody would expect them stop no import, and are taken once however often it runs.
func TestOddRowsAreTakenOnce(t *testing.T) {
	t.Parallel()
	for kind := range dialects {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			dsn, exec := old(t, kind)
			for _, statement := range []string{
				"DELETE FROM sms_tasks", "DELETE FROM default_sms_data",
				"INSERT INTO sms_tasks (id, task_id, phone_number, content) VALUES (1, 'timeless', '13800138000', 'x')",
				"UPDATE sms_tasks SET status = NULL, retry_count = NULL, created_at = NULL, updated_at = NULL",
				"INSERT INTO sms_tasks (id, task_id, phone_number, content, retry_count) VALUES (2, 'stubborn', '13800138000', 'x', 2000000000)",
				"INSERT INTO default_sms_data (id, phone_number, content) VALUES (1, '13800138000', 'a'), (2, '+8613800138000', 'b')",
				"UPDATE receive_logs SET created_at = NULL",
			} {
				exec(statement)
			}
			if kind == "postgres" {
				exec("UPDATE sms_tasks SET created_at = '-infinity', updated_at = 'infinity' WHERE id = 2")
			}
			ours := open(t, dialects[kind].dsn(t))
			o := lksms.Options{From: source(t, dsn), Options: retold.Options{To: ours}}
			const want = "default_sms_data 2: %d %d 1 0\nsms_tasks 2: %d %d 0 1\nreceive_logs 2: %d %d 0 1\n"
			for run, want := range []string{fmt.Sprintf(want, 1, 0, 2, 0, 2, 0), fmt.Sprintf(want, 0, 1, 0, 2, 0, 2)} {
				got := brief(imported(t, o))
				for line := range strings.Lines(want) {
					if !strings.Contains(got, line) {
						t.Errorf("run %d did\n%s, want %s in it", run+1, got, line)
					}
				}
			}
		})
	}
}
