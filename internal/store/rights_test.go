package store

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/work"
)

// with is a DSN for another user.
func with(t *testing.T, dsn, user, password string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(user, password)
	return u.String()
}

// The rights that docs/guide/operations.md lists for serve --no-migrate are enough for everything a server does.
func TestAServerNeedsTheRightsOfTheGuideAndNoMore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dsn    func(testing.TB) string
		grants []string // of the user %u, on the tables and views %t
	}{
		"postgres": {dbtest.Postgres, []string{"CREATE ROLE %u LOGIN PASSWORD 'secret'", "GRANT USAGE ON SCHEMA public TO %u", "GRANT SELECT, INSERT, UPDATE, DELETE ON %t TO %u"}},
		"mariadb":  {dbtest.MariaDB, []string{"CREATE USER %u IDENTIFIED BY 'secret'", "GRANT SELECT, INSERT, UPDATE, DELETE ON %t TO %u"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := c.dsn(t)
			owner := openTest(t, dsn)
			user := "u" + strings.ToLower(posthouse.NewID())
			there, err := owner.Schema.Objects(t.Context(), owner.DB.Reader)
			if err != nil {
				t.Fatal(err)
			}
			for _, grant := range c.grants {
				for _, o := range there {
					if strings.Contains(grant, "%t") && (!strings.HasPrefix(o.Name, "posthouse_") || o.Kind != "table" && o.Kind != "view") {
						continue
					}
					statement := strings.NewReplacer("%u", user, "%t", o.Name).Replace(grant)
					if _, err := owner.DB.Writer.ExecContext(t.Context(), statement); err != nil {
						t.Fatalf("%s: %v", statement, err)
					}
					if !strings.Contains(grant, "%t") {
						break
					}
				}
			}
			s := openOnly(t, with(t, dsn, user, "secret"))
			workWith(t, s)
			if err := s.Upkeep.Partition(t.Context(), work.KeepAll(90*day)); err != nil || !s.Upkeep.parted.Denied.Load() {
				t.Errorf("partitions without the right to make them: %v, denied is %v", err, s.Upkeep.parted.Denied.Load())
			}
		})
	}
}

// workWith does a little of everything that a server does to its database.
func workWith(t *testing.T, s *Store) {
	t.Helper()
	if have, want, err := s.Schema.Schema(t.Context()); have != want || err != nil {
		t.Fatalf("the schema is %d of %d, %v", have, want, err)
	}
	if drift, err := s.Schema.Drift(t.Context()); drift.Err() != nil || len(drift.Besides) > 0 || err != nil {
		t.Errorf("the schema drifted: %+v, %v", drift, err)
	}
	accept(t, s, entry(1), entry(2), entry(1))
	items := claim(t, s, 2)
	record(t, s, sentClean(items[0].Delivery), step(items[1].Delivery, posthouse.EventAmbiguous, posthouse.Unknown))
	if _, err := s.Queue.Revise(t.Context(), at(), work.Selection{Due: work.LeaseLost, Max: 10}, func(time.Time, []posthouse.Delivery) []work.Change { return nil }); err != nil {
		t.Error(err)
	}
	if err := s.Limits.UpdateLimits(t.Context(), []string{"a", "b"}, func(_ time.Time, states [][]byte) ([][]byte, error) { return states, nil }); err != nil {
		t.Error(err)
	}
	if _, err := s.Epochs.BumpEpoch(t.Context(), at()); err != nil {
		t.Error(err)
	}
	if _, err := s.Upkeep.Prune(t.Context(), at(), work.KeepAll(time.Hour), 10); err != nil {
		t.Error(err)
	}
	if _, err := s.Queue.Depths(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := s.History.ExportEvents(t.Context(), "", "", func(posthouse.Event) error { return nil }); err != nil {
		t.Error(err)
	}
	if _, err := s.DB.Doctor(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := s.Schema.DocumentViews(t.Context()); err != nil {
		t.Error(err)
	}
}
