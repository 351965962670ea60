package campaigns

import (
	"context"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// claimLook is how many free segments a claim looks at: as many workers may be at them at once.
const claimLook = 16

// ClaimSegment takes a free segment of a running campaign that is due: one conditional update, whose count of rows decides
// between all who try. false says that there is none.
func (s Segments) ClaimSegment(ctx context.Context, now time.Time, c work.SegmentClaim) (taken work.Segment, found bool, err error) {
	at, args := s.db.Instant(now)
	args = append([]any{int64(work.SegmentFree), c.Tenant, c.Channel, sqldb.PriorityNumber(c.Priority), string(posthouse.CampaignRunning)}, args...)
	free, err := sqldb.All(s.db.Reads(ctx), sqldb.Word, `SELECT s.id FROM posthouse_campaigns c JOIN posthouse_segments s ON s.campaign = c.id AND s.status = ?
		WHERE c.tenant = ? AND c.channel = ? AND c.priority = ? AND c.state = ? AND s.due_at <= `+at+` ORDER BY c.id, s.due_at, s.first_seq LIMIT ?`,
		append(args, claimLook)...)
	if err != nil {
		return taken, false, s.db.Coded(err, "look for a free segment")
	}
	for _, id := range free {
		err := s.db.Change(ctx, now, "claim a segment", func(t *sqldb.Tx) (err error) {
			taken, found, err = claimSegment(t, id, &c)
			return err
		})
		if err != nil || found {
			return taken, found, err
		}
	}
	return taken, false, nil
}

// sameEpoch lets a process from before a restore claim nothing.
const sameEpoch = "(SELECT value FROM posthouse_meta WHERE name = 'epoch') = ?"

func claimSegment(t *sqldb.Tx, id string, c *work.SegmentClaim) (s work.Segment, found bool, err error) {
	at, err := t.Now()
	if err != nil {
		return s, false, err
	}
	n, err := t.Exec(`UPDATE posthouse_segments SET status = ?, token = token + 1, owner = ?, epoch = ?, lease_until = ? WHERE id = ? AND status = ? AND due_at <= ? AND `+sameEpoch+`
		AND EXISTS (SELECT 1 FROM posthouse_campaigns c WHERE c.id = campaign AND c.state = ? AND (c.deadline = 0 OR c.deadline > ?))`,
		int64(work.SegmentClaimed), c.Owner, c.Epoch, at+c.Lease.Microseconds(), id, int64(work.SegmentFree), at, fmt.Sprint(c.Epoch), string(posthouse.CampaignRunning), at)
	if err != nil || n != 1 {
		return s, false, err
	}
	return sqldb.First(t.Query, readSegment, "SELECT "+segmentRead+" FROM posthouse_segments WHERE id = ?", id)
}

// DueLanes are the lanes that have a segment to claim.
func (s Segments) DueLanes(ctx context.Context, now time.Time) ([]work.Lane, error) {
	at, args := s.db.Instant(now)
	args = append([]any{string(posthouse.CampaignRunning), int64(work.SegmentFree)}, args...)
	list, err := sqldb.All(s.db.Reads(ctx), func(scan sqldb.Scanner) (l work.Lane, err error) {
		var priority int64
		err = scan(&l.Tenant, &l.Channel, &priority)
		l.Priority = sqldb.PriorityOf(priority)
		return l, err
	}, `SELECT DISTINCT c.tenant, c.channel, c.priority FROM posthouse_campaigns c WHERE c.state = ?
		AND EXISTS (SELECT 1 FROM posthouse_segments s WHERE s.campaign = c.id AND s.status = ? AND s.due_at <= `+at+`)`, args...)
	return list, s.db.Coded(err, "look for segments that are due")
}

// QuietSegments lists free segments of running campaigns that wait for one reason until a time that is to come, by their ids behind one.
func (s Segments) QuietSegments(ctx context.Context, now time.Time, reason, behind string, max int) ([]work.QuietSegment, error) {
	at, args := s.db.Instant(now)
	args = append([]any{int64(work.SegmentFree), string(posthouse.CampaignRunning), reason, behind}, args...)
	list, err := sqldb.All(s.db.Reads(ctx), func(scan sqldb.Scanner) (q work.QuietSegment, err error) {
		var due, deadline int64
		err = scan(&q.ID, &q.Tenant, &q.Channel, &q.Kind, &due, &deadline)
		q.DueAt, q.Deadline = sqldb.TimeOf(due), sqldb.TimeOf(deadline)
		return q, err
	}, `SELECT s.id, c.tenant, c.channel, c.kind, s.due_at, c.deadline FROM posthouse_campaigns c JOIN posthouse_segments s ON s.campaign = c.id AND s.status = ?
		WHERE c.state = ? AND s.reason = ? AND s.id > ? AND s.due_at > `+at+` ORDER BY s.id LIMIT ?`, append(args, max)...)
	return list, s.db.Coded(err, "look for segments that wait for quiet hours")
}

// WakeSegment has a free segment that waits for a reason come due sooner. One that was claimed meanwhile stays as it is: its owner asks anew.
func (s Segments) WakeSegment(ctx context.Context, now time.Time, id, reason string, due time.Time) error {
	return s.db.Change(ctx, now, "have a segment come due sooner", func(t *sqldb.Tx) error {
		_, err := t.Exec("UPDATE posthouse_segments SET due_at = ? WHERE id = ? AND status = ? AND reason = ? AND due_at > ?", sqldb.Micros(due), id, int64(work.SegmentFree), reason, sqldb.Micros(due))
		return err
	})
}

// StartChunk stores that members of a claimed segment are started, and renews the lease, where it is still its owner's and
// its campaign may send. The campaign is locked against a change until then: whoever was told that it is paused or has ended
// can rely on it that nothing starts any more.
func (s Segments) StartChunk(ctx context.Context, now time.Time, seg work.Segment, lease time.Duration) (is work.Chunk, err error) {
	err = s.db.Change(ctx, now, "start members of a campaign", func(t *sqldb.Tx) error {
		is = work.ChunkLost
		at, err := t.Now()
		if err != nil {
			return err
		}
		_, runs, err := sqldb.First(t.Query, sqldb.Word, "SELECT id FROM posthouse_campaigns WHERE id = ? AND state = ? AND (deadline = 0 OR deadline > ?) AND "+sameEpoch+t.DB.Dialect.Share,
			seg.Campaign, string(posthouse.CampaignRunning), at, fmt.Sprint(seg.Epoch))
		if err != nil {
			return err
		}
		if !runs {
			is = work.ChunkHalted
			return nil
		}
		held, err := saveSegment(t, seg, at, lease)
		if held {
			is = work.ChunkStarted
		}
		return err
	})
	return is, err
}

// SaveSegments writes where the members of claimed segments stand, and renews their leases, each as long as it is still its
// owner's. held says which are: what the caller knows of the others counts no more. refs are what the provider calls the messages
// of those who were just sent to, and are kept in any case: they are evidence.
func (s Segments) SaveSegments(ctx context.Context, now time.Time, list []work.Segment, refs []work.RefBlock, lease time.Duration) (held []bool, err error) {
	err = s.db.Change(ctx, now, "write segments", func(t *sqldb.Tx) error {
		held = make([]bool, len(list))
		at, err := t.Now()
		if err == nil {
			err = putRefs(t, refs)
		}
		for i := 0; err == nil && i < len(list); i++ {
			held[i], err = saveSegment(t, list[i], at, lease)
		}
		return err
	})
	return held, err
}

func saveSegment(t *sqldb.Tx, seg work.Segment, at int64, lease time.Duration) (bool, error) {
	switch seg.Status {
	case work.SegmentClaimed:
		seg.LeaseUntil = sqldb.TimeOf(at + lease.Microseconds())
	case work.SegmentFree:
		seg.Owner, seg.LeaseUntil = "", time.Time{}
	default:
		seg.LeaseUntil, seg.FinishedAt = time.Time{}, sqldb.TimeOf(at)
	}
	step, err := segmentStep(&seg)
	if err != nil {
		return false, err
	}
	n, err := t.Exec("UPDATE posthouse_segments SET "+assigned(segmentProgress)+" WHERE id = ? AND token = ? AND status = ?",
		append(step, seg.ID, seg.Token, int64(work.SegmentClaimed))...)
	return n == 1, err
}

// ReviseSegment lets decide change where the members of a segment stand that nobody has claimed, such as a void one. false
// from decide leaves it as it is.
func (s Segments) ReviseSegment(ctx context.Context, now time.Time, id string, decide func(work.Segment) (work.Segment, bool)) error {
	return s.db.Change(ctx, now, "revise a segment", func(t *sqldb.Tx) error {
		seg, found, err := sqldb.First(t.Query, readSegment, "SELECT "+segmentRead+" FROM posthouse_segments WHERE id = ?"+t.DB.Dialect.Lock, id)
		if err != nil || !found || seg.Status == work.SegmentClaimed {
			return err
		}
		after, changed := decide(seg)
		if !changed {
			return nil
		}
		step, err := segmentStep(&after)
		if err != nil {
			return err
		}
		_, err = t.Exec("UPDATE posthouse_segments SET "+assigned(segmentProgress)+" WHERE id = ?", append(step, id)...)
		return err
	})
}

// LeftSegments lists segments to repair, of all tenants: claimed ones whose lease has ended, and partly done ones.
func (s Segments) LeftSegments(ctx context.Context, now time.Time, max int) ([]work.Segment, error) {
	at, args := s.db.Instant(now)
	args = append([]any{int64(work.SegmentPartly), int64(work.SegmentClaimed)}, args...)
	list, err := sqldb.All(s.db.Reads(ctx), readSegment, "SELECT "+segmentRead+" FROM posthouse_segments WHERE status = ? OR status = ? AND lease_until < "+at+" ORDER BY lease_until LIMIT ?",
		append(args, max)...)
	return list, s.db.Coded(err, "look for segments that were left")
}

// OpenSegments lists segments of a campaign whose members are not all settled and whom nobody works on: free and partly done
// ones, and claimed ones whose lease has ended.
func (s Segments) OpenSegments(ctx context.Context, now time.Time, campaign string, max int) ([]work.Segment, error) {
	at, args := s.db.Instant(now)
	args = append([]any{campaign, int64(work.SegmentFree), int64(work.SegmentPartly), int64(work.SegmentClaimed)}, args...)
	list, err := sqldb.All(s.db.Reads(ctx), readSegment, "SELECT "+segmentRead+" FROM posthouse_segments WHERE campaign = ? AND (status IN (?, ?) OR status = ? AND lease_until < "+at+") LIMIT ?",
		append(args, max)...)
	return list, s.db.Coded(err, "look for members who are left")
}

// Unsettled reports whether a campaign has a segment that is neither done nor void.
func (s Segments) Unsettled(ctx context.Context, campaign string) (bool, error) {
	_, some, err := sqldb.First(s.db.Reads(ctx), sqldb.Word, "SELECT id FROM posthouse_segments WHERE campaign = ? AND status IN (?, ?, ?) LIMIT 1",
		campaign, int64(work.SegmentFree), int64(work.SegmentClaimed), int64(work.SegmentPartly))
	return some, s.db.Coded(err, "look whether a campaign is settled")
}

// ReplaceSegment ends a segment, mostly as void, and issues others in its place, in one transaction, where it is still as it
// was read: the same token, status and map of its members and, of a claimed one, a lease that has ended. Its owner may have gone on
// after its lease, as long as nobody had taken the segment, and may have left it again: the map says so. false says that it is not.
func (s Segments) ReplaceSegment(ctx context.Context, now time.Time, old, ended work.Segment, issued []work.Segment) (done bool, err error) {
	err = s.db.Change(ctx, now, "repair a segment", func(t *sqldb.Tx) error {
		at, err := t.Now()
		if err != nil {
			return err
		}
		ended.LeaseUntil, ended.FinishedAt = time.Time{}, sqldb.TimeOf(at)
		step, err := segmentStep(&ended)
		if err != nil {
			return err
		}
		n, err := t.Exec("UPDATE posthouse_segments SET "+assigned(segmentProgress)+" WHERE id = ? AND token = ? AND status = ? AND outcomes = ? AND lease_until < ?",
			append(step, old.ID, old.Token, int64(old.Status), old.Outcomes, at)...)
		if done = err == nil && n == 1; !done {
			return err
		}
		return insertSegments(t, issued, at)
	})
	return done, err
}
