package store

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/schema"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// Epoch is the number of times that this database was restored, promoted or cloned. Claims
// name it, so a process from before claims nothing. While a bump is under way, or was
// interrupted, there is none: an error of code unavailable.
func (s Epochs) Epoch(ctx context.Context) (int64, error) {
	n, err := readEpoch(s.db.Reads(ctx))
	if err != nil {
		return 0, s.db.Coded(err, "read the epoch")
	}
	if n < 0 {
		return 0, posthouse.Errorf(posthouse.CodeUnavailable, "the epoch is being raised: if no other process does, raise it again")
	}
	return n, nil
}

func readEpoch(from sqldb.Lookup) (int64, error) {
	text, _, err := sqldb.First(from, sqldb.Word, "SELECT value FROM posthouse_meta WHERE name = 'epoch'")
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the epoch %q in the database is not a number", text)
	}
	return n, nil
}

// BumpEpoch is for a database that is a copy: restored, promoted or cloned. Whatever may have
// been sent since the copy was taken is held as unknown, so that nothing leaves twice: what
// was tried before, and what was due. It returns how many deliveries it held. What was in the
// outbox waits there for a person, and so do campaigns that ran, notifications that wait
// for anything or still owe an end (somebody may have acknowledged since), and reminders with a
// slot that has come. The rest stays as it is.
//
// While it works the epoch is negative, which no process has: nobody claims. An interrupted
// bump is finished by the next.
func (s Epochs) BumpEpoch(ctx context.Context, now time.Time) (held int, err error) {
	var next, began int64
	err = s.change(ctx, now, "begin an epoch", func(t *tx) error {
		old, err := raising{t}.lockEpoch()
		if err != nil {
			return err
		}
		next = -old
		if old > 0 {
			next = old + 1
		}
		return raising{t}.setEpoch(-next)
	})
	if err != nil {
		return 0, err
	}
	err = s.change(ctx, now, "wait for what is being started", func(t *tx) error { return t.AwaitStarts() })
	if err != nil {
		return 0, err
	}
	// The outbox, the notifications and the reminders first: what a process makes of them before they are held, stands in the queue since before this began.
	err = Outbox{s.shared}.holdOutbox(ctx, now)
	if err == nil {
		err = s.holdTold(ctx, now)
	}
	if err == nil {
		err = s.change(ctx, now, "look at the clock", func(t *tx) (err error) {
			began, err = t.Now()
			return err
		})
	}
	if err == nil {
		err = s.expandAll(ctx, now)
	}
	if err == nil {
		held, err = s.holdQueue(ctx, now, next, began)
	}
	if err != nil {
		return held, err
	}
	return held, s.change(ctx, now, "end an epoch", func(t *tx) error {
		if err := schema.BeginHistory(t.Tx); err != nil {
			return err
		}
		// A member that is unsent in the copy may have been sent to since: a campaign goes on when a person says so.
		_, err := t.Exec("UPDATE posthouse_campaigns SET state = ?, reason = ?, version = version + 1 WHERE state = ?",
			string(posthouse.CampaignPaused), work.ReasonEpochHold, string(posthouse.CampaignRunning))
		if err != nil {
			return err
		}
		// One that is scheduled in the copy may have begun since: it begins when a person says so.
		_, err = t.Exec("UPDATE posthouse_campaigns SET state = ?, reason = ?, start_at = 0, version = version + 1 WHERE state = ?",
			string(posthouse.CampaignReady), work.ReasonEpochHold, string(posthouse.CampaignScheduled))
		if err != nil {
			return err
		}
		return raising{t}.setEpoch(next)
	})
}

// lockEpoch reads the epoch and keeps others from raising it.
func (t raising) lockEpoch() (int64, error) {
	if err := t.Serialize(); err != nil {
		return 0, err
	}
	return readEpoch(t.Query)
}

func (t raising) setEpoch(n int64) error {
	_, err := t.Exec("UPDATE posthouse_meta SET value = ? WHERE name = 'epoch'", strconv.FormatInt(n, 10))
	return err
}

// holdQueue goes once over the queue. Nothing that it has passed can be sent any more: nobody claims, and what was unknown has
// lost its policy. It returns how many deliveries it held.
func (s Epochs) holdQueue(ctx context.Context, now time.Time, epoch, began int64) (held int, err error) {
	return s.inOrder(ctx, now, "hold what may have been sent", func(t *tx, last string) (int, string, error) { return raising{t}.holdAfter(last, epoch, began) })
}

// holdAfter deals with the deliveries that follow an id: those that may have been sent are held, and those that were unknown
// before are left to a person too. It returns how many it held, and the last one's id, empty where none was left.
func (t raising) holdAfter(last string, epoch, began int64) (held int, next string, err error) {
	list, err := sqldb.All(t.Query, layout.ReadDelivery, "SELECT "+layout.Queue.List+" FROM posthouse_queue"+t.DB.Dialect.By(sqldb.Primary)+
		" WHERE id > ? ORDER BY id LIMIT ?"+t.DB.Dialect.Lock, last, sqldb.BulkStep)
	if err != nil || len(list) == 0 {
		return 0, "", err
	}
	var open, unknown []posthouse.Delivery
	for i := range list {
		switch d := &list[i]; {
		case mayBeSent(d, began):
			open = append(open, *d)
		case d.State == posthouse.Unknown && (d.OnUnknown != posthouse.Hold || !d.DueAt.IsZero()):
			unknown = append(unknown, *d)
		}
	}
	if err := t.holdEpoch(open, epoch, work.ReasonEpochHold); err != nil {
		return 0, "", err
	}
	return len(open), list[len(list)-1].ID, t.holdEpoch(unknown, epoch, "")
}

// mayBeSent reports whether a delivery may have been sent since the copy was made: what was tried before, is being sent, or
// was due when the epoch began.
func mayBeSent(d *posthouse.Delivery, began int64) bool {
	switch d.State {
	case posthouse.Sending:
		return true
	case posthouse.Pending:
		return d.Attempts > 0 || sqldb.Micros(d.DueAt) <= began && sqldb.Micros(d.CreatedAt) <= began
	}
	return false
}

// holdEpoch leaves deliveries that may have been sent to a person (T28): no policy and no timer moves them any more. Without
// a reason they keep theirs.
func (t raising) holdEpoch(list []posthouse.Delivery, epoch int64, reason string) error {
	if len(list) == 0 {
		return nil
	}
	at, err := t.Now()
	if err != nil {
		return err
	}
	ids := make([]string, len(list))
	events := make([][]any, len(list))
	told := t.news()
	tally := layout.Counting{}
	for i := range list {
		d := &list[i]
		after := *d
		after.State = posthouse.Unknown
		tally.Move(d, &after)
		ids[i] = d.ID
		event := posthouse.Event{
			Delivery: d.ID, Version: d.Version + 1, Tenant: d.Tenant, At: sqldb.TimeOf(at), Type: posthouse.EventEpochHold,
			From: d.State, To: posthouse.Unknown, Token: d.Token, Reason: cmp.Or(reason, d.Reason), Epoch: epoch,
			Account: d.Account, Tries: d.Tries,
		}
		events[i] = layout.EventValues(&event)
		told.add(d, &event, nil)
	}
	set, values := "", []any{epoch, at}
	if reason != "" {
		set, values = ", reason = ?", append(values, reason)
	}
	clause, args := t.Among("id", ids)
	if _, err := t.Exec("UPDATE posthouse_queue"+t.DB.Dialect.By(sqldb.Primary)+` SET state = 'unknown', on_unknown = 'hold', version = version + 1, epoch = ?,
		due_at = 0, started_at = 0, lease_until = 0, lease_owner = '', updated_at = ?`+set+" WHERE "+clause, append(values, args...)...); err != nil {
		return err
	}
	if err := t.Insert(layout.Events, events); err != nil {
		return err
	}
	if err := t.tell(told); err != nil {
		return err
	}
	return t.count(tally)
}

// holdTold leaves to a person, of each tenant, what people may have been told of in the other copy: notifications, and reminders whose slot had come.
func (s Epochs) holdTold(ctx context.Context, now time.Time) error {
	var began int64
	err := s.change(ctx, now, "look at the clock", func(t *tx) (err error) {
		began, err = t.Now()
		return err
	})
	for tenant := ""; err == nil; {
		next, found, failed := sqldb.First(s.db.Reads(ctx), sqldb.Word, "SELECT tenant FROM posthouse_plans WHERE tenant > ? ORDER BY tenant LIMIT 1", tenant)
		if failed != nil || !found {
			err = failed
			break
		}
		tenant = next
		if err = s.holdNotifications(ctx, now, tenant); err == nil {
			err = s.holdReminders(ctx, now, tenant, began)
		}
	}
	if err == nil {
		err = s.holdMoments(ctx, now)
	}
	return s.db.Coded(err, "hold what people may have been told of")
}

// holdNotifications leaves to a person all notifications of a tenant that wait: what of them came next may have come in the other copy, or may
// have been ended by an acknowledgement there.
func (s Epochs) holdNotifications(ctx context.Context, now time.Time, tenant string) error {
	_, err := s.inOrder(ctx, now, "hold what waits", func(t *tx, last string) (int, string, error) {
		ids, err := sqldb.All(t.Query, sqldb.Word, "SELECT id FROM posthouse_plans WHERE tenant = ? AND type = ? AND state = ? AND state <> '' AND id > ? ORDER BY id LIMIT ?"+t.DB.Dialect.Lock,
			tenant, string(work.PlanNotification), string(posthouse.NotificationWaiting), last, sqldb.BulkStep)
		if err != nil || len(ids) == 0 {
			return 0, "", err
		}
		return len(ids), ids[len(ids)-1], raising{t}.holdPlans(tenant, work.PlanNotification, ids)
	})
	return err
}

// holdMoments holds what is left of notifications that have a moment to come: they have ended, and people are to hear of it.
func (s Epochs) holdMoments(ctx context.Context, now time.Time) error {
	_, err := s.inOrder(ctx, now, "hold what is to come", func(t *tx, last string) (int, string, error) {
		owing, err := sqldb.All(t.Query, readPlanKey, "SELECT tenant, type, id, version FROM posthouse_plans WHERE next_at > 0 AND type = ? AND id > ? ORDER BY id LIMIT ?"+t.DB.Dialect.Lock,
			string(work.PlanNotification), last, sqldb.BulkStep)
		if err != nil || len(owing) == 0 {
			return 0, "", err
		}
		for i := range owing {
			if err := (raising{t}).holdPlans(owing[i].Tenant, work.PlanNotification, []string{owing[i].ID}); err != nil {
				return 0, "", err
			}
		}
		return len(owing), owing[len(owing)-1].ID, nil
	})
	return err
}

// holdReminders leaves to a person the reminders of a tenant with a slot that had come when the epoch began, also where nothing could be made of
// it yet: the other copy may have sent it. A slot that is to come belongs to this one.
func (s Epochs) holdReminders(ctx context.Context, now time.Time, tenant string, began int64) error {
	_, err := s.inOrder(ctx, now, "hold the reminders", func(t *tx, last string) (int, string, error) {
		ids, err := sqldb.All(t.Query, sqldb.Word, "SELECT id FROM posthouse_plans WHERE tenant = ? AND type = ? AND next_at > 0 AND (next_at <= ? OR failures > 0) AND id > ? ORDER BY id LIMIT ?"+t.DB.Dialect.Lock,
			tenant, string(work.PlanReminder), began, last, sqldb.BulkStep)
		if err != nil || len(ids) == 0 {
			return 0, "", err
		}
		return len(ids), ids[len(ids)-1], raising{t}.holdPlans(tenant, work.PlanReminder, ids)
	})
	return err
}

// holdPlans takes the moments of a tenant's plans of a type away until a person lets them go. It raises their versions,
// so that a process that read one before cannot write it.
func (t raising) holdPlans(tenant string, of work.PlanType, ids []string) error {
	at, err := t.Now()
	if err != nil {
		return err
	}
	clause, args := t.Among("id", ids)
	_, err = t.Exec("UPDATE posthouse_plans SET held = ?, next_at = 0, version = version + 1, updated_at = ? WHERE tenant = ? AND type = ? AND held = '' AND "+clause,
		append([]any{work.ReasonEpochHold, at, tenant, string(of)}, args...)...)
	return err
}

// expandAll expands every open clean delivery. Nobody may claim meanwhile.
func (s Epochs) expandAll(ctx context.Context, now time.Time) error {
	for {
		n := 0
		err := s.change(ctx, now, "expand what waits", func(t *tx) (err error) {
			n, err = expanding{t}.expandDue(nil, sqldb.BulkStep)
			return err
		})
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
	}
	return s.change(ctx, now, "expand what is in flight", func(t *tx) error { return expanding{t}.expandFlights() })
}
