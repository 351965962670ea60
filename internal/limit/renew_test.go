package limit_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/limit/limittest"
)

// distant is a table whose every commit takes a while to be answered, and may fail.
type distant struct {
	*rows
	takes       atomic.Int64 // a time.Duration
	lost        atomic.Bool  // the transaction is not made
	calls, keys atomic.Int64 // transactions, and the keys of the largest
}

func (d *distant) UpdateLimits(ctx context.Context, keys []string, change func(time.Time, [][]byte) ([][]byte, error)) error {
	d.calls.Add(1)
	d.keys.Store(max(d.keys.Load(), int64(len(keys))))
	err := d.rows.UpdateLimits(ctx, keys, func(now time.Time, texts [][]byte) ([][]byte, error) {
		after, err := change(now, texts)
		if d.lost.Load() && err == nil {
			err = context.DeadlineExceeded
		}
		return after, err
	})
	limittest.Pause(ctx, time.Duration(d.takes.Load()))
	return err
}

// FLEET-12: a lease that is being renewed goes on: nobody waits for the write of its row, and what is granted meanwhile counts
// whether or not that is made.
func TestALeaseGrantsWhileItIsRenewed(t *testing.T) {
	for name, lost := range map[string]bool{"the row is written": false, "the row is not written": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				table := &distant{rows: new(rows)}
				l := &limit.Leased{Inner: limit.SQL{Rows: table.rows}, Rows: table}
				defer l.Close()
				windows := []posthouse.Limit{per(5, time.Second), per(18, time.Hour)}
				var log []limit.Grant
				take := func(from limit.Limiter) {
					began := time.Now()
					g, err := from.Take(t.Context(), leasing(one("account", windows)), 2)
					if err != nil && !lost { // where the lease cannot be had
						t.Fatal(err)
					}
					if from == limit.Limiter(l) && len(log) > 0 && time.Since(began) > 0 && !lost {
						t.Errorf("a permit waited for %s", time.Since(began))
					}
					log = append(log, limit.Grant{N: g.N, At: g.At})
				}
				take(l)
				table.takes.Store(int64(400 * time.Millisecond))
				table.lost.Store(lost)
				for range 8 {
					limittest.Pause(t.Context(), 230*time.Millisecond)
					take(l)
				}
				table.lost.Store(false)
				l.Close()
				for range 10 {
					limittest.Pause(t.Context(), 900*time.Millisecond)
					take(limit.SQL{Rows: table.rows})
				}
				limittest.CheckLog(t, windows, log)
			})
		})
	}
}

// What is renewed for nobody who waits is renewed in parts, and all of it in time.
func TestManyLeasesAreRenewedInParts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := &distant{rows: new(rows)}
		l := &limit.Leased{Inner: limit.SQL{Rows: table.rows}, Rows: table}
		defer l.Close()
		const accounts = 250
		takes := func() {
			for i := range accounts {
				g, err := l.Take(t.Context(), leasing(one(strconv.Itoa(i), []posthouse.Limit{per(20, time.Second)})), 1)
				if err != nil || g.N != 1 {
					t.Fatal(g, err)
				}
			}
		}
		takes()
		table.keys.Store(0)
		before := table.calls.Load()
		limittest.Pause(t.Context(), 1200*time.Millisecond)
		if n := table.calls.Load() - before; table.keys.Load() != 100 || n != 3 {
			t.Errorf("%d leases were renewed in %d transactions of %d at most", accounts, n, table.keys.Load())
		}
		takes()
		if n := table.calls.Load() - before; n != 3 {
			t.Errorf("permits of leases that had been renewed cost %d transactions", n-3)
		}
	})
}

// What several accounts did not use of their own limits and of their channel's costs one transaction.
func TestPermitsOfManyComeBackInOneTransaction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := &distant{rows: new(rows)}
		l := &limit.Leased{Inner: limit.SQL{Rows: table}, Rows: table}
		defer l.Close()
		channel := limit.Bound{Key: "channel", Windows: []posthouse.Limit{per(100, time.Hour)}}
		var list []limit.Back
		for i := range 20 {
			g, err := l.Take(t.Context(), append(leasing(one(strconv.Itoa(i), []posthouse.Limit{per(20, time.Second), per(90, time.Hour)})), channel), 4)
			if err != nil || g.N != 4 {
				t.Fatal(g, err)
			}
			list = append(list, limit.Back{Grant: g, N: 3})
		}
		before := table.calls.Load()
		if err := l.RefundEach(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		if n := table.calls.Load() - before; n != 1 {
			t.Errorf("permits of 20 accounts came back in %d transactions", n)
		}
		if g, err := l.Peek(t.Context(), []limit.Bound{channel}); err != nil || g.N != 80 {
			t.Errorf("%d of the channel's 100 are free, %v; want 80", g.N, err)
		}
	})
}
