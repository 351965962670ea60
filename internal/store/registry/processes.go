package registry

import (
	"context"
	"time"

	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// Processes are those that work on the database.
type Processes struct{ db *sqldb.DB }

var processTable = sqldb.NewTable("posthouse_processes", "id", "host", "version", "schema_version#", "epoch#", "key_id", "keyring", "accept_only#", "untrusted#", "started_at#", "seen_at#")

// processKept is for how long a process is remembered that said nothing more.
const processKept = 24 * time.Hour

// Beat notes that a process is there, and counts those that send and were noted within a time. Seen of it is not looked at.
func (s Processes) Beat(ctx context.Context, now time.Time, within time.Duration, p work.Process) (senders int, err error) {
	err = s.db.Change(ctx, now, "note a process", func(t *sqldb.Tx) error {
		at, err := t.Now()
		if err != nil {
			return err
		}
		err = t.Put(processTable, 1, [][]any{{p.ID, p.Host, p.Version, p.Schema, p.Epoch, p.Key, p.Keyring, sqldb.Flag(p.AcceptOnly), sqldb.Flag(p.Untrusted), sqldb.Micros(p.Started), at}})
		if err != nil {
			return err
		}
		n, err := sqldb.All(t.Query, sqldb.Number, "SELECT COUNT(*) FROM posthouse_processes WHERE accept_only = 0 AND seen_at >= ?", at-within.Microseconds())
		if err == nil {
			senders = int(n[0])
		}
		return err
	})
	return senders, err
}

// Leave forgets a process that ends.
func (s Processes) Leave(ctx context.Context, id string) error {
	return s.db.Change(ctx, time.Time{}, "forget a process", func(t *sqldb.Tx) error {
		_, err := t.Exec("DELETE FROM posthouse_processes WHERE id = ?", id)
		return err
	})
}

// Forget deletes the processes that have said nothing for a day, each by its key: what is alive is not locked.
func (s Processes) Forget(ctx context.Context, now time.Time) error {
	return s.db.Change(ctx, now, "forget processes", func(t *sqldb.Tx) error {
		at, err := t.Now()
		if err != nil {
			return err
		}
		old := sqldb.TimeOf(at).Add(-processKept).UnixMicro()
		ids, err := sqldb.All(t.Query, sqldb.Word, "SELECT id FROM posthouse_processes WHERE seen_at < ?", old)
		for _, id := range ids {
			if _, err := t.Exec("DELETE FROM posthouse_processes WHERE id = ? AND seen_at < ?", id, old); err != nil {
				return err
			}
		}
		return err
	})
}

// Processes lists them, those that began first before the others, and says what time it is by the clock of Seen.
func (s Processes) Processes(ctx context.Context) (list []work.Process, now time.Time, err error) {
	if now, err = s.db.Now(ctx); err != nil {
		return nil, now, err
	}
	list, err = sqldb.All(s.db.Reads(ctx), readProcess, "SELECT "+processTable.List+" FROM posthouse_processes ORDER BY started_at, id")
	return list, now, s.db.Coded(err, "list the processes")
}

func readProcess(scan sqldb.Scanner) (p work.Process, err error) {
	var only, untrusted, started, seen int64
	err = scan(&p.ID, &p.Host, &p.Version, &p.Schema, &p.Epoch, &p.Key, &p.Keyring, &only, &untrusted, &started, &seen)
	p.AcceptOnly, p.Untrusted, p.Started, p.Seen = only != 0, untrusted != 0, sqldb.TimeOf(started), sqldb.TimeOf(seen)
	return p, err
}
