package store

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

func TestMigrateAgainDoesNothing(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		if steps, err := s.Schema.Migrate(t.Context()); steps != 0 || err != nil {
			t.Errorf("Migrate again = %d steps, %v", steps, err)
		}
		have, want, err := s.Schema.Schema(t.Context())
		if have != want || want < 1 || err != nil {
			t.Errorf("Schema = %d of %d, %v", have, want, err)
		}
	})
}

func TestMigrateRefusesADatabaseOfANewerBinary(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		tamper(t, s, "UPDATE posthouse_schema_version SET version_id = 9999 WHERE version_id = 1")
		tamper(t, s, "UPDATE posthouse_meta SET value = '9999' WHERE name = 'works_with'")
		if _, err := s.Schema.Migrate(t.Context()); err == nil || !strings.Contains(err.Error(), "9999") {
			t.Errorf("Migrate = %v; want an error that names the version", err)
		}
	})
}

func TestProcessesThatMigrateAtOnceAllSucceed(t *testing.T) {
	t.Parallel()
	for _, db := range databases {
		t.Run(db.name, func(t *testing.T) {
			t.Parallel()
			dsn := db.dsn(t)
			var wg sync.WaitGroup
			steps := make([]int, 4)
			for i := range steps {
				s := openOnly(t, dsn)
				wg.Go(func() {
					var err error
					if steps[i], err = s.Schema.Migrate(t.Context()); err != nil {
						t.Errorf("process %d: %v", i, err)
					}
				})
			}
			wg.Wait()
			total := 0
			for _, n := range steps {
				total += n
			}
			if want := len(versions(t, "sqlite")); total < want { // a step that makes what is missing may be taken twice
				t.Errorf("the processes took %v steps, want %d in all", steps, want)
			}
			if have, want, err := openOnly(t, dsn).Schema.Schema(t.Context()); err != nil || have != want {
				t.Errorf("the schema's version is %d, %v; want %d", have, err, want)
			}
		})
	}
}

// MySQL and MariaDB commit each statement of a migration by itself.
func TestMigrateBeginsAnewWhereAKilledProcessStopped(t *testing.T) {
	t.Parallel()
	for name, undone := range map[string][]string{
		"before the first version was noted": {"DROP VIEW posthouse_events", "DROP VIEW posthouse_deliveries", "DROP TABLE posthouse_limits", "DELETE FROM posthouse_schema_version"},
		"halfway":                            {"DROP TABLE posthouse_limits", "DELETE FROM posthouse_meta", "DELETE FROM posthouse_schema_version WHERE version_id > 0"},
		"before any version was noted":       {"DELETE FROM posthouse_schema_version WHERE version_id > 0"},
		"before the views were made":         {"DROP VIEW duty_schedule", "DROP VIEW sms_tasks"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openTest(t, dbtest.MariaDB(t))
			for _, statement := range undone {
				tamper(t, s, statement)
			}
			if _, err := s.Schema.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			if steps, err := s.Schema.Migrate(t.Context()); steps != 0 || err != nil {
				t.Errorf("Migrate again = %d steps, %v", steps, err)
			}
			if epoch, err := s.Epochs.Epoch(t.Context()); epoch != 1 || err != nil {
				t.Errorf("Epoch = %d, %v; want 1", epoch, err)
			}
			accept(t, s, entry(1))
			tamper(t, s, "SELECT * FROM posthouse_limits, duty_schedule, sms_tasks")
		})
	}
}

// A lost note of a migration is no reason to remove what was stored.
func TestMigrateRemovesNoTableThatHoldsRows(t *testing.T) {
	t.Parallel()
	s := openTest(t, dbtest.MariaDB(t))
	accept(t, s, entry(1))
	tamper(t, s, "DELETE FROM posthouse_schema_version WHERE version_id > 0")
	if _, err := s.Schema.Migrate(t.Context()); err == nil || !strings.Contains(err.Error(), "holds rows") {
		t.Errorf("Migrate = %v; want it to refuse", err)
	}
	if n := count(t, s, "SELECT COUNT(*) FROM posthouse_messages"); n != 1 {
		t.Errorf("%d messages are left, want 1", n)
	}
}

// DUTY-10: the bank's two tables can be read under the names and words of its document.
func TestViewsSpeakTheBanksWords(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		notice := func(e *work.Entry) { e.Message.Kind = "notice" }
		fail := func(tries int, event posthouse.EventType, to posthouse.State) string {
			id := accept(t, s, entry(1, notice))[0]
			for _, item := range claim(t, s, 100) {
				c := step(item.Delivery, event, to)
				c.After.Tries, c.After.Error, c.After.DueAt = tries, "对方超时", time.Now().Add(time.Hour)
				record(t, s, c)
			}
			return id
		}
		want := map[string]string{
			fail(1, posthouse.EventRetry, posthouse.Pending):     "failure",
			fail(3, posthouse.EventFail, posthouse.Failed):       "stopped",
			fail(0, posthouse.EventSent, posthouse.Sent):         "success",
			fail(0, posthouse.EventAmbiguous, posthouse.Unknown): "failure",
			accept(t, s, entry(1, notice))[0]:                    "pending",
		}
		accept(t, s, entry(1, notice, each(func(d *posthouse.Delivery) { d.State, d.Reason = posthouse.Suppressed, "not_on_duty" })))
		accept(t, s, entry(1)) // of another kind

		got := map[string]string{}
		err := s.DB.Look(t.Context(), `SELECT id, user_id, platform, content, status, retry_count, create_time, update_time, last_error, tenant
			FROM message_send_log`, nil, func(scan sqldb.Scanner) error {
			var id, user, platform, content, status, lastError, tenant string
			var retries int
			var created, updated any
			err := scan(&id, &user, &platform, &content, &status, &retries, &created, &updated, &lastError, &tenant)
			got[id] = status
			if user != "u1" || platform != "c1" || content != "你好 👋" || tenant != "t1" {
				t.Errorf("row %q %q %q %q", user, platform, content, tenant)
			}
			if (status == "stopped") != (retries == 3) || (retries > 0 && lastError != "对方超时") {
				t.Errorf("%s: retry_count %d, last_error %q", status, retries, lastError)
			}
			if at := viewTime(t, created); time.Since(at).Abs() > time.Hour {
				t.Errorf("create_time %v is not about now", created)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("status by id (-want +got):\n%s", diff)
		}
	})
}

// viewTime reads a time as the databases show it: SQLite as text, in UTC.
func viewTime(t *testing.T, v any) time.Time {
	t.Helper()
	switch v := v.(type) {
	case time.Time:
		return v
	case string:
		at, err := time.Parse("2006-01-02 15:04:05.999999", v)
		if err != nil {
			t.Error(err)
		}
		return at
	}
	t.Errorf("a time reads as %T", v)
	return time.Time{}
}

// DUTY-10.
func TestDutyScheduleViewListsTheWeek(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		for _, r := range []posthouse.Roster{
			{Tenant: "t1", Name: "duty", Days: map[string][]string{"1": {"u2", "u1"}, "7": {"u3"}, "2": {}}, Overrides: map[string][]string{"2026-10-01": {"u9"}}},
			{Tenant: "t1", Name: "night", Days: map[string][]string{"1": {"u5"}}},
		} {
			if _, err := s.Rosters.PutRoster(t.Context(), at(), r); err != nil {
				t.Fatal(err)
			}
		}
		type line struct {
			ID   string
			Day  int
			User string
		}
		got, err := sqldb.All(s.DB.Reads(t.Context()), func(scan sqldb.Scanner) (l line, err error) { return l, scan(&l.ID, &l.Day, &l.User) },
			"SELECT id, day_of_week, user_id FROM duty_schedule WHERE tenant = ? ORDER BY id", "t1")
		want := []line{{"duty:1:u1", 1, "u1"}, {"duty:1:u2", 1, "u2"}, {"duty:7:u3", 7, "u3"}}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
}

func TestOpenRefusesWhatIsNoDatabase(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{
		"":                           "names no database",
		"oracle://x":                 "names no database",
		"sqlite:":                    "names no file",
		"sqlite::memory:":            "in memory is lost",
		"postgres://%zz":             "cannot be read",
		"mysql://host":               "cannot be read",
		"mysql://u:p@h/db?charset=x": `"charset" is not known`,
	} {
		_, err := Open(t.Context(), Options{DSN: dsn})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open(%q) = %v; want %q", dsn, err, want)
		}
	}
}

// versions are the texts of a database's migrations, in order.
func versions(t *testing.T, database string) []string {
	t.Helper()
	files, err := filepath.Glob("schema/" + database + "/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	texts := make([]string, len(files))
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(text)
	}
	return texts
}

var (
	madeTable = regexp.MustCompile(`(?s)CREATE TABLE (\w+) \((.*?)\n\)`)
	madeView  = regexp.MustCompile(`(?s)CREATE VIEW (\w+) AS`)
)

// tables reads the columns of each table and view from the texts of the migrations.
func tables(t *testing.T, database string) map[string]string {
	t.Helper()
	found := map[string]string{}
	note := func(table, column, rest string) {
		found[table] += fmt.Sprintf("%s %v\n", column, strings.Contains(rest, "DEFAULT"))
	}
	for _, text := range versions(t, database) {
		up, _, _ := strings.Cut(text, "-- +goose Down")
		for _, m := range madeTable.FindAllStringSubmatch(up, -1) {
			for line := range strings.Lines(m[2]) {
				if word, rest, _ := strings.Cut(strings.TrimSpace(line), " "); word != "" && word != "KEY" && word != "UNIQUE" && word != "PRIMARY" {
					note(m[1], word, rest)
				}
			}
		}
		for _, m := range madeView.FindAllStringSubmatch(up, -1) {
			found["view "+m[1]] = "view"
		}
	}
	return found
}

func TestSchemasOfAllDatabasesAgree(t *testing.T) {
	t.Parallel()
	want := tables(t, "sqlite")
	if len(want) < 20 {
		t.Fatalf("only %d tables were read", len(want))
	}
	for _, database := range []string{"postgres", "mysql"} {
		got := tables(t, database)
		delete(got, "posthouse_late") // of partitions, which SQLite has not
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("sqlite and %s differ:\n%s", database, diff)
		}
	}
}

func TestSpareColumnsAreEmptyByDefault(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		for _, tab := range []*sqldb.Table{layout.Queue, layout.Settled, layout.Messages, layout.Events, awaitedTable} {
			row := make([]any, len(tab.Columns))
			for i := range row {
				if row[i] = any("x"); tab.Numbers[i] {
					row[i] = int64(7)
				}
				if tab.Spare[i] {
					row[i] = map[bool]any{true: int64(0), false: ""}[tab.Numbers[i]]
				}
			}
			if err := s.Queue.change(t.Context(), at(), "insert", func(x *tx) error { return x.Insert(tab, [][]any{row}) }); err != nil {
				t.Fatal(err)
			}
			for i, c := range tab.Columns {
				where := c + map[bool]string{true: " = 7", false: " = 'x'"}[tab.Numbers[i]]
				if tab.Spare[i] {
					where = c + map[bool]string{true: " = 0", false: " = ''"}[tab.Numbers[i]]
				}
				if n := count(t, s, "SELECT COUNT(*) FROM "+tab.Name+" WHERE "+where); n != 1 {
					t.Errorf("%s.%s is not as it was written or left out", tab.Name, c)
				}
			}
		}
	})
}
