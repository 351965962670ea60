package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

var (
	agentClaimsTable = sqldb.NewTable("posthouse_agent_claims", "tenant", "agent", "claim_id", "deliveries", "created_at#", "expires_at#")
)

const (
	// mostLanes bounds how many priorities of channels one hand-out goes through: an agent that is handed less than it
	// wants asks again.
	mostLanes = 4
	// longestDue is how many of the retries of a lane, the longest due, are put in order of their tries.
	longestDue = 1000
	// claimKept is how long a claim's id is known after its longest lease.
	claimKept = time.Hour
)

// HandOut claims for an agent, writes the claim where it has an id, and the log of hand-outs. Of a channel it
// takes, a priority at a time: retries that have waited FairAfter longer than they had to, by due time; what is
// new, by due time; other retries, by tries. A claim whose id is known answers what is still held of it.
//
// The id is looked up when it turns out to be taken as the claim is written, or when there is nothing to claim: a
// claim that is new, as nearly all are, pays nothing for it. Where something was due and others took it, the same claim
// may have, in a transaction that has not ended: then it is looked again.
func (s Handouts) HandOut(ctx context.Context, now time.Time, h work.HandOut) (work.HandedOut, error) {
	for wait := 2 * time.Millisecond; ; wait *= 2 {
		items, due, err := s.handNew(ctx, now, &h)
		if s.db.Taken(err) || err == nil && len(items) == 0 {
			if out, e := s.repeated(ctx, now, &h); e != nil || out.Repeated {
				return out, e
			}
		}
		if err != nil {
			return work.HandedOut{}, err // what was read before a failed commit is nobody's
		}
		if len(items) > 0 || !due || !mayHaveTwins(s.db.Dialect, &h) || wait > longestTwin || !pause(ctx, wait) {
			return work.HandedOut{Items: items}, nil
		}
	}
}

// longestTwin is the last wait for a claim of the same id to be written, so that all take about a second.
const longestTwin = 512 * time.Millisecond

// mayHaveTwins reports whether the same claim may be written at this moment. SQLite has one writer: who was before has
// committed.
func mayHaveTwins(d *sqldb.Dialect, h *work.HandOut) bool { return h.ClaimID != "" && !d.OneWriter }

// pause waits, unless the caller leaves.
func pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// handNew hands out what is due; due says that something was, whoever got it.
func (s Handouts) handNew(ctx context.Context, now time.Time, h *work.HandOut) (_ []work.Item, due bool, err error) {
	lanes, err := s.dueLanes(ctx, now, h)
	if err != nil || len(lanes) == 0 || h.Max < 1 {
		return nil, false, err
	}
	asked := time.Now()
	for i := range lanes {
		lanes[i].fresh, lanes[i].again = s.lows.from(lanes[i].lane(false), asked), s.lows.from(lanes[i].lane(true), asked)
	}
	items, err := s.handOut(ctx, now, h, lanes)
	if err != nil {
		return nil, true, err
	}
	s.noteLows(lanes, items, asked)
	return items, true, nil
}

func (s Handouts) handOut(ctx context.Context, now time.Time, h *work.HandOut, lanes []handLane) (items []work.Item, err error) {
	if s.db.Dialect.AtOnce {
		return s.handOutAtOnce(ctx, h, lanes)
	}
	err = s.change(ctx, now, "hand out", func(t *tx) (err error) {
		items, err = handing{t}.handOut(h, lanes)
		return err
	})
	return items, err
}

// handLane is one priority of one channel, what is new and what failed before.
type handLane struct {
	tenant       string
	channel      *work.HandOutChannel
	priority     posthouse.Priority
	parts        []handPart // that have anything, in the order of their turns
	fresh, again place      // where there is anything from
}

// handPart is one part of a lane.
type handPart int

const (
	partLate handPart = iota // retries that have waited long enough
	partNew
	partRest // other retries
)

func (l *handLane) lane(again bool) work.Lane {
	return work.Lane{Tenant: l.tenant, Channel: l.channel.Name, Priority: l.priority, Pulled: true, Again: again}
}

func (l *handLane) number(again bool) int64 { return layout.LaneNumber(l.priority, true, again) }

// dueLanes are the lanes in which something is due, in order. The look costs little beside a claim that goes through
// all, and most claims of idle agents end with it.
func (s Handouts) dueLanes(ctx context.Context, now time.Time, h *work.HandOut) ([]handLane, error) {
	var lanes []handLane
	var looks []work.Lane
	for i := range h.Channels {
		c := &h.Channels[i]
		for _, p := range c.Priorities {
			l := handLane{tenant: h.Tenant, channel: c, priority: p}
			lanes, looks = append(lanes, l), append(looks, l.lane(false), l.lane(true))
		}
	}
	ready, err := Queue{s.shared}.Ready(ctx, now, looks)
	if err != nil {
		return nil, err
	}
	due := lanes[:0]
	for i, l := range lanes {
		switch fresh, again := ready[2*i], ready[2*i+1]; {
		case fresh && again:
			l.parts = []handPart{partLate, partNew, partRest}
		case fresh:
			l.parts = []handPart{partNew}
		case again:
			l.parts = []handPart{partLate, partRest}
		default:
			continue
		}
		due = append(due, l)
	}
	return due[:min(len(due), mostLanes)], nil
}

// noteLows notes how far each lane is cleared. Retries that went by their tries leave earlier ones behind.
func (s Handouts) noteLows(lanes []handLane, items []work.Item, asked time.Time) {
	for i := range lanes {
		l := &lanes[i]
		of := func(again bool) (list []work.Item) {
			for _, item := range items {
				d := &item.Delivery
				late := d.DueAt.Before(d.LeaseUntil.Add(-l.channel.Lease - l.channel.FairAfter))
				if d.Channel == l.channel.Name && d.Priority == l.priority && (d.Tries > 0) == again && (!again || late) {
					list = append(list, item)
				}
			}
			return list
		}
		s.lows.took(l.lane(false), l.fresh, of(false), false, asked)
		s.lows.took(l.lane(true), l.again, of(true), false, asked)
	}
}

// handOut is a hand-out of the databases that need more than one statement for it.
func (t handing) handOut(h *work.HandOut, lanes []handLane) ([]work.Item, error) {
	now, err := t.Now()
	if err != nil {
		return nil, err
	}
	if err := t.alone(h, now); err != nil {
		return nil, err
	}
	var items []work.Item
	leases := map[string]int64{} // by channel
	for i := range lanes {
		leases[lanes[i].channel.Name] = lanes[i].channel.Lease.Microseconds()
		for _, part := range lanes[i].parts {
			if len(items) == h.Max {
				break
			}
			found, err := t.handPart(&lanes[i], part, h, now, h.Max-len(items))
			if err != nil {
				return nil, err
			}
			items = append(items, found...)
		}
	}
	if len(items) == 0 {
		return nil, t.noClaim(h)
	}
	if err := t.holdFor(h, items, leases, now); err != nil {
		return nil, err
	}
	return items, claiming{t.tx}.attachMessages(items)
}

// alone writes the claim before anything is locked, where the same claim may be made at this moment: of two that went over what is due side
// by side each would lock a part, and the one that is undone would keep its part from the other.
func (t handing) alone(h *work.HandOut, now int64) error {
	if !mayHaveTwins(t.DB.Dialect, h) {
		return nil
	}
	return t.Insert(agentClaimsTable, [][]any{{h.Tenant, h.Agent, h.ClaimID, handedText(nil), now, now + claimExpiry(h)}})
}

// noClaim takes the claim back: there was nothing for it.
func (t handing) noClaim(h *work.HandOut) error {
	if !mayHaveTwins(t.DB.Dialect, h) {
		return nil
	}
	_, err := t.Exec("DELETE FROM posthouse_agent_claims WHERE tenant = ? AND agent = ? AND claim_id = ?", h.Tenant, h.Agent, h.ClaimID)
	return err
}

func (t handing) handPart(l *handLane, part handPart, h *work.HandOut, now int64, most int) ([]work.Item, error) {
	late := now - l.channel.FairAfter.Microseconds()
	due := func(columns string, again bool, from place, to int64, most int) (query string, args []any) {
		since, begin := from.since(t.DB.Dialect)
		return dueRows(t.DB.Dialect, columns, since),
			slices.Concat([]any{h.Tenant, l.channel.Name, l.number(again), ""}, begin, []any{to, now, fmt.Sprint(h.Epoch), most})
	}
	if part != partRest {
		query, args := due(layout.Queue.List, false, l.fresh, now, most)
		if part == partLate {
			query, args = due(layout.Queue.List, true, l.again, late, most)
		}
		return sqldb.All(t.Query, readItem, query+t.DB.Dialect.Skip, args...)
	}
	type candidate struct {
		id    string
		tries int
	}
	from := l.again
	if from.due <= late {
		from = place{due: late + 1}
	}
	query, args := due("id, tries", true, from, now, longestDue)
	waiting, err := sqldb.All(t.Query, func(scan sqldb.Scanner) (c candidate, err error) { return c, scan(&c.id, &c.tries) }, query, args...)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(waiting, func(a, b candidate) int { return cmp.Or(cmp.Compare(a.tries, b.tries), cmp.Compare(a.id, b.id)) })
	var items []work.Item
	for part := range sqldb.Parts(waiting, max(most, sqldb.Chunk)) {
		ids := make([]string, len(part))
		for i := range part {
			ids[i] = part[i].id
		}
		clause, values := t.Among("id", ids)
		found, err := sqldb.All(t.Query, readItem, "SELECT "+layout.Queue.List+" FROM posthouse_queue"+t.DB.Dialect.By(sqldb.Primary)+" WHERE "+clause+" AND priority = ? AND state = 'pending' AND due_at <= ? ORDER BY tries, id LIMIT ?"+
			t.DB.Dialect.Skip, append(values, l.number(true), now, most-len(items))...)
		items = append(items, found...)
		if err != nil || len(items) == most {
			return items, err
		}
	}
	return items, nil
}

func readItem(scan sqldb.Scanner) (work.Item, error) {
	d, err := layout.ReadDelivery(scan)
	return work.Item{Delivery: d}, err
}

// holdFor writes the claim into the locked rows, its events and its logs.
func (t handing) holdFor(h *work.HandOut, items []work.Item, leases map[string]int64, now int64) error {
	owner := work.Owner(h.Agent)
	var guards []sqldb.Guard
	var after []*posthouse.Delivery
	var events, log [][]any
	told := t.news()
	tally := layout.Counting{}
	for i := range items {
		d := &items[i].Delivery
		at := later(now, d)
		guards = append(guards, layout.GuardOf(d))
		tally.Add(d, -1)
		event := handedOut(d, h, owner, at, leases[d.Channel])
		tally.Add(d, 1)
		told.add(d, &event, nil)
		after, events = append(after, d), append(events, layout.EventValues(&event))
		log = append(log, []any{d.ID, d.Token, h.Tenant, at, h.Agent, h.ClaimID, h.Request})
	}
	var b sqldb.Bundle
	b.Amend(layout.Queue, layout.Mutable, guards, layout.MutableRows(after))
	b.Insert(layout.Events, events)
	b.Insert(layout.SendLog, log)
	switch {
	case mayHaveTwins(t.DB.Dialect, h):
		if _, err := t.Exec("UPDATE posthouse_agent_claims SET deliveries = ? WHERE tenant = ? AND agent = ? AND claim_id = ?", handedText(items), h.Tenant, h.Agent, h.ClaimID); err != nil {
			return err
		}
	case h.ClaimID != "":
		b.Insert(agentClaimsTable, [][]any{{h.Tenant, h.Agent, h.ClaimID, handedText(items), now, now + claimExpiry(h)}})
	}
	tally.Into(&b)
	if err := t.announce(&b, told); err != nil {
		return err
	}
	return t.Run(b)
}

// handedOut turns a pending delivery into one that the agent holds, and returns its event.
func handedOut(d *posthouse.Delivery, h *work.HandOut, owner string, at, lease int64) posthouse.Event {
	d.State, d.Version, d.Token, d.Epoch = posthouse.Sending, d.Version+1, d.Token+1, h.Epoch
	d.LeaseUntil, d.LeaseOwner, d.UpdatedAt, d.StartedAt = sqldb.TimeOf(at+lease), owner, sqldb.TimeOf(at), time.Time{}
	e := posthouse.Event{
		Delivery: d.ID, Version: d.Version, Tenant: d.Tenant, At: d.UpdatedAt, Type: posthouse.EventClaim,
		From: posthouse.Pending, To: posthouse.Sending, Token: d.Token, Owner: owner,
		LeaseUntil: d.LeaseUntil, Due: d.DueAt, Epoch: h.Epoch, Account: d.Account, Tries: d.Tries,
	}
	if h.Start {
		d.Attempts, d.StartedAt = d.Attempts+1, d.UpdatedAt
		if d.FirstStartAt.IsZero() {
			d.FirstStartAt = d.UpdatedAt
		}
		e.Type, e.Attempt = posthouse.EventStart, d.Attempts
	}
	return e
}

// claimExpiry is how long after a claim its id may be forgotten, in microseconds.
func claimExpiry(h *work.HandOut) int64 {
	longest := time.Duration(0)
	for _, c := range h.Channels {
		longest = max(longest, c.Lease)
	}
	return (longest + claimKept).Microseconds()
}

// handed is what the column deliveries of a claim lists.
type handed struct {
	ID    string `json:"id"`
	Token int64  `json:"token"`
}

func handedText(items []work.Item) string {
	list := make([]handed, len(items))
	for i := range items {
		list[i] = handed{items[i].Delivery.ID, items[i].Delivery.Token}
	}
	text, _ := json.Marshal(list) // letters and numbers: cannot fail
	return string(text)
}

// repeated answers a claim whose id is known with what is still held of it, in the order it was handed out.
func (s Handouts) repeated(ctx context.Context, now time.Time, h *work.HandOut) (work.HandedOut, error) {
	if h.ClaimID == "" {
		return work.HandedOut{}, nil
	}
	text, known, err := sqldb.First(s.db.Reads(ctx), sqldb.Word, "SELECT deliveries FROM posthouse_agent_claims WHERE tenant = ? AND agent = ? AND claim_id = ?", h.Tenant, h.Agent, h.ClaimID)
	if err != nil || !known {
		return work.HandedOut{}, s.db.Coded(err, "look up a claim")
	}
	var list []handed
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return work.HandedOut{}, fmt.Errorf("read the claim %q of agent %q: %w", h.ClaimID, h.Agent, err)
	}
	items, err := s.stillHeld(ctx, now, h, list)
	return work.HandedOut{Items: items, Repeated: true}, s.db.Coded(err, "read what a claim was handed")
}

func (s Handouts) stillHeld(ctx context.Context, now time.Time, h *work.HandOut, list []handed) ([]work.Item, error) {
	if len(list) == 0 {
		return nil, nil
	}
	at, ids := map[handed]int{}, make([]string, len(list))
	for i, one := range list {
		at[one], ids[i] = i, one.ID
	}
	clause, args := s.db.Dialect.Among("id", ids)
	alive, present := s.db.Instant(now)
	args = slices.Concat(args, []any{h.Tenant, work.Owner(h.Agent)}, present)
	items, err := sqldb.All(s.db.Reads(ctx), readItem, "SELECT "+layout.Queue.List+" FROM posthouse_queue WHERE "+clause+
		" AND tenant = ? AND lease_owner = ? AND state = 'sending' AND lease_until > "+alive, args...)
	items = slices.DeleteFunc(items, func(i work.Item) bool {
		_, held := at[handed{i.Delivery.ID, i.Delivery.Token}]
		return !held
	})
	if err != nil || len(items) == 0 {
		return nil, err
	}
	slices.SortFunc(items, func(a, b work.Item) int {
		return cmp.Compare(at[handed{a.Delivery.ID, a.Delivery.Token}], at[handed{b.Delivery.ID, b.Delivery.Token}])
	})
	return items, attach(s.db.Dialect, s.db.Reads(ctx), items)
}
