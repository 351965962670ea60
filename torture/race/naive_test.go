package race

import (
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// TestASelectThenUpdateClaimIsFound (C2) is the control of C1: a claim that reads first and writes
// later, with nothing in its UPDATE that says what it read, must be told from a good one.
func TestASelectThenUpdateClaimIsFound(t *testing.T) {
	t.Parallel()
	house.EachDatabase(t, func(t *testing.T, db house.Database) {
		const clients, deliveries = 8, 100
		dsn := db.DSN(t)
		a := newArena(t, openStore(t, dsn, slog.New(slog.DiscardHandler)), 1)
		p := &player{arena: a}
		e := entry(deliveries)
		if _, err := a.store.Submissions.Accept(t.Context(), time.Now(), []*work.Submission{{Tenant: tenant, Entries: []work.Entry{e}}}); err != nil {
			t.Fatal(err)
		}
		for i := range e.Deliveries {
			p.note(a.begin, deed{kind: accepts, delivery: e.Deliveries[i].ID})
		}
		raw := dbtest.SQL(t, dsn)
		var wg sync.WaitGroup
		for n := range clients {
			wg.Go(func() {
				p := &player{arena: a, number: n}
				for more := true; more && t.Context().Err() == nil; {
					var err error
					if more, err = p.claimNaively(raw); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		result, took, _ := check(a.history)
		twice := a.seen[string(pushes)] - deliveries
		house.Report(t, house.Row{
			Test: "C2", Database: string(db), What: fmt.Sprintf("control: claims by SELECT, then UPDATE, by %d clients", clients), N: a.seen[string(pushes)], Unit: "claims",
			Figure: fmt.Sprintf("%s, %d claimed twice; checked in %s", result, twice, took.Round(time.Millisecond)), Bar: "found: Illegal", Pass: result == porcupine.Illegal,
		})
	})
}

// claimNaively claims one delivery the wrong way, and reports whether there was one.
func (p *player) claimNaively(raw *sql.DB) (bool, error) {
	var id string
	var version, token int64
	call := time.Now()
	err := raw.QueryRowContext(p.t.Context(), "SELECT id, version, token FROM posthouse_queue WHERE state = 'pending' ORDER BY due_at, id LIMIT 1").Scan(&id, &version, &token)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	runtime.Gosched() // as any other work between the two would
	update := fmt.Sprintf("UPDATE posthouse_queue SET state = 'sending', version = %d, token = %d WHERE id = '%s'", version+1, token+1, id)
	if _, err := raw.ExecContext(p.t.Context(), update); err != nil {
		return false, err
	}
	p.note(call, deed{kind: pushes, delivery: id, version: version + 1, token: token + 1})
	return true, nil
}
