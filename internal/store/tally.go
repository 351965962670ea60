package store

import (
	"cmp"
	"context"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// talliesTable counts the deliveries of pulled channels. A count is the sum over its slots: each transaction
// takes a slot at random, so that writers seldom wait for each other.
var talliesTable = sqldb.NewTable("posthouse_tallies", "tenant", "channel", "bucket", "slot#", "n#")

// slots is how many rows one count is spread over.
const slots = 64

// The buckets, in the words of work.Tally.
const (
	bucketNew        = "new"
	bucketRetry      = "retry"
	bucketProcessing = "processing"
	bucketUnknown    = "unknown"
	bucketSuccess    = "success"
	bucketFailed     = "failed"
)

// bucketOf is where a delivery counts, empty for nowhere.
func bucketOf(d *posthouse.Delivery) string {
	switch d.State {
	case posthouse.Pending:
		if d.Tries > 0 {
			return bucketRetry
		}
		return bucketNew
	case posthouse.Sending:
		return bucketProcessing
	case posthouse.Unknown:
		return bucketUnknown
	case posthouse.Sent, posthouse.Delivered:
		return bucketSuccess
	case posthouse.Suppressed:
		return ""
	default:
		return bucketFailed
	}
}

// kind names one number.
type kind struct{ tenant, channel, bucket string }

// counting gathers what a transaction changes of the counts. Pushed channels are not counted.
type counting map[kind]int64

func (c counting) add(d *posthouse.Delivery, n int64) {
	if bucket := bucketOf(d); d.Pulled && bucket != "" {
		c[kind{d.Tenant, d.Channel, bucket}] += n
	}
}

// move counts a delivery where it is now, and no more where it was.
func (c counting) move(before, after *posthouse.Delivery) {
	c.add(before, -1)
	c.add(after, 1)
}

func tallyOf(changes []work.Change) counting {
	c := counting{}
	for i := range changes {
		c.move(&changes[i].Before, &changes[i].After)
	}
	return c
}

// rows are in one order for all transactions, so that no two wait for each other.
func (c counting) rows() [][]any {
	var rows [][]any
	slot := rand.Int64N(slots)
	for _, k := range slices.SortedFunc(maps.Keys(c), func(a, b kind) int {
		return cmp.Or(cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.channel, b.channel), cmp.Compare(a.bucket, b.bucket))
	}) {
		if c[k] != 0 {
			rows = append(rows, []any{k.tenant, k.channel, k.bucket, slot, c[k]})
		}
	}
	return rows
}

// into writes what was gathered. It comes last in its transaction: whoever holds these rows waits for nothing.
func (c counting) into(b *sqldb.Bundle) { b.Add(talliesTable, c.rows()) }

// count is counting.into for a transaction without a bundle.
func (t *tx) count(c counting) error { return t.Write(talliesTable, c.rows(), t.DB.Dialect.Sum) }

// Tally says how many deliveries of a pulled channel there are of each kind. It does not look at them.
func (s Handouts) Tally(ctx context.Context, tenant, channel string) (work.Tally, error) {
	sums := map[string]int{}
	err := s.db.Look(ctx, "SELECT bucket, n FROM posthouse_tallies WHERE tenant = ? AND channel = ?", []any{tenant, channel}, func(scan sqldb.Scanner) error {
		var bucket string
		var n int
		err := scan(&bucket, &n)
		sums[bucket] += n
		return err
	})
	return work.Tally{
		New: sums[bucketNew], Retry: sums[bucketRetry], Processing: sums[bucketProcessing],
		Unknown: sums[bucketUnknown], Success: sums[bucketSuccess], Failed: sums[bucketFailed],
	}, s.db.Coded(err, "count the deliveries of a channel")
}
