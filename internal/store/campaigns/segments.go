package campaigns

import (
	"context"
	"slices"
	"strings"

	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

const segmentColumns = "id, campaign, tenant, first_seq, last_seq, repaired_from, created_at, " + segmentProgress

// countColumns count the outcomes of a segment, in the order of their numbers.
const countColumns = "unsent, started, sent, delivered, undelivered, failed, unknown, expired, suppressed, cancelled, handed_over, repeated"

// segmentProgress is what each step of a segment writes.
const segmentProgress = "status, reason, token, owner, epoch, lease_until, finished_at, outcomes, " + countColumns

func readSegment(scan sqldb.Scanner) (work.Segment, error) {
	var s work.Segment
	var created, lease, finished int64
	into := []any{&s.ID, &s.Campaign, &s.Tenant, &s.First, &s.Last, &s.RepairedFrom, &created, &s.Status, &s.Reason, &s.Token, &s.Owner, &s.Epoch, &lease, &finished, &s.Outcomes}
	for i := range s.Counts {
		into = append(into, &s.Counts[i])
	}
	err := scan(into...)
	s.CreatedAt, s.LeaseUntil, s.FinishedAt = sqldb.TimeOf(created), sqldb.TimeOf(lease), sqldb.TimeOf(finished)
	return s, err
}

func segmentStep(s *work.Segment) []any {
	args := []any{int64(s.Status), s.Reason, s.Token, s.Owner, s.Epoch, sqldb.Micros(s.LeaseUntil), sqldb.Micros(s.FinishedAt), s.Outcomes}
	for _, n := range s.Counts {
		args = append(args, n)
	}
	return args
}

// insertSegments writes new segments. Each is some hundred bytes, so a few go in one statement.
func insertSegments(t *sqldb.Tx, list []work.Segment, at int64) error {
	const perStatement = 16
	for few := range slices.Chunk(list, perStatement) {
		var args []any
		for i := range few {
			s := &few[i]
			args = append(append(args, s.ID, s.Campaign, s.Tenant, s.First, s.Last, s.RepairedFrom, at), segmentStep(s)...)
		}
		row := "(" + sqldb.Marks(len(args)/len(few)) + ")"
		text := "INSERT INTO posthouse_segments (" + segmentColumns + ") VALUES " + row
		for range few[1:] {
			text += ", " + row
		}
		if _, err := t.Exec(text, args...); err != nil {
			return err
		}
	}
	return nil
}

// Segments reads up to max segments of a campaign in the order of their members, behind a place: the first member and the
// id of the last one that was read.
func (s Segments) Segments(ctx context.Context, campaign string, behind work.SegmentPlace, max int) ([]work.Segment, error) {
	list, err := sqldb.All(s.db.Reads(ctx), readSegment, "SELECT "+segmentColumns+" FROM posthouse_segments WHERE campaign = ? AND (first_seq > ? OR first_seq = ? AND id > ?) ORDER BY first_seq, id LIMIT ?",
		campaign, behind.First, behind.First, behind.ID, max)
	return list, s.db.Coded(err, "read the segments of a campaign")
}

// SegmentsIn reads the segments that have any of the members from first to last, the oldest first. size is the largest that
// a segment can be.
func (s Segments) SegmentsIn(ctx context.Context, campaign string, first, last int64, size int) ([]work.Segment, error) {
	list, err := sqldb.All(s.db.Reads(ctx), readSegment, "SELECT "+segmentColumns+" FROM posthouse_segments WHERE campaign = ? AND first_seq <= ? AND first_seq > ? AND last_seq >= ? ORDER BY id",
		campaign, last, first-int64(size), first)
	return list, s.db.Coded(err, "read the segments of members")
}

// Progress sums up where the members of a campaign stand, and counts its segments by their status.
func (s Segments) Progress(ctx context.Context, campaign string) (work.Progress, error) {
	var p work.Progress
	err := s.db.Look(ctx, "SELECT status, COUNT(*), SUM("+strings.ReplaceAll(countColumns, ", ", "), SUM(")+") FROM posthouse_segments WHERE campaign = ? GROUP BY status", []any{campaign}, func(scan sqldb.Scanner) error {
		var status work.SegmentStatus
		var n int64
		var counts [work.CountedOutcomes]int64
		into := []any{&status, &n}
		for i := range counts {
			into = append(into, &counts[i])
		}
		if err := scan(into...); err != nil {
			return err
		}
		if int(status) < len(p.Segments) {
			p.Segments[status] += n
		}
		for i := range counts {
			p.Members[i] += counts[i]
		}
		return nil
	})
	return p, s.db.Coded(err, "count the members of a campaign")
}
