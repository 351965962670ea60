package race

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/decide"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// TestDeliveriesAreLinearizable (C1) lets clients claim, start, end, cancel and rescue the same few
// deliveries, with tokens old and new, and asks whether what they were told could have happened one
// after the other.
func TestDeliveriesAreLinearizable(t *testing.T) {
	t.Parallel()
	house.EachDatabase(t, func(t *testing.T, db house.Database) {
		a := newArena(t, openStore(t, db.DSN(t), slog.New(slog.DiscardHandler)), house.Size(3_000, 200_000))
		rare := []string{"refused", string(rescues), decide.CancelDone, decide.CancelLate, decide.CancelFinal}
		a.playAll(rare)
		result, took, parts := check(a.history)
		house.Report(t, house.Row{
			Test: "C1", Database: string(db), What: fmt.Sprintf("claim, start, result, cancel, rescue by %d clients", clients), N: len(a.history), Unit: "operations",
			Figure: fmt.Sprintf("%s; %d deliveries, %d writes refused, %d rescues, cancels: %d won, %d late, %d after the end; checked in %s",
				result, parts, a.seen["refused"], a.seen[string(rescues)], a.seen[decide.CancelDone], a.seen[decide.CancelLate], a.seen[decide.CancelFinal], took.Round(time.Millisecond)),
			Bar: "linearizable", Bound: house.Bound(len(a.history)), Pass: result == porcupine.Ok,
		})
		for _, what := range rare {
			if a.seen[what] == 0 {
				t.Errorf("%s never happened: the run proves little", what)
			}
		}
	})
}

// clients is how many play at once.
const clients = 16

// playAll lets the clients play until all operations are done, and ten times as many while something rare is still to come.
func (a *arena) playAll(rare []string) {
	for round := range 10 {
		a.left.Store(a.operations)
		a.playOnce(uint64(round + 1))
		if a.t.Failed() || !slices.ContainsFunc(rare, func(what string) bool { return a.seen[what] == 0 }) {
			return
		}
	}
}

func (a *arena) playOnce(seed uint64) {
	var wg sync.WaitGroup
	for n := range clients {
		p := &player{arena: a, number: n, random: rand.New(rand.NewPCG(uint64(n), seed))}
		wg.Go(func() {
			for a.left.Load() > 0 && a.t.Context().Err() == nil {
				p.play()
			}
		})
	}
	wg.Wait()
}

// check asks porcupine, and says how long it thought and how many deliveries there were.
func check(history []porcupine.Operation) (result porcupine.CheckResult, took time.Duration, parts int) {
	begin := time.Now()
	result = porcupine.CheckOperationsTimeout(model, history, 5*time.Minute)
	return result, time.Since(begin), len(byDelivery(history))
}

func openStore(t *testing.T, dsn string, log *slog.Logger) *store.Store {
	t.Helper()
	st, err := store.Open(t.Context(), store.Options{DSN: dsn, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := st.Schema.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return st
}

// arena is what the players share: the store, the deliveries that are open, and what they hold of them.
type arena struct {
	t          *testing.T
	store      *store.Store
	operator   decide.Operator
	begin      time.Time
	pulled     bool         // agents fetch the deliveries
	operations int64        // of a round
	left       atomic.Int64 // of these, to go
	open       atomic.Int64 // deliveries that have not ended

	mu      sync.Mutex
	history []porcupine.Operation
	ids     []string             // recent deliveries
	hands   []posthouse.Delivery // recent claims, as their holders saw them
	seen    map[string]int
}

func newArena(t *testing.T, st *store.Store, operations int) *arena {
	t.Helper()
	a := &arena{t: t, store: st, operator: decide.Operator{Queue: st.Queue, Rouse: func(state.Key, posthouse.Priority, work.Pin) {}}, begin: time.Now(), operations: int64(operations), seen: map[string]int{}}
	return a
}

// recent is how many deliveries and claims are remembered: few, so that their holders meet.
const recent = 40

func keepRecent[T any](list []T) []T { return list[max(0, len(list)-recent):] }

// player is one client.
type player struct {
	*arena
	number int
	random *rand.Rand
}

// note adds what one call meant for each delivery it was about.
func (p *player) note(call time.Time, deeds ...deed) {
	ended := time.Since(p.begin)
	p.left.Add(-int64(len(deeds)))
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range deeds {
		p.history = append(p.history, porcupine.Operation{ClientId: p.number, Input: d, Call: int64(call.Sub(p.begin)), Return: int64(ended)})
		p.seen[string(d.kind)]++
		if d.refused {
			p.seen["refused"]++
		}
		p.seen[d.answer]++
	}
}

// play does one thing by chance. Any error is a failure: nothing is broken here.
func (p *player) play() {
	ctx := p.t.Context()
	err := error(nil)
	if p.open.Load() < recent/2 {
		err = p.accept(ctx)
	}
	if err == nil {
		moves := []struct {
			weight int
			do     func(context.Context) error
		}{
			{30, p.claim}, {17, p.result(starts)}, {15, p.result(sends)}, {12, p.result(retries)},
			{8, p.rescue}, {5, p.cancel}, {7, p.look}, {6, p.close},
		}
		dice := p.random.IntN(100)
		for _, m := range moves {
			if dice -= m.weight; dice < 0 {
				err = m.do(ctx)
				break
			}
		}
	}
	if err != nil && ctx.Err() == nil {
		p.t.Errorf("client %d: %v", p.number, err)
		p.left.Store(0)
	}
}

func (p *player) accept(ctx context.Context) error {
	each := 1 + 5*p.random.IntN(2) // one alone begins clean
	e := entry(each)
	for i := range e.Deliveries {
		e.Deliveries[i].Pulled = p.pulled
	}
	call := time.Now()
	if _, err := p.store.Submissions.Accept(ctx, call, []*work.Submission{{Tenant: tenant, Entries: []work.Entry{e}}}); err != nil {
		return err
	}
	deeds := make([]deed, each)
	for i := range e.Deliveries {
		deeds[i] = deed{kind: accepts, delivery: e.Deliveries[i].ID}
	}
	p.note(call, deeds...)
	p.open.Add(int64(each))
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range deeds {
		p.ids = append(p.ids, d.delivery)
	}
	p.ids = keepRecent(p.ids)
	return nil
}

// claim claims with a lease that ends at once, or soon.
func (p *player) claim(ctx context.Context) error {
	if p.pulled {
		return p.handOut(ctx)
	}
	kind, lease := pushes, 50*time.Millisecond
	if p.random.IntN(3) == 0 {
		lease = time.Millisecond
	}
	call := time.Now()
	items, err := p.store.Queue.Claim(ctx, call, work.Claim{Lane: lane, Max: 1 + p.random.IntN(3), Owner: fmt.Sprint(p.number), Lease: lease, Epoch: 1})
	if err != nil {
		return err
	}
	var deeds []deed
	p.mu.Lock()
	for _, item := range items {
		d := item.Delivery
		deeds = append(deeds, deed{kind: kind, delivery: d.ID, version: d.Version, token: d.Token})
		p.hands = append(p.hands, d)
	}
	p.hands = keepRecent(p.hands)
	p.mu.Unlock()
	p.note(call, deeds...)
	return nil
}

// draw picks up to n different claims, anybody's: mostly late ones, whose tokens may still hold. Half
// of the time it takes them out.
func (p *player) draw(n int) (list []posthouse.Delivery) {
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := map[string]bool{}
	for range n {
		if len(p.hands) == 0 {
			return nil
		}
		among := len(p.hands)
		if p.random.IntN(4) > 0 {
			among = min(among, 6)
		}
		i := len(p.hands) - 1 - p.random.IntN(among)
		d := p.hands[i]
		if !seen[d.ID] {
			seen[d.ID] = true
			list = append(list, d)
		}
		if p.random.IntN(2) == 0 {
			p.hands = slices.Delete(p.hands, i, i+1)
		}
	}
	return list
}

// result writes a start or an end for claims as their holders saw them, be they lost long ago.
func (p *player) result(k kind) func(context.Context) error {
	return func(ctx context.Context) error {
		hands := p.draw(1 + p.random.IntN(3))
		if len(hands) == 0 {
			return nil
		}
		call := time.Now()
		refused, err := p.store.Queue.Record(ctx, call, func(now time.Time) []work.Change {
			changes := make([]work.Change, len(hands))
			for i, d := range hands {
				changes[i] = change(d, k, now)
			}
			return changes
		})
		if err != nil {
			return err
		}
		no := map[string]bool{}
		for _, id := range refused {
			no[id] = true
		}
		var deeds []deed
		for _, d := range hands {
			deeds = append(deeds, deed{kind: k, delivery: d.ID, version: d.Version, token: d.Token, refused: no[d.ID]})
			switch {
			case no[d.ID]:
			case k == starts:
				d.Version, d.StartedAt = d.Version+1, call
				p.mu.Lock()
				p.hands = append(p.hands, d)
				p.mu.Unlock()
			case k == sends:
				p.open.Add(-1)
			}
		}
		p.note(call, deeds...)
		return nil
	}
}

// change is a start, a success or a refusal of a claimed delivery.
func change(d posthouse.Delivery, k kind, now time.Time) work.Change {
	c := work.Change{Before: d, After: d}
	event := posthouse.Event{Token: d.Token}
	switch k {
	case starts:
		c.After.StartedAt = now
		event.Type, event.To = posthouse.EventStart, posthouse.Sending
	case sends:
		event.Type, event.To = posthouse.EventSent, posthouse.Sent
	default:
		c.After.DueAt, c.After.StartedAt, c.After.LeaseOwner, c.After.LeaseUntil = now, time.Time{}, "", time.Time{}
		if d.Pulled {
			c.After.Tries++ // it waits in another lane now
		}
		event.Type, event.To = posthouse.EventRetry, posthouse.Pending
	}
	c.After.State, c.Events = event.To, []posthouse.Event{event}
	return c
}

// rescue takes back what has lost its lease: the engine's own way, less the policies.
func (p *player) rescue(ctx context.Context) error {
	var deeds []deed
	ended := 0
	call := time.Now()
	_, err := p.store.Queue.Revise(ctx, call, work.Selection{Due: work.LeaseLost, Max: 8}, func(now time.Time, found []posthouse.Delivery) []work.Change {
		deeds, ended = nil, 0
		var changes []work.Change
		for _, d := range found {
			c := change(d, retries, now)
			switch lost := (posthouse.Event{Type: posthouse.EventLeaseLost, To: posthouse.Unknown, Token: d.Token}); {
			case d.StartedAt.IsZero():
				c.Events[0].Type = posthouse.EventLeaseLost
			case d.CancelRequested:
				ended++
				c.After.State = posthouse.Failed
				c.Events = []posthouse.Event{lost, {Type: posthouse.EventResolve, To: posthouse.Failed, Token: d.Token}}
			default:
				c.Events = []posthouse.Event{lost, {Type: posthouse.EventResend, To: posthouse.Pending, Token: d.Token}}
			}
			changes = append(changes, c)
			deeds = append(deeds, deed{kind: rescues, delivery: d.ID, version: d.Version, token: d.Token})
		}
		return changes
	})
	if err != nil {
		return err
	}
	p.open.Add(-int64(ended))
	p.note(call, deeds...)
	return nil
}

// pick is one of the recent deliveries.
func (p *player) pick() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ids[p.random.IntN(len(p.ids))]
}

func (p *player) cancel(ctx context.Context) error {
	call := time.Now()
	answers, err := p.operator.Cancel(ctx, tenant, []string{p.pick()})
	if err != nil {
		return err
	}
	for _, a := range answers {
		if a.Result == decide.CancelDone {
			p.open.Add(-1)
		}
		p.note(call, deed{kind: cancels, delivery: a.Delivery, answer: a.Result})
	}
	return nil
}

func (p *player) look(ctx context.Context) error {
	call := time.Now()
	d, err := p.store.Messages.Delivery(ctx, tenant, p.pick())
	if err != nil {
		return err
	}
	p.note(call, deed{kind: looks, delivery: d.ID, version: d.Version, token: d.Token, state: d.State})
	return nil
}

// close looks at a claim again under a lock, as the recorder does with a result that was refused, and
// ends it if it is still its holder's.
func (p *player) close(ctx context.Context) error {
	hands := p.draw(1)
	if len(hands) == 0 {
		return nil
	}
	if p.pulled {
		return p.report(ctx, hands[0])
	}
	held := hands[0]
	var done deed
	call := time.Now()
	_, err := p.store.Queue.Revise(ctx, call, work.Selection{Tenant: tenant, IDs: []string{held.ID}}, func(now time.Time, found []posthouse.Delivery) []work.Change {
		done = deed{}
		var changes []work.Change
		for _, d := range found {
			ours := d.State == posthouse.Sending && d.Token == held.Token
			done = deed{kind: closesNow, delivery: d.ID, version: d.Version, token: d.Token, state: d.State, refused: !ours}
			if ours {
				changes = append(changes, change(d, sends, now))
			}
		}
		return changes
	})
	if err != nil {
		return err
	}
	if done.kind == "" {
		return fmt.Errorf("delivery %s is nowhere", held.ID)
	}
	if !done.refused {
		p.open.Add(-1)
	}
	p.note(call, done)
	return nil
}

const tenant = posthouse.DefaultTenant

var lane = work.Lane{Tenant: tenant, Channel: "race", Priority: posthouse.Normal}

// entry is a message with n deliveries that are due.
func entry(n int) work.Entry {
	m := posthouse.Message{ID: posthouse.NewID(), Tenant: tenant, Channel: lane.Channel, Priority: lane.Priority, Content: posthouse.Content{Text: "hello"}}
	e := work.Entry{Message: m}
	for i := range n {
		id := posthouse.DeliveryID(m.ID, i+1)
		e.Deliveries = append(e.Deliveries, posthouse.Delivery{
			ID: id, Message: m.ID, Tenant: tenant, Channel: lane.Channel, Priority: lane.Priority, Recipient: posthouse.Recipient{User: fmt.Sprintf("u%d", i)},
			State: posthouse.Pending, IdemKey: id, OnUnknown: posthouse.Retry, Epoch: 1,
		})
	}
	return e
}
