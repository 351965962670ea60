package race

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/decide"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// TestDeadlocksStayInside (C5) does everything the product does to a database from 16 goroutines, to the
// same few rows, in every order. What the database undoes for the sake of another transaction must be
// repeated inside: no caller ever hears of it.
func TestDeadlocksStayInside(t *testing.T) {
	t.Parallel()
	for _, db := range []house.Database{house.MariaDB, house.Postgres} {
		t.Run(string(db), func(t *testing.T) {
			t.Parallel()
			const workers = 16
			operations := house.Size(4_000, 500_000) // a million on both
			dsn := db.DSN(t)
			undone := &repeats{by: map[string]int{}}
			c := newCrowd(t, openStore(t, dsn, slog.New(undone)), dbtest.SQL(t, dsn))
			members := make([]*member, workers)
			for n := range members {
				members[n] = &member{crowd: c, random: rand.New(rand.NewPCG(uint64(n), 5))}
			}
			begin, done := time.Now(), 0
			for done == 0 || undone.none() && done < 10*operations { // a quick machine may meet none at first
				c.left.Store(int64(operations))
				var wg sync.WaitGroup
				for _, m := range members {
					wg.Go(func() {
						for left := c.left.Add(-1); left >= 0 && t.Context().Err() == nil; left = c.left.Add(-1) {
							if left%int64(operations/10) == 0 {
								t.Logf("%s: %d of %d operations to go", db, left, operations)
							}
							m.act(t.Context())
						}
					})
				}
				wg.Wait()
				done += operations
			}
			operations, took := done, time.Since(begin)
			for _, text := range c.told[:min(len(c.told), 10)] {
				t.Error(text)
			}
			total, most, by := undone.sum()
			house.Report(t, house.Row{
				Test: "C5", Database: string(db), What: fmt.Sprintf("accept, relay, claim, record, rescue, cancel, resolve, replay, prune, limits from %d goroutines", workers), N: operations, Unit: "operations",
				Figure: fmt.Sprintf("%d transactions undone by the database and repeated inside (%.3g %% of operations, at most %d times in a row; %s); %d errors to callers; %.0f operations/s",
					total, 100*float64(total)/float64(operations), most, by, len(c.told), float64(operations)/took.Seconds()),
				Bar: "0 to callers", Bound: house.Bound(operations), Pass: len(c.told) == 0,
			})
			if total == 0 {
				t.Error("the database undid nothing: the run proves little")
			}
		})
	}
}

// repeats counts what the store says about transactions that the database undid.
type repeats struct {
	mu   sync.Mutex
	by   map[string]int
	most int64
}

// Enabled is true: the store says it at the level of details.
func (r *repeats) Enabled(context.Context, slog.Level) bool { return true }

// Handle counts a record that says what was done, and which try it was.
func (r *repeats) Handle(_ context.Context, record slog.Record) error {
	doing, try := "", int64(0)
	record.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "doing":
			doing = a.Value.String()
		case "try":
			try = a.Value.Int64()
		}
		return true
	})
	if try > 0 {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.by[doing]++
		r.most = max(r.most, try)
	}
	return nil
}

// WithAttrs adds nothing.
func (r *repeats) WithAttrs([]slog.Attr) slog.Handler { return r }

// WithGroup adds nothing.
func (r *repeats) WithGroup(string) slog.Handler { return r }

// none reports whether nothing was undone so far.
func (r *repeats) none() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.by) == 0
}

func (r *repeats) sum() (total int, most int64, by string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []string
	for _, doing := range slices.Sorted(maps.Keys(r.by)) {
		total += r.by[doing]
		list = append(list, fmt.Sprintf("%s %d", doing, r.by[doing]))
	}
	return total, r.most, strings.Join(list, ", ")
}

// crowd is what all workers share.
type crowd struct {
	store    *store.Store
	operator decide.Operator
	limits   limit.SQL
	raw      *sql.DB
	left     atomic.Int64

	mu    sync.Mutex
	ids   []string
	hands []posthouse.Delivery
	told  []string // errors that no caller should hear of
}

func newCrowd(t *testing.T, st *store.Store, raw *sql.DB) *crowd {
	t.Helper()
	return &crowd{store: st, operator: decide.Operator{Queue: st.Queue, Rouse: func(state.Key, posthouse.Priority, work.Pin) {}}, limits: limit.SQL{Rows: st.Limits}, raw: raw, ids: []string{posthouse.DeliveryID(posthouse.NewID(), 1)}}
}

// member is one worker.
type member struct {
	*crowd
	random *rand.Rand
}

func (m *member) act(ctx context.Context) {
	acts := []struct {
		weight int
		name   string
		do     func(context.Context) error
	}{
		{20, "accept", m.accept}, {8, "relay", m.relay}, {20, "claim", m.claim}, {22, "record", m.record}, {5, "rescue", m.rescue},
		{8, "cancel", m.cancel}, {5, "resolve", m.resolve}, {5, "replay", m.replay}, {2, "prune", m.prune}, {5, "limit", m.limit},
	}
	dice := m.random.IntN(100)
	for _, a := range acts {
		if dice -= a.weight; dice >= 0 {
			continue
		}
		err := a.do(ctx)
		switch code := posthouse.CodeOf(err); {
		case err == nil, ctx.Err() != nil:
		case code == posthouse.CodeConflict, code == posthouse.CodeNotFound, code == posthouse.CodeKeyReused: // said of what others did first
		default:
			m.mu.Lock()
			m.told = append(m.told, fmt.Sprintf("%s: %v", a.name, err))
			m.mu.Unlock()
		}
		return
	}
}

// accept hands in some messages at once, with keys that others use too.
func (m *member) accept(ctx context.Context) error {
	keys := m.random.Perm(60)[:1+m.random.IntN(4)]
	var subs []*work.Submission
	for _, k := range keys {
		e := entry(1 + m.random.IntN(3))
		e.DedupWindow = time.Second
		if m.random.IntN(2) == 0 {
			e.Message.DedupKey = fmt.Sprintf("event-%d", m.random.IntN(30))
		}
		sub := &work.Submission{Tenant: tenant, Endpoint: "messages", Hash: "same", KeyTTL: time.Second, Entries: []work.Entry{e}}
		if m.random.IntN(2) == 0 {
			sub.Key = fmt.Sprintf("key-%d", k)
		}
		subs = append(subs, sub)
	}
	outcomes, err := m.store.Submissions.Accept(ctx, time.Now(), subs)
	for _, o := range outcomes {
		m.remember(o)
	}
	return err
}

func (m *member) remember(o work.Outcome) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range o.Accepted {
		for _, d := range a.Deliveries {
			m.ids = append(m.ids, d.ID)
		}
	}
	m.ids = m.ids[max(0, len(m.ids)-300):]
}

// relay writes a row as a caller's own transaction would, and moves what it finds, as several processes do.
func (m *member) relay(ctx context.Context) error {
	if _, err := m.raw.ExecContext(ctx, fmt.Sprintf("INSERT INTO posthouse_outbox (id, tenant, draft) VALUES ('%s', '%s', '{}')", posthouse.NewID(), tenant)); err != nil {
		return err
	}
	rows, err := m.store.Outbox.Outbox(ctx, time.Now(), work.Drafts, 20, 1<<20)
	if err != nil {
		return err
	}
	var list []work.Relay
	for _, row := range rows {
		e := entry(1)
		e.DedupWindow = time.Second
		if m.random.IntN(2) == 0 {
			e.Message.DedupKey = fmt.Sprintf("event-%d", m.random.IntN(30))
		}
		list = append(list, work.Relay{Row: row.ID, Submission: &work.Submission{Tenant: tenant, Endpoint: "outbox", Entries: []work.Entry{e}}})
	}
	outcomes, err := m.store.Outbox.Relay(ctx, time.Now(), list)
	for _, o := range outcomes {
		m.remember(o)
	}
	return err
}

func (m *member) claim(ctx context.Context) error {
	lease := time.Minute
	if m.random.IntN(3) == 0 {
		lease = time.Millisecond
	}
	items, err := m.store.Queue.Claim(ctx, time.Now(), work.Claim{Lane: lane, Max: 1 + m.random.IntN(10), Owner: "w", Lease: lease, Epoch: 1})
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, item := range items {
		m.hands = append(m.hands, item.Delivery)
	}
	m.hands = m.hands[max(0, len(m.hands)-100):]
	return err
}

// record writes ends of claims in an order of its own, good and stale.
func (m *member) record(ctx context.Context) error {
	m.mu.Lock()
	var hands []posthouse.Delivery
	for _, i := range m.random.Perm(len(m.hands))[:min(len(m.hands), 1+m.random.IntN(10))] {
		hands = append(hands, m.hands[i])
	}
	m.mu.Unlock()
	byID := map[string]posthouse.Delivery{} // a delivery stands once in a write
	for _, d := range hands {
		byID[d.ID] = d
	}
	kinds := map[string]kind{}
	for id := range byID {
		kinds[id] = []kind{sends, sends, retries, looks}[m.random.IntN(4)]
	}
	_, err := m.store.Queue.Record(ctx, time.Now(), func(now time.Time) []work.Change {
		var changes []work.Change
		for id, d := range byID {
			c := change(d, kinds[id], now)
			if kinds[id] == looks { // nobody knows what became of it
				c.After.State, c.After.DueAt = posthouse.Unknown, now
				c.Events = []posthouse.Event{{Type: posthouse.EventAmbiguous, To: posthouse.Unknown, Token: d.Token}}
			}
			changes = append(changes, c)
		}
		return changes
	})
	return err
}

func (m *member) rescue(ctx context.Context) error {
	due := []work.Due{work.LeaseLost, work.HoldOver}[m.random.IntN(2)]
	_, err := m.store.Queue.Revise(ctx, time.Now(), work.Selection{Due: due, Max: 20}, func(now time.Time, found []posthouse.Delivery) []work.Change {
		var changes []work.Change
		for _, d := range found {
			c := change(d, retries, now)
			switch {
			case due == work.HoldOver:
				c.Events[0].Type = posthouse.EventResend
			case d.StartedAt.IsZero():
				c.Events[0].Type = posthouse.EventLeaseLost
			default:
				c.Events = []posthouse.Event{{Type: posthouse.EventLeaseLost, To: posthouse.Unknown, Token: d.Token}, {Type: posthouse.EventResend, To: posthouse.Pending, Token: d.Token}}
			}
			changes = append(changes, c)
		}
		return changes
	})
	return err
}

// pick picks some deliveries in an order of its own.
func (m *member) pick(n int) (ids []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, i := range m.random.Perm(len(m.ids))[:min(n, len(m.ids))] {
		ids = append(ids, m.ids[i])
	}
	return ids
}

func (m *member) cancel(ctx context.Context) error {
	_, err := m.operator.Cancel(ctx, tenant, m.pick(1+m.random.IntN(8)))
	return err
}

func (m *member) resolve(ctx context.Context) error {
	word := []decide.Resolution{decide.ResolveSent, decide.ResolveFail, decide.ResolveRetry}[m.random.IntN(3)]
	_, err := m.operator.Resolve(ctx, tenant, m.pick(1)[0], word)
	return err
}

func (m *member) replay(ctx context.Context) error {
	made, err := m.store.Submissions.AddReplay(ctx, time.Now(), tenant, m.pick(1+m.random.IntN(8)), m.random.IntN(2) == 0)
	for _, r := range made {
		if r.Err == nil {
			m.remember(work.Outcome{Accepted: []posthouse.Accepted{{Deliveries: []posthouse.AcceptedDelivery{{ID: r.ID}}}}})
		}
	}
	return err
}

func (m *member) prune(ctx context.Context) error {
	_, err := m.store.Upkeep.Prune(ctx, time.Now(), work.KeepAll(time.Second), 100)
	return err
}

func (m *member) limit(ctx context.Context) error {
	windows := []posthouse.Limit{{Max: 1_000_000, Per: posthouse.Duration(time.Second)}, {Max: 1_000_000, Per: posthouse.Duration(time.Minute)}}
	var bounds []limit.Bound
	for _, n := range m.random.Perm(3)[:1+m.random.IntN(3)] {
		bounds = append(bounds, limit.Bound{Key: fmt.Sprintf("limit-%d", n), Windows: windows})
	}
	_, err := m.limits.Take(ctx, bounds, 1+m.random.IntN(20))
	return err
}
