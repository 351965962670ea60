package race

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// leaser leases the accounts that it is asked for, and not their channel.
type leaser struct{ *limit.Leased }

func (l leaser) Take(ctx context.Context, bounds []limit.Bound, want int) (limit.Grant, error) {
	list := make([]limit.Bound, len(bounds))
	for i, b := range bounds {
		list[i], list[i].Lease = b, b.Key != limitedChannel.Key
	}
	return l.Leased.Take(ctx, list, want)
}

// leasers are nodes that lease from one database, and one that does not.
func leasers(t *testing.T, db house.Database) (nodes []limit.Limiter) {
	t.Helper()
	dsn := db.DSN(t)
	for range db.Several(2) {
		rows := openStore(t, dsn, slog.New(slog.DiscardHandler)).Limits
		l := &limit.Leased{Inner: limit.SQL{Rows: rows}, Rows: rows, Lasts: 150 * time.Millisecond, Log: slog.New(slog.DiscardHandler)}
		t.Cleanup(func() { l.Close() })
		nodes = append(nodes, leaser{l}, limit.SQL{Rows: rows})
	}
	return nodes
}

// TestNoLeaseExceedsAWindow (FLEET-9) has the workers of C4 draw on nodes that hold their accounts in memory for a moment,
// beside nodes that ask the database for each permit.
func TestNoLeaseExceedsAWindow(t *testing.T) {
	house.Alone(t)
	for name, db := range map[string]house.Database{"sqlite": house.SQLite, "postgres": house.Postgres, "mariadb": house.MariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each waits for its windows
			const workers = 16
			nodes := leasers(t, db)
			lasts := time.Duration(house.Size(1200, 30_000)) * time.Millisecond
			d := &drawers{nodes: nodes}
			d.saturate(t, workers, lasts)
			over := d.over(t, true)
			house.Report(t, house.Row{
				Test: "C4", Database: name, What: fmt.Sprintf("%d workers on %d nodes, half of which lease %d accounts for %s each", workers, len(nodes), limitedAccounts, 150*time.Millisecond),
				N: d.net(), Unit: "permits", Figure: fmt.Sprintf("%d windows over", over), Bar: "0", Bound: house.Bound(d.net()), Pass: over == 0 && d.net() > 20,
			})
		})
	}
}
