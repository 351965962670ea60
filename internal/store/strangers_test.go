package store

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse/internal/store/schema"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// common are names that a customer's database is likely to use.
var common = []string{"users", "orders", "events", "messages", "outbox", "templates", "tokens", "queue", "schema_version", "schema_migrations", "goose_db_version"}

// eachEmpty runs a test on each kind of database before anything was made in it.
func eachEmpty(t *testing.T, run func(t *testing.T, s *Store)) {
	t.Helper()
	for _, db := range databases {
		t.Run(db.name, func(t *testing.T) {
			t.Parallel()
			run(t, openOnly(t, db.dsn(t)))
		})
	}
}

// furniture is everything that stands in a database: each object, and the rows of each of the customer's.
func furniture(t *testing.T, s *Store, tables ...string) []string {
	t.Helper()
	there, err := s.Schema.Objects(t.Context(), s.DB.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, o := range there {
		list = append(list, o.Kind+" "+o.Name)
	}
	for _, table := range tables {
		err := sqldb.Each(t.Context(), s.DB.Reader, "SELECT id, said FROM "+table, nil, func(scan func(...any) error) error {
			var id int
			var said string
			err := scan(&id, &said)
			list = append(list, fmt.Sprint(table, id, said))
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	slices.Sort(list)
	return list
}

// A customer's own tables and views stay as they are, whatever they are called, at the first start, at an upgrade and when
// everything of ours is removed again.
func TestMigrateTouchesNothingOfACustomer(t *testing.T) {
	eachEmpty(t, func(t *testing.T, s *Store) {
		for _, table := range common {
			tamper(t, s, "CREATE TABLE "+table+" (id INTEGER PRIMARY KEY, said VARCHAR(20))")
			tamper(t, s, "INSERT INTO "+table+" (id, said) VALUES (7, 'theirs')")
		}
		own := append(slices.Clone(common), "deliveries", "message_send_log", "sms_tasks", "posthouse_notes")
		for _, view := range own[len(common):] {
			tamper(t, s, "CREATE VIEW "+view+" AS SELECT id, said FROM orders")
		}
		before := furniture(t, s, own...)
		if _, err := s.Schema.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		accept(t, s, entry(1))
		missing := problems(t, s)
		if want := []string{"message_send_log", "sms_tasks"}; !slices.Equal(missing, want) {
			t.Errorf("the views %v are missing, want %v", missing, want)
		}
		tamper(t, s, "UPDATE posthouse_meta SET value = 'older' WHERE name = 'view..duty_schedule'")
		if _, err := s.Schema.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if again := problems(t, s); !slices.Equal(again, missing) {
			t.Errorf("after an upgrade the views %v are missing, want %v", again, missing)
		}
		if err := s.Schema.MigrateDown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, furniture(t, s, own...)); diff != "" {
			t.Errorf("what stood there (-before +after):\n%s", diff)
		}
	})
}

// problems are the names of the documents' views that are not there.
func problems(t *testing.T, s *Store) (names []string) {
	t.Helper()
	views, err := s.Schema.DocumentViews(t.Context())
	if err != nil || len(views) != 13 {
		t.Fatalf("%d views, %v; want 13", len(views), err)
	}
	for _, v := range views {
		if v.Problem != "" {
			names = append(names, v.Name)
		}
	}
	return names
}

// A name of ours that somebody else uses ends the start, and says so; nothing is left behind.
func TestMigrateEndsAtAStranger(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"posthouse_queue", "posthouse_messages", "posthouse_meta", "posthouse_deliveries", sqldb.VersionTable} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachEmpty(t, func(t *testing.T, s *Store) {
				tamper(t, s, "CREATE TABLE "+name+" (id INTEGER PRIMARY KEY, said VARCHAR(20))")
				tamper(t, s, "INSERT INTO "+name+" (id, said) VALUES (7, 'theirs')")
				before := furniture(t, s, name)
				if _, err := s.Schema.Migrate(t.Context()); err == nil || !strings.Contains(err.Error(), "table "+name+" that is not of this program") {
					t.Errorf("Migrate = %v; want an error that names %s", err, name)
				}
				if diff := cmp.Diff(before, furniture(t, s, name)); diff != "" {
					t.Errorf("what stands there (-before +after):\n%s", diff)
				}
				tamper(t, s, "DROP TABLE "+name)
				if _, err := s.Schema.Migrate(t.Context()); err != nil {
					t.Errorf("without the stranger: %v", err)
				}
			})
		})
	}
}

// SQLite takes names for one that differ only in case.
func TestMigrateEndsAtAStrangerWhoWritesTheNameOtherwise(t *testing.T) {
	t.Parallel()
	s := openOnly(t, "sqlite:"+filepath.Join(t.TempDir(), "theirs.db"))
	tamper(t, s, "CREATE TABLE Posthouse_Messages (id INTEGER PRIMARY KEY)")
	tamper(t, s, "CREATE TABLE theirs (id INTEGER)")
	tamper(t, s, "CREATE INDEX POSTHOUSE_OUTBOX_DUE ON theirs (id)")
	before := furniture(t, s)
	for _, name := range []string{"table Posthouse_Messages", "an index POSTHOUSE_OUTBOX_DUE"} {
		if _, err := s.Schema.Migrate(t.Context()); err == nil || !strings.Contains(err.Error(), name+" that is not of this program") {
			t.Errorf("Migrate = %v; want an error that names the %s", err, name)
		}
		if diff := cmp.Diff(before, furniture(t, s)); diff != "" {
			t.Errorf("what stands there (-before +after):\n%s", diff)
		}
		tamper(t, s, "DROP TABLE IF EXISTS Posthouse_Messages")
		before = furniture(t, s)
	}
}

func TestViewsStandElsewhereOrNowhere(t *testing.T) {
	eachEmpty(t, func(t *testing.T, s *Store) {
		if _, err := s.Schema.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		place := schema.ViewsNone
		if s.DB.Dialect.Schemas {
			place = "there_" + strings.ToLower(strings.TrimPrefix(t.Name(), "TestViewsStandElsewhereOrNowhere/"))
			tamper(t, s, "CREATE SCHEMA "+place)
			t.Cleanup(func() {
				if _, err := s.DB.Writer.Exec("DROP SCHEMA " + place); err != nil {
					t.Error(err)
				}
			})
		}
		views, err := s.Schema.PlaceViews(t.Context(), place)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range views {
			if v.Schema != place || v.Problem != "" {
				t.Errorf("view %+v, want it in %s", v, place)
			}
		}
		if here := furniture(t, s); slices.Contains(here, "view sms_tasks") || !slices.Contains(here, "view posthouse_deliveries") {
			t.Errorf("here stand %v", here)
		}
		if s.DB.Dialect.Schemas {
			tamper(t, s, "SELECT * FROM "+place+".sms_tasks")
		} else if _, err := s.Schema.PlaceViews(t.Context(), "elsewhere"); err == nil {
			t.Error("SQLite has another schema")
		}
		if _, err := s.Schema.Migrate(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := s.Schema.PlaceViews(t.Context(), ""); err != nil {
			t.Error(err)
		}
		if here := furniture(t, s); !slices.Contains(here, "view sms_tasks") {
			t.Errorf("here stand %v", here)
		}
	})
}
