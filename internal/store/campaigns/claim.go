package campaigns

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// claimLook is how many free segments a claim looks at: as many workers may be at them at once.
const claimLook = 16

// ClaimSegment takes a free segment of a running campaign: one conditional update, whose count of rows decides between all
// who try. false says that there is none.
func (s Segments) ClaimSegment(ctx context.Context, now time.Time, c work.SegmentClaim) (taken work.Segment, found bool, err error) {
	free, err := sqldb.All(s.db.Reads(ctx), sqldb.Word, `SELECT s.id FROM posthouse_campaigns c JOIN posthouse_segments s ON s.campaign = c.id AND s.status = ?
		WHERE c.tenant = ? AND c.channel = ? AND c.priority = ? AND c.state = ? ORDER BY c.id, s.first_seq LIMIT ?`,
		int64(work.SegmentFree), c.Tenant, c.Channel, sqldb.PriorityNumber(c.Priority), string(posthouse.CampaignRunning), claimLook)
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

func claimSegment(t *sqldb.Tx, id string, c *work.SegmentClaim) (s work.Segment, found bool, err error) {
	at, err := t.Now()
	if err != nil {
		return s, false, err
	}
	n, err := t.Exec(`UPDATE posthouse_segments SET status = ?, token = token + 1, owner = ?, epoch = ?, lease_until = ? WHERE id = ? AND status = ?
		AND EXISTS (SELECT 1 FROM posthouse_campaigns c WHERE c.id = campaign AND c.state = ? AND (c.deadline = 0 OR c.deadline > ?))`,
		int64(work.SegmentClaimed), c.Owner, c.Epoch, at+c.Lease.Microseconds(), id, int64(work.SegmentFree), string(posthouse.CampaignRunning), at)
	if err != nil || n != 1 {
		return s, false, err
	}
	return sqldb.First(t.Query, readSegment, "SELECT "+segmentColumns+" FROM posthouse_segments WHERE id = ?", id)
}

// SaveSegment writes where the members of a claimed segment stand, and renews the lease, as long as it is still its owner's.
// false says that it is not: what the caller knows of it counts no more.
func (s Segments) SaveSegment(ctx context.Context, now time.Time, seg work.Segment, lease time.Duration) (held bool, err error) {
	err = s.db.Change(ctx, now, "write a segment", func(t *sqldb.Tx) error {
		at, err := t.Now()
		if err != nil {
			return err
		}
		held, err = saveSegment(t, seg, at, lease)
		return err
	})
	return held, err
}

func saveSegment(t *sqldb.Tx, seg work.Segment, at int64, lease time.Duration) (bool, error) {
	token := seg.Token
	switch seg.Status {
	case work.SegmentClaimed:
		seg.LeaseUntil = sqldb.TimeOf(at + lease.Microseconds())
	case work.SegmentFree:
		seg.Owner, seg.LeaseUntil = "", time.Time{}
	default:
		seg.LeaseUntil, seg.FinishedAt = time.Time{}, sqldb.TimeOf(at)
	}
	n, err := t.Exec("UPDATE posthouse_segments SET "+assigned(segmentProgress)+" WHERE id = ? AND token = ? AND status = ?",
		append(segmentStep(&seg), seg.ID, token, int64(work.SegmentClaimed))...)
	return n == 1, err
}

// LeftSegments lists segments to repair, of all tenants: claimed ones whose lease has ended, and partly done ones.
func (s Segments) LeftSegments(ctx context.Context, now time.Time, max int) ([]work.Segment, error) {
	at, args := s.db.Instant(now)
	args = append([]any{int64(work.SegmentPartly), int64(work.SegmentClaimed)}, args...)
	list, err := sqldb.All(s.db.Reads(ctx), readSegment, "SELECT "+segmentColumns+" FROM posthouse_segments WHERE status = ? OR status = ? AND lease_until < "+at+" ORDER BY lease_until LIMIT ?",
		append(args, max)...)
	return list, s.db.Coded(err, "look for segments that were left")
}

// ReplaceSegment voids a segment and issues others in its place, in one transaction, where it is still as it was read: the
// same token and status and, of a claimed one, a lease that has ended. false says that it is not.
func (s Segments) ReplaceSegment(ctx context.Context, now time.Time, old, void work.Segment, issued []work.Segment) (done bool, err error) {
	err = s.db.Change(ctx, now, "repair a segment", func(t *sqldb.Tx) error {
		at, err := t.Now()
		if err != nil {
			return err
		}
		void.LeaseUntil, void.FinishedAt = time.Time{}, sqldb.TimeOf(at)
		n, err := t.Exec("UPDATE posthouse_segments SET "+assigned(segmentProgress)+" WHERE id = ? AND token = ? AND status = ? AND lease_until < ?",
			append(segmentStep(&void), old.ID, old.Token, int64(old.Status), at)...)
		if done = err == nil && n == 1; !done {
			return err
		}
		return insertSegments(t, issued, at)
	})
	return done, err
}
