package campaigns

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"

	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

const segmentColumns = "id, campaign, tenant, first_seq, last_seq, repaired_from, created_at, " + segmentProgress

// segmentRead are those with what receipts write.
const segmentRead = segmentColumns + ", " + segmentHeard

const segmentHeard = "receipts, told, heard_delivered, heard_undelivered"

// countColumns count the outcomes of a segment, in the order of their numbers.
const countColumns = "unsent, started, sent, delivered, undelivered, failed, unknown, expired, suppressed, cancelled, handed_over, repeated"

// segmentProgress is what each step of a segment writes.
const segmentProgress = "status, reason, token, owner, epoch, lease_until, finished_at, due_at, pass, began_at, doubted_at, reasons, noted, accounts, via, outcomes, " + countColumns

func readSegment(scan sqldb.Scanner) (work.Segment, error) {
	var s work.Segment
	var created, lease, finished, due, began, doubted int64
	var reasons, accounts string
	var told sql.NullString
	into := []any{
		&s.ID, &s.Campaign, &s.Tenant, &s.First, &s.Last, &s.RepairedFrom, &created, &s.Status, &s.Reason, &s.Token, &s.Owner, &s.Epoch, &lease, &finished,
		&due, &s.Pass, &began, &doubted, &reasons, &s.Noted, &accounts, &s.Via, &s.Outcomes,
	}
	for i := range s.Counts {
		into = append(into, &s.Counts[i])
	}
	if err := scan(append(into, &s.Receipts, &told, &s.Heard.Delivered, &s.Heard.Undelivered)...); err != nil {
		return s, err
	}
	s.CreatedAt, s.LeaseUntil, s.FinishedAt = sqldb.TimeOf(created), sqldb.TimeOf(lease), sqldb.TimeOf(finished)
	s.DueAt, s.BeganAt, s.DoubtedAt = sqldb.TimeOf(due), sqldb.TimeOf(began), sqldb.TimeOf(doubted)
	var err error
	if s.Reasons, err = readList[work.SegmentReason](reasons); err == nil {
		s.Told, err = readList[work.SegmentReason](told.String)
	}
	if err == nil {
		s.Accounts, err = readList[string](accounts)
	}
	return s, err
}

func readList[T any](text string) (list []T, err error) {
	if text != "" {
		err = json.Unmarshal([]byte(text), &list)
	}
	return list, err
}

func listText[T any](list []T) (string, error) {
	if len(list) == 0 {
		return "", nil
	}
	text, err := json.Marshal(list)
	return string(text), err
}

func segmentStep(s *work.Segment) ([]any, error) {
	reasons, err := listText(s.Reasons)
	if err != nil {
		return nil, err
	}
	accounts, err := listText(s.Accounts)
	if err != nil {
		return nil, err
	}
	args := []any{
		int64(s.Status), s.Reason, s.Token, s.Owner, s.Epoch, sqldb.Micros(s.LeaseUntil), sqldb.Micros(s.FinishedAt),
		sqldb.Micros(s.DueAt), s.Pass, sqldb.Micros(s.BeganAt), sqldb.Micros(s.DoubtedAt), reasons, s.Noted, accounts, s.Via, s.Outcomes,
	}
	for _, n := range s.Counts {
		args = append(args, n)
	}
	return args, nil
}

// insertSegments writes new segments. Each is some hundred bytes, so a few go in one statement.
func insertSegments(t *sqldb.Tx, list []work.Segment, at int64) error {
	const perStatement = 16
	for few := range slices.Chunk(list, perStatement) {
		var args []any
		for i := range few {
			s := &few[i]
			step, err := segmentStep(s)
			if err != nil {
				return err
			}
			args = append(append(args, s.ID, s.Campaign, s.Tenant, s.First, s.Last, s.RepairedFrom, at), step...)
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
	list, err := sqldb.All(s.db.Reads(ctx), readSegment, "SELECT "+segmentRead+" FROM posthouse_segments WHERE campaign = ? AND (first_seq > ? OR first_seq = ? AND id > ?) ORDER BY first_seq, id LIMIT ?",
		campaign, behind.First, behind.First, behind.ID, max)
	return list, s.db.Coded(err, "read the segments of a campaign")
}

// SegmentsIn reads the segments that have any of the members from first to last, the oldest first. size is the largest that
// a segment can be.
func (s Segments) SegmentsIn(ctx context.Context, campaign string, first, last int64, size int) ([]work.Segment, error) {
	list, err := sqldb.All(s.db.Reads(ctx), readSegment, "SELECT "+segmentRead+" FROM posthouse_segments WHERE campaign = ? AND first_seq <= ? AND first_seq > ? AND last_seq >= ? ORDER BY id",
		campaign, last, first-int64(size), first)
	return list, s.db.Coded(err, "read the segments of members")
}

// Progress sums up where the members of a campaign stand, counts its segments by their status, and says why members failed.
func (s Segments) Progress(ctx context.Context, campaign string) (work.Progress, error) {
	var p work.Progress
	var noted int64 // segments
	err := s.db.Look(ctx, "SELECT status, COUNT(*), COALESCE(MIN(due_at), 0), SUM(CASE WHEN reasons <> '' OR heard_undelivered > 0 THEN 1 ELSE 0 END), SUM("+strings.ReplaceAll(countColumns+", heard_delivered, heard_undelivered", ", ", "), SUM(")+") FROM posthouse_segments WHERE campaign = ? GROUP BY status", []any{campaign}, func(scan sqldb.Scanner) error {
		var status work.SegmentStatus
		var n, due, some int64
		var counts [work.CountedOutcomes]int64
		var heard work.HeardMembers
		into := []any{&status, &n, &due, &some}
		for i := range counts {
			into = append(into, &counts[i])
		}
		if err := scan(append(into, &heard.Delivered, &heard.Undelivered)...); err != nil {
			return err
		}
		noted += some
		p.Heard.Delivered, p.Heard.Undelivered = p.Heard.Delivered+heard.Delivered, p.Heard.Undelivered+heard.Undelivered
		if int(status) < len(p.Segments) {
			p.Segments[status] += n
			p.Due[status] = sqldb.TimeOf(due)
		}
		for i := range counts {
			p.Members[i] += counts[i]
		}
		return nil
	})
	if err == nil && noted > 0 {
		p.Reasons, err = s.reasons(ctx, campaign)
	}
	return p, s.db.Coded(err, "count the members of a campaign")
}

// CountsOf is Progress of several campaigns, of which it has Members and Heard alone.
func (s Segments) CountsOf(ctx context.Context, campaigns []string) (map[string]work.Progress, error) {
	all := map[string]work.Progress{}
	if len(campaigns) == 0 {
		return all, nil
	}
	where, args := s.db.In("campaign", campaigns)
	err := s.db.Look(ctx, "SELECT campaign, SUM("+strings.ReplaceAll(countColumns+", heard_delivered, heard_undelivered", ", ", "), SUM(")+") FROM posthouse_segments WHERE "+where+" GROUP BY campaign", args, func(scan sqldb.Scanner) error {
		var id string
		var p work.Progress
		into := []any{&id}
		for i := range p.Members {
			into = append(into, &p.Members[i])
		}
		err := scan(append(into, &p.Heard.Delivered, &p.Heard.Undelivered)...)
		all[id] = p
		return err
	})
	return all, s.db.Coded(err, "count the members of campaigns")
}

// reasons adds up why members of a campaign ended as they did, the most frequent first.
func (s Segments) reasons(ctx context.Context, campaign string) ([]work.SegmentReason, error) {
	var list []work.SegmentReason
	err := s.db.Look(ctx, "SELECT reasons, COALESCE(told, '') FROM posthouse_segments WHERE campaign = ? AND (reasons <> '' OR heard_undelivered > 0)", []any{campaign}, func(scan sqldb.Scanner) error {
		var text, told string
		if err := scan(&text, &told); err != nil {
			return err
		}
		more, err := readList[work.SegmentReason](text)
		if err != nil {
			return err
		}
		heard, err := readList[work.SegmentReason](told)
		for _, r := range append(more, heard...) {
			i := slices.IndexFunc(list, func(known work.SegmentReason) bool {
				return known.Outcome == r.Outcome && known.Class == r.Class && known.Code == r.Code
			})
			switch {
			case r.N == 0:
			case i < 0:
				list = append(list, r)
			default:
				list[i].N += r.N
			}
		}
		return err
	})
	slices.SortStableFunc(list, func(a, b work.SegmentReason) int { return int(b.N - a.N) })
	return list, err
}
