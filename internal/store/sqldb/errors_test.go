package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
)

func pgErr(code string) error { return fmt.Errorf("x: %w", &pgconn.PgError{Code: code}) }

func myErr(n uint16) error { return fmt.Errorf("x: %w", &mysql.MySQLError{Number: n}) }

func TestDriversErrorsMeanWhatTheCallerDoes(t *testing.T) {
	t.Parallel()
	broken := &net.OpError{Op: "read", Err: errors.New("connection reset by peer")}
	for _, c := range []struct {
		name         string
		dialect      *Dialect
		err          error
		want, commit posthouse.Code
	}{
		{"postgres deadlock", Postgres, pgErr("40P01"), posthouse.CodeUnavailable, posthouse.CodeUnavailable},
		{"postgres serialization", Postgres, pgErr("40001"), posthouse.CodeUnavailable, posthouse.CodeUnavailable},
		{"postgres disk full", Postgres, pgErr("53100"), posthouse.CodeStorageFull, posthouse.CodeStorageFull},
		{"postgres shuts down", Postgres, pgErr("57P01"), posthouse.CodeUnavailable, posthouse.CodeOutcomeUnknown},
		{"postgres rolled back", Postgres, pgx.ErrTxCommitRollback, posthouse.CodeInternal, posthouse.CodeInternal},
		{"postgres constraint", Postgres, pgErr("23505"), posthouse.CodeInternal, posthouse.CodeInternal},
		{"postgres connection reset", Postgres, broken, posthouse.CodeUnavailable, posthouse.CodeOutcomeUnknown},
		{"a pooler lost the server", Postgres, pgErr("08P01"), posthouse.CodeUnavailable, posthouse.CodeOutcomeUnknown},
		{"postgres time-out", Postgres, context.DeadlineExceeded, posthouse.CodeUnavailable, posthouse.CodeOutcomeUnknown},
		{"postgres cut", Postgres, io.ErrUnexpectedEOF, posthouse.CodeUnavailable, posthouse.CodeOutcomeUnknown},
		{"mysql deadlock", MySQL, myErr(1213), posthouse.CodeUnavailable, posthouse.CodeUnavailable},
		{"mysql lock time-out", MySQL, myErr(1205), posthouse.CodeUnavailable, posthouse.CodeUnavailable},
		{"mysql disk full", MySQL, myErr(1114), posthouse.CodeStorageFull, posthouse.CodeStorageFull},
		{"mysql shuts down", MySQL, myErr(1053), posthouse.CodeUnavailable, posthouse.CodeOutcomeUnknown},
		{"mysql read-only", MySQL, myErr(1290), posthouse.CodeUnavailable, posthouse.CodeOutcomeUnknown},
		{"mysql duplicate", MySQL, myErr(1062), posthouse.CodeInternal, posthouse.CodeInternal},
		{"mysql connection gone", MySQL, mysql.ErrInvalidConn, posthouse.CodeUnavailable, posthouse.CodeOutcomeUnknown},
	} {
		s := &DB{Dialect: c.dialect}
		if got := posthouse.CodeOf(s.Coded(c.err, "write")); got != c.want {
			t.Errorf("%s in a statement = %s, want %s", c.name, got, c.want)
		}
		if got := posthouse.CodeOf(s.Coded(s.commitError(c.err), "write")); got != c.commit {
			t.Errorf("%s in a commit = %s, want %s", c.name, got, c.commit)
		}
	}
}

// A statement that is a transaction by itself: a pooler's error does not say that the server has not done it.
func TestAPoolersErrorIsNoAnswerToACommit(t *testing.T) {
	t.Parallel()
	own := &Tx{DB: &DB{Dialect: Postgres}, alone: true}
	for code, want := range map[string]posthouse.Code{"08P01": posthouse.CodeOutcomeUnknown, "40P01": posthouse.CodeInternal, "23505": posthouse.CodeInternal} {
		if got := posthouse.CodeOf(own.answer(pgErr(code))); got != want {
			t.Errorf("%s: %s, want %s", code, got, want)
		}
	}
}

func TestErrorsShowNoSecretAndKeepTheirCause(t *testing.T) {
	t.Parallel()
	s := &DB{Dialect: Postgres}
	cause := &net.OpError{Op: "dial", Err: errors.New("10.1.2.3:5432 refused")}
	err := s.Coded(cause, "accept")
	if strings.Contains(err.Error(), "10.1") || !errors.Is(err, cause) {
		t.Errorf("error %q, cause kept: %v", err, errors.Is(err, cause))
	}
}

func TestDatabaseThatIsGoneIsUnavailable(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"postgres", "mysql"} {
		_, err := Open(t.Context(), Options{DSN: scheme + "://u:secret@127.0.0.1:1/db"})
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", scheme, err)
		}
	}
}

func TestClosedStoreRefusesWrites(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Options{DSN: dbtest.SQLite(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
	err = s.Change(t.Context(), time.Now(), "write", func(*Tx) error { return nil })
	if posthouse.CodeOf(err) != posthouse.CodeUnavailable {
		t.Errorf("got %v, want %s", err, posthouse.CodeUnavailable)
	}
}

func TestClocksFartherApartThanTwoSecondsAreNamed(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for off, want := range map[time.Duration]string{
		0: "", 1900 * time.Millisecond: "", -1900 * time.Millisecond: "",
		4 * time.Second: "3s ahead of this machine", -time.Hour: "1h0m0s behind this machine",
	} {
		got := ""
		for _, f := range skew(now, now.Add(off), now.Add(time.Second)) {
			got = f.Value
		}
		if got != want {
			t.Errorf("%v apart: %q, want %q", off, got, want)
		}
	}
}

func TestOldServersAreRefused(t *testing.T) {
	t.Parallel()
	for version, ok := range map[string]bool{
		"8.0.36": true, "8.0.11": false, "8.4.0-log": true, "5.7.44-log": false, "10.11.6-MariaDB-0+deb12u1": true, "10.5.9-MariaDB": false, "11.4.2-MariaDB": true,
		"8.0.11-TiDB-v8.5.1": false, "8.0.36-TiDB-v8.5.1": false, "5.7.25-OceanBase-v4.2.1.0": false, "8.0.30-OceanBase_CE-v4.3.5.1": false,
	} {
		if err := checkMySQLVersion(version); (err == nil) != ok {
			t.Errorf("%s: %v", version, err)
		}
	}
	for version, named := range map[string]string{"8.0.36-TiDB-v8.5.1": "TiDB", "8.0.30-OceanBase_CE-v4.3.5.1": "OceanBase"} {
		if err := checkMySQLVersion(version); err == nil || !strings.Contains(err.Error(), "the server is "+named) {
			t.Errorf("%s: %v, want it refused by its name", version, err)
		}
	}
}

func TestAReaderTellsTheJournalModeOfAFileThatNobodyChanges(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]int{"WAL": 0, "DELETE": 1} {
		path := filepath.Join(t.TempDir(), "posthouse.db")
		made, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode("+mode+")")
		if err != nil {
			t.Fatal(err)
		}
		_, err = made.Exec("CREATE TABLE songs (name TEXT)")
		if err := errors.Join(err, made.Close()); err != nil {
			t.Fatal(err)
		}
		db, err := sqliteReader(t.Context(), path, "immutable")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if found, err := checkSQLite(t.Context(), db); err != nil || len(found) != want {
			t.Errorf("%s: found %v, %v; want %d findings", mode, found, err, want)
		}
	}
}
