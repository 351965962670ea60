package schema_test

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse/internal/store/schema"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/store/sqltest"
)

var update = flag.Bool("update", false, "write anew what the databases' catalogues say after the newest version")

// What is recorded of each database is what its catalogue says.
func TestTheRecordedCatalogueIsTheDatabases(t *testing.T) {
	sqltest.EachDSN(t, func(t *testing.T, dsn string) {
		db, err := sqldb.Open(t.Context(), sqldb.Options{DSN: dsn})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		s := schema.Of(db)
		_, refused := s.Migrate(t.Context()) // where the record is old, after all was made
		parts, err := db.Catalogue(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		have, want, err := s.Schema(t.Context())
		if err != nil || have != want {
			t.Fatalf("version %d of %d, %v, %v", have, want, refused, err)
		}
		got, file := schema.WriteCatalogue(parts), schema.CatalogueFile(have)
		if *update {
			if err := os.WriteFile(filepath.Join(db.Database(), file), []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		files, err := schema.FilesOf(db.Dialect)
		if err != nil {
			t.Fatal(err)
		}
		recorded, err := fs.ReadFile(files, file)
		if diff := cmp.Diff(strings.Split(string(recorded), "\n"), strings.Split(got, "\n")); diff != "" || err != nil {
			t.Errorf("%v: `go test ./internal/store/schema -update` records it anew (-recorded +there):\n%s", err, diff)
		}
	})
}

// What a restore that ended halfway lacks, and what a build before had otherwise, is named, and refused by a migration.
func TestADatabaseThatIsNotWholeIsRefused(t *testing.T) {
	damages := []struct {
		name string
		does map[string][]string // what is done to the database, by its name
		want string              // what is missing
	}{
		{"a table of a later build", all("DROP TABLE posthouse_people"), "no table posthouse_people"},
		{"an index", map[string][]string{"sqlite": {"DROP INDEX posthouse_queue_deadline"}, "postgres": {"DROP INDEX posthouse_queue_deadline"}, "mysql": {"DROP INDEX posthouse_queue_deadline ON posthouse_queue"}},
			"no index posthouse_queue_deadline on posthouse_queue"},
		{"a column", all("ALTER TABLE posthouse_tenants DROP COLUMN note"), "no column posthouse_tenants.note"},
		{"a column that must be given a value", all("DROP TABLE posthouse_limits", "CREATE TABLE posthouse_limits (x integer NOT NULL)"),
			"column posthouse_limits.x wants a value that this binary does not give it"},
		{"keys", map[string][]string{"postgres": {"ALTER TABLE posthouse_due DROP CONSTRAINT posthouse_due_pkey"}, "mysql": {"ALTER TABLE posthouse_due DROP PRIMARY KEY"},
			"sqlite": {"DROP TABLE posthouse_due", "CREATE TABLE posthouse_due (id TEXT NOT NULL)"}}, "no primary key of posthouse_due"},
		{"the partition of the rest", map[string][]string{"postgres": {"DROP TABLE posthouse_transitions_rest"}},
			"table posthouse_transitions is `partitioned by RANGE (delivery)` instead of `partitioned by RANGE (delivery) with a partition for the rest`"},
		{"the order of texts", map[string][]string{"postgres": {`ALTER TABLE posthouse_tenants ALTER COLUMN name TYPE text COLLATE "default"`}},
			"column posthouse_tenants.name is `text not null` instead of `text collate C not null`"},
		{"an index that its build has left", map[string][]string{"postgres": {"UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'posthouse_queue_lease'::regclass"}},
			"index posthouse_queue_lease on posthouse_queue is `btree (lease_until) WHERE (state = 'sending'::text) but invalid` instead of `btree (lease_until) WHERE (state = 'sending'::text)`"},
		{"what a dump has in the place of a view", map[string][]string{"mysql": {"DROP VIEW posthouse_events", "CREATE VIEW posthouse_events AS SELECT 1 AS delivery"}},
			"column posthouse_events.delivery is `number` instead of `text`"},
		{"a table that a crash can lose", map[string][]string{"mysql": {"ALTER TABLE posthouse_meta ENGINE = MyISAM"}}, "table posthouse_meta is `MyISAM` instead of `InnoDB`"},
		{"a view, after which SQLite changes no table any more", map[string][]string{"sqlite": {"DROP VIEW posthouse_deliveries"}, "postgres": {"DROP VIEW posthouse_deliveries CASCADE"}, "mysql": {"DROP VIEW posthouse_deliveries"}},
			"no view posthouse_deliveries"},
	}
	sqltest.Each(t, func(t *testing.T, db *sqldb.DB) {
		for _, c := range damages {
			for _, statement := range c.does[db.Database()] {
				sqltest.Exec(t, db, statement)
			}
		}
		s := schema.Of(db)
		drift, err := s.Drift(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range damages {
			if c.does[db.Database()] != nil && !slices.Contains(drift.Missing, c.want) {
				t.Errorf("%s: missing is %q; want %q among it", c.name, drift.Missing, c.want)
			}
		}
		if _, err := s.Migrate(t.Context()); err == nil || !strings.Contains(err.Error(), "psql -1 -v ON_ERROR_STOP=1") {
			t.Errorf("Migrate = %v; want it to refuse, and to say the way out", err)
		}
	})
}

// all is the same in each database.
func all(statements ...string) map[string][]string {
	return map[string][]string{"sqlite": statements, "postgres": statements, "mysql": statements}
}

// An index, a trigger or a table that somebody has added refuses nothing, and is named. So is no partition.
func TestWhatStandsBesidesIsNamedAndNotRefused(t *testing.T) {
	sqltest.Each(t, func(t *testing.T, db *sqldb.DB) {
		statements := []string{
			"CREATE INDEX reports_by_template ON posthouse_messages (tenant, created_at)",
			"CREATE TABLE posthouse_notes_of_ours (id INTEGER)",
			"ALTER TABLE posthouse_tenants ADD COLUMN owner_of_it INTEGER DEFAULT 7",
		}
		switch db.Database() {
		case "postgres":
			statements = append(statements, "CREATE TABLE posthouse_sent_1 PARTITION OF posthouse_sent FOR VALUES FROM ('A') TO ('B')")
		case "mysql":
			statements = append(statements, "CREATE TRIGGER watching AFTER INSERT ON posthouse_tenants FOR EACH ROW SET @seen = 1",
				"ALTER TABLE posthouse_sent REORGANIZE PARTITION rest INTO (PARTITION p1 VALUES LESS THAN ('B'), PARTITION rest VALUES LESS THAN (MAXVALUE))")
		case "sqlite":
			statements = append(statements, "CREATE TRIGGER watching AFTER INSERT ON posthouse_tenants BEGIN SELECT 1; END")
		}
		for _, statement := range statements {
			sqltest.Exec(t, db, statement)
		}
		want := []string{"column posthouse_tenants.owner_of_it", "index reports_by_template on posthouse_messages", "table posthouse_notes_of_ours"}
		if db.Database() != "postgres" {
			want = append(want, "trigger watching on posthouse_tenants")
		}
		got, err := schema.Of(db).Drift(t.Context())
		if diff := cmp.Diff(schema.Drift{Version: got.Version, Besides: want}, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		if steps, err := schema.Of(db).Migrate(t.Context()); steps != 0 || err != nil {
			t.Errorf("Migrate = %d, %v", steps, err)
		}
	})
}
