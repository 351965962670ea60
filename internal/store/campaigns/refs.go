package campaigns

import (
	"context"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

var refsTable = sqldb.NewTable("posthouse_member_refs", "page#", "tenant", "channel", "run", "n#", "until_at#", "bytes")

func readRefs(scan sqldb.Scanner) (b work.RefBlock, err error) {
	var until int64
	err = scan(&b.Page, &b.Tenant, &b.Channel, &b.Run, &b.N, &until, &b.Bytes)
	b.Until = sqldb.TimeOf(until)
	return b, err
}

// putRefs writes blocks over those that an attempt before has written.
func putRefs(t *sqldb.Tx, list []work.RefBlock) error {
	const perStatement = 64
	suffix := t.DB.Dialect.Upsert(refsTable.Name, refsTable.Columns[:4], refsTable.Columns[4:], false)
	for part := range sqldb.Parts(list, perStatement) {
		args, text := make([]any, 0, len(part)*len(refsTable.Columns)), ""
		for i := range part {
			b := &part[i]
			args = append(args, b.Page, b.Tenant, b.Channel, b.Run, b.N, sqldb.Micros(b.Until), b.Bytes)
			if i > 0 {
				text += ", "
			}
			text += "(" + sqldb.Marks(len(refsTable.Columns)) + ")"
		}
		if _, err := t.Exec("INSERT INTO "+refsTable.Name+" ("+refsTable.List+") VALUES "+text+suffix, args...); err != nil {
			return err
		}
	}
	return nil
}

// AnyRefs reports whether anything is known by which receipts of members could be found.
func (s Refs) AnyRefs(ctx context.Context) (bool, error) {
	_, some, err := sqldb.First(s.db.Reads(ctx), sqldb.Word, "SELECT run FROM posthouse_member_refs LIMIT 1")
	return some, s.db.Coded(err, "look for members whose receipts may come")
}

// Runs names the blocks of a channel's page.
func (s Refs) Runs(ctx context.Context, tenant, channel string, page int64) ([]string, error) {
	list, err := sqldb.All(s.db.Reads(ctx), sqldb.Word, "SELECT run FROM posthouse_member_refs WHERE page = ? AND tenant = ? AND channel = ?", page, tenant, channel)
	return list, s.db.Coded(err, "look for the member of a receipt")
}

// Refs reads the blocks of a channel's page: those of some runs, or all for none.
func (s Refs) Refs(ctx context.Context, tenant, channel string, page int64, runs []string) ([]work.RefBlock, error) {
	query, args := "SELECT "+refsTable.List+" FROM posthouse_member_refs WHERE page = ? AND tenant = ? AND channel = ?", []any{page, tenant, channel}
	if len(runs) > 0 {
		clause, more := s.db.In("run", runs)
		query, args = query+" AND "+clause, append(args, more...)
	}
	list, err := sqldb.All(s.db.Reads(ctx), readRefs, query, args...)
	return list, s.db.Coded(err, "look for the member of a receipt")
}

// RefLoads says how many blocks and refs of which channels are on a page.
func (s Refs) RefLoads(ctx context.Context, page int64) ([]work.RefLoad, error) {
	list, err := sqldb.All(s.db.Reads(ctx), func(scan sqldb.Scanner) (l work.RefLoad, err error) {
		err = scan(&l.Tenant, &l.Channel, &l.Rows, &l.Refs)
		return l, err
	}, "SELECT tenant, channel, COUNT(*), SUM(n) FROM posthouse_member_refs WHERE page = ? GROUP BY tenant, channel", page)
	return list, s.db.Coded(err, "count what providers call the messages of members")
}

// ReplaceRefs writes blocks in the place of others, where those are all still there. false says that they are not.
func (s Refs) ReplaceRefs(ctx context.Context, now time.Time, old, fresh []work.RefBlock) (done bool, err error) {
	err = s.db.Change(ctx, now, "order what providers call the messages of members", func(t *sqldb.Tx) error {
		done = false
		for i := range old {
			b := &old[i]
			n, err := t.Exec("DELETE FROM posthouse_member_refs WHERE page = ? AND tenant = ? AND channel = ? AND run = ?", b.Page, b.Tenant, b.Channel, b.Run)
			if err != nil {
				return err
			}
			if n != 1 {
				return posthouse.Errorf(posthouse.CodeConflict, "changed meanwhile: read it again")
			}
		}
		done = true
		return putRefs(t, fresh)
	})
	if posthouse.CodeOf(err) == posthouse.CodeConflict {
		return false, nil
	}
	return done, err
}

// PruneRefs deletes up to max blocks whose receipts have had their time.
func (s Refs) PruneRefs(ctx context.Context, now time.Time, max int) (n int, err error) {
	over, args := s.db.Instant(now)
	list, err := sqldb.All(s.db.Reads(ctx), readRefs, "SELECT page, tenant, channel, run, n, until_at, NULL FROM posthouse_member_refs WHERE until_at < "+over+" LIMIT ?", append(args, max)...)
	if err != nil || len(list) == 0 {
		return 0, s.db.Coded(err, "forget what providers called the messages of members")
	}
	err = s.db.Change(ctx, now, "forget what providers called the messages of members", func(t *sqldb.Tx) error {
		for i := range list {
			b := &list[i]
			if _, err := t.Exec("DELETE FROM posthouse_member_refs WHERE page = ? AND tenant = ? AND channel = ? AND run = ?", b.Page, b.Tenant, b.Channel, b.Run); err != nil {
				return err
			}
		}
		return nil
	})
	return len(list), err
}

// HearOf lets decide write what a provider told of members of segments, whoever has them claimed: these columns are of receipts
// alone. false from decide leaves a segment as it is. All of it is one transaction, and decide is called again where that is repeated.
func (s Refs) HearOf(ctx context.Context, now time.Time, segments []string, decide func(work.Segment) (work.Segment, bool)) error {
	segments = slices.Sorted(slices.Values(segments)) // in which order all transactions lock them
	return s.db.Change(ctx, now, "write receipts of members", func(t *sqldb.Tx) error {
		for _, id := range segments {
			seg, found, err := sqldb.First(t.Query, readSegment, "SELECT "+segmentRead+" FROM posthouse_segments WHERE id = ?"+t.DB.Dialect.Lock, id)
			if err != nil {
				return err
			}
			if !found {
				continue
			}
			after, changed := decide(seg)
			if !changed {
				continue
			}
			told, err := listText(after.Told)
			if err != nil {
				return err
			}
			if _, err = t.Exec("UPDATE posthouse_segments SET "+assigned(segmentHeard)+" WHERE id = ?", after.Receipts, told, after.Heard.Delivered, after.Heard.Undelivered, id); err != nil {
				return err
			}
		}
		return nil
	})
}
