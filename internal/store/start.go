package store

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/reading"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// A clean delivery that may begin in the process that accepts it never waits in posthouse_due: its accept writes the flight that its
// claim would have written. That flight is its start as any other: committed before a byte leaves, with owner, epoch and lease.
//
// A claim locks the entry of posthouse_due, for which whoever raises the epoch waits. Here there is none: see AwaitStarts.

// AcceptAndStart is Accept for what may begin at once where seats, which may be nil, give it room: the starts are this process's, as if it had claimed
// them. After an error nothing has begun, but for one of code outcome_unknown: see Disown.
func (s Submissions) AcceptAndStart(ctx context.Context, now time.Time, subs []*work.Submission, seats work.Seats) ([]work.Outcome, []work.Start, error) {
	var outcomes []work.Outcome
	var made []*boarding
	err := s.acceptBy(ctx, now, subs, func(t *tx) (err error) {
		since := time.Now()
		if t.DB.Dialect.OneWriter {
			since = now // which is the time that its leases begin at
		}
		if seats != nil {
			seats.Run(since)
		}
		outcomes, made, err = accepting{t}.accept(subs, seats)
		return err
	})
	if err != nil {
		return outcomes, nil, err
	}
	starts := make([]work.Start, len(made))
	for i, b := range made {
		s.flights.add(b.made, b.items)
		starts[i] = work.Start{Flight: b.made.ID, Items: b.items}
	}
	return outcomes, starts, nil
}

// arrival is a clean entry, with the place of its answer.
type arrival struct {
	entry *work.Entry
	of    *work.Outcome
	n     int
}

// readsAsAccepted reports whether a clean entry will be read from its row as it is here, and is due at once.
func readsAsAccepted(e *work.Entry) bool {
	return !e.Deliveries[0].DueAt.After(e.Message.CreatedAt) && utf8.ValidString(e.Message.Content.Title) && utf8.ValidString(e.Message.Content.Text)
}

// seat asks for seats for what may begin at once, and returns what begins and what waits.
func (t accepting) seat(seats work.Seats, clean []arrival) (made []*boarding, waiting []arrival, err error) {
	if seats == nil {
		return nil, clean, nil
	}
	byLane := map[work.Lane][]arrival{}
	var lanes []work.Lane
	for _, a := range clean {
		if !readsAsAccepted(a.entry) {
			waiting = append(waiting, a)
			continue
		}
		if a.of.Asked == nil {
			a.of.Asked = make([]bool, len(a.of.Accepted))
		}
		a.of.Asked[a.n] = true
		lane := laneOfClean(&a.entry.Deliveries[0])
		if byLane[lane] == nil {
			lanes = append(lanes, lane)
		}
		byLane[lane] = append(byLane[lane], a)
	}
	epoch := int64(0)
	for _, lane := range lanes {
		list := byLane[lane]
		s := seats.Ask(lane, len(list))
		n := min(s.N, len(list))
		if n > 0 && epoch == 0 {
			if epoch, err = t.epochOfStart(s.Epoch); err != nil {
				return nil, nil, err
			}
		}
		if s.Epoch != epoch {
			n = 0
		}
		if waiting = append(waiting, list[n:]...); n > 0 {
			made = append(made, boardingOf(lane, s, list[:n]))
		}
	}
	return made, waiting, nil
}

// epochOfStart is the epoch in which something may begin. On PostgreSQL the statement that writes it finds that out.
func (t accepting) epochOfStart(own int64) (int64, error) {
	if t.DB.Dialect.AtOnce {
		return own, nil
	}
	if err := t.HoldStarts(); err != nil {
		return 0, err
	}
	return readEpoch(t.Query)
}

// boardingOf is the claim that an accept makes for those that have seats.
func boardingOf(lane work.Lane, s work.Seating, list []arrival) *boarding {
	b := &boarding{
		Claim: work.Claim{Lane: lane, Owner: s.Owner, Lease: s.Lease, Epoch: s.Epoch}, by: s.Accounts, items: make([]work.Item, len(list)),
		made: &flight{Flight: layout.Flight{ID: s.Flight, Owner: s.Owner, Epoch: s.Epoch}, pinned: map[string]string{}},
	}
	for i, a := range list {
		b.items[i] = freshOf(a.entry, time.Time{}).Item
	}
	return b
}

// writeStarts writes an accept with what begins by it, and returns that.
func (t accepting) writeStarts(b sqldb.Bundle, made []*boarding, now int64) ([]*boarding, error) {
	if len(made) == 0 || !t.DB.Dialect.AtOnce {
		if err := t.Run(b); err != nil {
			return nil, err
		}
		for _, m := range made { // after the accept: the feed has that first
			if err := (clearing{t.tx}).takeOff(m, []any{m.Tenant, m.Channel, sqldb.PriorityNumber(m.Priority)}, now); err != nil {
				return nil, err
			}
		}
		return made, nil
	}
	fed := t.feed.on()
	var same bool
	var at int64
	err := t.RunBesides(b, sqldb.Besides{With: startTexts[fed], Args: startArgs(made, now), Select: "same, now FROM moment", Into: []any{&same, &at}})
	if err != nil || !same {
		return nil, err
	}
	for _, m := range made {
		m.made.StartedAt, m.made.LeaseUntil = at, at+m.Lease.Microseconds()
		for i := range m.items {
			m.board(&m.items[i].Delivery, i)
		}
	}
	if fed {
		t.told = append(t.told, startedOf(made))
	}
	return made, nil
}

// startedOf is what the feed says of starts.
func startedOf(made []*boarding) reading.Tidings {
	told := news{of: map[int64]*reading.Tidings{}}
	for _, m := range made {
		for i := range m.items {
			told.started(&m.items[i])
		}
	}
	return *told.of[2]
}

// startOnce is what PostgreSQL does besides an accept by which something begins: its flights in the epoch that this process was started
// in, and in another the entries of posthouse_due. Both locks are taken before the snapshot by which the epoch is read.
const startOnce = `moment AS MATERIALIZED (SELECT COALESCE((SELECT value FROM posthouse_meta WHERE name = 'epoch') = ?, false) AS same,
	GREATEST((extract(epoch FROM clock_timestamp()) * 1000000)::bigint, ?::bigint) AS now),
flown AS (
	INSERT INTO posthouse_flights (id, tenant, channel, priority, accounts, owner, epoch, started_at, lease_until, ids)
	SELECT f.id, f.tenant, f.channel, f.priority, f.accounts, f.owner, f.epoch, moment.now, moment.now + f.lease, f.ids
	FROM moment, %s AS f(id, tenant, channel, priority, accounts, owner, epoch, lease, ids) WHERE moment.same RETURNING id, started_at, ids),
kept AS (
	INSERT INTO posthouse_due (tenant, channel, priority, due_at, id)
	SELECT d.tenant, d.channel, d.priority, d.due_at, d.id FROM moment, %s AS d(tenant, channel, priority, due_at, id) WHERE NOT moment.same)%s`

// startedFed writes starts into the feed.
const startedFed = `,
fed AS (INSERT INTO posthouse_feed_inbox (id, version, at, ids) SELECT id, 2, started_at, ids FROM flown)`

// flightNumbers says which of the columns of flights in startOnce are numbers.
var flightNumbers = []bool{false, false, false, true, false, false, true, true, false}

// startTexts are the statements, by whether starts go into the feed.
var startTexts = map[bool]string{
	false: fmt.Sprintf(startOnce, sqldb.Unnest(flightNumbers), sqldb.Unnest(layout.Due.Numbers), ""),
	true:  fmt.Sprintf(startOnce, sqldb.Unnest(flightNumbers), sqldb.Unnest(layout.Due.Numbers), startedFed),
}

// startArgs are the values of startOnce.
func startArgs(made []*boarding, now int64) []any {
	var flown, due [][]any
	for _, m := range made {
		ids := make([]string, len(m.items))
		for i := range m.items {
			ids[i] = m.items[i].Delivery.ID
			due = append(due, layout.DueValues(&m.items[i].Delivery))
		}
		flown = append(flown, []any{
			m.made.ID, m.Tenant, m.Channel, sqldb.PriorityNumber(m.Priority), layout.Accounts(m.by[:min(len(m.by), len(ids))]), m.Owner, m.Epoch,
			m.Lease.Microseconds(), layout.IDList(ids),
		})
	}
	args := []any{fmt.Sprint(made[0].Epoch), now}
	args = append(args, sqldb.Arrays(flightNumbers, flown)...)
	return append(args, sqldb.Arrays(layout.Due.Numbers, due)...)
}

// Disown sees to it that a start is not stored from now on whose transaction gave no answer: its id is taken, which waits for a commit
// that is under way. What is stored by then it returns: it is under way, held by who has asked for it, and nobody sends it. The row that
// keeps the id goes when the lease would have ended.
func (s Queue) Disown(ctx context.Context, now time.Time, lane work.Lane, of work.Seating) (started []string, err error) {
	err = s.change(ctx, now, "disown a start", func(t *tx) error {
		at, err := t.Now()
		if err != nil {
			return err
		}
		return t.Insert(layout.Flights, [][]any{{
			of.Flight, lane.Tenant, lane.Channel, layout.NumberOf(lane), "", of.Owner, of.Epoch, at, at + of.Lease.Microseconds(), "[]",
		}})
	})
	if !s.db.Taken(err) {
		return nil, err
	}
	text, _, err := sqldb.First(s.db.Reads(ctx), sqldb.Word, "SELECT ids FROM posthouse_flights WHERE id = ?", of.Flight)
	return layout.ReadList(text), s.db.Coded(err, "read a start")
}
