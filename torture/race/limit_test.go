package race

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/verify"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// hurry is how much faster than real the tiers of C4 run: 10 a second are 10 in 10 ms. The full form
// runs for two and a half scaled hours, the small one for minutes.
const hurry = 100

var tiers = []posthouse.Limit{scaled(10, time.Second), scaled(300, time.Minute), scaled(5000, time.Hour)}

func scaled(most int, per time.Duration) posthouse.Limit {
	return posthouse.Limit{Max: most, Per: posthouse.Duration(per / hurry)}
}

// place is where permits are kept: one limiter a node.
type place struct {
	name string
	open func(t *testing.T) []limit.Limiter
	// twice is set where two clocks count each permit, so that a refusal of the first cannot be
	// held against the times of the second.
	twice bool
}

var places = []place{
	{name: "memory", open: func(*testing.T) []limit.Limiter { return []limit.Limiter{limit.NewMemory()} }},
	{name: "sqlite", open: func(t *testing.T) []limit.Limiter { return rowsOf(t, house.SQLite) }},
	{name: "postgres", open: func(t *testing.T) []limit.Limiter { return rowsOf(t, house.Postgres) }},
	{name: "mariadb", open: func(t *testing.T) []limit.Limiter { return rowsOf(t, house.MariaDB) }},
	{name: "redis", open: func(t *testing.T) []limit.Limiter {
		addr := dbtest.Redis(t)
		return []limit.Limiter{redisAt(t, addr), redisAt(t, addr)}
	}},
	{name: "redis, postgres", twice: true, open: func(t *testing.T) []limit.Limiter {
		addr, rows := dbtest.Redis(t), rowsOf(t, house.Postgres)
		return []limit.Limiter{
			&limit.Fallback{Primary: redisAt(t, addr), Secondary: rows[0]}, &limit.Fallback{Primary: redisAt(t, addr), Secondary: rows[1]},
		}
	}},
}

// rowsOf are the limiters of as many nodes as may share the database, each with connections of its own.
func rowsOf(t *testing.T, db house.Database) (nodes []limit.Limiter) {
	t.Helper()
	dsn := db.DSN(t)
	for range db.Several(2) {
		nodes = append(nodes, limit.SQL{Rows: openStore(t, dsn, slog.New(slog.DiscardHandler)).Limits})
	}
	return nodes
}

func redisAt(t *testing.T, addr string) *limit.Redis {
	t.Helper()
	r, err := limit.OpenRedis(limit.RedisOptions{URL: "redis://" + addr, Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// TestNoWindowIsEverExceeded (C4) has 32 workers on two nodes draw permits as fast as they can, and
// holds every sliding window against its tier.
func TestNoWindowIsEverExceeded(t *testing.T) {
	house.Alone(t)
	for _, p := range places {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel() // each waits for its windows
			const workers = 32
			nodes := p.open(t)
			lasts := time.Duration(house.Size(1500, 90_000)) * time.Millisecond
			d := &drawers{nodes: nodes}
			d.saturate(t, workers, lasts)
			over := d.over(t, p.twice)
			phantom := phantomCharges(t, nodes, workers)
			ideal := idealUse(tiers, lasts)
			use := float64(d.net()) / float64(ideal)
			house.Report(t, house.Row{
				Test: "C4", Database: p.name, What: fmt.Sprintf("%d workers on %d nodes at a channel's tiers 10/s, 300/min, 5000/h and those of %d accounts, all %d times as fast", workers, len(nodes), limitedAccounts, hurry), N: d.net(), Unit: "permits",
				Figure: fmt.Sprintf("%d windows over; %d phantom charges after %d refusals by the last tier; %.1f %% of what the limits allow was used", over, phantom, phantomAsked-100, 100*use),
				Bar:    "0; 0; ≥ 98 % in the full form", Bound: house.Bound(d.net()), Pass: over == 0 && phantom == 0 && (use >= 0.98 || !house.Full()),
			})
		})
	}
}

// limitedAccounts is how many accounts share the channel's tiers. Each has tiers of its own, which hold
// where one of them draws more than its share.
const limitedAccounts = 3

var limitedChannel = limit.Bound{Key: "default/limited", Windows: tiers}

func limitedAccount(n int) limit.Bound {
	return limit.Bound{
		Key:     fmt.Sprintf("default/limited/%d", n),
		Windows: []posthouse.Limit{scaled(6, time.Second), scaled(150, time.Minute)},
	}
}

// drawers draw permits of a channel and one of its accounts at once and keep the limiter's journal.
type drawers struct {
	nodes []limit.Limiter

	mu    sync.Mutex
	lines []verify.GrantLine
}

// note writes a grant, or permits of one that came back, for each key.
func (d *drawers) note(bounds []limit.Bound, want int, g limit.Grant, op string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, b := range bounds {
		line := verify.GrantLine{At: g.At, Key: b.Key, Windows: b.Windows, Op: op, Want: want, Granted: g.N, RefusedBy: -1}
		if len(g.Stamps) > 0 {
			line.At = g.Stamps[i].At
		}
		switch {
		case op == verify.OpRefund:
			line.Granted = 0
		case g.N < want && b.Key == g.Key:
			line.RefusedBy = slices.Index(b.Windows, g.Held)
		}
		d.lines = append(d.lines, line)
	}
}

// net is how many permits were granted and kept.
func (d *drawers) net() (n int) {
	for _, l := range d.lines {
		if l.Key != limitedChannel.Key {
			continue
		}
		if l.Op == verify.OpRefund {
			n -= l.Want
		}
		n += l.Granted
	}
	return n
}

// saturate has the workers ask for one to seven permits at a time, wait as they are told, and at times
// give some back.
func (d *drawers) saturate(t *testing.T, workers int, lasts time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	var wg sync.WaitGroup
	for n := range workers {
		wg.Go(func() {
			l, random := d.nodes[n%len(d.nodes)], rand.New(rand.NewPCG(uint64(n), 4))
			for ctx.Err() == nil {
				want, bounds := 1+random.IntN(7), []limit.Bound{limitedAccount(random.IntN(limitedAccounts)), limitedChannel}
				if random.IntN(2) == 0 {
					slices.Reverse(bounds)
				}
				g, err := l.Take(t.Context(), bounds, want)
				if err != nil {
					t.Errorf("take: %v", err)
					return
				}
				d.note(bounds, want, g, verify.OpTake)
				if g.N > 1 && random.IntN(50) == 0 {
					if err := l.Refund(t.Context(), g, 1); err != nil {
						t.Errorf("refund: %v", err)
						return
					}
					d.note(bounds, 1, g, verify.OpRefund)
				}
				house.Pause(ctx, g.Wait)
			}
		})
	}
	wg.Wait()
}

// over counts the sliding windows that held more than they may, by a count of its own, and has the
// checker judge the journal too.
func (d *drawers) over(t *testing.T, twice bool) (over int) {
	t.Helper()
	kept, windows := map[string]map[time.Time]int{}, map[string][]posthouse.Limit{}
	for _, l := range d.lines {
		if kept[l.Key] == nil {
			kept[l.Key], windows[l.Key] = map[time.Time]int{}, l.Windows
		}
		kept[l.Key][l.At] += l.Granted
		if l.Op == verify.OpRefund {
			kept[l.Key][l.At] -= l.Want
		}
	}
	for key, moments := range kept {
		var grants []limit.Grant
		for at, n := range moments {
			grants = append(grants, limit.Grant{At: at, N: n})
		}
		for _, w := range windows[key] {
			over += overIn(grants, w.Max, w.Per.Std())
		}
	}
	report := judgeGrants(t, d.lines, twice)
	for _, i := range report.Invariants {
		if i.ID == "I23" && len(i.Violations) > 0 {
			t.Errorf("the checker says of I23: %+v", i.Violations)
		}
	}
	return over
}

// overIn counts the half-open spans of a length, beginning with each permit, that hold more than most.
func overIn(grants []limit.Grant, most int, per time.Duration) (over int) {
	slices.SortFunc(grants, func(a, b limit.Grant) int { return a.At.Compare(b.At) })
	sum, first := 0, 0
	for _, g := range grants {
		sum += g.N
		for g.At.Sub(grants[first].At) >= per {
			sum -= grants[first].N
			first++
		}
		if sum > most {
			over++
		}
	}
	return over
}

// judgeGrants hands the journal to the checker. Where two clocks counted, only what was granted.
func judgeGrants(t *testing.T, lines []verify.GrantLine, twice bool) verify.Report {
	t.Helper()
	var journal bytes.Buffer
	enc := json.NewEncoder(&journal)
	for _, l := range lines {
		if twice {
			l.RefusedBy = -1
		}
		if err := enc.Encode(l); err != nil {
			t.Fatal(err)
		}
	}
	none := iter.Seq2[posthouse.Event, error](func(func(posthouse.Event, error) bool) {})
	report, err := verify.Check(t.Context(), verify.Inputs{Events: none, Limiter: &journal, Sometimes: []string{"none"}})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// phantomAsked is how many permits are asked for when the last of two tiers has a hundred.
const phantomAsked = 500

// phantomCharges exhausts the last tier of an account and counts what its refusals took from the channel.
func phantomCharges(t *testing.T, nodes []limit.Limiter, workers int) int {
	t.Helper()
	hour, day := posthouse.Limit{Max: 500, Per: posthouse.Duration(time.Hour)}, posthouse.Limit{Max: 100, Per: posthouse.Duration(24 * time.Hour)}
	channel := limit.Bound{Key: "default/phantom", Windows: []posthouse.Limit{hour}}
	account := limit.Bound{Key: "default/phantom/account", Windows: []posthouse.Limit{hour, day}}
	var mu sync.Mutex
	granted, asked := 0, 0
	var failed error
	var wg sync.WaitGroup
	for n := range workers {
		wg.Go(func() {
			for {
				mu.Lock()
				asked++
				over := asked > phantomAsked
				mu.Unlock()
				if over {
					return
				}
				g, err := nodes[n%len(nodes)].Take(t.Context(), []limit.Bound{channel, account}, 1)
				mu.Lock()
				granted, failed = granted+g.N, errors.Join(failed, err)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	left, err := nodes[0].Peek(t.Context(), []limit.Bound{channel})
	if failed = errors.Join(failed, err); failed != nil {
		t.Fatal(failed)
	}
	if granted != day.Max {
		t.Errorf("%d permits were granted by a tier of %d", granted, day.Max)
	}
	return hour.Max - granted - left.N
}

// idealUse is how many permits one worker would get who loses no time.
func idealUse(windows []posthouse.Limit, lasts time.Duration) (n int) {
	begin := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	var s limit.State
	for now := begin; now.Sub(begin) < lasts; {
		g := s.Take(now, windows, 1_000_000)
		n += g.N
		now = now.Add(g.Wait)
	}
	return n
}
