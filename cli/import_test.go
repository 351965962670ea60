package cli

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite"
)

// oldSMS makes a database of an SMS service with one task that was sent and one whose number does not exist.
func oldSMS(t *testing.T) (dsn string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lksms.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{
		`CREATE TABLE sms_tasks (id INTEGER PRIMARY KEY, task_id TEXT, phone_number TEXT, content TEXT, status INTEGER, source TEXT,
			retry_count INTEGER, processing_app_id TEXT, result TEXT, created_at TIMESTAMP, updated_at TIMESTAMP, sent_at TIMESTAMP, reported_at TIMESTAMP)`,
		`INSERT INTO sms_tasks VALUES (1, 'task_1', '13800138000', '您好', 2, 'a', 0, NULL, NULL, '2023-12-01 10:00:00', '2023-12-01 10:01:00', '2023-12-01 10:01:00', NULL),
			(2, 'task_2', '12', '您好', 0, 'a', 0, NULL, NULL, '2023-12-01 10:00:00', '2023-12-01 10:00:00', NULL, NULL)`,
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return "sqlite:" + path
}

// PULL-11
func TestImportLksmsSaysWhatItDid(t *testing.T) {
	t.Parallel()
	from := oldSMS(t)
	path := filepath.Join(t.TempDir(), "posthouse.db")
	environ := []string{"POSTHOUSE_CREATE=true", "POSTHOUSE_DSN=sqlite:" + path}
	const form = "apps will get their tasks in the form list: where yours want {total_count, app_id, tasks}, set POSTHOUSE_SMS_PENDING_FORMAT=page before they poll\n"
	expect := func(want string, wantCode int, args ...string) {
		t.Helper()
		got, code := ran(t, environ, append([]string{"import", "lksms"}, args...)...)
		if strings.HasPrefix(want, "Table") {
			want = "the last change there was at 2023-12-01 10:01:00 +00:00\n" + form + want
		}
		if diff := cmp.Diff(want, got); diff != "" || code != wantCode {
			t.Errorf("%v: exit code %d, want %d; output (-want +got):\n%s", args, code, wantCode, diff)
		}
	}
	expect("posthouse: there is no file "+path+"\n  → posthouse migrate makes it, or posthouse serve\n", 1, "--from", from)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	expect("posthouse: the SQLite file "+path+" is empty\n  → posthouse migrate makes it, or posthouse serve\n", 1, "--from", from)
	if text, code := ran(t, environ, "migrate"); code != 0 {
		t.Fatal(text)
	}
	const notes = `  sms_templates: there is no such table
  default_sms_data: there is no such table
  sms_tasks: 1 taken over, whose phone number does not exist, kept as written
  receive_logs: there is no such table
  send_logs: there is no such table
  report_logs: there is no such table
`
	expect(`Table      Rows  Would be stored  There before  Left out
sms_tasks  2     2                0             0
`+notes, 0, "--from", from, "--dry-run")
	expect(`Table      Rows  New  There before  Left out
sms_tasks  2     2    0             0
`+notes, 0, "--from", from)
	expect(`Table      Rows  New  There before  Left out
sms_tasks  2     0    2             0
`+notes, 0, "--from", from, "--time-zone", "UTC")
	expect("posthouse: --from is missing: the DSN of the database to take over, such as postgresql://user:password@host:5432/lksms_db\n", 2)
	expect("posthouse: --time-zone: is \"Mars\": want a name such as UTC or Asia/Shanghai\n", 2, "--from", from, "--time-zone", "Mars")
}
