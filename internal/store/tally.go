package store

import (
	"context"

	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// count is counting.into for a transaction without a bundle.
func (t *tx) count(c layout.Counting) error {
	return t.Write(layout.Tallies, c.Rows(), t.DB.Dialect.AddTo(layout.Tallies))
}

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
		New: sums[layout.BucketNew], Retry: sums[layout.BucketRetry], Processing: sums[layout.BucketProcessing],
		Unknown: sums[layout.BucketUnknown], Success: sums[layout.BucketSuccess], Failed: sums[layout.BucketFailed],
	}, s.db.Coded(err, "count the deliveries of a channel")
}
