package store

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// claimOnce is the claim of PostgreSQL: what claim.go does in seven round trips, in one
// statement. Of the deliveries of one message only the first carries the message.
const claimOnce = `WITH clock AS MATERIALIZED (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now),
%s AS MATERIALIZED (
	SELECT id, due_at FROM posthouse_queue WHERE tenant = ? AND channel = ? AND priority = ? AND pin = ? AND state = 'pending'
		AND (due_at, id) >= (?::bigint, ?) AND due_at <= LEAST((SELECT now FROM clock), ?::bigint) AND (deadline = 0 OR deadline > (SELECT now FROM clock))
		AND (SELECT value FROM posthouse_meta WHERE name = 'epoch') = ?
	ORDER BY due_at, id LIMIT ? FOR UPDATE SKIP LOCKED),%s
claimed AS (
	UPDATE posthouse_queue q SET state = 'sending', version = q.version + 1, token = q.token + 1, lease_until = clock.now + ?::bigint,
		lease_owner = ?, updated_at = GREATEST(clock.now, q.updated_at), epoch = ?, account = COALESCE(%s, q.account), attempts = q.attempts + 1, started_at = GREATEST(clock.now, q.updated_at),
		first_start_at = CASE WHEN q.first_start_at = 0 THEN GREATEST(clock.now, q.updated_at) ELSE q.first_start_at END
	FROM due, clock WHERE q.id = due.id RETURNING q.*),
logged AS (
	INSERT INTO posthouse_transitions (delivery, version, tenant, at, type, from_state, to_state, token, attempt, owner, lease_until, due_at, epoch, account, tries)
	SELECT id, version, tenant, updated_at, 'start', 'pending', 'sending', token, attempts, lease_owner, lease_until, due_at, epoch, account, tries FROM claimed)%s
SELECT %s FROM (SELECT *, row_number() OVER (PARTITION BY substr(id, 1, 22) ORDER BY due_at, id) AS nth FROM claimed) c
	LEFT JOIN posthouse_messages m ON c.nth = 1 AND m.id = substr(c.id, 1, 22) || '0000'
ORDER BY c.due_at, c.id`

// claimWhole leaves of what was found what wholeOf leaves. What is found is never joined with itself: the hot connections know nested
// loops alone, and a lane with a thousand messages waiting would cost each claim their square. So what a message comes to, each of
// its deliveries learns from a window over them, and a message is counted in the queue once, at the first. What is counted stands in
// a FILTER: with the state in the WHERE clause the planner takes the index of what is due, and walks over all that waits for each message.
const claimWhole = `
parts AS MATERIALIZED (
	SELECT id, substr(id, 1, 22) AS stem, count(*) OVER m AS taken, min(due_at) OVER m AS begins, row_number() OVER m AS part
	FROM found WINDOW m AS (PARTITION BY substr(id, 1, 22) ORDER BY due_at, id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)),
counted AS MATERIALIZED (
	SELECT id, stem, begins, CASE WHEN part = 1 AND taken <= ?::bigint THEN taken = (
		SELECT count(*) FILTER (WHERE q.state = 'pending' AND q.due_at <= (SELECT now FROM clock) AND (q.deadline = 0 OR q.deadline > (SELECT now FROM clock)))
		FROM posthouse_queue q WHERE q.id > stem || '0000' AND q.id <= stem || 'ZZZZ') END AS whole
	FROM parts),
stems AS MATERIALIZED (SELECT id, stem, begins, COALESCE(bool_or(whole) OVER (PARTITION BY stem), false) AS whole FROM counted),
due AS MATERIALIZED (
	SELECT id, nth::int - 1 AS seat FROM (SELECT *, dense_rank() OVER (PARTITION BY whole ORDER BY begins, stem) AS nth FROM stems) g
	WHERE whole AND nth <= ?::bigint
		OR ? AND (SELECT count(*) FROM found) = ? AND NOT (SELECT bool_or(whole) FROM stems)
			AND stem = (SELECT substr(id, 1, 22) FROM found ORDER BY due_at, id LIMIT 1)),`

// claimSeats numbers what was found, for the accounts that are to send it.
const claimSeats = `
due AS MATERIALIZED (SELECT id, row_number() OVER (ORDER BY due_at, id)::int - 1 AS seat FROM found),`

// claimForm is what the statements differ by: whether messages stay whole, whether several accounts share what is claimed, and
// whether the claim goes into the feed.
type claimForm struct{ whole, several, fed bool }

var claimTexts = func() map[claimForm]string {
	texts := map[claimForm]string{}
	for _, whole := range []bool{false, true} {
		for _, several := range []bool{false, true} {
			for _, fed := range []bool{false, true} {
				name, choice, account, feed := "due", "", "NULLIF(?, '')", ""
				switch {
				case whole:
					name, choice = "found", claimWhole
				case several:
					name, choice = "found", claimSeats
				}
				if several {
					account = "?::jsonb ->> due.seat"
				}
				if fed {
					feed = claimedFed
				}
				texts[claimForm{whole, several, fed}] = fmt.Sprintf(claimOnce, name, choice, account, feed, claimOnceColumns())
			}
		}
	}
	return texts
}()

// claimedFed writes what was claimed into the feed.
const claimedFed = `,
fed AS (INSERT INTO posthouse_feed_inbox (id, version, at, ids) SELECT ?::text, version, max(updated_at), json_agg(id)::text FROM claimed GROUP BY version)`

// claimOnceColumns are the columns of a delivery and of its message, empty where it is not there.
func claimOnceColumns() string {
	var list []string
	for _, c := range layout.Queue.Columns {
		list = append(list, "c."+c)
	}
	for i, c := range layout.Messages.Columns {
		empty := "''"
		if layout.Messages.Numbers[i] {
			empty = "0"
		}
		list = append(list, "COALESCE(m."+c+", "+empty+")")
	}
	return strings.Join(list, ", ")
}

// mostMessages is how many messages a claim may be of.
func mostMessages(c *work.Claim) int64 {
	if c.Messages == 0 {
		return math.MaxInt64
	}
	return int64(c.Messages)
}

// claimAtOnce is Claim in one statement and without a transaction around it. Where its answer
// is lost, the leases end and the rescuer finds what was claimed.
func (s Queue) claimAtOnce(ctx context.Context, c work.Claim, from place) (items []work.Item, err error) {
	fed := s.feed.on()
	several := len(c.By) > 1
	bound := int64(math.MaxInt64)
	if !c.DueBefore.IsZero() {
		bound = sqldb.Micros(c.DueBefore)
	}
	args := []any{c.Tenant, c.Channel, sqldb.PriorityNumber(c.Priority), string(c.Pin), from.due, from.id, bound, fmt.Sprint(c.Epoch), c.Max}
	account, size := "", int64(math.MaxInt64)
	if len(c.By) > 0 {
		account = c.By[0].Account
	}
	if several {
		seats, most := c.Seats()
		account, size = layout.Accounts(seats), int64(most)
	}
	if c.Whole {
		args = append(args, size, mostMessages(&c), c.Cut, c.Max)
	}
	args = append(args, c.Lease.Microseconds(), c.Owner, c.Epoch, account)
	if fed {
		args = append(args, posthouse.NewID())
	}
	err = s.db.ReadAtOnce(ctx, "claim rows", claimTexts[claimForm{c.Whole, several, fed}], args, func(rows sqldb.Found) (err error) {
		items, err = scanClaimed(rows)
		return err
	})
	if fed && len(items) > 0 {
		s.feed.poke()
	}
	return items, err
}

func scanClaimed(rows sqldb.Found) (items []work.Item, err error) {
	messages := map[string]*posthouse.Message{}
	for rows.Next() {
		var m *posthouse.Message
		d, err := layout.ScanDelivery(func(delivery ...any) (err error) {
			m, _, err = layout.ScanMessage(func(message ...any) error { return rows.Scan(append(delivery, message...)...) })
			return err
		})
		if err != nil {
			return nil, err
		}
		if m.ID != "" {
			messages[m.ID] = m
		}
		items = append(items, work.Item{Delivery: *d, Message: messages[d.Message]})
	}
	return items, rows.Err()
}
