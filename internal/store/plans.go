package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/page"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

const planColumns = "tenant, type, id, kind, ref, state, doc, version, next_at, failures, error, held, created_at, updated_at"

func readPlan(scan sqldb.Scanner) (work.Plan, error) {
	var p work.Plan
	var next, created, updated int64
	err := scan(&p.Tenant, &p.Type, &p.ID, &p.Kind, &p.Ref, &p.State, &p.Doc, &p.Version, &next, &p.Failures, &p.Error, &p.Held, &created, &updated)
	p.Was = p.State
	p.NextAt, p.CreatedAt, p.UpdatedAt = sqldb.TimeOf(next), sqldb.TimeOf(created), sqldb.TimeOf(updated)
	return p, err
}

// Plan reads one plan; false says that there is none.
func (s Plans) Plan(ctx context.Context, tenant string, kind work.PlanType, id string) (work.Plan, bool, error) {
	p, found, err := sqldb.First(s.db.Reads(ctx), readPlan, "SELECT "+planColumns+" FROM posthouse_plans WHERE tenant = ? AND type = ? AND id = ?", tenant, string(kind), id)
	return p, found, s.db.Coded(err, "read a plan")
}

// Plans lists a tenant's plans of a type by id, a page at a time, and returns the next page's cursor.
func (s Plans) Plans(ctx context.Context, tenant string, kind work.PlanType, cursor string, limit int) ([]work.Plan, string, error) {
	name := "plans " + string(kind)
	after, err := page.Key(name, cursor)
	if err != nil {
		return nil, "", err
	}
	size := page.Size(limit)
	list, err := sqldb.All(s.db.Reads(ctx), readPlan,
		"SELECT "+planColumns+" FROM posthouse_plans WHERE tenant = ? AND type = ? AND id > ? ORDER BY id LIMIT ?", tenant, string(kind), after, size+1)
	if err != nil {
		return nil, "", s.db.Coded(err, "list the plans")
	}
	list, next := page.Cut(list, size, name, func(p work.Plan) string { return p.ID })
	return list, next, nil
}

// PlansByRef lists the plans of a type that are about one thing, at most 10,000: those that have a moment
// still to come first.
func (s Plans) PlansByRef(ctx context.Context, tenant string, kind work.PlanType, about, ref string) ([]work.Plan, error) {
	const most = 10_000
	list, err := sqldb.All(s.db.Reads(ctx), readPlan,
		"SELECT "+planColumns+" FROM posthouse_plans WHERE tenant = ? AND type = ? AND kind = ? AND ref <> '' AND ref = ? ORDER BY next_at DESC, id LIMIT ?",
		tenant, string(kind), about, ref, most)
	return list, s.db.Coded(err, "look up the plans of a ref")
}

// DuePlans lists plans of all tenants whose moment has come, the longest overdue first. It locks
// nothing: whoever writes one says which version he read.
func (s Plans) DuePlans(ctx context.Context, now time.Time, max int) ([]work.Plan, error) {
	due, args := s.db.Instant(now)
	list, err := sqldb.All(s.db.Reads(ctx), readPlan,
		"SELECT "+planColumns+" FROM posthouse_plans WHERE next_at > 0 AND next_at <= "+due+" ORDER BY next_at, id LIMIT ?", append(args, max)...)
	return list, s.db.Coded(err, "look for due plans")
}

// PutOffPlan writes why a plan's moment came in vain, and makes it due again after wait. Its version stays:
// nothing else of it has changed. False says that somebody else has written it meanwhile.
func (s Plans) PutOffPlan(ctx context.Context, now time.Time, p work.Plan, why string, wait time.Duration) (bool, error) {
	held := false
	err := s.change(ctx, now, "put a plan off", func(t *tx) error {
		at, err := t.Now()
		if err != nil {
			return err
		}
		n, err := t.Exec("UPDATE posthouse_plans SET failures = failures + 1, error = ?, next_at = ?, updated_at = ?"+
			" WHERE tenant = ? AND type = ? AND id = ? AND version = ? AND failures = ?",
			why, at+wait.Microseconds(), at, p.Tenant, string(p.Type), p.ID, p.Version, p.Failures)
		held = n == 1
		return err
	})
	return held, err
}

// resolvePlans writes the plans of submissions that are still to be stored. One that has moved on since
// it was read makes its submission a conflict, and then nothing of that one stays.
func (t accepting) resolvePlans(now int64, subs []*work.Submission, outcomes []work.Outcome) error {
	for i, sub := range subs {
		if len(sub.Plans) == 0 || outcomes[i].Err != nil || outcomes[i].Replayed {
			continue
		}
		stale, err := t.writePlans(now, sub.Plans)
		if err != nil {
			return err
		}
		if stale == nil {
			continue
		}
		outcomes[i].Err = posthouse.Errorf(posthouse.CodeConflict, "the %s %q was changed by somebody else meanwhile: read it again", stale.Type, stale.ID)
		if err := t.freeKey(sub); err != nil {
			return err
		}
	}
	return nil
}

// beginRouted writes the plans of messages that follow routes, but of those that stand already.
func (t accepting) beginRouted(now int64, subs []*work.Submission, outcomes []work.Outcome) error {
	for i, sub := range subs {
		if outcomes[i].Err != nil || outcomes[i].Replayed {
			continue
		}
		for j := range sub.Routed {
			if outcomes[i].Accepted[len(sub.Entries)+j].DuplicateOf != "" {
				continue
			}
			for k := range sub.Routed[j].Plans {
				p := &sub.Routed[j].Plans[k]
				if written, err := t.writePlan(now, p); err != nil {
					return err
				} else if !written {
					return fmt.Errorf("the notification %s of a new message stands already", p.ID)
				}
			}
		}
	}
	return nil
}

// free lets go of a message's dedup key once none of its plans waits any more. The key's row is locked before the others are looked
// at: of two plans that end at one moment, the later one finds both ended.
func (t accepting) free(now int64, p *work.Plan) error {
	message := posthouse.MessageID(p.ID)
	held, err := sqldb.All(t.Query, sqldb.Word, "SELECT message_id FROM posthouse_dedup WHERE tenant = ? AND channel = ? AND dedup_key = ? AND message_id = ?"+t.DB.Dialect.Lock,
		p.Tenant, p.Frees.Scope, p.Frees.Key, message)
	if err != nil || len(held) == 0 {
		return err
	}
	waits, err := sqldb.All(t.Query, sqldb.Word, "SELECT id FROM posthouse_plans WHERE tenant = ? AND type = ? AND id > ? AND id <= ? AND state = ? LIMIT 1",
		p.Tenant, string(p.Type), message, posthouse.LastDeliveryID(message), string(posthouse.NotificationWaiting))
	if err != nil || len(waits) > 0 {
		return err
	}
	_, err = t.Exec("UPDATE posthouse_dedup SET expires_at = ? WHERE tenant = ? AND channel = ? AND dedup_key = ? AND message_id = ?",
		max(now, sqldb.Micros(p.Frees.Until)), p.Tenant, p.Frees.Scope, p.Frees.Key, message)
	return err
}

// writePlans writes all plans or none, and returns the one that has moved on. All writers go through
// theirs in one order, so no two wait for each other.
func (t accepting) writePlans(now int64, plans []work.Plan) (stale *work.Plan, err error) {
	plans = slices.SortedFunc(slices.Values(plans), func(a, b work.Plan) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Type, b.Type), cmp.Compare(a.ID, b.ID))
	})
	if _, err := t.Exec("SAVEPOINT plans"); err != nil {
		return nil, err
	}
	for i := range plans {
		written, err := t.writePlan(now, &plans[i])
		if err != nil {
			return nil, err
		}
		if !written {
			_, err := t.Exec("ROLLBACK TO SAVEPOINT plans")
			return &plans[i], err
		}
	}
	_, err = t.Exec("RELEASE SAVEPOINT plans")
	return nil, err
}

// writePlan writes a plan over the version that was read, or anew where there was none. After a false
// the transaction must go back to its savepoint.
func (t accepting) writePlan(now int64, p *work.Plan) (bool, error) {
	if p.Version > 0 {
		n, err := t.Exec("UPDATE posthouse_plans SET kind = ?, ref = ?, state = ?, doc = ?, version = version + 1, next_at = ?, failures = ?, error = ?, held = ?, updated_at = ?"+
			" WHERE tenant = ? AND type = ? AND id = ? AND version = ?",
			p.Kind, p.Ref, p.State, string(p.Doc), sqldb.Micros(p.NextAt), p.Failures, p.Error, p.Held, now, p.Tenant, string(p.Type), p.ID, p.Version)
		if err == nil && n == 1 && p.Frees != nil {
			err = t.free(now, p)
		}
		if err == nil && n == 1 && p.Tells != nil {
			err = t.tellDecision(now, p)
		}
		return n == 1, err
	}
	_, err := t.Exec("INSERT INTO posthouse_plans ("+planColumns+") VALUES ("+sqldb.Marks(14)+")",
		p.Tenant, string(p.Type), p.ID, p.Kind, p.Ref, p.State, string(p.Doc), 1, sqldb.Micros(p.NextAt), p.Failures, p.Error, p.Held, now, now)
	if t.DB.Taken(err) {
		return false, nil // the transaction can go on from the savepoint
	}
	return err == nil, err
}

// freeKey gives back the Idempotency-Key of a submission that is not stored after all.
func (t accepting) freeKey(sub *work.Submission) error {
	if sub.Key == "" {
		return nil
	}
	_, err := t.Exec("DELETE FROM posthouse_idempotency WHERE tenant = ? AND endpoint = ? AND idem_key = ? AND owner = ?",
		sub.Tenant, sub.Endpoint, sub.Key, sub.Name())
	return err
}

// taskKept is how much longer than others a task stays that nobody ends: the longest time-out of a node asks for it, and what
// it was told of can be withdrawn.
const taskKept = 366 * 24 * time.Hour

// endedTask stands in the document of a task that has ended, as package flow writes it: no other fact is an event.
const endedTask = `%"end":{"at":"%","value":{"event":"task.%`

// goingOn are the states of plans that are not over although no moment of theirs is to come: a notification goes on when something is
// heard of it, and what is paused when a person says so.
const goingOn = "'" + string(posthouse.NotificationWaiting) + "', '" + string(posthouse.CollectionLeaving) + "', '" + work.PlanPaused + "'"

// prunePlans deletes up to max plans that will never be due again and were written long ago. It looks for them outside of the
// transaction: those of tasks that go on are passed over, and each has to be read for that.
func (s Plans) prunePlans(ctx context.Context, now time.Time, keep time.Duration, max int) error {
	at, arg := s.db.Instant(now)
	args := slices.Concat(arg, []any{keep.Microseconds(), string(work.PlanTask)}, arg, []any{keep.Microseconds() + taskKept.Microseconds(), endedTask, max})
	old, err := sqldb.All(s.db.Reads(ctx), readPlanKey, "SELECT tenant, type, id, version FROM posthouse_plans WHERE next_at = 0 AND held = '' AND state NOT IN ("+goingOn+") AND updated_at < "+at+" - ?"+
		" AND (type <> ? OR updated_at < "+at+" - ? OR doc LIKE ?) ORDER BY updated_at LIMIT ?", args...)
	if err != nil {
		return s.db.Coded(err, "look for old plans")
	}
	for part := range sqldb.Parts(old, sqldb.BulkStep) {
		err := s.change(ctx, now, "prune plans", func(t *tx) error {
			for _, p := range part {
				_, err := t.Exec("DELETE FROM posthouse_plans WHERE tenant = ? AND type = ? AND id = ? AND version = ?", p.Tenant, string(p.Type), p.ID, p.Version)
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func readPlanKey(scan sqldb.Scanner) (work.Plan, error) {
	var p work.Plan
	return p, scan(&p.Tenant, &p.Type, &p.ID, &p.Version)
}
