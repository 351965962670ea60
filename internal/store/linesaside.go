package store

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// admitSingly is Admit with a transaction for each line, after the database refused to do them at once for what they hold. What
// stands first in a line and cannot be read is set aside; a line that cannot even do that waits, and holds no other up.
func (s Queue) admitSingly(ctx context.Context, now time.Time, named []work.LineKey, max int, how work.Admission) (admitted []posthouse.Delivery, looked int, err error) {
	if len(named) == 0 {
		at, args := s.db.Instant(now)
		named, err = sqldb.All(s.db.Reads(ctx), readLineKey, "SELECT tenant, channel, line FROM posthouse_lines"+s.db.Dialect.By("posthouse_lines_look")+
			" WHERE look_at <= "+at+" ORDER BY look_at LIMIT ?", append(args, max)...)
		if err != nil {
			return nil, 0, s.db.Coded(err, "look for lines")
		}
	}
	for _, l := range named {
		in, err := s.admitOne(ctx, now, l, how)
		if err != nil {
			return admitted, looked, err // the database does not answer
		}
		admitted, looked = append(admitted, in...), looked+1
	}
	return admitted, looked, nil
}

// admitOne admits what is first in a line. Its error says that the database does not answer.
func (s Queue) admitOne(ctx context.Context, now time.Time, l work.LineKey, how work.Admission) ([]posthouse.Delivery, error) {
	for {
		in, _, err := s.admit(ctx, now, []work.LineKey{l}, 1, how)
		if err == nil || posthouse.CodeOf(err) != posthouse.CodeInternal {
			return in, err
		}
		aside, wrong := s.setAside(ctx, now, l, how)
		if wrong != nil && posthouse.CodeOf(wrong) != posthouse.CodeInternal {
			return nil, wrong
		}
		if aside == 0 {
			s.db.Log.Error("what is first in a line can neither be admitted nor set aside: the line waits",
				"tenant", l.Tenant, "channel", l.Channel, "line", l.Name, "error", err, "why", wrong)
			return nil, s.putOff(ctx, now, l)
		}
	}
}

// putOff has a line looked at again after a while.
func (s Queue) putOff(ctx context.Context, now time.Time, l work.LineKey) error {
	return s.change(ctx, now, "put a line off", func(t *tx) error {
		at, err := t.Now()
		if err != nil {
			return err
		}
		_, err = t.Exec("UPDATE posthouse_lines SET look_at = ? WHERE tenant = ? AND channel = ? AND line = ?", at+lateLook, l.Tenant, l.Channel, l.Name)
		return err
	})
}

// setAside sets those deliveries of the message that is first in a line aside that cannot be read, and returns how many. What
// can be read of their rows is kept.
func (s Queue) setAside(ctx context.Context, now time.Time, l work.LineKey, how work.Admission) (n int, err error) {
	err = s.change(ctx, now, "set aside", func(t *tx) error {
		n = 0
		if locked, err := (lining{t}).lock([]work.LineKey{l}, 0, 1); err != nil || len(locked) == 0 {
			return err
		}
		changes, err := lining{t}.mend(l, how)
		if err != nil || len(changes) == 0 {
			return err
		}
		at, err := t.Now()
		if err != nil {
			return err
		}
		n = len(changes)
		return settling{t}.apply(at, changes)
	})
	return n, err
}

// mend gives the rows that cannot be read of the message that is first in a line what could be read of them, with a version past
// all that their history has, and says what becomes of them.
func (t lining) mend(l work.LineKey, how work.Admission) (changes []work.Change, err error) {
	text, args := t.firstText(l, "id")
	first, found, err := sqldb.First(t.Query, sqldb.Word, text, args...)
	if err != nil || !found {
		return nil, err
	}
	message := posthouse.MessageID(first)
	past := map[string]int64{} // delivery → the last version of its history
	err = t.Query("SELECT delivery, MAX(version) FROM posthouse_transitions WHERE delivery >= ? AND delivery <= ? GROUP BY delivery",
		[]any{message, posthouse.LastDeliveryID(message)}, func(scan sqldb.Scanner) error {
			var id string
			var version int64
			err := scan(&id, &version)
			past[id] = version
			return err
		})
	if err != nil {
		return nil, err
	}
	salvaged, err := sqldb.All(t.Query, layout.SalvageDelivery, standingText(t.DB.Dialect), message, posthouse.LastDeliveryID(message), string(work.InLine(l.Name)))
	if err != nil {
		return nil, err
	}
	for i := range salvaged {
		d, wrong := &salvaged[i].Delivery, salvaged[i].Wrong
		if d.Version < past[d.ID] {
			wrong, d.Version = "its history goes on after its row", past[d.ID]
		}
		if wrong == "" {
			continue
		}
		if _, err := t.Exec("DELETE FROM posthouse_queue WHERE id = ?", d.ID); err != nil {
			return nil, err
		}
		if err := t.Insert(layout.Queue, [][]any{layout.DeliveryValues(d)}); err != nil {
			return nil, err
		}
		changes = append(changes, how.SetAside(*d, "the row of this delivery cannot be read: "+wrong))
		t.DB.Log.Error("a delivery in line cannot be read: it is quarantined", "tenant", l.Tenant, "channel", l.Channel, "delivery", d.ID, "error", wrong)
	}
	return changes, nil
}
