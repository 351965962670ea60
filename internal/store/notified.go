package store

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/page"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// A notification's plan knows the state of each of its deliveries. Both are written in one transaction: when a proof is there, what
// has not started of the other steps is withdrawn by it, and a step that is begun at the same moment finds the plan changed. All
// who write both lock a delivery first and then its plan; a withdrawal locks in the other direction, and the database breaks the tie.

// SetNotified sets what decides of notifications, before anything is stored.
func (s *Store) SetNotified(law work.Notified) { s.Plans.notified = law }

// SetGathering sets what decides of collections, before anything is stored.
func (s *Store) SetGathering(law work.Gathering) { s.Plans.gathering = law }

// linked reports whether a change is of a delivery that a plan knows: a notification's or a collection's.
func linked(changes []work.Change) bool {
	return slices.ContainsFunc(changes, func(c work.Change) bool { return c.After.Notification != "" || c.After.Collection != "" })
}

// tellNotifications tells the plans of notifications what has become of their deliveries, and withdraws what is not needed any more.
func (t settling) tellNotifications(now int64, changes []work.Change) error {
	if t.notified == nil || !linked(changes) {
		return nil
	}
	heard := map[planKey][]posthouse.Delivery{}
	for i := range changes {
		if k, known := planOf(&changes[i].After); known {
			heard[k] = append(heard[k], changes[i].After)
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(heard), planKey.compare) {
		p, found, err := t.lockPlan(k)
		if err != nil {
			return err
		}
		if !found {
			continue // it was pruned: its deliveries go on alone
		}
		next, withdraw, changed, err := t.notified.Heard(p, heard[k], sqldb.TimeOf(now))
		if err != nil {
			t.DB.Log.Error("a plan cannot be read: it does not go on", "type", k.kind, "tenant", k.tenant, "plan", k.id, "error", err)
			continue
		}
		if !changed {
			continue
		}
		if err := t.writeNotification(now, next, withdraw); err != nil {
			return err
		}
	}
	return nil
}

// suppressedOf are the deliveries of plans that ended as they were accepted.
func suppressedOf(subs []*work.Submission, outcomes []work.Outcome) (list []work.Change) {
	for i, sub := range subs {
		if outcomes[i].Err != nil || outcomes[i].Replayed {
			continue
		}
		for j := range sub.Entries {
			for _, d := range sub.Entries[j].Deliveries {
				if (d.Notification != "" || d.Collection != "") && !d.State.Open() {
					list = append(list, work.Change{After: d})
				}
			}
		}
	}
	return list
}

// planKey names the plan of a notification or a collection.
type planKey struct {
	tenant string
	kind   work.PlanType
	id     string
}

func (k planKey) compare(o planKey) int {
	return slices.Compare([]string{k.tenant, string(k.kind), k.id}, []string{o.tenant, string(o.kind), o.id})
}

// planOf is the plan that knows a delivery.
func planOf(d *posthouse.Delivery) (k planKey, known bool) {
	switch {
	case d.Notification != "":
		return planKey{d.Tenant, work.PlanNotification, d.Notification}, true
	case d.Collection != "":
		return planKey{d.Tenant, work.PlanCollection, d.Collection}, true
	}
	return k, false
}

// lockPlan reads a plan and keeps others from writing it until the transaction ends.
func (t settling) lockPlan(k planKey) (work.Plan, bool, error) {
	return sqldb.First(t.Query, readPlan, "SELECT "+planColumns+" FROM posthouse_plans WHERE tenant = ? AND type = ? AND id = ?"+t.DB.Dialect.Lock,
		k.tenant, string(k.kind), k.id)
}

// writeNotification writes a plan that is locked, after withdrawing deliveries. What the plan hears of those may change it again.
func (t settling) writeNotification(now int64, p work.Plan, withdraw work.Withdrawal) error {
	if len(withdraw.IDs) > 0 {
		found, err := t.lockRows(work.Selection{Tenant: p.Tenant, IDs: withdraw.IDs})
		if err != nil {
			return err
		}
		var changes []work.Change
		var after []posthouse.Delivery
		for _, d := range found {
			if c, ok := t.notified.Withdrawn(p.Type, d, withdraw, sqldb.TimeOf(now)); ok {
				changes = append(changes, c)
			}
		}
		if err := t.applyAlone(now, changes, nil); err != nil {
			return err
		}
		if withdraw.Into != nil {
			if err := t.regather(now, &p, withdraw, len(changes)); err != nil {
				return err
			}
		}
		for i := range changes {
			after = append(after, changes[i].After)
		}
		if p, _, _, err = t.notified.Heard(p, after, sqldb.TimeOf(now)); err != nil {
			return err
		}
	}
	written, err := accepting{t.tx}.writePlan(now, &p)
	if err == nil && !written {
		err = sqldb.ErrStale
	}
	return err
}

// Notification reads one notification's plan under a lock, and writes what decide makes of it, with the deliveries that it withdraws.
// decide returns false where nothing is to be written.
func (s Plans) Notification(ctx context.Context, now time.Time, tenant, id string, decide func(p work.Plan, now time.Time) (next work.Plan, withdraw work.Withdrawal, write bool, err error)) (work.Plan, error) {
	return s.decide(ctx, now, planKey{tenant, work.PlanNotification, id}, decide)
}

// Collection is Notification for a collection's plan.
func (s Plans) Collection(ctx context.Context, now time.Time, tenant, id string, decide func(p work.Plan, now time.Time) (next work.Plan, withdraw work.Withdrawal, write bool, err error)) (work.Plan, error) {
	return s.decide(ctx, now, planKey{tenant, work.PlanCollection, id}, decide)
}

func (s Plans) decide(ctx context.Context, now time.Time, k planKey, decide func(p work.Plan, now time.Time) (next work.Plan, withdraw work.Withdrawal, write bool, err error)) (work.Plan, error) {
	var stored work.Plan
	err := s.change(ctx, now, "change a "+string(k.kind), func(t *tx) error {
		own := settling{t}
		p, found, err := own.lockPlan(k)
		if err != nil {
			return err
		}
		if !found {
			return posthouse.Errorf(posthouse.CodeNotFound, "there is no %s %.80q", k.kind, k.id)
		}
		at, err := t.Now()
		if err != nil {
			return err
		}
		next, withdraw, write, err := decide(p, sqldb.TimeOf(at))
		if stored = p; err != nil || !write {
			return err
		}
		if err := own.writeNotification(at, next, withdraw); err != nil {
			return err
		}
		stored, _, err = own.lockPlan(k)
		return err
	})
	return stored, err
}

// Notifications are the plans of a message's notifications in their order, a page at a time, and the next page's cursor.
func (s Plans) Notifications(ctx context.Context, tenant, message, cursor string, limit int) ([]work.Plan, string, error) {
	name := "notifications of " + message
	after, err := page.Key(name, cursor)
	if err != nil || !posthouse.ValidID(message) {
		return nil, "", err
	}
	size := page.Size(limit)
	list, err := sqldb.All(s.db.Reads(ctx), readPlan,
		"SELECT "+planColumns+" FROM posthouse_plans WHERE tenant = ? AND type = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?",
		tenant, string(work.PlanNotification), max(after, message), posthouse.LastDeliveryID(message), size+1)
	if err != nil {
		return nil, "", s.db.Coded(err, "look up the notifications of a message")
	}
	list, next := page.Cut(list, size, name, func(p work.Plan) string { return p.ID })
	return list, next, nil
}

// NotificationsOf are the plans of a tenant's notifications by their ids, those that are kept.
func (s Plans) NotificationsOf(ctx context.Context, tenant string, ids []string) (list []work.Plan, err error) {
	for part := range sqldb.Parts(ids, sqldb.BulkStep) {
		clause, args := s.db.In("id", part)
		found, err := sqldb.All(s.db.Reads(ctx), readPlan, "SELECT "+planColumns+" FROM posthouse_plans WHERE tenant = ? AND type = ? AND "+clause,
			append([]any{tenant, string(work.PlanNotification)}, args...)...)
		if err != nil {
			return nil, s.db.Coded(err, "look up notifications")
		}
		list = append(list, found...)
	}
	return list, nil
}

// Bounds of what WaitingNotifications counts.
const (
	mostWaiting        = 10_000
	mostWaitingTenants = 1000
)

// WaitingNotifications counts the notifications that wait by tenant, at most 10,000 of each of the first 1000 tenants: it passes over what has
// ended, and over all but the first plan of a tenant.
func (s Plans) WaitingNotifications(ctx context.Context) (map[string]int, error) {
	return s.countPlans(ctx, work.PlanNotification, "state = ? AND state <> ''", string(posthouse.NotificationWaiting))
}

// HeldNotifications counts the notifications that a person has to let go, as WaitingNotifications counts.
func (s Plans) HeldNotifications(ctx context.Context) (map[string]int, error) {
	return s.countPlans(ctx, work.PlanNotification, "held = ? AND held <> ''", work.ReasonEpochHold)
}

// HeldReminders counts the reminders that a person has to let go, as WaitingNotifications counts.
func (s Plans) HeldReminders(ctx context.Context) (map[string]int, error) {
	return s.countPlans(ctx, work.PlanReminder, "held = ? AND held <> ''", work.ReasonEpochHold)
}

// countPlans counts those of a type that a condition of one value leaves, by tenant.
func (s Plans) countPlans(ctx context.Context, of work.PlanType, condition, value string) (map[string]int, error) {
	waiting := map[string]int{}
	for tenant, looks := "", 0; looks < mostWaitingTenants; looks++ {
		next, found, err := sqldb.First(s.db.Reads(ctx), sqldb.Word, "SELECT tenant FROM posthouse_plans WHERE tenant > ? ORDER BY tenant LIMIT 1", tenant)
		if err != nil || !found {
			return waiting, s.db.Coded(err, "count the plans")
		}
		tenant = next
		n, _, err := sqldb.First(s.db.Reads(ctx), sqldb.Number, "SELECT COUNT(*) FROM (SELECT 1 FROM posthouse_plans WHERE tenant = ? AND type = ? AND "+condition+" LIMIT ?) waits",
			tenant, string(of), value, mostWaiting)
		if err != nil {
			return nil, s.db.Coded(err, "count the plans")
		}
		waiting[tenant] = int(n)
	}
	return waiting, nil
}

// Bounds of what PlansIn looks at: how many plans for a page that keeps only some of them, and how many at once.
const (
	mostLooked = 20_000
	lookedAt   = 250
)

// PlansIn lists a tenant's plans of a type that a filter leaves, the newest ids first, and returns the next page's cursor.
func (s Plans) PlansIn(ctx context.Context, tenant string, kind work.PlanType, f work.PlanFilter, cursor string, limit int) (kept []work.Plan, next string, err error) {
	name := "plans in " + string(kind) + " " + f.State + f.Held
	before, err := page.Key(name, cursor)
	if err != nil {
		return nil, "", err
	}
	size := page.Size(limit)
	turn := size + 1
	if f.Keep != nil {
		turn = max(turn, lookedAt)
	}
	for looked := 0; looked < mostLooked; looked += turn {
		text, args := narrowedPlans(tenant, kind, &f, before)
		list, err := sqldb.All(s.db.Reads(ctx), readPlan, text, append(args, turn)...)
		if err != nil {
			return nil, "", s.db.Coded(err, "list the plans")
		}
		for _, p := range list {
			keep := true
			if f.Keep != nil {
				if keep, err = f.Keep(p); err != nil {
					return nil, "", err
				}
			}
			if keep && len(kept) == size {
				return kept, page.Cursor(name, before), nil
			}
			if before = p.ID; keep {
				kept = append(kept, p)
			}
		}
		if len(list) < turn {
			return kept, "", nil
		}
	}
	return kept, page.Cursor(name, before), nil
}

// narrowedPlans reads plans of a type that a filter leaves, but for what it keeps, from an id on downwards.
func narrowedPlans(tenant string, kind work.PlanType, f *work.PlanFilter, before string) (text string, args []any) {
	text, args = "SELECT "+planColumns+" FROM posthouse_plans WHERE tenant = ? AND type = ?", []any{tenant, string(kind)}
	and := func(condition string, values ...any) { text, args = text+" AND "+condition, append(args, values...) }
	if f.State != "" {
		and("state = ? AND state <> ''", f.State)
	}
	if f.Held != "" {
		and("held = ? AND held <> ''", f.Held)
	}
	if f.Ref != "" {
		and("kind = ? AND ref = ? AND ref <> ''", f.Kind, f.Ref)
	}
	if !f.Since.IsZero() {
		and("id >= ?", layout.IDAt(f.Since))
	}
	if !f.Until.IsZero() {
		and("id < ?", layout.IDAt(f.Until))
	}
	if before != "" {
		and("id < ?", before)
	}
	return text + " ORDER BY id DESC LIMIT ?", args
}
