package dbtest_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/posthouse/posthouse/internal/dbtest"
)

// open connects to a DSN, which it translates for the MySQL driver.
func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	driver, source := "pgx", dsn
	if rest, ok := strings.CutPrefix(dsn, "mysql://"); ok {
		login, rest, _ := strings.Cut(rest, "@")
		addr, name, _ := strings.Cut(rest, "/")
		driver, source = "mysql", login+"@tcp("+addr+")/"+name
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func do(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func number(t *testing.T, db *sql.DB, query string) int {
	t.Helper()
	var n int
	if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

var sqlServers = []struct {
	name     string
	kind     dbtest.Kind
	database func(testing.TB) string
}{
	{"postgres", dbtest.KindPostgres, dbtest.Postgres},
	{"mariadb", dbtest.KindMariaDB, dbtest.MariaDB},
}

func TestEachTestHasADatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, server := range sqlServers {
		t.Run(server.name, func(t *testing.T) {
			t.Parallel()
			one, other := open(t, server.database(t)), open(t, server.database(t))
			do(t, one, "CREATE TABLE marks (n int)")
			do(t, other, "CREATE TABLE marks (n int)")
			do(t, one, "INSERT INTO marks VALUES (7)")
			if got := number(t, one, "SELECT count(*) FROM marks"); got != 1 {
				t.Errorf("rows in the first database = %d, want 1", got)
			}
			if got := number(t, other, "SELECT count(*) FROM marks"); got != 0 {
				t.Errorf("rows in the other database = %d, want 0", got)
			}
		})
	}
}

func TestACopyBeginsWithWhatWasFilled(t *testing.T) {
	t.Parallel()
	var filled atomic.Int32
	copies := dbtest.Copies{Fill: func(ctx context.Context, dsn string) error {
		filled.Add(1)
		db := dbtest.SQL(t, dsn)
		_, err := db.ExecContext(ctx, "CREATE TABLE marks (n int)")
		for _, view := range []string{"b AS SELECT n FROM marks", "a AS SELECT n FROM b"} { // the second's name is the first
			if err == nil {
				_, err = db.ExecContext(ctx, "CREATE VIEW "+view)
			}
		}
		if err == nil {
			_, err = db.ExecContext(ctx, "INSERT INTO marks VALUES (1)")
		}
		return errors.Join(err, db.Close())
	}}
	for name, database := range map[string]func(testing.TB) string{"sqlite": copies.SQLite, "postgres": copies.Postgres, "mariadb": copies.MariaDB} {
		one, other := dbtest.SQL(t, database(t)), dbtest.SQL(t, database(t))
		do(t, one, "INSERT INTO marks VALUES (7)")
		if a, b := number(t, one, "SELECT count(*) FROM a"), number(t, other, "SELECT count(*) FROM a"); a != 2 || b != 1 {
			t.Errorf("%s: %d rows in the first and %d in the other, want 2 and 1", name, a, b)
		}
	}
	if n := filled.Load(); n != 3 {
		t.Errorf("filled %d times, want 3", n)
	}
}

func TestWhatWasCommittedSurvivesKillAndRestart(t *testing.T) {
	t.Parallel()
	for _, server := range sqlServers {
		t.Run(server.name, func(t *testing.T) {
			t.Parallel()
			s := dbtest.Own(t, dbtest.Options{Kind: server.kind, Dir: filepath.Join(t.TempDir(), "server"), Durable: true})
			db := open(t, s.DSN)
			do(t, db, "CREATE TABLE marks (n int)")
			do(t, db, "INSERT INTO marks VALUES (7)")
			before := s.PID()

			if err := s.Kill(); err != nil {
				t.Fatal(err)
			}
			if _, err := db.ExecContext(t.Context(), "INSERT INTO marks VALUES (8)"); err == nil {
				t.Error("a killed server answered")
			}
			if got := s.PID(); got != 0 {
				t.Errorf("PID of a killed server = %d, want 0", got)
			}
			if err := s.Restart(); err != nil {
				t.Fatal(err)
			}
			if s.PID() == before {
				t.Errorf("PID after the restart is still %d", before)
			}
			if got := number(t, open(t, s.DSN), "SELECT n FROM marks"); got != 7 {
				t.Errorf("after the restart n = %d, want 7", got)
			}
		})
	}
}

// A server that is frozen says nothing from the moment that Freeze returns, and goes on when it is thawed.
func TestAFrozenServerHangs(t *testing.T) {
	t.Parallel()
	for _, kind := range []dbtest.Kind{dbtest.KindMariaDB, dbtest.KindRedis} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			s := dbtest.Own(t, dbtest.Options{Kind: kind})
			if err := s.Freeze(); err != nil {
				t.Fatal(err)
			}
			tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", s.PID()))
			if err != nil {
				t.Fatal(err)
			}
			for _, task := range tasks { // none but on Linux
				stat, err := os.ReadFile(task)
				if err != nil {
					t.Fatal(err)
				}
				if _, state, _ := strings.Cut(string(stat), ") "); !strings.HasPrefix(state, "T") {
					t.Errorf("%s: %.40s still runs", task, stat)
				}
			}
			if err := s.Thaw(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestDurableServersSync(t *testing.T) {
	t.Parallel()
	settings := map[dbtest.Kind]string{
		dbtest.KindPostgres: "SELECT CASE current_setting('fsync') WHEN 'on' THEN 1 ELSE 0 END",
		dbtest.KindMariaDB:  "SELECT @@innodb_flush_log_at_trx_commit",
	}
	for _, server := range sqlServers {
		t.Run(server.name, func(t *testing.T) {
			t.Parallel()
			query := settings[server.kind]
			if got := number(t, open(t, server.database(t)), query); got != 0 {
				t.Errorf("shared server: %s = %d, want 0", query, got)
			}
			durable := dbtest.Own(t, dbtest.Options{Kind: server.kind, Durable: true})
			if got := number(t, open(t, durable.DSN), query); got != 1 {
				t.Errorf("durable server: %s = %d, want 1", query, got)
			}
		})
	}
}

func TestADirectoryIsFoundAgainByTheNextStart(t *testing.T) {
	t.Parallel()
	o := dbtest.Options{Kind: dbtest.KindPostgres, Dir: filepath.Join(t.TempDir(), "server")}
	first := dbtest.Own(t, o)
	do(t, open(t, first.DSN), "CREATE TABLE marks (n int)")
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := first.Restart(); err == nil {
		t.Error("a stopped server restarted")
	}
	second := dbtest.Own(t, o)
	if got := number(t, open(t, second.DSN), "SELECT count(*) FROM marks"); got != 0 {
		t.Errorf("rows = %d, want 0", got)
	}
}

func TestRedisIsEmptyAndOfThisTestAlone(t *testing.T) {
	t.Parallel()
	one := redis.NewClient(&redis.Options{Addr: dbtest.Redis(t)})
	other := redis.NewClient(&redis.Options{Addr: dbtest.Redis(t)})
	t.Cleanup(func() { one.Close(); other.Close() })
	if err := one.Set(t.Context(), "mark", 7, 0).Err(); err != nil {
		t.Fatal(err)
	}
	if got, err := other.DBSize(t.Context()).Result(); got != 0 || err != nil {
		t.Errorf("keys in the other server = %d, %v, want none", got, err)
	}
}

func TestSQLiteNamesAFileInADirectoryThatExists(t *testing.T) {
	t.Parallel()
	path, ok := strings.CutPrefix(dbtest.SQLite(t), "sqlite:")
	if !ok {
		t.Fatalf("the DSN does not begin with sqlite:")
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file is there already: %v", err)
	}
}

func TestStartSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	if _, err := dbtest.Start(dbtest.Options{Kind: "oracle"}); err == nil || !strings.Contains(err.Error(), `"oracle"`) {
		t.Errorf("unknown kind: %v, want an error that names it", err)
	}
	dbtest.Redis(t) // skips where it is missing
	dir := filepath.Join(t.TempDir(), "server")
	_, err := dbtest.Start(dbtest.Options{Kind: dbtest.KindRedis, Dir: dir, Args: []string{"--no-such-setting", "1"}})
	if err == nil || !strings.Contains(err.Error(), "no-such-setting") {
		t.Errorf("bad argument: %v, want the server's own log", err)
	}
}

// TestNoServerOutlivesItsProcess runs this test binary again, as a process that
// starts a server and is killed, and waits until the server is gone with its files.
func TestNoServerOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv("DBTEST_ORPHAN"); dir != "" { // the process to be killed
		s := dbtest.Own(t, dbtest.Options{Kind: dbtest.KindPostgres})
		if err := os.WriteFile(filepath.Join(dir, "pid"), []byte(strconv.Itoa(s.PID())), 0o600); err != nil {
			t.Fatal(err)
		}
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	dbtest.Postgres(t) // skips here, rather than there, where it is missing
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} { // the server's user passes through
		if err := os.Chmod(d, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNoServerOutlivesItsProcess$")
	cmd.Env = append(os.Environ(), "DBTEST_ORPHAN="+dir, "TMPDIR="+dir)
	out, _ := cmd.CombinedOutput()
	text, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the server has ended", func() bool { return !runs(pid) })
	until(t, "its directory is gone", func() bool {
		left, _ := filepath.Glob(filepath.Join(dir, "posthouse-dbtest-*"))
		return len(left) == 0
	})
}

// runs reports whether a process is there and not merely waiting to be reaped.
func runs(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err == nil {
		return !strings.Contains(string(stat), ") Z ")
	}
	return syscall.Kill(pid, 0) == nil
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("still not so after 30s: %s", what)
		case <-tick.C:
		}
	}
}
