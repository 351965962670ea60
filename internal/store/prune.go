package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/partition"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// longestLimit is how long the text of an unused limit can matter: its window, at most 366
// days, and a day.
const longestLimit = 367 * 24 * time.Hour

// Prune deletes up to max deliveries that have been settled for longer than they are kept, with their
// events, and the messages that have none left; and what has expired of idempotency keys,
// dedup keys, limits, plans and marks, up to max of each. It returns how many deliveries went. Open
// deliveries always stay. On PostgreSQL and MariaDB whole partitions go as well, which it does not count. What becomes free of
// an SQLite file goes back to the file system.
func (s Upkeep) Prune(ctx context.Context, now time.Time, keep work.Retention, max int) (int, error) {
	if err := s.notePruned(ctx, now, keep); err != nil {
		return 0, err
	}
	if err := s.parted.KeepUpNow(ctx, keep.Longest()); err != nil {
		s.db.Log.Warn("partitions cannot be made or dropped now: what is old of them is deleted row by row after a day", "error", err)
	}
	n, err := s.pruneRows(ctx, now, keep, max)
	if err == nil && s.db.Dialect.GiveBack != nil {
		err = s.giveBack(ctx, now)
	}
	return n, err
}

// Partition makes the partitions ahead and drops those whose time is over. It does nothing on SQLite. An error that is
// ErrStranger names what stands in the way; after any other the next call tries again, and nothing stops meanwhile.
func (s Upkeep) Partition(ctx context.Context, keep work.Retention) error {
	if err := s.notePruned(ctx, time.Now(), keep); err != nil {
		return err
	}
	return s.parted.KeepUp(ctx, keep.Longest())
}

// Partitions says how what is settled lies.
func (s Upkeep) Partitions(ctx context.Context) (partition.State, error) { return s.parted.State(ctx) }

// giveBack returns free space in steps so small that nobody waits for them.
func (s Upkeep) giveBack(ctx context.Context, now time.Time) error {
	_, err := s.repeat(ctx, now, "give free pages back", mostGivenBack, func(t *tx, step int) (int, error) {
		if some, err := s.db.Dialect.GiveBack(t.Tx); err != nil || !some {
			return 0, err
		}
		return step, nil
	})
	return err
}

// mostGivenBack bounds the pages that go back in one call.
const mostGivenBack = 20 * sqldb.BulkStep

// shortKeep is a retention so short that a key can outlive its message by more than the day for which package verify lets that be: from there on
// the database says what may be gone.
const shortKeep = 24 * time.Hour

// notePruned keeps the id before which messages may be gone, before any is.
func (s Upkeep) notePruned(ctx context.Context, now time.Time, of work.Retention) error {
	keep := min(of.Sent, of.Other)
	if keep >= shortKeep {
		return nil
	}
	return s.db.Change(ctx, now, "note what may be pruned", func(t *sqldb.Tx) error {
		at, err := t.Now()
		if err != nil {
			return err
		}
		to := layout.IDAt(sqldb.TimeOf(at).Add(-keep))
		known, _, err := sqldb.First(t.Query, sqldb.Word, "SELECT value FROM posthouse_meta WHERE name = 'pruned'")
		switch {
		case err != nil || known >= to:
		case known != "":
			_, err = t.Exec("UPDATE posthouse_meta SET value = ? WHERE name = 'pruned'", to)
		default:
			_, err = t.Exec("INSERT INTO posthouse_meta (name, value) VALUES ('pruned', ?)", to)
		}
		return err
	})
}

// pruneRows deletes what no partition takes along.
func (s Upkeep) pruneRows(ctx context.Context, now time.Time, keep work.Retention, max int) (n int, err error) {
	for _, w := range walksOf(keep) {
		more, err := s.walk(ctx, now, w, keep.Longest(), max-n)
		n += more
		if err != nil {
			return n, err
		}
	}
	for _, old := range expiring(keep.Longest(), s.parted.Parted()) {
		_, err := s.repeat(ctx, now, "prune "+old.table, max, func(t *tx, step int) (int, error) {
			return pruning{t}.pruneExpired(old.table, old.column, old.keep, step)
		})
		if err != nil {
			return n, err
		}
	}
	if n == max || keep.Longest() == work.Forever {
		return n, nil // it is called again: tasks that go on are read once a round
	}
	return n, Plans{s.shared}.prunePlans(ctx, now, keep.Longest(), max)
}

// expired is a table whose rows go by a time of their own.
type expired struct {
	table, column string
	keep          time.Duration
}

// expiring are those tables. One of them is there only beside partitions.
func expiring(keep time.Duration, parted bool) []expired {
	list := []expired{{"posthouse_idempotency", "expires_at", 0}, {"posthouse_dedup", "expires_at", 0}, {"posthouse_audit", "keep_until", 0}, {"posthouse_limits", "updated_at", longestLimit}, {answerableTable.Name, "until_at", 0}}
	if keep == work.Forever {
		return list
	}
	if parted {
		list = append(list, expired{layout.Late.Name, "at", keep})
	}
	return append(list, expired{"posthouse_notify_marks", "updated_at", 2 * keep}, expired{"posthouse_job_numbers", "created_at", 2 * keep})
}

// walk goes through settled deliveries of one kind in the order of their ids, and deletes what is no longer kept.
type walk struct {
	table, at, states string // at is the column of the last change; states is a condition
	keep              time.Duration
	del               func(t pruning, ids []string) error
}

const sentStates = "('sent', 'delivered')"

// walksOf are the walks: what was sent may be kept for another time than what was not.
func walksOf(keep work.Retention) []walk {
	list := []walk{{"posthouse_sent", "at", "", keep.Sent, pruning.deleteClean}}
	if keep.Sent == keep.Other {
		return append(list, walk{"posthouse_settled", "updated_at", "", keep.Other, pruning.deleteSettled})
	}
	return append(list, walk{"posthouse_settled", "updated_at", " AND state IN " + sentStates, keep.Sent, pruning.deleteSettled},
		walk{"posthouse_settled", "updated_at", " AND state NOT IN " + sentStates, keep.Other, pruning.deleteSettled})
}

// walked is how far this process has gone on a walk, so that what stays is not read anew each time.
type walked struct {
	to    string
	begun time.Time
}

// walks are those of this process.
type walks struct {
	mu sync.Mutex
	of map[string]walked
}

const (
	// walkAgain is how often a walk begins at the beginning, for what was settled late.
	walkAgain = 24 * time.Hour
	// walkSlack is how long after its id a delivery is usually settled: a walk comes by again for so long.
	walkSlack = time.Hour
)

func (w walk) name() string { return w.table + w.states + w.keep.String() }

// from is where a walk goes on.
func (w *walks) from(name string, now time.Time) walked {
	w.mu.Lock()
	defer w.mu.Unlock()
	if known := w.of[name]; now.Sub(known.begun).Abs() < walkAgain {
		return known
	}
	return walked{begun: now}
}

func (w *walks) reached(name string, at walked) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil {
		w.of = map[string]walked{}
	}
	w.of[name] = at
}

// walk deletes up to max deliveries of a walk. What waits for its partition is beyond it.
func (s Upkeep) walk(ctx context.Context, now time.Time, w walk, longest time.Duration, max int) (total int, err error) {
	if w.keep == work.Forever || max <= 0 {
		return 0, nil
	}
	bound, err := s.parted.OldRows(ctx, now, w.keep, w.keep == longest)
	if err != nil {
		return 0, s.db.Coded(err, "list the partitions")
	}
	at := s.walks.from(w.name(), now)
	end := layout.IDAt(layout.TimeOfID(bound).Add(-walkSlack))
	for {
		var ids []string
		step := min(sqldb.BulkStep, max-total)
		err := s.change(ctx, now, "prune deliveries", func(t *tx) (err error) {
			ids, err = pruning{t}.oldest(w, at.to, bound, step)
			return err
		})
		if err == nil {
			err = ctx.Err()
			total += len(ids)
		}
		if err != nil {
			return total, err
		}
		if len(ids) < step {
			break
		}
		if at.to = ids[step-1]; total == max {
			end = min(end, at.to)
			break
		}
	}
	at.to = end
	s.walks.reached(w.name(), at)
	return total, nil
}

// oldest deletes the oldest of a walk from an id on, and returns which. An id is hardly ever younger than its delivery's last
// change. A later walk takes what is locked now, such as for a replay.
func (t pruning) oldest(w walk, from, bound string, max int) ([]string, error) {
	now, err := t.Now()
	if err != nil {
		return nil, err
	}
	ids, err := sqldb.All(t.Query, sqldb.Word, "SELECT id FROM "+w.table+" WHERE id >= ? AND id < ? AND "+w.at+" < ?"+w.states+" ORDER BY id LIMIT ?"+t.DB.Dialect.Skip,
		from, bound, sqldb.Micros(sqldb.TimeOf(now).Add(-w.keep)), max)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return ids, w.del(t, ids)
}

// deleteClean deletes clean deliveries with their messages.
func (t pruning) deleteClean(ids []string) error {
	messages := make([]string, len(ids))
	for i, id := range ids {
		messages[i] = posthouse.MessageID(id)
	}
	clause, args := t.Among("id", ids)
	if _, err := t.Exec("DELETE FROM posthouse_sent WHERE "+clause, args...); err != nil {
		return err
	}
	clause, args = t.Among("id", messages)
	_, err := t.Exec("DELETE FROM posthouse_messages WHERE "+clause+" AND sole = 1", args...)
	return err
}

// deleteSettled deletes settled deliveries with their events, and the messages that have no other.
func (t pruning) deleteSettled(ids []string) error {
	for _, d := range []struct{ table, column string }{{"posthouse_transitions", "delivery"}, {"posthouse_settled", "id"}} {
		clause, args := t.Among(d.column, ids)
		if _, err := t.Exec("DELETE FROM "+d.table+" WHERE "+clause, args...); err != nil {
			return err
		}
	}
	return t.pruneMessages(ids)
}

// pruneMessages deletes the messages of deliveries that are gone, where no other is left.
func (t pruning) pruneMessages(deliveries []string) error {
	messages := make([]string, len(deliveries))
	for i, id := range deliveries {
		messages[i] = posthouse.MessageID(id)
	}
	messages = slices.Compact(messages)
	left := map[string]bool{}
	for part := range sqldb.Parts(messages, 50) {
		var looks []string
		var args []any
		for _, m := range part {
			low, high := layout.DeliveryRange(m)
			for _, tab := range []*sqldb.Table{layout.Queue, layout.Settled} {
				looks = append(looks, fmt.Sprintf("SELECT * FROM (SELECT id FROM %s WHERE id > ? AND id <= ? LIMIT 1) l%d", tab.Name, len(looks)))
				args = append(args, low, high)
			}
		}
		found, err := sqldb.All(t.Query, sqldb.Word, strings.Join(looks, " UNION ALL "), args...)
		if err != nil {
			return err
		}
		for _, id := range found {
			left[posthouse.MessageID(id)] = true
		}
	}
	messages = slices.DeleteFunc(messages, func(m string) bool { return left[m] })
	if len(messages) == 0 {
		return nil
	}
	clause, args := t.Among("id", messages)
	_, err := t.Exec("DELETE FROM posthouse_messages WHERE "+clause, args...)
	return err
}

// pruneExpired deletes up to max rows, and those that expired in the same instant as the last.
func (t pruning) pruneExpired(table, column string, keep time.Duration, max int) (int, error) {
	now, err := t.Now()
	if err != nil {
		return 0, err
	}
	expired, err := sqldb.All(t.Query, sqldb.Number, "SELECT "+column+" FROM "+table+" WHERE "+column+" < ? ORDER BY "+column+" LIMIT ?",
		sqldb.Micros(sqldb.TimeOf(now).Add(-keep)), max)
	if err != nil || len(expired) == 0 {
		return 0, err
	}
	n, err := t.Exec("DELETE FROM "+table+" WHERE "+column+" <= ?", expired[len(expired)-1])
	return int(n), err
}
