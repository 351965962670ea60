package store

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// linesTable has the lines of ordering keys in which something stands, or stood a moment ago. Its holder is the message that
// was admitted last; whoever admits the next one has the row locked.
var linesTable = sqldb.NewTable("posthouse_lines", "tenant", "channel", "line", "look_at#")

// linesOf are the rows of the lines that entries stand in, one each, in one order for all transactions, so that no two wait
// for each other. All are to be looked at now.
func linesOf(subs []*work.Submission, outcomes []work.Outcome, now int64) [][]any {
	seen := map[work.LineKey]bool{}
	for i, sub := range subs {
		if outcomes[i].Err != nil || outcomes[i].Replayed {
			continue
		}
		for j := range sub.Entries {
			for k := range sub.Entries[j].Deliveries {
				if d := &sub.Entries[j].Deliveries[k]; d.Line != "" {
					seen[work.LineKey{Tenant: d.Tenant, Channel: d.Channel, Name: d.Line}] = true
				}
			}
		}
	}
	var rows [][]any
	for _, l := range slices.SortedFunc(maps.Keys(seen), work.LineKey.Compare) {
		rows = append(rows, []any{l.Tenant, l.Channel, l.Name, now})
	}
	return rows
}

// held is a line with the message that was admitted last.
type held struct {
	work.LineKey
	holder string
	since  int64
}

// Admit looks at the lines that are named, in order, and at others whose time has come, and lets how say what becomes of the
// message that is first in each, once all deliveries of the one before it are settled. It returns the deliveries that were
// admitted, and how many lines it looked at.
func (s Queue) Admit(ctx context.Context, now time.Time, named []work.LineKey, max int, how work.Admission) (admitted []posthouse.Delivery, looked int, err error) {
	if len(named) == 0 {
		if some, err := s.someLine(ctx, now); err != nil || !some {
			return nil, 0, err
		}
	}
	admitted, looked, err = s.admit(ctx, now, named, max, how)
	if err != nil && ctx.Err() == nil && posthouse.CodeOf(err) == posthouse.CodeInternal {
		return s.admitSingly(ctx, now, named, max, how)
	}
	return admitted, looked, err
}

// admit is Admit in one transaction.
func (s Queue) admit(ctx context.Context, now time.Time, named []work.LineKey, max int, how work.Admission) (admitted []posthouse.Delivery, looked int, err error) {
	err = s.change(ctx, now, "admit", func(t *tx) error {
		admitted = nil
		at, err := t.Now()
		if err != nil {
			return err
		}
		lines, err := lining{t}.lock(named, at, max)
		if err != nil {
			return err
		}
		looked = len(lines)
		for _, l := range lines {
			in, err := lining{t}.admit(l, at, how)
			if err != nil {
				return err
			}
			admitted = append(admitted, in...)
		}
		return nil
	})
	return admitted, looked, err
}

// someLine reports whether there is a line to look at: mostly there is none, and whoever asks each second pays for a look.
func (s Queue) someLine(ctx context.Context, now time.Time) (bool, error) {
	at, args := s.db.Instant(now)
	due, some, err := sqldb.First(s.db.Reads(ctx), sqldb.Number, "SELECT CASE WHEN look_at <= "+at+" THEN 1 ELSE 0 END FROM posthouse_lines"+
		s.db.Dialect.By("posthouse_lines_look")+" ORDER BY look_at LIMIT 1", args...)
	if err == nil {
		s.lined.Store(some)
	}
	return due == 1, s.db.Coded(err, "look for lines")
}

// LinesHeldBy are the lines whose holders are among messages. It costs nothing where this process has seen no line lately.
func (s Queue) LinesHeldBy(ctx context.Context, messages []string) (list []work.LineKey, err error) {
	if !s.lined.Load() {
		return nil, nil
	}
	for part := range sqldb.Parts(messages, sqldb.BulkStep) {
		clause, args := s.db.In("holder", part)
		found, err := sqldb.All(s.db.Reads(ctx), readLineKey, "SELECT tenant, channel, line FROM posthouse_lines WHERE "+clause, args...)
		if err != nil {
			return nil, s.db.Coded(err, "look for lines")
		}
		list = append(list, found...)
	}
	return list, nil
}

func readLineKey(scan sqldb.Scanner) (l work.LineKey, err error) {
	return l, scan(&l.Tenant, &l.Channel, &l.Name)
}

// lining sees to lines in a transaction.
type lining struct{ *tx }

// lock locks lines: those that are named, waiting for others, or else those whose time has come, without those that others look at.
func (t lining) lock(named []work.LineKey, at int64, max int) (list []held, err error) {
	const columns = "SELECT tenant, channel, line, holder, since FROM posthouse_lines"
	read := func(scan sqldb.Scanner) (l held, err error) {
		return l, scan(&l.Tenant, &l.Channel, &l.Name, &l.holder, &l.since)
	}
	if len(named) == 0 {
		return sqldb.All(t.Query, read, columns+t.DB.Dialect.By("posthouse_lines_look")+" WHERE look_at <= ? ORDER BY look_at LIMIT ?"+t.DB.Dialect.Skip, at, max)
	}
	for _, l := range named {
		found, err := sqldb.All(t.Query, read, columns+" WHERE tenant = ? AND channel = ? AND line = ?"+t.DB.Dialect.Lock, l.Tenant, l.Channel, l.Name)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return list, nil
}

// A line whose holder is not settled is looked at again after half the time that this has taken already, within bounds: what
// settles it here wakes us, and this is for what others settle.
const (
	soonLook = int64(500 * time.Millisecond / time.Microsecond)
	lateLook = int64(10 * time.Second / time.Microsecond)
)

// admit admits the first message of a line where nobody is before it, and says when to look again.
func (t lining) admit(l held, at int64, how work.Admission) ([]posthouse.Delivery, error) {
	busy, err := t.busy(l)
	if err != nil {
		return nil, err
	}
	if busy {
		return nil, t.look(l, l.holder, l.since, at+min(max((at-l.since)/2, soonLook), lateLook))
	}
	first, due, err := t.first(l.LineKey)
	switch {
	case err != nil:
		return nil, err
	case first == "":
		_, err := t.Exec("DELETE FROM posthouse_lines WHERE tenant = ? AND channel = ? AND line = ?", l.Tenant, l.Channel, l.Name)
		return nil, err
	case due > at:
		return nil, t.look(l, "", 0, due)
	}
	message := posthouse.MessageID(first)
	found, err := t.standing(l.LineKey, message)
	if err != nil {
		return nil, err
	}
	changes := how.Admit(found)
	if err := (settling{t.tx}).apply(at, changes); err != nil {
		return nil, err
	}
	admitted := make([]posthouse.Delivery, len(changes))
	for i := range changes {
		admitted[i] = changes[i].After
	}
	return admitted, t.look(l, message, at, at+soonLook)
}

func (t lining) look(l held, holder string, since, at int64) error {
	_, err := t.Exec("UPDATE posthouse_lines SET holder = ?, since = ?, look_at = ? WHERE tenant = ? AND channel = ? AND line = ?", holder, since, at, l.Tenant, l.Channel, l.Name)
	return err
}

// busy reports whether a delivery of a line's holder that was admitted is not settled.
func (t lining) busy(l held) (bool, error) {
	if l.holder == "" {
		return false, nil
	}
	_, found, err := sqldb.First(t.Query, sqldb.Word, "SELECT id FROM posthouse_queue"+t.DB.Dialect.By(sqldb.Primary)+" WHERE id >= ? AND id <= ? AND pin <> ? LIMIT 1",
		l.holder, posthouse.LastDeliveryID(l.holder), string(work.InLine(l.Name)))
	return found, err
}

// first is the delivery of a line that is due before all others, and when.
func (t lining) first(l work.LineKey) (id string, due int64, err error) {
	text, args := t.firstText(l, "due_at, id")
	err = t.Query(text, args, func(scan func(...any) error) error { return scan(&due, &id) })
	return id, due, err
}

// firstText is the statement that finds columns of the first delivery of a line.
func (t lining) firstText(l work.LineKey, columns string) (text string, args []any) {
	var lanes []string
	for _, p := range posthouse.Priorities() {
		for _, pulled := range []bool{false, true} {
			lanes = append(lanes, "SELECT * FROM (SELECT due_at, id FROM posthouse_queue"+t.DB.Dialect.By("posthouse_queue_due")+
				" WHERE tenant = ? AND channel = ? AND priority = ? AND pin = ? AND state = 'pending' ORDER BY due_at, id LIMIT 1) lane")
			args = append(args, l.Tenant, l.Channel, layout.LaneNumber(p, pulled, false), string(work.InLine(l.Name)))
		}
	}
	return "SELECT " + columns + " FROM (" + strings.Join(lanes, " UNION ALL ") + ") lanes ORDER BY due_at, id LIMIT 1", args
}

// standingText is the statement that finds and locks the deliveries of a message that stand in a line. COALESCE hides the state from
// PostgreSQL's planner: while it believes that few rows are pending it would walk over the whole index of what is due.
func standingText(d *sqldb.Dialect) string {
	return "SELECT " + layout.Queue.List + " FROM posthouse_queue" + d.By(sqldb.Primary) +
		" WHERE id >= ? AND id <= ? AND pin = ? AND COALESCE(state, '') = 'pending' ORDER BY id" + d.Lock
}

// standing are the deliveries of a message that stand in a line, locked, each with the pool that it is for.
func (t lining) standing(l work.LineKey, message string) ([]posthouse.Delivery, error) {
	found, err := sqldb.All(t.Query, layout.ReadDelivery, standingText(t.DB.Dialect), message, posthouse.LastDeliveryID(message), string(work.InLine(l.Name)))
	if err != nil {
		return nil, err
	}
	options, _, err := sqldb.First(t.Query, sqldb.Word, "SELECT options FROM posthouse_messages WHERE id = ?", message)
	if err != nil {
		return nil, err
	}
	var m posthouse.Message
	layout.ReadOptions(options, &m)
	for i := range found {
		if !found[i].Pinned {
			found[i].Pool = m.Pool
		}
	}
	return found, nil
}

// Holder is the message that was admitted last of a line, empty where none was or nothing stands in it.
func (s Queue) Holder(ctx context.Context, l work.LineKey) (string, error) {
	holder, _, err := sqldb.First(s.db.Reads(ctx), sqldb.Word, "SELECT holder FROM posthouse_lines WHERE tenant = ? AND channel = ? AND line = ?", l.Tenant, l.Channel, l.Name)
	return holder, s.db.Coded(err, "look at a line")
}
