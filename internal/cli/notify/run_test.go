package notify_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/cli/notify"
	"github.com/posthouse/posthouse/internal/cli/retold"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/foreign"
	"github.com/posthouse/posthouse/internal/verify"
	"github.com/posthouse/posthouse/internal/work"
)

// The document's tables, with the people of the system around them. Times are those of Shanghai.
const tables = `
CREATE TABLE tc_notify_job (id BIGINT PRIMARY KEY, biz_type TINYINT NOT NULL, biz_id BIGINT NOT NULL, dedup_key VARCHAR(128), payload JSON NOT NULL, channel TINYINT NOT NULL,
  status TINYINT NOT NULL, retry_count INT NOT NULL, next_run_time DATETIME NOT NULL, remark VARCHAR(255), del_flag TINYINT, create_by VARCHAR(32), create_time DATETIME, update_by VARCHAR(32), update_time DATETIME);
CREATE TABLE tc_notify_recipient (id BIGINT PRIMARY KEY, job_id BIGINT NOT NULL, user_id VARCHAR(32) NOT NULL, status TINYINT NOT NULL, last_error VARCHAR(255), external_msgid VARCHAR(128),
  del_flag TINYINT, create_by VARCHAR(32), create_time DATETIME, update_by VARCHAR(32), update_time DATETIME);
CREATE TABLE tc_notify_template (id BIGINT PRIMARY KEY, biz_type TINYINT NOT NULL, channel TINYINT NOT NULL, title_tpl VARCHAR(200) NOT NULL, content_tpl TEXT NOT NULL, external_tpl_id VARCHAR(64), enabled TINYINT NOT NULL, del_flag TINYINT);
CREATE TABLE tc_notify_channel_config (id BIGINT PRIMARY KEY, channel TINYINT NOT NULL, config_json JSON NOT NULL, enabled TINYINT NOT NULL, del_flag TINYINT);
CREATE TABLE sys_user (user_id BIGINT PRIMARY KEY, username VARCHAR(64), nick_name VARCHAR(64));
CREATE TABLE sys_user_role (user_id BIGINT, role_id BIGINT);
INSERT INTO sys_user VALUES (7, 'li.na', '李娜'), (8, 'wang.fang', '王芳'), (9, NULL, NULL);
INSERT INTO sys_user_role VALUES (7, 3), (7, 4);
INSERT INTO tc_notify_template VALUES (1, 3, 1, '【${taskName}】已完成', '任务${taskName}执行完成', 'SE1004', 1, 0), (2, 2, 1, '进站', '还有${remainMin}分钟', NULL, 1, 0),
  (3, 5, 1, '超时', '已超时${overtime}分钟', NULL, 1, 0), (4, 9, 1, 'x', 'x', NULL, 1, 0), (5, 3, 0, 'x', 'x', NULL, 1, 1);
INSERT INTO tc_notify_channel_config VALUES (1, 1, '{"baseUrl": "http://dingtalk.example.com/send", "agentId": "A", "corpId": "C", "secret": "s3cret"}', 1, 0);
INSERT INTO tc_notify_job VALUES
  (1, 3, 1001, '3_1001_1', '{"taskName": "甲"}', 1, 1, 0, '2025-08-01 10:00:00', NULL, 0, 'u100', '2025-08-01 10:00:00', 'u100', '2025-08-01 10:00:05'),
  (2, 3, 1002, '3_1002_1', '{"taskName": "乙"}', 1, 0, 2, 'FUTURE', NULL, 0, 'u100', '2025-08-01 10:00:00', 'u100', '2025-08-01 10:06:00'),
  (3, 3, 1003, '3_1003_1', '{"taskName": "丙"}', 1, 2, 7, '2025-08-02 10:00:00', NULL, 0, 'u100', '2025-08-01 10:00:00', 'u100', '2025-08-02 10:00:00'),
  (4, 2, 1004, '2_1004_9_45_1', '{"taskName": "丁", "remainMin": 45}', 1, 3, 0, '2025-08-02 13:15:00', NULL, 0, 'u100', '2025-08-01 10:00:00', 'u9', '2025-08-01 11:00:00'),
  (5, 2, 1004, '2_1004_9_30_1', '{"taskName": "丁", "remainMin": 30}', 1, 0, 0, '2025-08-02 13:30:00', NULL, 1, 'u100', '2025-08-01 10:00:00', 'u9', '2025-08-01 11:00:00'),
  (6, 5, 8882, '5_8882_1', '{"taskName": "戊", "nodeName": "n", "maxDuration": 60, "timeoutRemind": 30}', 1, 0, 0, 'FUTURE', NULL, 0, 'u100', '2025-08-01 10:00:00', NULL, '2025-08-01 11:30:00'),
  (7, 9, 1, NULL, '{}', 1, 1, 0, '2025-08-01 10:00:00', NULL, 0, NULL, '2025-08-01 10:00:00', NULL, NULL),
  (8, 3, 1005, '3_1005_1', '{"taskName": "己"}', 1, 1, 0, '2025-08-01 10:00:00', NULL, 0, NULL, '2025-08-01 10:00:00', NULL, NULL),
  (9, 4, 1006, '4_1006_1', '{"taskName": "庚"}', 1, 0, 0, '2025-08-01 10:00:00', NULL, 0, NULL, '2025-08-01 10:00:00', NULL, NULL);
INSERT INTO tc_notify_recipient VALUES
  (1, 1, '7', 1, NULL, 'dt-1', 0, NULL, NULL, NULL, '2025-08-01 10:00:04'), (2, 1, '8', 2, 'no such user', NULL, 0, NULL, NULL, NULL, '2025-08-01 10:00:04'),
  (3, 2, '7', 1, NULL, 'dt-2', 0, NULL, NULL, NULL, '2025-08-01 10:00:04'), (4, 2, '8', 2, 'busy', NULL, 0, NULL, NULL, NULL, '2025-08-01 10:06:00'),
  (5, 3, '7', 2, 'busy', NULL, 0, NULL, NULL, NULL, '2025-08-02 10:00:00'), (6, 4, '7', 3, NULL, NULL, 0, NULL, NULL, NULL, '2025-08-01 11:00:00'),
  (7, 5, '7', 0, NULL, NULL, 1, NULL, NULL, NULL, '2025-08-01 11:00:00'), (8, 6, '7', 1, NULL, NULL, 0, NULL, NULL, NULL, '2025-08-01 11:30:00'),
  (9, 7, '7', 1, NULL, NULL, 0, NULL, NULL, NULL, NULL), (10, 9, '7', 0, NULL, NULL, 0, NULL, NULL, NULL, NULL);
`

// future is when what waits is sent, as the tables have it.
var future = time.Now().AddDate(1, 0, 0).Truncate(time.Second)

// databases are those that a service of the document may have, and in whose words the tables are written there.
var databases = map[string]struct {
	dsn   func(testing.TB) string
	zone  string
	words *strings.Replacer
}{
	"mysql":    {dbtest.MariaDB, "SET time_zone = '+08:00';\n", strings.NewReplacer()},
	"postgres": {dbtest.Postgres, "", strings.NewReplacer("TINYINT", "SMALLINT", "DATETIME", "TIMESTAMP")},
	"sqlite":   {dbtest.SQLite, "", strings.NewReplacer()},
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

func ran(t *testing.T, o notify.Options) notify.Report {
	t.Helper()
	report, err := notify.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// brief writes a report's counts: rows, new, there and left.
func brief(r notify.Report) (out string) {
	for _, t := range r.Tables {
		out += fmt.Sprintf("%s %d: %d %d %d\n", t.Name, t.Rows, t.New, t.There, t.Left)
	}
	return out
}

// Number 32: the document's tables are carried over, from each database to another, by preview and by deed, and twice is once.
func TestTheDocumentsTablesAreCarriedOver(t *testing.T) {
	t.Parallel()
	for from, to := range map[string]string{"mysql": "sqlite", "sqlite": "postgres", "postgres": "mysql"} {
		t.Run(from+" to "+to, func(t *testing.T) {
			t.Parallel()
			d := databases[from]
			dsn := d.dsn(t)
			db := dbtest.SQL(t, dsn)
			db.SetMaxOpenConns(1)
			for statement := range strings.SplitSeq(d.zone+d.words.Replace(strings.ReplaceAll(tables, "FUTURE", future.UTC().Add(8*time.Hour).Format(time.DateTime))), ";\n") {
				if strings.TrimSpace(statement) != "" {
					if _, err := db.ExecContext(t.Context(), statement); err != nil {
						t.Fatalf("%s: %v", statement, err)
					}
				}
			}
			shanghai := time.FixedZone("Asia/Shanghai", 8*60*60)
			if zone, err := time.LoadLocation("Asia/Shanghai"); err == nil {
				shanghai = zone
			}
			source, err := foreign.OpenNotify(t.Context(), dsn, shanghai)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { source.Close() })
			o := notify.Options{From: source, Zone: shanghai, Options: retold.Options{To: open(t, databases[to].dsn(t)), Batch: 4}}
			carriedOver(t, o)
		})
	}
}

func carriedOver(t *testing.T, o notify.Options) {
	t.Helper()
	const first = "tc_notify_template 4: 3 0 1\ntc_notify_channel_config 1: 0 0 1\nsys_user 3: 3 0 0\ntc_notify_job 9: 6 0 3\n"
	const again = "tc_notify_template 4: 0 3 1\ntc_notify_channel_config 1: 0 0 1\nsys_user 3: 0 3 0\ntc_notify_job 9: 0 6 3\n"
	preview := o
	preview.DryRun = true
	if diff := cmp.Diff(first, brief(ran(t, preview))); diff != "" {
		t.Errorf("preview (-want +got):\n%s", diff)
	}
	report := ran(t, o)
	if diff := cmp.Diff(first, brief(report)); diff != "" {
		t.Errorf("first (-want +got):\n%s\n%s", diff, strings.Join(report.Lines, "\n"))
	}
	if diff := cmp.Diff(again, brief(ran(t, o))); diff != "" {
		t.Errorf("again (-want +got):\n%s", diff)
	}
	lines := strings.Join(report.Lines, "\n")
	for _, want := range []string{"tc_notify_template 4: its biz_type 9", `{"baseUrl":"http://dingtalk.example.com/send","agentId":"A","corpId":"C"}`, "1 people have no user name",
		"tc_notify_job 7: bizType is 9", "tc_notify_job 8: userIds is required", "tc_notify_job 9: there is no template task_abnormal.dingtalk"} {
		if !strings.Contains(lines, want) {
			t.Errorf("no line says %q:\n%s", want, lines)
		}
	}
	if strings.Contains(lines, "s3cret") {
		t.Error("the lines show a secret")
	}
	jobsAre(t, o.To)
	rest := o
	rest.History = true
	if r := ran(t, rest); r.Tables[3].Left != 5 { // 2 and 6 wait
		t.Errorf("--history leaves out %d jobs, want 5", r.Tables[3].Left)
	}
}

// jobsAre compares what became of the jobs: in the view, and as the engine sees them.
func jobsAre(t *testing.T, s *store.Store) {
	t.Helper()
	got := map[string]string{}
	for _, message := range messagesOf(t, s) {
		list, _, err := s.Messages.DeliveriesOf(t.Context(), "default", message.ID, "", 100)
		if err != nil {
			t.Fatal(err)
		}
		text := message.Content.Text
		for _, d := range list {
			text += fmt.Sprintf(" | %s %s %s %d %s%s", d.User, d.Address, d.State, d.Tries, d.ProviderRef, d.Error)
		}
		got[message.DedupKey] = text
		if message.DedupKey == "3_1002_1" && !list[1].DueAt.Equal(future) {
			t.Errorf("what waits is due at %s", list[1].DueAt)
		}
	}
	want := map[string]string{
		"3_1001_1":      "任务甲执行完成 | 7 li.na sent 0 dt-1 | 8 wang.fang failed 1 no such user",
		"3_1002_1":      "任务乙执行完成 | 7 li.na sent 0 dt-2 | 8 wang.fang pending 2 busy",
		"3_1003_1":      "任务丙执行完成 | 7 li.na failed 8 busy",
		"2_1004_9_45_1": "还有0分钟 | 7 li.na cancelled 0 ",
		"2_1004_9_30_1": "还有0分钟 | 7 li.na cancelled 0 ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages and deliveries (-want +got):\n%s", diff)
	}
	u, err := s.Users.User(t.Context(), "default", "7")
	if err != nil || u.Name != "李娜" || u.Addresses["dingtalk"] != "li.na" || len(u.Roles) != 2 {
		t.Errorf("the user 7 is %+v, %v", u, err)
	}
	p, found, err := s.Plans.Plan(t.Context(), "default", work.PlanReminder, "5_8882_1")
	if err != nil || !found || !p.NextAt.Equal(future) || !strings.Contains(string(p.Doc), "2025-08-01T03:00:00Z") {
		t.Errorf("the reminder is %+v, %v: %s", p, err, p.Doc)
	}
	lawful(t, s)
}

// lawful judges the log of what was carried over as that of our own runs.
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
	for _, inv := range report.Invariants {
		if inv.Count > 0 {
			t.Errorf("%s %s: %+v", inv.ID, inv.Name, inv.Violations)
		}
	}
}

func messagesOf(t *testing.T, s *store.Store) (list []posthouse.Message) {
	t.Helper()
	found, _, err := s.Messages.Messages(t.Context(), work.Filter{Sight: work.SeeAll(), Tenant: "default", Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range found {
		list = append(list, m.Message)
	}
	return list
}
