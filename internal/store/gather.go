package store

import (
	"cmp"
	"maps"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// Which collection is open for a key stands among the dedup keys, in a scope that no channel has: the row's lock lets one transaction after the
// other decide of a key. The plan says which deliveries are in it.

// stay drops the changes of deliveries that cannot leave their collections any more: what leaves with them has begun.
func (t settling) stay(changes []work.Change) ([]work.Change, error) {
	if t.gathering == nil || !slices.ContainsFunc(changes, func(c work.Change) bool { return c.Before.Gathered }) {
		return changes, nil
	}
	var free []work.Change
	for i := range changes {
		held, err := t.held(&changes[i].Before)
		if err != nil {
			return nil, err
		}
		if !held {
			free = append(free, changes[i])
		}
	}
	return free, nil
}

// held reports whether a delivery is in a text that may have left. Its collection and that one's delivery stay locked.
func (t settling) held(d *posthouse.Delivery) (bool, error) {
	if !d.Gathered {
		return false, nil
	}
	p, found, err := t.lockPlan(planKey{d.Tenant, work.PlanCollection, d.Collection})
	if err != nil || !found {
		return false, err
	}
	id, err := t.gathering.Leads(p)
	if err != nil || id == "" {
		return false, err
	}
	lead, err := t.lockRows(work.Selection{Tenant: d.Tenant, IDs: []string{id}})
	return len(lead) == 1 && !t.gathering.MayLeave(lead[0]), err
}

// gathers reports whether a submission has deliveries that a digest gathers.
func gathers(sub *work.Submission) bool {
	return slices.ContainsFunc(sub.Entries, func(e work.Entry) bool { return e.Gathered != nil })
}

// member is a delivery that is to be gathered.
type member struct {
	by *work.Gathered
	m  *posthouse.Message
	d  *posthouse.Delivery
}

// gather puts what is to be stored into collections: those that are open for its keys, or new ones. Of two transactions that want one key,
// the second waits for the first.
func (t accepting) gather(now int64, subs []*work.Submission, outcomes []work.Outcome) error {
	if t.gathering == nil || !slices.ContainsFunc(subs, gathers) {
		return nil
	}
	members := map[onceKey][]member{}
	var rows [][]any
	for i, sub := range subs {
		if outcomes[i].Err != nil || outcomes[i].Replayed {
			continue
		}
		for j := range sub.Entries {
			e := &sub.Entries[j]
			if e.Gathered == nil || outcomes[i].Accepted[j].DuplicateOf != "" {
				continue
			}
			for n := range e.Deliveries {
				by := &e.Gathered[n]
				if by.Key == "" {
					continue
				}
				k := onceKey{sub.Tenant, work.GatherScope, by.Key}
				if len(members[k]) == 0 {
					rows = append(rows, gatherRow(k, by.ID, now))
				}
				members[k] = append(members[k], member{by, &e.Message, &e.Deliveries[n]})
			}
		}
	}
	holders, err := t.contend(dedupTable, rows)
	if err != nil {
		return err
	}
	for _, k := range slices.SortedFunc(maps.Keys(members), func(a, b onceKey) int { return cmp.Compare(a.key, b.key) }) {
		if err := t.gatherOne(now, k, holders[k].owner, members[k]); err != nil {
			return err
		}
	}
	return nil
}

// regather writes a new collection, which takes over deliveries of another one. All of them must have been free to go.
func (t settling) regather(now int64, from *work.Plan, w work.Withdrawal, free int) error {
	if free != len(w.IDs) {
		return posthouse.Errorf(posthouse.CodeConflict, "a member of the %s %q has left it meanwhile: read it again", from.Type, from.ID)
	}
	for part := range sqldb.Parts(w.IDs, sqldb.BulkStep) {
		clause, args := t.Among("id", part)
		if _, err := t.Exec("UPDATE posthouse_queue SET notification = ? WHERE "+clause+" AND tenant = ? AND notification = ?",
			slices.Concat([]any{w.Into.ID}, args, []any{from.Tenant, from.ID})...); err != nil {
			return err
		}
	}
	written, err := accepting{t.tx}.writePlan(now, w.Into)
	if err == nil && !written {
		err = sqldb.ErrStale
	}
	return err
}

func gatherRow(k onceKey, id string, now int64) []any {
	return []any{k.tenant, k.scope, k.key, id, now, now + heldLong.Microseconds()}
}

// gatherOne puts the deliveries of one key into its open collection, and into new ones where that takes no more.
func (t accepting) gatherOne(now int64, k onceKey, holder string, list []member) error {
	at := sqldb.TimeOf(now)
	p, open, err := (settling{t.tx}).lockPlan(planKey{k.tenant, work.PlanCollection, holder})
	if err != nil {
		return err
	}
	unwritten := false
	write := func() error {
		if !unwritten {
			return nil
		}
		unwritten = false
		written, err := t.writePlan(now, &p)
		if err == nil && !written {
			err = sqldb.ErrStale
		}
		return err
	}
	for _, one := range list {
		joined := false
		if open {
			var next work.Plan
			if next, joined, err = t.gathering.Join(p, one.m, one.d, at); err != nil {
				return err
			}
			if joined {
				p = next
			}
		}
		if !joined {
			if err := write(); err != nil {
				return err
			}
			if p, err = t.gathering.Open(*one.by, one.m, one.d, at); err != nil {
				return err
			}
			open = true
			if holder != p.ID {
				holder = p.ID
				if err := t.Put(dedupTable, 3, [][]any{gatherRow(k, holder, now)}); err != nil {
					return err
				}
			}
		}
		unwritten = true
		one.d.Collection, one.d.Gathered = p.ID, true
	}
	return write()
}
