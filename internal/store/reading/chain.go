package reading

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// A part of what WholeAfter reads: so many messages, and no more of their deliveries where there are several messages.
const (
	wholeMessages   = 1000
	wholeDeliveries = 5000
)

// WholeAfter reads the messages of all tenants that follow an id, with all that is stored of them, and returns the last id of
// the part, empty at the end.
func (s Chain) WholeAfter(ctx context.Context, after string) (list []work.Whole, last string, err error) {
	list, last, err = s.messagesAfter(ctx, after)
	if err == nil && len(list) > 0 {
		err = s.fillWhole(ctx, list, after, posthouse.LastDeliveryID(list[len(list)-1].ID))
	}
	return list, last, s.db.Coded(err, "read what is stored")
}

// WholeOf reads one message with all that is stored of it, nil where there is none.
func (s Chain) WholeOf(ctx context.Context, tenant, id string) (*work.Whole, error) {
	found, ok, err := sqldb.First(s.db.Reads(ctx), layout.ReadSummary, "SELECT "+layout.Messages.List+" FROM posthouse_messages WHERE id = ? AND tenant = ?", id, tenant)
	if err != nil || !ok {
		return nil, s.db.Coded(err, "read what is stored")
	}
	list := []work.Whole{{ID: found.Message.ID, Message: &found.Message, Recipients: found.Recipients}}
	last := posthouse.LastDeliveryID(id)
	err = s.fillWhole(ctx, list, last[:len(last)-deliveryDigits], last)
	return &list[0], s.db.Coded(err, "read what is stored")
}

// deliveryDigits is how much of an id is the number of a delivery: what stands before it is the message's alone.
const deliveryDigits = 4

// messagesAfter reads the rows of messages, and where the part ends if there may be more.
func (s Chain) messagesAfter(ctx context.Context, after string) (list []work.Whole, last string, err error) {
	deliveries := 0
	found, err := sqldb.All(s.db.Reads(ctx), layout.ReadSummary, fmt.Sprintf("SELECT %s FROM posthouse_messages WHERE id > ? ORDER BY id LIMIT %d", layout.Messages.List, wholeMessages), after)
	for i := range found {
		if deliveries += found[i].Recipients; i > 0 && deliveries > wholeDeliveries {
			found = found[:i]
			last = posthouse.LastDeliveryID(found[i-1].Message.ID)
			break
		}
	}
	if last == "" && len(found) == wholeMessages {
		last = posthouse.LastDeliveryID(found[len(found)-1].Message.ID)
	}
	list = make([]work.Whole, len(found))
	for i := range found {
		list[i] = work.Whole{ID: found[i].Message.ID, Message: &found[i].Message, Recipients: found[i].Recipients}
	}
	return list, last, err
}

// fillWhole adds the deliveries and events between two ids to their messages.
func (s Chain) fillWhole(ctx context.Context, list []work.Whole, after, last string) error {
	place := make(map[string]*work.Whole, len(list))
	for i := range list {
		place[list[i].ID] = &list[i]
	}
	sole := &clean{where: sqldb.Where("m.sole = 1 AND m.id > ? AND m.id <= ?", after, last), pending: true, sending: true, sent: true}
	deliveries, err := Messages{s.reader}.merged(ctx, states{open: true, settled: true}, sqldb.Where("id > ? AND id <= ?", after, last), sole, "id", math.MaxInt32)
	if err != nil {
		return err
	}
	rows := make(map[string]*posthouse.Delivery, len(deliveries))
	for i := range deliveries {
		d := &deliveries[i]
		rows[d.ID] = d
		if w := place[d.Message]; w != nil {
			w.Deliveries = append(w.Deliveries, *d)
		}
	}
	events, err := s.eventsWithin(ctx, list[0].ID, after, last)
	for i := range events {
		e := &events[i]
		if d := rows[e.Delivery]; d != nil {
			fill(e, d)
		}
		if w := place[posthouse.MessageID(e.Delivery)]; w != nil {
			w.Events = append(w.Events, *e)
		}
	}
	return err
}

// eventsWithin reads the events of the deliveries above one id and up to another; first is the first message there. The clean
// ones are read first: what is expanded meanwhile has its rows by then, and they count.
func (s Chain) eventsWithin(ctx context.Context, first, after, last string) ([]posthouse.Event, error) {
	sole, err := History{s.reader}.cleanEvents(ctx, "", first, last, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	rows, err := sqldb.All(s.db.Reads(ctx), layout.ReadEvent, "SELECT "+layout.Events.List+" FROM posthouse_transitions WHERE delivery > ? AND delivery <= ? ORDER BY delivery, version", after, last)
	if err != nil || len(sole)+len(rows) == 0 {
		return nil, err
	}
	list, _ := interleave(rows, sole, false, false)
	return list, nil
}

// KeysWithin reads the keys that stand for what has an id above one and up to another: the Idempotency-Keys of what was asked,
// and the dedup keys of messages.
func (s Chain) KeysWithin(ctx context.Context, after, last string) ([]work.Key, error) {
	list, err := sqldb.All(s.db.Reads(ctx), readKey, "SELECT owner, tenant, endpoint, idem_key, body_hash, answer, created_at, expires_at, 0"+
		" FROM posthouse_idempotency WHERE owner > ? AND owner <= ? ORDER BY owner", after, last)
	if err != nil {
		return nil, s.db.Coded(err, "read what keys stand for")
	}
	dedup, err := sqldb.All(s.db.Reads(ctx), readKey, `SELECT m.id, m.tenant, m.channel, m.dedup_key, '', '', COALESCE(d.created_at, 0), COALESCE(d.expires_at, 0), COALESCE(k.deleted, 0)
		FROM posthouse_messages m
		LEFT JOIN posthouse_dedup d ON d.tenant = m.tenant AND d.channel = m.channel AND d.dedup_key = m.dedup_key AND d.message_id = m.id
		LEFT JOIN posthouse_notify_marks k ON k.tenant = m.tenant AND k.job = m.id
		WHERE m.id > ? AND m.id <= ? AND m.dedup_key <> '' AND (d.created_at IS NOT NULL OR k.deleted = 1) ORDER BY m.id`, after, last)
	return append(list, dedup...), s.db.Coded(err, "read what keys stand for")
}

// AcksWithin reads the notifications that somebody has acknowledged and whose ids are above one and up to another. It looks at each tenant by
// itself, as plans lie by the tenant, and at all of them: what one look sealed and another left out would be taken for gone.
func (s Chain) AcksWithin(ctx context.Context, after, last string) (list []posthouse.Notification, err error) {
	for tenant := ""; ; {
		next, found, err := sqldb.First(s.db.Reads(ctx), sqldb.Word, "SELECT tenant FROM posthouse_plans WHERE tenant > ? ORDER BY tenant LIMIT 1", tenant)
		if err != nil || !found {
			return list, s.db.Coded(err, "read acknowledgements")
		}
		tenant = next
		part, err := sqldb.All(s.db.Reads(ctx), readAck, "SELECT id, tenant, doc FROM posthouse_plans WHERE tenant = ? AND type = ? AND state = ? AND state <> '' AND id > ? AND id <= ? ORDER BY id",
			tenant, string(work.PlanNotification), string(posthouse.NotificationAcknowledged), after, last)
		if err != nil {
			return nil, s.db.Coded(err, "read acknowledgements")
		}
		list = append(list, part...)
	}
}

// readAck reads who has acknowledged a notification: of one whose document cannot be read, nobody.
func readAck(scan sqldb.Scanner) (n posthouse.Notification, err error) {
	var id, tenant string
	var doc []byte
	if err := scan(&id, &tenant, &doc); err != nil {
		return n, err
	}
	var says struct {
		Ack *posthouse.Acknowledgement `json:"acknowledgement"`
	}
	_ = json.Unmarshal(doc, &says) // whoever follows the route tells of it
	return posthouse.Notification{ID: id, Tenant: tenant, Ack: says.Ack}, nil
}

func readKey(scan sqldb.Scanner) (work.Key, error) {
	var k work.Key
	var created, expires, freed int64
	err := scan(&k.ID, &k.Tenant, &k.Scope, &k.Name, &k.BodyHash, &k.Answer, &created, &expires, &freed)
	k.CreatedAt, k.ExpiresAt = sqldb.TimeOf(created), sqldb.TimeOf(expires)
	if freed != 0 {
		return work.Key{ID: k.ID, Freed: true}, err
	}
	return k, err
}

const checkpointColumns = "seq, at, pass, low_id, high_id, keep, messages, body_hash, prev, hash, body"

func readCheckpoint(scan sqldb.Scanner) (work.Checkpoint, error) {
	var c work.Checkpoint
	var at, keep int64
	err := scan(&c.Seq, &at, &c.Pass, &c.Low, &c.High, &keep, &c.Messages, &c.BodyHash, &c.Prev, &c.Hash, &c.Body)
	c.At, c.Keep = sqldb.TimeOf(at), time.Duration(keep)*time.Microsecond
	return c, err
}

// LastCheckpoint is the last link of a pass of the hash chain, or of all for a negative one.
func (s Chain) LastCheckpoint(ctx context.Context, pass int) (work.Checkpoint, bool, error) {
	c, found, err := sqldb.First(s.db.Reads(ctx), readCheckpoint, "SELECT "+checkpointColumns+" FROM posthouse_checkpoints WHERE pass = ? OR ? < 0 ORDER BY seq DESC LIMIT 1", pass, pass)
	return c, found, s.db.Coded(err, "read the hash chain")
}

// Checkpoints reads links of the hash chain in their order, some at a time.
func (s Chain) Checkpoints(ctx context.Context, after int64) ([]work.Checkpoint, error) {
	list, err := sqldb.All(s.db.Reads(ctx), readCheckpoint, "SELECT "+checkpointColumns+" FROM posthouse_checkpoints WHERE seq > ? ORDER BY seq LIMIT 50", after)
	return list, s.db.Coded(err, "read the hash chain")
}

// CheckpointOf is the last link of the hash chain that has sealed an id and has its body, else the last that has sealed it.
func (s Chain) CheckpointOf(ctx context.Context, id string) (work.Checkpoint, bool, error) {
	c, found, err := sqldb.First(s.db.Reads(ctx), readCheckpoint, "SELECT "+checkpointColumns+" FROM posthouse_checkpoints WHERE seq = ("+
		"SELECT seq FROM posthouse_checkpoints WHERE low_id < ? AND high_id >= ? ORDER BY CASE WHEN body = '' THEN 1 ELSE 0 END, pass DESC, seq DESC LIMIT 1)", id, id)
	return c, found, s.db.Coded(err, "read the hash chain")
}

// AddCheckpoint adds a link to the hash chain behind the one whose hash is its Prev, and takes away bodies that it makes
// needless: those of the pass before up to where it ends, and those that end before an id.
func (s Chain) AddCheckpoint(ctx context.Context, now time.Time, c work.Checkpoint, forget string) error {
	return s.db.Change(ctx, now, "add to the hash chain", func(t *sqldb.Tx) error {
		if err := t.Serialize(); err != nil {
			return err
		}
		last, _, err := sqldb.First(t.Query, readCheckpoint, "SELECT "+checkpointColumns+" FROM posthouse_checkpoints ORDER BY seq DESC LIMIT 1")
		if err != nil {
			return err
		}
		if last.Hash != c.Prev || last.Seq+1 != c.Seq {
			return posthouse.Errorf(posthouse.CodeConflict, "another process has added to the hash chain")
		}
		_, err = t.Exec("INSERT INTO posthouse_checkpoints ("+checkpointColumns+") VALUES ("+sqldb.Marks(11)+")",
			c.Seq, sqldb.Micros(c.At), c.Pass, c.Low, c.High, c.Keep.Microseconds(), c.Messages, c.BodyHash, c.Prev, c.Hash, c.Body)
		if err == nil {
			_, err = t.Exec("UPDATE posthouse_checkpoints SET body = '' WHERE body <> '' AND (pass = ? AND high_id <= ? OR high_id < ?)", c.Pass-1, c.High, forget)
		}
		return err
	})
}
