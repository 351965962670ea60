package server_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse/internal/cli/lksms"
	"github.com/posthouse/posthouse/internal/cli/retold"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/foreign"
	"github.com/posthouse/posthouse/internal/store/sqltest"
)

// formerTasks are what the old server leaves: one that was sent, one that waits, two that app1 holds, one of a number that looks like ours.
const formerTasks = `
CREATE TABLE sms_tasks (id INTEGER PRIMARY KEY, task_id VARCHAR(50) UNIQUE NOT NULL, phone_number VARCHAR(20) NOT NULL, content VARCHAR(200) NOT NULL,
  status INTEGER DEFAULT 0, source VARCHAR(50), retry_count INTEGER DEFAULT 0, processing_app_id VARCHAR(50), result VARCHAR(500),
  created_at TIMESTAMP NULL, updated_at TIMESTAMP NULL, sent_at TIMESTAMP NULL, reported_at TIMESTAMP NULL);
INSERT INTO sms_tasks VALUES (1, 'task_1', '13800138000', '您的验证码是123456', 2, 'system_a', 1, NULL, '', 'HOUR', 'NOW', 'NOW', 'NOW'),
  (2, 'task_2', '13800138001', '等待', 0, 'system_b', 0, NULL, NULL, 'HOUR', 'HOUR', NULL, NULL),
  (3, 'task_3', '13800138002', '手中', 1, NULL, 1, 'app1', '空号', 'HOUR', 'NOW', NULL, NULL),
  (4, '01HGZ3NDEKTSV4RRFFQ69G5FAV', '13800138003', '也在手中', 1, NULL, 0, 'app1', NULL, 'HOUR', 'NOW', NULL, NULL)`

// swapped is the DSN of a database of the old server, after an import into that same database.
func swapped(t *testing.T, dsn string) string {
	t.Helper()
	now := time.Now().UTC()
	db, err := dbtest.SQL(t, dsn).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	text := strings.NewReplacer("HOUR", now.Add(-time.Hour).Format(time.DateTime), "NOW", now.Format(time.DateTime)).Replace(formerTasks)
	if strings.HasPrefix(dsn, "mysql:") { // it keeps moments, and the test's server has a zone of its own
		text = "SET time_zone = '+00:00';\n" + text
	}
	for statement := range strings.SplitSeq(text, ";\n") {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	to, err := store.Open(t.Context(), store.Options{DSN: dsn, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	if _, err := to.Schema.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	from, err := foreign.OpenLksms(t.Context(), dsn, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	if report, err := lksms.Run(t.Context(), lksms.Options{From: from, Options: retold.Options{To: to}}); err != nil || report.Tables[2].New != 4 {
		t.Fatalf("import: %+v, %v", report, err)
	}
	return dsn
}

// PULL-11: an existing deployment swaps the server and keeps its database. Tasks are found by the numbers they
// had, what waits is sent, and the app that held a task when the old server stopped may still report on it.
func TestPULL_AnExistingDeploymentSwapsTheServer(t *testing.T) {
	sqltest.EachDSN(t, func(t *testing.T, dsn string) { // its tables were there before ours
		h := open(t, swapped(t, dsn), withSMS())
		sent := h.story("task_1").Task
		if sent.Status != 2 || sent.Phone != "13800138000" || sent.Content != "您的验证码是123456" || sent.Source != "system_a" || sent.RetryCount != 1 || sent.SentAt == nil {
			h.Errorf("the task that was sent is %+v", sent)
		}
		held := h.story("task_3").Task
		if held.Status != 1 || held.App != "app1" || held.RetryCount != 1 {
			h.Errorf("the task that app1 holds is %+v", held)
		}
		got := h.fetch("app2", 10)
		if len(got) != 1 || got[0].Content != "等待" {
			h.Fatalf("app2 is handed %+v, want the task that waits", got)
		}
		h.says(200, "app2", got[0].ID, wentOut)
		h.says(200, "app2", "task_2", wentOut) // by the number it had
		h.says(409, "app2", "task_3", wentOut)
		h.says(200, "app1", "task_3", wentOut)
		ulid := "01HGZ3NDEKTSV4RRFFQ69G5FAV"
		h.says(409, "app2", ulid, wentOut)
		h.says(200, "app1", ulid, wentOut)
		for _, task := range []string{"task_2", "task_3", ulid} {
			h.becomes(task, 2, h.story(task).Task.RetryCount)
		}
		for _, task := range []string{"task_3", ulid} {
			for _, l := range h.log3("send", "?task_id="+task) {
				if l.Task != task || !strings.Contains(string(l.Response), `"task_id":"`+task+`"`) {
					h.Errorf("a hand-out of %s is logged as %+v", task, l)
				}
			}
			if n := len(h.log3("report", "?task_id="+task)); n != 2 {
				h.Errorf("there are %d reports of %s, want the refused one too", n, task)
			}
		}
		counts := dataOf[map[string]int](h, h.want(200, "GET", "/api/v1/admin/task-statistics", ""))
		want := map[string]int{"pending_new_tasks": 0, "pending_retry_tasks": 0, "processing_tasks": 0, "success_tasks": 4, "failed_tasks": 0}
		if diff := cmp.Diff(want, counts); diff != "" {
			h.Errorf("statistics (-want +got):\n%s", diff)
		}
	})
}
