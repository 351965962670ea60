package prove

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// TestEveryPairOfTransactionsHoldsTheLaws runs what two processes may do to the same deliveries on servers whose transactions
// overlap, in orders of their statements.
func TestEveryPairOfTransactionsHoldsTheLaws(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]func(testing.TB) string{"postgres": dbtest.Postgres, "mariadb": dbtest.MariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var (
				meetings          sync.WaitGroup // at once, since most of the time a session waits for another
				mu                sync.Mutex
				begun             = time.Now()
				pairs, runs, most int
			)
			for i := range grounds {
				g := &grounds[i]
				if !strings.Contains(g.short, name) && !house.Full() {
					continue
				}
				meetings.Go(func() {
					t.Run(g.name, func(t *testing.T) {
						m := meet(t, dsn(t))
						for _, doing := range g.pairs() {
							if doing[1] == "raise the epoch" && g.lead == "" && !house.Full() {
								continue // it takes many statements
							}
							o := m.try(t, g, doing...)
							mu.Lock()
							pairs, runs, most = pairs+1, runs+o.runs, max(most, o.most)
							mu.Unlock()
						}
					})
				})
			}
			meetings.Wait()
			house.Report(t, house.Row{
				Test: "P2", Database: name, What: "each pair of transactions in orders of their statements", N: runs, Unit: "orders", Pass: !t.Failed(),
				Figure: fmt.Sprintf("%d pairs, up to %d statements, at most %d switches that nothing forces, in %s", pairs, most, switches(), time.Since(begun).Round(time.Second)),
				Bar:    "0 violations",
			})
		})
	}
}

// pairs are the kinds that meet. Of two that record the second would hold nothing.
func (g *ground) pairs() (list [][]string) {
	if g.lead != "" {
		for _, other := range g.kinds {
			list = append(list, []string{g.lead, other})
		}
		return list
	}
	for j, one := range g.kinds {
		for _, other := range g.kinds[j:] {
			if one != "record" || other != one {
				list = append(list, []string{one, other})
			}
		}
	}
	return list
}

// switches is how often an order leaves a session that could go on.
func switches() int { return house.Form(1, 2) }

// try runs one pair in all orders, beside somebody who locks rows for a moment where both claim.
func (m *meeting) try(t *testing.T, g *ground, doing ...string) *orders {
	t.Helper()
	if doing[0] == "claim" && doing[1] == "claim" && m.model.db.DB.Dialect.AtOnce { // elsewhere a claim can be cut
		doing = append(doing, "look with locks")
	}
	o := &orders{db: m.model.db, switches: switches()}
	o.make = func(ctx context.Context) ([]*session, error) {
		if err := m.begin(g); err != nil {
			return nil, err
		}
		var list []*session
		for i, kind := range doing {
			side := m.sides[i]
			list = append(list, &session{name: fmt.Sprintf("%s: %s", side.owner, kind), gate: side.gate, run: func() error { return kinds[kind](m, side) }})
		}
		return list, nil
	}
	o.judge = func(_ context.Context, list []*session) *violation { return m.judge(list) }
	v, order, err := o.all(t.Context())
	if err != nil {
		t.Fatalf("%s, %v: %v", g.name, doing, err)
	}
	if v != nil {
		t.Errorf("deliveries that are %s, and %v: %s\n  is not so: %s\n  in this order of statements: %s", g.name, doing, v.law, v.why, order)
	}
	return o
}

// meet opens three sessions through gates, and a fourth beside them.
func meet(t *testing.T, dsn string) *meeting {
	t.Helper()
	db, err := openDatabase(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	m := &meeting{ctx: t.Context(), model: &model{ctx: t.Context(), db: db}}
	settings, err := state.Resolve(posthouse.Channel{Name: chanel, Tenant: tenant}, state.Opened{Timeout: timeout}, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	m.settings = &settings
	for _, owner := range []string{"A", "B", "C"} {
		target, _ := through(dsn, "")
		g, err := openGate(target)
		if err != nil {
			t.Fatal(err)
		}
		_, by := through(dsn, g.addr())
		st, err := store.Open(t.Context(), store.Options{DSN: by, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			st.Close()
			g.close()
		})
		m.sides = append(m.sides, &side{Store: st, owner: owner, gate: g})
	}
	return m
}
