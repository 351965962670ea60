package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/registry"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// replayable are the states that a person may want to repeat (T27).
var replayable = []posthouse.State{posthouse.Failed, posthouse.Expired, posthouse.Quarantined, posthouse.Undelivered}

// AddReplay makes a new delivery for each that ended badly: the same message to the same
// recipient, due now, linked by ReplayOf. The old one does not change. With forceNew the
// provider is given a new idempotency key; without it one that remembers the old key will not
// tell the recipient twice. A deadline that has passed is dropped.
func (s Submissions) AddReplay(ctx context.Context, now time.Time, tenant string, ids []string, forceNew bool) ([]work.Replay, error) {
	return s.ReplayOnce(ctx, now, tenant, ids, forceNew, time.Time{})
}

// ReplayOnce is AddReplay that makes no new delivery where one was made since a moment, whatever became of it: that one stands
// for it. The zero moment asks for none.
func (s Submissions) ReplayOnce(ctx context.Context, now time.Time, tenant string, ids []string, forceNew bool, since time.Time) ([]work.Replay, error) {
	var done []work.Replay
	for part := range sqldb.Parts(ids, sqldb.BulkStep) {
		var made []work.Replay
		err := s.change(ctx, now, "replay", func(t *tx) (err error) {
			made, err = replaying{t}.replay(tenant, part, forceNew, since)
			return err
		})
		if err != nil {
			return done, err
		}
		done = append(done, made...)
	}
	return done, nil
}

// ReplaysBetween are the replays of deliveries that wait, and were made between two moments.
func (s Submissions) ReplaysBetween(ctx context.Context, tenant string, ids []string, since, until time.Time) ([]string, error) {
	var list []string
	for _, id := range ids {
		low, high := layout.DeliveryRange(posthouse.MessageID(id))
		found, err := sqldb.All(s.db.Reads(ctx), sqldb.Word, "SELECT id FROM posthouse_queue WHERE id > ? AND id <= ? AND replay_of = ? AND tenant = ? AND state = 'pending' AND created_at >= ? AND created_at <= ?",
			low, high, id, tenant, sqldb.Micros(since), sqldb.Micros(until))
		if err != nil {
			return nil, s.db.Coded(err, "look for replays")
		}
		list = append(list, found...)
	}
	return list, nil
}

func (t replaying) replay(tenant string, ids []string, forceNew bool, since time.Time) ([]work.Replay, error) {
	recipients, forget, err := t.lockMessages(tenant, ids)
	if err != nil {
		return nil, err
	}
	olds, err := t.lockReplayed(tenant, ids)
	if err != nil {
		return nil, err
	}
	pulled, err := t.pulledNow(olds)
	if err != nil {
		return nil, err
	}
	epoch, err := readEpoch(t.Query)
	if err != nil {
		return nil, err
	}
	now, err := t.Now()
	if err != nil {
		return nil, err
	}
	r := replayer{told: t.news(), tx: t.tx, at: sqldb.TimeOf(now), epoch: max(epoch, -epoch), forceNew: forceNew, since: since, forget: forget, pulled: pulled, recipients: recipients, last: map[string]int{}, made: map[string]string{}, shared: map[string]bool{}, tally: layout.Counting{}}
	done := make([]work.Replay, len(ids))
	for i, id := range ids {
		done[i].Of = id
		old, known := olds[id]
		if !known {
			done[i].Err = posthouse.Errorf(posthouse.CodeNotFound, "there is no delivery %q", id)
			continue
		}
		done[i].ID, err = r.add(&old)
		done[i].Shared = r.shared[id]
		if posthouse.CodeOf(err) == posthouse.CodeConflict {
			done[i].Err = err
		} else if err != nil {
			return nil, err
		}
	}
	if err := t.Insert(layout.Queue, r.queued); err != nil {
		return nil, err
	}
	if err := t.Insert(layout.Events, r.events); err != nil {
		return nil, err
	}
	if err := t.tell(r.told); err != nil {
		return nil, err
	}
	return done, t.count(r.tally)
}

// lockMessages locks the messages of deliveries: who numbers a message's deliveries holds its row. It returns how many
// recipients each had, and when the contents of the sensitive ones are forgotten, the zero time for those that are.
func (t replaying) lockMessages(tenant string, ids []string) (recipients map[string]int, forget map[string]time.Time, err error) {
	messages := make([]string, len(ids))
	for i, id := range ids {
		messages[i] = layout.IDOnly(posthouse.MessageID(id))
	}
	slices.Sort(messages)
	clause, args := t.Among("id", slices.Compact(messages))
	recipients, forget = map[string]int{}, map[string]time.Time{}
	var sensitive []string
	err = t.Query("SELECT id, recipients, options FROM posthouse_messages WHERE "+clause+" AND tenant = ? ORDER BY id"+t.DB.Dialect.Lock, append(args, tenant), func(scan sqldb.Scanner) error {
		var m posthouse.Message
		var n int
		var options string
		err := scan(&m.ID, &n, &options)
		recipients[m.ID] = n
		if layout.ReadOptions(options, &m); m.Sensitive {
			forget[m.ID], sensitive = time.Time{}, append(sensitive, m.ID)
		}
		return err
	})
	if err != nil || len(sensitive) == 0 {
		return recipients, forget, err
	}
	clause, args = t.In("message", sensitive)
	return recipients, forget, t.Query("SELECT message, forget_at FROM posthouse_sealed WHERE "+clause, args, func(scan sqldb.Scanner) error {
		var id string
		var at int64
		err := scan(&id, &at)
		forget[id] = sqldb.TimeOf(at)
		return err
	})
}

// pulledNow says of the channels of deliveries whether agents fetch from them now, which may have changed since. One
// that is gone is not in the answer.
func (t replaying) pulledNow(olds map[string]posthouse.Delivery) (map[string]bool, error) {
	pulled := map[string]bool{}
	for _, d := range olds {
		if _, known := pulled[d.Channel]; known {
			continue
		}
		row, found, err := registry.ChannelOf(t.Query, d.Tenant, d.Channel)
		if err != nil {
			return nil, err
		}
		if found && row.Err == nil {
			pulled[d.Channel] = row.Channel.Pull || row.Channel.Driver == "pull"
		}
	}
	return pulled, nil
}

// lockReplayed reads deliveries by id. Their messages are locked.
func (t replaying) lockReplayed(tenant string, ids []string) (map[string]posthouse.Delivery, error) {
	found, err := settling{t.tx}.lockRows(work.Selection{Tenant: tenant, IDs: ids})
	olds := map[string]posthouse.Delivery{}
	for _, d := range found {
		olds[d.ID] = d
	}
	return olds, err
}

// replayer gathers the new deliveries of one transaction.
type replayer struct {
	tx         *tx
	at         time.Time
	epoch      int64
	forceNew   bool
	since      time.Time            // a replay made from then on stands for another; zero for none
	forget     map[string]time.Time // sensitive message → when its content is forgotten
	pulled     map[string]bool      // channel → whether agents fetch from it
	recipients map[string]int       // message → how many it had
	last       map[string]int       // message → the highest number given
	made       map[string]string    // old → new
	shared     map[string]bool      // those that went in one text with others
	told       *news
	queued     [][]any
	events     [][]any
	tally      layout.Counting
}

// add makes a new delivery of an old one, or says with a conflict why not.
func (r *replayer) add(old *posthouse.Delivery) (string, error) {
	if !slices.Contains(replayable, old.State) {
		return "", posthouse.Errorf(posthouse.CodeConflict, "delivery %s is %s: only failed, expired, quarantined and undelivered ones can be replayed", old.ID, old.State)
	}
	if err := r.refuseShared(old); err != nil {
		return "", err
	}
	if !r.since.IsZero() {
		if made, found, err := r.madeSince(old); err != nil || found {
			return made, err
		}
	}
	if err := r.refuseOpen(old); err != nil {
		return "", err
	}
	until, sensitive := r.forget[old.Message]
	if sensitive && !until.After(r.at) {
		return "", posthouse.Errorf(posthouse.CodeConflict, "the content of delivery %s was sensitive and is forgotten: send a new message", old.ID)
	}
	n, err := r.nextNumber(old.Message)
	if err != nil {
		return "", err
	}
	d := again(old, n, r.at, r.epoch, r.forceNew)
	if pulled, known := r.pulled[d.Channel]; known {
		d.Pulled = pulled
	}
	if sensitive && (d.Deadline.IsZero() || d.Deadline.After(until)) {
		d.Deadline = until // nothing open outlives its content
	}
	event := layout.AcceptEvent(&d)
	event.Reason = "replay"
	r.queued, r.events = append(r.queued, layout.DeliveryValues(&d)), append(r.events, layout.EventValues(&event))
	r.told.add(&d, &event, nil)
	r.tally.Add(&d, 1)
	r.made[old.ID] = d.ID
	return d.ID, nil
}

// refuseShared is a conflict where a delivery left with others in one text, which is sent again by the delivery of that text.
func (r *replayer) refuseShared(old *posthouse.Delivery) error {
	if old.Collection == "" || r.tx.gathering == nil {
		return nil
	}
	p, found, err := settling{r.tx}.lockPlan(planKey{old.Tenant, work.PlanCollection, old.Collection})
	if err != nil {
		return err
	}
	if !found {
		return posthouse.Errorf(posthouse.CodeConflict, "the collection %s of delivery %s is not kept any more, so it is not known which of its deliveries tells what: send a new message", old.Collection, old.ID)
	}
	err = r.tx.gathering.MayReplay(p, old.ID)
	r.shared[old.ID] = posthouse.CodeOf(err) == posthouse.CodeConflict
	return err
}

// madeSince is the replay of a delivery that was made since the moment, open or settled.
func (r *replayer) madeSince(old *posthouse.Delivery) (string, bool, error) {
	low, high := layout.DeliveryRange(old.Message)
	const of = "SELECT id FROM %s WHERE id > ? AND id <= ? AND replay_of = ? AND created_at >= ?"
	args := []any{low, high, old.ID, sqldb.Micros(r.since)}
	return sqldb.First(r.tx.Query, sqldb.Word, fmt.Sprintf(of+" UNION ALL "+of+" LIMIT 1", layout.Queue.Name, layout.Settled.Name), slices.Concat(args, args)...)
}

// refuseOpen is a conflict where a replay of the delivery is still under way.
func (r *replayer) refuseOpen(old *posthouse.Delivery) error {
	open, found := r.made[old.ID]
	if !found {
		low, high := layout.DeliveryRange(old.Message)
		var err error
		open, found, err = sqldb.First(r.tx.Query, sqldb.Word, "SELECT id FROM posthouse_queue WHERE id > ? AND id <= ? AND replay_of = ? LIMIT 1", low, high, old.ID)
		if err != nil {
			return err
		}
	}
	if found {
		return posthouse.Errorf(posthouse.CodeConflict, "delivery %s is being replayed already, by %s", old.ID, open)
	}
	return nil
}

func (r *replayer) nextNumber(message string) (n int, err error) {
	if r.last[message] == 0 {
		last, err := replaying{r.tx}.lastNumber(message)
		if err != nil {
			return 0, err
		}
		r.last[message] = max(last, r.recipients[message])
	}
	if r.last[message] == posthouse.MaxDeliveries {
		return 0, posthouse.Errorf(posthouse.CodeConflict, "message %s has no room for another delivery", message)
	}
	r.last[message]++
	return r.last[message], nil
}

// lastNumber is the highest number of a message's deliveries, as far as there is any trace of it: those that were settled
// long ago are gone, and what agents were handed of them may be kept for longer.
func (t replaying) lastNumber(message string) (int, error) {
	low, high := layout.DeliveryRange(message)
	last := 0
	for _, at := range []struct{ table, column string }{{"posthouse_queue", "id"}, {"posthouse_settled", "id"}, {"posthouse_send_log", "delivery"}} { // in the direction rows move
		id, found, err := sqldb.First(t.Query, sqldb.Word, "SELECT "+at.column+" FROM "+at.table+" WHERE "+at.column+" > ? AND "+at.column+" <= ? ORDER BY "+at.column+" DESC LIMIT 1", low, high)
		if err != nil {
			return 0, err
		}
		if found {
			last = max(last, posthouse.DeliveryNumber(id))
		}
	}
	return last, nil
}

// again is a new delivery like an old one.
func again(old *posthouse.Delivery, number int, at time.Time, epoch int64, forceNew bool) posthouse.Delivery {
	d := posthouse.Delivery{
		ID: posthouse.DeliveryID(old.Message, number), Message: old.Message, Tenant: old.Tenant, Channel: old.Channel,
		Recipient: old.Recipient, Priority: old.Priority, Pulled: old.Pulled, State: posthouse.Pending, Version: 1,
		IdemKey: old.IdemKey, OnUnknown: old.OnUnknown, ReplayOf: old.ID, Notification: old.Notification, Epoch: epoch,
		CreatedAt: at, UpdatedAt: at, DueAt: at, Deadline: old.Deadline,
	}
	if old.Pinned {
		d.Account, d.Pinned = old.Account, true
	}
	d.Pool = old.Pool
	if forceNew {
		d.IdemKey = d.ID
	}
	if d.Deadline.Before(at) {
		d.Deadline = time.Time{}
	}
	return d
}
