package verify

import (
	"fmt"
	"iter"
	"time"

	"github.com/posthouse/posthouse"
)

// Stored is what a database holds of one message beside the log: its row, and those of its deliveries.
type Stored struct {
	ID string
	// Message is nil where there is none for the deliveries, or none that can be read.
	Message    *posthouse.Message
	Recipients int // that it was accepted for
	Deliveries []posthouse.Delivery
}

// rowReader walks over what is stored beside the log, which has the same order.
type rowReader struct {
	next func() (Stored, error, bool)
	stop func()
	now  Stored
	more bool
}

func newRowReader(rows iter.Seq2[Stored, error]) (*rowReader, error) {
	next, stop := iter.Pull2(rows)
	r := &rowReader{next: next, stop: stop}
	return r, r.read()
}

// read goes to the next message.
func (r *rowReader) read() (err error) {
	r.now, err, r.more = r.next()
	return err
}

// judgeRows compares what is stored of a message with what the log says of it (I34). What is stored of messages before it is
// not in the log.
func (c keeping) judgeRows(id string, list []history) error {
	r := c.rows
	if r == nil {
		return nil
	}
	for r.more && r.now.ID < id {
		c.unlogged(&r.now)
		if err := r.read(); err != nil {
			return err
		}
	}
	stored := Stored{ID: id}
	if r.more && r.now.ID == id {
		stored = r.now
		if err := r.read(); err != nil {
			return err
		}
	}
	c.checked(stands, 1)
	c.judgeStored(&stored, list)
	return nil
}

// finishRows judges what is stored of messages after the last one of the log.
func (c keeping) finishRows() error {
	for r := c.rows; r != nil && r.more; {
		c.unlogged(&r.now)
		if err := r.read(); err != nil {
			return err
		}
	}
	return nil
}

// unlogged is a message of which the log knows nothing.
func (c keeping) unlogged(s *Stored) {
	if s.Message != nil && !c.settledDown(s.Message.CreatedAt) {
		return // it was accepted while the log was read
	}
	c.fail(stands, s.ID, line("%d of its deliveries are stored", len(s.Deliveries)), "it is stored, and the log knows nothing of it")
}

// lately is how long before the log was read a row may have changed and be left out, where the run goes on: its change may
// not have been committed then.
const lately = time.Minute

// settledDown reports whether a row of a time was there when the log was read.
func (c keeping) settledDown(at time.Time) bool {
	return c.in.AtRest || c.in.Now.IsZero() || at.Before(c.in.Now.Add(-lately))
}

// judgeStored compares a message's rows with its histories.
func (c keeping) judgeStored(s *Stored, list []history) {
	rows := map[string]*posthouse.Delivery{}
	for i := range s.Deliveries {
		rows[s.Deliveries[i].ID] = &s.Deliveries[i]
	}
	first := 0
	for _, h := range list {
		d := rows[h.id]
		delete(rows, h.id)
		if !h.replay() {
			first++
		}
		switch {
		case d != nil:
			c.judgeRow(s.Message, d, h)
			c.noteWhom(d, h)
			c.judgeSuppressed(s.Message, d, h)
		case c.in.AtRest: // else it may have been pruned since
			c.fail(stands, h.id, h.show(len(h.events)-1), "the log knows it, and it is not stored")
		}
	}
	for id, d := range rows {
		if c.settledDown(d.CreatedAt) {
			c.fail(stands, id, line("a row of version %d, %s", d.Version, d.State), "it is stored, and the log knows nothing of it")
		}
	}
	last := list[0].last()
	switch {
	case !c.settledDown(last.At):
	case s.Message == nil:
		c.fail(stands, s.ID, list[0].show(0), "its message is not stored, or cannot be read")
	case s.Recipients < first: // more may have been pruned since
		c.fail(stands, s.ID, list[0].show(0), "it was for %d recipients, and the log knows %d", s.Recipients, first)
	}
}

// judgeRow holds that a row is what the last event of its delivery made it.
func (c keeping) judgeRow(m *posthouse.Message, d *posthouse.Delivery, h history) {
	if !c.settledDown(d.UpdatedAt) {
		return
	}
	for _, f := range comparisons(m, d, h) {
		if f.stored != f.log {
			c.fail(stands, h.id, h.show(len(h.events)-1), "its %s is stored as %v, and by the log it is %v", f.name, f.stored, f.log)
		}
	}
}

// line is a proof of one line.
func line(format string, args ...any) func() []string {
	return func() []string { return []string{fmt.Sprintf(format, args...)} }
}

// judgeKept holds that an event says of its delivery what the one before said, where it does not change it (I6): the account and
// the epoch of its claim, and when it is due. Only a claim has a lease, and nothing is due that has settled.
func (c keeping) judgeKept(h history) {
	for i := 1; i < len(h.events); i++ {
		e, before := &h.events[i], &h.events[i-1]
		begins := e.Type == posthouse.EventStart || e.Type == posthouse.EventClaim
		switch {
		case e.Epoch != before.Epoch && !begins && e.Type != posthouse.EventEpochHold:
			c.fail(chain, h.id, h.show(i-1, i), "the epoch was %d and is %d after %s", before.Epoch, e.Epoch, e.Type)
		case e.Account != before.Account && !begins && e.Type != posthouse.EventMove:
			c.fail(chain, h.id, h.show(i-1, i), "the account was %q and is %q after %s", before.Account, e.Account, e.Type)
		case !e.LeaseUntil.IsZero() && !begins:
			c.fail(chain, h.id, h.show(i), "a %s says until when a lease runs", e.Type)
		case !e.Due.IsZero() && !e.To.Open():
			c.fail(chain, h.id, h.show(i), "it is %s, and due", e.To)
		case claims(e) && !e.Due.IsZero() && !before.Due.IsZero() && !e.Due.Equal(before.Due):
			c.fail(chain, h.id, h.show(i-1, i), "it was due at %s, and was claimed as due at %s", stampText(before.Due), stampText(e.Due))
		}
	}
}

// failover is the reason of a retry by another account at once.
const failover = "failover"

// judgeClass holds that the class of a result is that of what followed it (I5).
func (c keeping) judgeClass(h history) {
	for i := range h.events {
		e := &h.events[i]
		wrong := false
		switch explains := e.Reason == "" || e.Reason == string(e.Class); e.Type {
		case posthouse.EventSent:
			wrong = e.Class != posthouse.ClassOK && e.Class != ""
		case posthouse.EventAmbiguous:
			wrong = e.Class != posthouse.ClassUnknown && e.Class != ""
		case posthouse.EventRetry:
			wrong = e.Class == posthouse.ClassOK || e.Class.Final() || !explains && e.Reason != string(posthouse.ClassUnknown) && (e.Reason != failover || !e.Class.Blocks())
		case posthouse.EventFail:
			wrong = e.Class == posthouse.ClassOK || e.Class.Final() && !explains
		}
		if wrong {
			c.fail(legal, h.id, h.show(i), "a %s with the reason %q cannot follow a result of the class %q", e.Type, e.Reason, e.Class)
		}
	}
}

// Reference is a row that names a message: that of a dedup key, or the answer that is kept for an Idempotency-Key.
type Reference struct {
	Name    string // such as "dedup key 3_1_0 of oa"
	Message string
	// Missing says that there is no such message. Wrong is what is not as the row says, empty for nothing.
	Missing bool
	Wrong   string
}

// youngReference is how old a message may be that a key stands for and that is not there: an older one may have been pruned
// before its key.
const youngReference = 24 * time.Hour

// judgeReferences holds that keys stand for messages there are (I35), and that the database's epoch is not before the log's.
func (c keeping) judgeReferences() error {
	now := c.in.Now
	if now.IsZero() {
		now = c.report.To
	}
	young := posthouse.FirstID(now.Add(-youngReference))[:10]
	if c.in.References != nil {
		for r, err := range c.in.References {
			if err != nil {
				return err
			}
			c.checked(references, 1)
			proof := line("%s → %s", r.Name, r.Message)
			switch {
			case r.Wrong != "":
				c.fail(references, r.Name, proof, "%s", r.Wrong)
			case r.Missing && r.Message >= young:
				c.fail(references, r.Name, proof, "it stands for the message %s, which is not there", r.Message)
			}
		}
	}
	for number := range c.epochs.seen {
		if c.in.Rows != nil && number > c.in.Epoch {
			c.fail(epoch, fmt.Sprintf("epoch %d", number), line("%s", c.epochs.starts[number].subject), "the log has events of epoch %d, and the database is in epoch %d", number, c.in.Epoch)
		}
	}
	return nil
}
