package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// handClock is read by each part before it locks anything. The same claim that is made at this moment is waited for there: of two that went
// over what is due side by side each would lock a part, and the one that is undone would keep its part from the other.
const handClock = `WITH clock AS MATERIALIZED (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now
	WHERE ?::text = '' OR pg_advisory_xact_lock(hashtextextended(?::text, 0)) IS NOT NULL),
`

// The parts of a hand-out in PostgreSQL's one statement: each takes what the parts before it have left to take.
// A part orders what it takes by the column rank, then by id.
const (
	handFound = ` AS MATERIALIZED (SELECT id, due_at AS rank, ?::bigint AS lease FROM posthouse_queue
	WHERE tenant = ? AND channel = ? AND priority = ? AND pin = '' AND state = 'pending' AND (due_at, id) >= (?::bigint, ?) AND due_at <= (SELECT now FROM clock) - ?::bigint
		AND (deadline = 0 OR deadline > (SELECT now FROM clock)) AND (SELECT value FROM posthouse_meta WHERE name = 'epoch') = ?
	ORDER BY due_at, id LIMIT %s FOR UPDATE SKIP LOCKED),
`
	handRest = ` AS MATERIALIZED (SELECT q.id, w.tries AS rank, ?::bigint AS lease FROM (
		SELECT id, tries, priority FROM posthouse_queue WHERE tenant = ? AND channel = ? AND priority = ? AND pin = '' AND state = 'pending'
			AND (due_at, id) >= (?::bigint, ?) AND due_at > (SELECT now FROM clock) - ?::bigint AND due_at <= (SELECT now FROM clock)
			AND (deadline = 0 OR deadline > (SELECT now FROM clock)) AND (SELECT value FROM posthouse_meta WHERE name = 'epoch') = ?
		ORDER BY due_at, id LIMIT 1000) w
	JOIN posthouse_queue q ON q.id = w.id WHERE q.priority = w.priority AND q.state = 'pending' AND q.due_at <= (SELECT now FROM clock) ORDER BY w.tries, w.id LIMIT %s FOR UPDATE OF q SKIP LOCKED),
`
	handHold = `claimed AS (
	UPDATE posthouse_queue q SET state = 'sending', version = q.version + 1, token = q.token + 1, lease_until = GREATEST(clock.now, q.updated_at) + found.lease,
		lease_owner = ?, updated_at = GREATEST(clock.now, q.updated_at), epoch = ?, %s
	FROM found, clock WHERE q.id = found.id RETURNING q.*, found.part, found.rank),
logged AS (
	INSERT INTO posthouse_transitions (delivery, version, tenant, at, type, from_state, to_state, token, attempt, owner, lease_until, due_at, epoch, account, tries)
	SELECT id, version, tenant, updated_at, %s, 'pending', 'sending', token, %s, lease_owner, lease_until, due_at, epoch, account, tries FROM claimed),
handed AS (
	INSERT INTO posthouse_send_log (delivery, token, tenant, at, agent, claim_id, request) SELECT id, token, tenant, updated_at, ?, ?, ? FROM claimed),
kept AS (
	INSERT INTO posthouse_agent_claims (tenant, agent, claim_id, deliveries, created_at, expires_at)
	SELECT ?::text, ?::text, ?::text, json_agg(json_build_object('id', c.id, 'token', c.token) ORDER BY c.part, c.rank, c.id)::text, max(clock.now), max(clock.now) + ?::bigint
	FROM claimed c, clock WHERE ?::text <> '' HAVING count(*) > 0),
tallied AS (
	INSERT INTO posthouse_tallies (tenant, channel, bucket, slot, n)
	SELECT tenant, channel, bucket, ?::bigint, sum(n) FROM (
		SELECT tenant, channel, CASE WHEN tries > 0 THEN 'retry' ELSE 'new' END AS bucket, -1 AS n FROM claimed
		UNION ALL SELECT tenant, channel, 'processing', 1 FROM claimed) moved
	GROUP BY tenant, channel, bucket ORDER BY tenant, channel, bucket
	ON CONFLICT (tenant, channel, bucket, slot) DO UPDATE SET n = posthouse_tallies.n + excluded.n)%s
SELECT %s FROM (SELECT *, row_number() OVER (PARTITION BY substr(id, 1, 22) ORDER BY part, rank, id) AS nth FROM claimed) c
	LEFT JOIN posthouse_messages m ON c.nth = 1 AND m.id = substr(c.id, 1, 22) || '0000'
ORDER BY c.part, c.rank, c.id`
)

// A hand-out starts what it takes where the agent is to send it at once.
const (
	handStart = `attempts = q.attempts + 1, started_at = GREATEST(clock.now, q.updated_at),
		first_start_at = CASE WHEN q.first_start_at = 0 THEN GREATEST(clock.now, q.updated_at) ELSE q.first_start_at END`
	handClaim = "started_at = 0"
)

// handText is the statement for the parts of some lanes.
func handText(lanes []handLane, start, fed bool) string {
	var b strings.Builder
	b.WriteString(handClock)
	left, found := "?::bigint", []string{}
	for i := range lanes {
		for _, part := range lanes[i].parts {
			text, n := handFound, len(found)
			if part == partRest {
				text = handRest
			}
			fmt.Fprintf(&b, "p%d"+text, n, left)
			left += fmt.Sprintf(" - (SELECT count(*) FROM p%d)", n)
			found = append(found, fmt.Sprintf("SELECT id, rank, lease, %d AS part FROM p%d", n, n))
		}
	}
	b.WriteString("found AS MATERIALIZED (" + strings.Join(found, " UNION ALL ") + "),\n")
	set, event, attempt := handClaim, "'claim'", "0"
	if start {
		set, event, attempt = handStart, "'start'", "attempts"
	}
	into := ""
	if fed {
		into = claimedFed
	}
	fmt.Fprintf(&b, handHold, set, event, attempt, into, claimOnceColumns())
	return b.String()
}

// handOutAtOnce is HandOut in one statement and without a transaction around it; see claimAtOnce.
func (s Handouts) handOutAtOnce(ctx context.Context, h *work.HandOut, lanes []handLane) (items []work.Item, err error) {
	args := []any{h.ClaimID, "posthouse claim " + h.Tenant + " " + h.Agent + " " + h.ClaimID}
	for i := range lanes {
		l := &lanes[i]
		lease, fair, epoch := l.channel.Lease.Microseconds(), l.channel.FairAfter.Microseconds(), fmt.Sprint(h.Epoch)
		for _, part := range l.parts {
			from, wait := l.again, fair
			if part == partNew {
				from, wait = l.fresh, 0
			}
			args = append(args, lease, h.Tenant, l.channel.Name, l.number(part != partNew), from.due, from.id, wait, epoch, h.Max)
		}
	}
	args = append(args, work.Owner(h.Agent), h.Epoch, h.Agent, h.ClaimID, h.Request,
		h.Tenant, h.Agent, h.ClaimID, claimExpiry(h), h.ClaimID, rand.Int64N(layout.Slots))
	fed := s.feed.on()
	if fed {
		args = append(args, posthouse.NewID())
	}
	err = s.db.ReadAtOnce(ctx, "hand out", handText(lanes, h.Start, fed), args, func(rows sqldb.Found) (err error) {
		items, err = scanClaimed(rows)
		return err
	})
	if fed && len(items) > 0 {
		s.feed.poke()
	}
	return items, err
}
