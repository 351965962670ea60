package schema_test

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/store/schema"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/store/sqltest"
)

// edited is a migration's file as a test wants it; "" leaves it out.
type edited func(name, text string) string

func asItIs(_, text string) string { return text }

// newest is the version that this binary makes. Those of testdata/next have numbers far above it.
func newest(t *testing.T) int64 {
	t.Helper()
	version, err := schema.Newest()
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// newer opens a database as a binary does that knows the migrations of testdata/next too.
func newer(t *testing.T, dsn string, edit edited) *sqldb.DB {
	t.Helper()
	var dialects []*sqldb.Dialect
	for _, known := range sqldb.Known {
		own, err := schema.FilesOf(known)
		if err != nil {
			t.Fatal(err)
		}
		folder := fstest.MapFS{}
		for _, from := range []fs.FS{own, os.DirFS(filepath.Join("testdata", "next", known.Name))} {
			names, err := fs.Glob(from, "*.sql")
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				text, err := fs.ReadFile(from, name)
				if err != nil {
					t.Fatal(err)
				}
				if text := edit(name, string(text)); text != "" {
					folder[name] = &fstest.MapFile{Data: []byte(text)}
				}
			}
		}
		d := *known
		d.Folder = folder
		dialects = append(dialects, &d)
	}
	db, err := sqldb.Open(t.Context(), sqldb.Options{DSN: dsn, Log: slog.New(slog.DiscardHandler), Databases: dialects})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// made is a database that this binary has migrated, and that nobody has open.
func made(t *testing.T, dsn string) {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Options{DSN: dsn, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = schema.Of(db).Migrate(t.Context())
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// this opens a database as this binary does.
func this(t *testing.T, dsn string) schema.Schema {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Options{DSN: dsn, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return schema.Of(db)
}

// An upgrade that only adds leaves this program all that it needs: it goes on, and may be started on it again.
func TestANewerSchemaThatWorksWithThisProgramIsWorkedWith(t *testing.T) {
	sqltest.EachDSN(t, func(t *testing.T, dsn string) {
		made(t, dsn)
		next := newer(t, dsn, asItIs)
		if steps, err := schema.Of(next).Migrate(t.Context()); steps != 2 || err != nil {
			t.Fatalf("the newer program's migration took %d steps, %v", steps, err)
		}
		s := this(t, dsn)
		if err := s.Suits(t.Context()); err != nil {
			t.Error(err)
		}
		if steps, err := s.Migrate(t.Context()); steps != 0 || err != nil {
			t.Errorf("this program's migration took %d steps, %v", steps, err)
		}
		if err := s.RefuseDrift(t.Context()); err != nil {
			t.Error(err)
		}
		sqltest.Exec(t, next, "ALTER TABLE posthouse_due RENAME TO posthouse_due_of_old")
		if err := s.RefuseDrift(t.Context()); err == nil || !strings.Contains(err.Error(), "no table posthouse_due") {
			t.Errorf("a newer schema without a table: %v", err)
		}
	})
}

// Where no index is being made, none is spoken of.
func TestWithoutAnIndexThereIsNoProgress(t *testing.T) {
	sqltest.EachDSN(t, func(t *testing.T, dsn string) {
		made(t, dsn)
		if p, ok, err := this(t, dsn).Progress(t.Context()); ok || err != nil {
			t.Errorf("the progress is %+v, %t, %v", p, ok, err)
		}
	})
}

// Where an upgrade is for newer programs alone, it waits until none of the older ones is at work, and they refuse the database afterwards.
func TestAMigrationThatOlderProgramsCannotWorkWithWaitsForTheirEnd(t *testing.T) {
	sqltest.EachDSN(t, func(t *testing.T, dsn string) {
		made(t, dsn)
		next := newer(t, dsn, func(_, text string) string { return strings.ReplaceAll(text, "-- works with: 1\n", "") })
		several := next.Database() != "sqlite" // which one process has
		at, err := next.Now(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		beat := func(id string, version int, seen time.Time) {
			sqltest.Exec(t, next, "INSERT INTO posthouse_processes (id, host, version, schema_version, epoch, key_id, keyring, accept_only, untrusted, started_at, seen_at) VALUES (?, 'h', 'v', ?, 1, '', '', 0, 0, 1, ?)",
				id, version, sqldb.Micros(seen))
		}
		beat("old-1", 1, at)
		beat("new-1", 9003, at)
		beat("old-and-gone", 1, at.Add(-2*time.Minute))
		s := schema.Of(next)
		if several {
			_, err = s.Migrate(t.Context())
			if err == nil || !strings.Contains(err.Error(), "stop them first") || !strings.HasSuffix(err.Error(), ": old-1") {
				t.Fatalf("with an older process at work: %v", err)
			}
			if have, _, err := s.Schema(t.Context()); have != newest(t) || err != nil {
				t.Errorf("the refused migration left version %d, %v", have, err)
			}
			if err := this(t, dsn).Suits(t.Context()); err != nil {
				t.Errorf("the refused migration has stopped the older ones: %v", err)
			}
			sqltest.Exec(t, next, "DELETE FROM posthouse_processes WHERE id = 'old-1'")
		}
		if steps, err := s.Migrate(t.Context()); steps != 2 || err != nil {
			t.Fatalf("the migration took %d steps, %v", steps, err)
		}
		var old *schema.TooOld
		if err := this(t, dsn).Suits(t.Context()); !errors.As(err, &old) || *old != (schema.TooOld{Have: 9003, Want: newest(t), With: 9003}) {
			t.Errorf("this program is told %v", err)
		}
		if _, err := this(t, dsn).Migrate(t.Context()); !errors.As(err, &old) {
			t.Errorf("this program's migration: %v", err)
		}
	})
}

// A database that a newer binary made from nothing says too with what it works.
func TestANewDatabaseSaysWithWhatItWorks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit edited
		with int64
	}{
		"with the first": {asItIs, 1},
		"with its own":   {func(_, text string) string { return strings.ReplaceAll(text, "works with: 1", "works with: 9003") }, 9003},
		"with the second": {func(name, text string) string {
			if name == "9003_index.sql" {
				return strings.ReplaceAll(text, "works with: 1", "works with: 9002")
			}
			return text
		}, 9002},
	} {
		dsn := "sqlite:" + filepath.Join(t.TempDir(), "new.db")
		if _, err := schema.Of(newer(t, dsn, c.edit)).Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := int64(1)
		var old *schema.TooOld
		if err := this(t, dsn).Suits(t.Context()); errors.As(err, &old) {
			got = old.With
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got != c.with {
			t.Errorf("%s: it works with %d, want %d", name, got, c.with)
		}
	}
}

// MySQL and MariaDB commit each statement of a migration by itself. One that was killed after any of them is made whole by the next.
func TestAMigrationThatWasKilledBetweenTwoStatementsGoesOn(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "next", "mysql", "9002_next.sql"))
	if err != nil {
		t.Fatal(err)
	}
	statements := statementsOf(string(text))
	if len(statements) < 7 {
		t.Fatalf("%d statements in the migration: %q", len(statements), statements)
	}
	t.Parallel()
	dsn := dbtest.MariaDB(t) // elsewhere a step is one transaction
	made(t, dsn)
	db := newer(t, dsn, asItIs)
	var whole string
	for done := range len(statements) + 1 {
		for _, statement := range statements[:done] {
			if _, err := db.Writer.ExecContext(t.Context(), statement); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		}
		if steps, err := schema.Of(db).Migrate(t.Context()); steps != 2 || err != nil {
			t.Fatalf("after %d statements of the killed one: %d steps, %v", done, steps, err)
		}
		parts, err := db.Catalogue(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := schema.WriteCatalogue(parts)
		if whole == "" {
			whole = got
		}
		if diff := cmp.Diff(whole, got); diff != "" {
			t.Errorf("after %d statements of the killed one (-want +got):\n%s", done, diff)
		}
		for _, undo := range []string{
			"DROP TABLE posthouse_notes", "ALTER TABLE posthouse_queue DROP KEY posthouse_queue_touched, DROP COLUMN note", "ALTER TABLE posthouse_settled DROP COLUMN note",
			"ALTER TABLE posthouse_messages DROP COLUMN weight", "DELETE FROM posthouse_schema_version WHERE version_id > 9000",
		} {
			sqltest.Exec(t, db, undo)
		}
	}
}

// statementsOf are those of the first half of a migration.
func statementsOf(text string) (list []string) {
	up, _, _ := strings.Cut(text, "-- +goose Down")
	var lines []string
	for line := range strings.Lines(up) {
		if !strings.HasPrefix(line, "--") {
			lines = append(lines, line)
		}
	}
	for _, statement := range strings.Split(strings.Join(lines, ""), ";\n") {
		if s := strings.TrimSpace(statement); s != "" {
			list = append(list, s)
		}
	}
	return list
}

// taken are what a version's programs need and a later version has not any more, although its migrations say that they work with them.
func taken(files fs.FS) (list []string, err error) {
	names, err := fs.Glob(files, "*/*.sql")
	if err != nil {
		return nil, err
	}
	floors, newest := map[string]int64{}, map[string]int64{}
	for _, name := range names {
		var version int64
		if path.Dir(name) == "views" {
			continue // they are made anew
		}
		if _, err := fmt.Sscanf(path.Base(name), "%d_", &version); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		folder := path.Dir(name)
		floors[folder] = max(floors[folder], schema.WorksWith(text, version))
		newest[folder] = max(newest[folder], version)
	}
	for folder, last := range newest {
		now, err := fs.ReadFile(files, path.Join(folder, schema.CatalogueFile(last)))
		if err != nil {
			return nil, err
		}
		have := strings.Split(string(now), "\n")
		for version := floors[folder]; version < last; version++ {
			then, err := fs.ReadFile(files, path.Join(folder, schema.CatalogueFile(version)))
			if err != nil {
				return nil, err
			}
			for _, line := range strings.Split(string(then), "\n") {
				kind, _, _ := strings.Cut(line, "\t")
				if slices.Contains([]string{"table", "key", "column"}, kind) && !slices.Contains(have, line) {
					list = append(list, fmt.Sprintf("%s: version %d works with %d, and has no longer: %s", folder, last, version, line))
				}
			}
		}
	}
	return list, nil
}

func TestAVersionHasWhatThoseNeedThatItWorksWith(t *testing.T) {
	t.Parallel()
	wrong, err := taken(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range wrong {
		t.Error(one)
	}
}

func TestWhatAVersionTookFromOthersIsFound(t *testing.T) {
	t.Parallel()
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	files := fstest.MapFS{
		"sqlite/0001_first.sql": file("-- +goose Up\n"), "sqlite/0001_catalogue.txt": file("table\t\ta\t\ncolumn\ta\tx\ttext\nindex\ta\ti\t\n"),
		"sqlite/0002_next.sql": file("-- works with: 1\n"), "sqlite/0002_catalogue.txt": file("table\t\ta\t\ncolumn\ta\ty\ttext\n"),
		"views/01_x.sql": file(""),
	}
	got, err := taken(files)
	if want := []string{"sqlite: version 2 works with 1, and has no longer: column\ta\tx\ttext"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("found %q, %v; want %q", got, err, want)
	}
	files["sqlite/0002_next.sql"] = file("-- it works with its own alone\n")
	if got, err := taken(files); len(got) > 0 || err != nil {
		t.Errorf("found %q, %v; want nothing", got, err)
	}
}
