package cli

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/dbtest"
)

// altered has a server send a message to two, and then changes its database by hand.
func altered(t *testing.T, statement string, args ...any) (environ []string) {
	t.Helper()
	dsn := dbtest.SQLite(t)
	sendTo(t, dsn)
	if _, err := dbtest.SQL(t, dsn).Exec(statement, args...); err != nil {
		t.Fatal(err)
	}
	return []string{"POSTHOUSE_DSN=" + dsn}
}

func TestVerifyFindsRowsThatAreLost(t *testing.T) {
	t.Parallel()
	for statement, want := range map[string]string{
		"DELETE FROM posthouse_settled": "by the log 2 deliveries are sent, by the database 0",
		"DELETE FROM posthouse_settled WHERE id = (SELECT MAX(id) FROM posthouse_settled)": "by the log 2 deliveries are sent, by the database 1",
		"DELETE FROM posthouse_messages":           "messages of tenant default, by the log: its count is off by 1",
		"DELETE FROM posthouse_transitions":        "by the log 0 deliveries are sent, by the database 2",
		"UPDATE posthouse_settled SET tenant = ''": "by the log 2 deliveries are sent, by the database 0",
	} {
		t.Run(statement, func(t *testing.T) {
			t.Parallel()
			environ := altered(t, statement)
			out, code := ran(t, environ, "verify", "--sometimes", "none", "--at-rest")
			if !strings.HasPrefix(out, "VIOLATED. These do not hold: I3 conservation") || !strings.Contains(out, want) || code != 1 {
				t.Errorf("got exit code %d, want %q\n%s", code, want, out)
			}
			log, code := ran(t, environ, "events")
			if strings.Count(log, "\n") != map[bool]int{false: 6}[statement == "DELETE FROM posthouse_transitions"] || code != 0 {
				t.Errorf("got exit code %d and the log\n%s", code, log)
			}
		})
	}
}

// What is pruned goes with its events and its message: nothing of it is lost.
func TestVerifyMissesNothingThatWasPruned(t *testing.T) {
	t.Parallel()
	dsn := dbtest.SQLite(t)
	sendTo(t, dsn)
	sendTo(t, dsn)
	db := dbtest.SQL(t, dsn)
	for _, statement := range []string{
		"DELETE FROM posthouse_transitions WHERE delivery IN (SELECT id FROM posthouse_settled ORDER BY id LIMIT 3)",
		"DELETE FROM posthouse_settled WHERE id IN (SELECT id FROM posthouse_settled ORDER BY id LIMIT 3)",
		"DELETE FROM posthouse_messages WHERE id = (SELECT MIN(id) FROM posthouse_messages)",
		"DELETE FROM posthouse_idempotency", // they last a week, and what is pruned is older
	} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	out, code := ran(t, []string{"POSTHOUSE_DSN=" + dsn}, "verify", "--sometimes", "none", "--at-rest")
	if !strings.HasPrefix(out, "HOLDS.") || !strings.Contains(out, "1 delivery in 1 message") || code != 0 {
		t.Errorf("got exit code %d\n%s", code, out)
	}
}

func TestEventsOfNoDateAreAnErrorThatNamesTheDelivery(t *testing.T) {
	t.Parallel()
	for _, at := range []int64{0, -1} {
		environ := altered(t, "UPDATE posthouse_transitions SET at = ? WHERE version = 2 AND delivery = (SELECT MIN(delivery) FROM posthouse_events)", at)
		for command, want := range map[string]string{"verify": "posthouse: no verdict: event 2 of delivery ", "events": "posthouse: event 2 of delivery "} {
			out, code := ran(t, environ, command)
			if !strings.Contains(out, want) || !strings.Contains(out, "0001: at is ") || !strings.Contains(out, "out of range") || code == 0 {
				t.Errorf("%s of %d: got exit code %d: %s", command, at, code, out)
			}
		}
	}
}

// A date beyond all that are handed in is read, so that there is a verdict: it is not in its place.
func TestEventsOfAFarDateAreJudged(t *testing.T) {
	t.Parallel()
	environ := altered(t, "UPDATE posthouse_transitions SET at = ? WHERE version = 2 AND delivery = (SELECT MIN(delivery) FROM posthouse_events)", math.MaxInt64)
	if out, code := ran(t, environ, "verify"); !strings.Contains(out, "I6 chain is violated") || code != 1 {
		t.Errorf("verify: got exit code %d: %s", code, out)
	}
	if out, code := ran(t, environ, "events"); !strings.Contains(out, `"9999-12-31T23:59:59.999999Z"`) || code != 0 {
		t.Errorf("events: got exit code %d: %s", code, out)
	}
}

func TestWhatIsNoDatabaseOfOursIsCalledSo(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]func(testing.TB) string{"sqlite": dbtest.SQLite, "postgres": dbtest.Postgres, "mariadb": dbtest.MariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := dsn(t)
			environ := []string{"POSTHOUSE_DSN=" + dsn}
			db := dbtest.SQL(t, dsn)
			if _, err := db.Exec("CREATE TABLE songs (name VARCHAR(9))"); err != nil {
				t.Fatal(err)
			}
			for _, command := range []string{"verify", "events"} {
				out, code := ran(t, environ, command)
				if !strings.Contains(out, "this is no Posthouse database") || strings.Contains(out, "migrate") || code == 0 || (command == "verify" && code != 2) {
					t.Errorf("%s: got exit code %d: %s", command, code, out)
				}
			}
			if out, code := ran(t, environ, "migrate"); code != 0 {
				t.Fatal(out)
			}
			for _, change := range []string{"UPDATE posthouse_schema_version SET version_id = 9999 WHERE version_id > 0", "UPDATE posthouse_meta SET value = '9999' WHERE name = 'works_with'"} {
				if _, err := db.Exec(change); err != nil {
					t.Fatal(err)
				}
			}
			for _, command := range []string{"verify", "events"} {
				out, code := ran(t, environ, command)
				if !strings.Contains(out, "the schema has version 9999, newer than this binary's") || !strings.Contains(out, "use a newer posthouse") || code == 0 {
					t.Errorf("%s of a newer one: got exit code %d: %s", command, code, out)
				}
			}
		})
	}
}

func TestVerifyChangesNoFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "empty.db")
	if err := os.WriteFile(path, nil, 0o400); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"verify", "events"} {
		if out, code := ran(t, []string{"POSTHOUSE_DSN=sqlite:" + path}, command); !strings.Contains(out, "this is no Posthouse database") || code == 0 {
			t.Errorf("%s: got exit code %d: %s", command, code, out)
		}
	}
	if found, err := filepath.Glob(path + "*"); err != nil || len(found) != 1 {
		t.Errorf("there are %v, %v", found, err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != 0 {
		t.Errorf("it was written: %v, %v", info, err)
	}
}
