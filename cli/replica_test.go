package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/work"
)

// Commands that only show something read a standby of PostgreSQL as it was when they were asked, and the database itself where the standby does
// not come as far. A server that takes writes is refused.
func TestCommandsThatShowReadAStandby(t *testing.T) {
	t.Parallel()
	primary := dbtest.Own(t, dbtest.Options{Kind: dbtest.KindPostgres})
	standby, err := primary.Standby(dbtest.StandbyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := standby.Stop(); err != nil {
			t.Error(err)
		}
	})
	here := []string{"POSTHOUSE_DSN=" + primary.DSN}
	if said, code := ran(t, here, "migrate"); code != 0 {
		t.Fatalf("migrate: %d %s", code, said)
	}
	s, err := store.Open(t.Context(), store.Options{DSN: primary.DSN})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	seals := func(seq int64, prev string) {
		t.Helper()
		if err := s.Chain.AddCheckpoint(t.Context(), time.Now(), work.Checkpoint{Seq: seq, At: time.Now(), Hash: fmt.Sprint("h", seq), Prev: prev}, ""); err != nil {
			t.Fatal(err)
		}
	}
	seals(1, "")
	const fallsBack = "The replica is not read, but the database itself"
	for _, c := range [][]string{
		{"chain"}, {"events"}, {"verify"}, {"doctor"},
		{"archive", "--before", "24h", "--to", filepath.Join(t.TempDir(), "old.ndjson.gz")},
	} {
		t.Run(c[0], func(t *testing.T) {
			got, code := ran(t, here, append(c, "--read-dsn", standby.DSN)...)
			if strings.Contains(got, fallsBack) || code == 2 || c[0] == "chain" && !strings.Contains(got, "1:h1") {
				t.Errorf("by the standby: %d %s", code, got)
			}
			got, code = ran(t, here, append(c, "--read-dsn", primary.DSN)...)
			if refused := code == 2 && strings.Contains(got, "read_dsn"); !refused && c[0] != "doctor" {
				t.Errorf("by a server that takes writes: %d %s, want it refused", code, got)
			}
		})
	}
	if err := standby.Do("SELECT pg_wal_replay_pause()"); err != nil {
		t.Fatal(err)
	}
	seals(2, "h1")
	got, code := ran(t, here, "chain", "--read-dsn", standby.DSN, "--read-max-lag", "1s")
	if code != 0 || !strings.Contains(got, fallsBack) || !strings.Contains(got, "2:h2") {
		t.Errorf("by a standby that stands still: %d %s, want the second link and whence it is", code, got)
	}
}
