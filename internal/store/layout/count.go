package layout

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// Tallies counts the deliveries of pulled channels. A count is the sum over its slots: each transaction
// takes a slot at random, so that writers seldom wait for each other.
var Tallies = sqldb.NewTable("posthouse_tallies", "tenant", "channel", "bucket", "slot#", "n#")

// Slots is how many rows one count is spread over.
const Slots = 64

// The buckets, in the words of work.Tally.
const (
	BucketNew        = "new"
	BucketRetry      = "retry"
	BucketProcessing = "processing"
	BucketUnknown    = "unknown"
	BucketSuccess    = "success"
	BucketFailed     = "failed"
)

// BucketOf is where a delivery counts, empty for nowhere.
func BucketOf(d *posthouse.Delivery) string {
	switch d.State {
	case posthouse.Pending:
		if d.Tries > 0 {
			return BucketRetry
		}
		return BucketNew
	case posthouse.Sending:
		return BucketProcessing
	case posthouse.Unknown:
		return BucketUnknown
	case posthouse.Sent, posthouse.Delivered:
		return BucketSuccess
	case posthouse.Suppressed:
		return ""
	default:
		return BucketFailed
	}
}

// kind names one number.
type kind struct{ tenant, channel, bucket string }

// Counting gathers what a transaction changes of the counts. Pushed channels are not counted.
type Counting map[kind]int64

// Add counts n more of what a delivery is.
func (c Counting) Add(d *posthouse.Delivery, n int64) {
	if bucket := BucketOf(d); d.Pulled && bucket != "" {
		c[kind{d.Tenant, d.Channel, bucket}] += n
	}
}

// Move counts a delivery where it is now, and no more where it was.
func (c Counting) Move(before, after *posthouse.Delivery) {
	c.Add(before, -1)
	c.Add(after, 1)
}

// TallyOf gathers what changes do to the counts.
func TallyOf(changes []work.Change) Counting {
	c := Counting{}
	for i := range changes {
		c.Move(&changes[i].Before, &changes[i].After)
	}
	return c
}

// Rows are in one order for all transactions, so that no two wait for each other.
func (c Counting) Rows() [][]any {
	var rows [][]any
	slot := rand.Int64N(Slots)
	for _, k := range slices.SortedFunc(maps.Keys(c), func(a, b kind) int {
		return cmp.Or(cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.channel, b.channel), cmp.Compare(a.bucket, b.bucket))
	}) {
		if c[k] != 0 {
			rows = append(rows, []any{k.tenant, k.channel, k.bucket, slot, c[k]})
		}
	}
	return rows
}

// Into writes what was gathered. It comes last in its transaction: whoever holds these rows waits for nothing.
func (c Counting) Into(b *sqldb.Bundle) { b.Add(Tallies, c.Rows()) }
