package limit_test

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/limit/limittest"
)

// leased is a process that leases keys of a table.
func leased(t testing.TB, table *rows) *limit.Leased {
	l := &limit.Leased{Inner: limit.SQL{Rows: table}, Rows: table}
	t.Cleanup(func() { l.Close() })
	return l
}

// leasing are bounds that are to be leased.
func leasing(bounds []limit.Bound) []limit.Bound {
	bounds = slices.Clone(bounds)
	for i := range bounds {
		bounds[i].Lease = true
	}
	return bounds
}

// leaser leases all that it is asked for.
type leaser struct{ *limit.Leased }

func (l leaser) Take(ctx context.Context, bounds []limit.Bound, want int) (limit.Grant, error) {
	return l.Leased.Take(ctx, leasing(bounds), want)
}

// FLEET-9: whatever processes lease, take directly, give back, die or restart, and however long their rows take, no span of any window holds more than it may.
func TestLeasesNeverOverstep(t *testing.T) {
	t.Parallel()
	schedules := 2000
	if n, err := strconv.Atoi(os.Getenv("POSTHOUSE_SCHEDULES")); err == nil {
		schedules = n
	}
	synctest.Test(t, func(t *testing.T) {
		granted := 0
		for seed := range schedules {
			granted += schedule(t, rand.New(rand.NewPCG(uint64(seed), 9)))
		}
		if granted < 8*schedules {
			t.Errorf("%d permits in %d schedules prove nothing", granted, schedules)
		}
	})
}

// schedule lets two or three processes draw on two accounts of a channel for a while.
func schedule(t *testing.T, random *rand.Rand) (granted int) {
	table := &distant{rows: new(rows)}
	if random.IntN(2) == 0 {
		table.takes.Store(int64(time.Duration(random.IntN(400)) * time.Millisecond))
	}
	windows := [][]posthouse.Limit{
		{per(1+random.IntN(5), time.Second), per(4+random.IntN(10), 5*time.Second), per(20, time.Minute)},
		{per(1+random.IntN(3), 500*time.Millisecond), per(120, time.Hour)},
		{per(2+random.IntN(6), 3*time.Second)},
	}
	logs := make([][]limit.Grant, len(windows))
	processes := []limit.Limiter{limit.SQL{Rows: table.rows}}
	for range 2 {
		processes = append(processes, &limit.Leased{Inner: limit.SQL{Rows: table.rows}, Rows: table})
	}
	for range 30 {
		p := random.IntN(len(processes))
		if l, is := processes[p].(*limit.Leased); is && random.IntN(12) == 0 {
			if random.IntN(2) == 0 {
				l.Close() // else it dies, and another takes its place
			}
			processes[p] = &limit.Leased{Inner: limit.SQL{Rows: table.rows}, Rows: table}
		}
		var bounds []limit.Bound
		for _, i := range random.Perm(len(windows))[:1+random.IntN(len(windows))] {
			bounds = append(bounds, limit.Bound{Key: strconv.Itoa(i), Windows: windows[i], Lease: true})
		}
		g, err := processes[p].Take(t.Context(), bounds, 1+random.IntN(4))
		if err != nil {
			t.Fatal(err)
		}
		back := 0
		if g.N > 0 && random.IntN(5) == 0 {
			back = 1 + random.IntN(g.N)
			if err := processes[random.IntN(len(processes))].Refund(t.Context(), g, back); err != nil {
				t.Fatal(err)
			}
		}
		for _, s := range g.Stamps {
			i, _ := strconv.Atoi(s.Key)
			logs[i] = append(logs[i], limit.Grant{N: g.N - back, At: s.At})
		}
		granted += g.N - back
		if random.IntN(2) == 0 {
			limittest.Pause(t.Context(), time.Duration(random.IntN(900))*time.Millisecond)
		}
	}
	for _, p := range processes {
		if l, is := p.(*limit.Leased); is {
			l.Close()
		}
	}
	for i, w := range windows {
		limittest.CheckLog(t, w, logs[i])
	}
	return granted
}

// A permit of a leased key costs no round trip, and what a lease did not use is free when it has ended.
func TestALeaseSavesRoundTrips(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := new(rows)
		l := leased(t, table)
		bounds := leasing(one("account", []posthouse.Limit{per(20, time.Second), per(1000, time.Hour)}))
		granted := 0
		for range 200 {
			g, err := l.Take(t.Context(), bounds, 1)
			if err != nil {
				t.Fatal(err)
			}
			granted += g.N
			limittest.Pause(t.Context(), 50*time.Millisecond)
		}
		if granted != 200 || table.writes.Load() > 12 {
			t.Errorf("%d permits cost %d writes, want 200 and about one a second", granted, table.writes.Load())
		}
		limittest.Pause(t.Context(), 10*time.Second)
		g, err := limit.SQL{Rows: table}.Peek(t.Context(), one("account", []posthouse.Limit{per(1000, time.Hour)}))
		if err != nil || g.N != 800 {
			t.Errorf("%d of the hour's are free, %v; want 800", g.N, err)
		}
	})
}

// A process that dies with a lease costs what it had reserved, for a moment; others then go on.
func TestALeaseOfADeadProcessEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := new(rows)
		dead, other := &limit.Leased{Inner: limit.SQL{Rows: table}, Rows: dying{table}}, leased(t, table)
		bounds := leasing(one("account", []posthouse.Limit{per(20, time.Second), per(1000, time.Hour)}))
		if g, err := dead.Take(t.Context(), bounds, 3); err != nil || g.N != 3 {
			t.Fatal(g, err)
		}
		if g, err := other.Take(t.Context(), bounds, 1); err != nil || g.N != 0 || g.Wait <= 0 || g.Wait > 4*time.Second {
			t.Errorf("another was granted %+v, %v; want to wait for the lease", g, err)
		}
		limittest.Pause(t.Context(), 3100*time.Millisecond)
		if g, err := other.Take(t.Context(), bounds, 1); err != nil || g.N != 1 {
			t.Errorf("after the lease another was granted %+v, %v", g, err)
		}
	})
}

// dying takes a lease and never hears of it again.
type dying struct{ *rows }

func (d dying) UpdateLimits(ctx context.Context, keys []string, change func(time.Time, [][]byte) ([][]byte, error)) error {
	if d.writes.Load() > 0 {
		return context.Canceled
	}
	return d.rows.UpdateLimits(ctx, keys, change)
}

// Five hundred accounts with four windows each: what a permit costs.
func BenchmarkLeasedFleet(b *testing.B) {
	table := new(rows)
	l := leased(b, table)
	var bounds [500][]limit.Bound
	for i := range bounds {
		bounds[i] = leasing(one("default/wecom/"+strconv.Itoa(i), benchWindows))
	}
	for i := 0; b.Loop(); i++ {
		if g, err := l.Take(b.Context(), bounds[i%len(bounds)], 1); err != nil || g.N != 1 {
			b.Fatal(g, err)
		}
	}
}

// FLEET-9: who asks in vain for a key that another process holds, along with keys that are free, leaves that lease as it is. Its row was
// written anew with them, and what the holder had reserved counted as granted.
func TestOthersThatAskLeaveALeaseAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := new(rows)
		holder, other := leased(t, table), leased(t, table)
		bounds := func(key string) []limit.Bound {
			return []limit.Bound{{Key: key, Lease: true, Windows: []posthouse.Limit{per(8, time.Second), per(300, time.Minute)}}}
		}
		granted, asked := 0, 0
		for ; asked < 250; asked++ {
			g, err := holder.Take(t.Context(), bounds("held"), 1)
			if err != nil {
				t.Fatal(err)
			}
			granted += g.N
			asks := []limit.Ask{{Bounds: bounds("held"), Want: 1}, {Bounds: []limit.Bound{{Key: "free", Windows: []posthouse.Limit{per(1000, time.Minute)}}}, Want: 1}}
			if got, err := other.Each(t.Context(), asks); err != nil || got[0].N != 0 || got[1].N != 1 {
				t.Fatalf("the other was granted %+v, %v; want none of what is held, and one of what is free", got, err)
			}
			time.Sleep(200 * time.Millisecond)
		}
		if granted != asked {
			t.Errorf("the holder was granted %d of %d, where the windows hold 300", granted, asked)
		}
	})
}
