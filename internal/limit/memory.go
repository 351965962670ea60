package limit

import (
	"context"
	"hash/maphash"
	"slices"
	"sync"
	"time"
)

// Memory keeps the states in this process. It is for tests and for what may be counted by
// each process for itself, as requests of callers: a restart forgets what was granted, so
// the windows of a day hold only where SQL keeps them, on SQLite too.
// Its clock is monotonic, so setting the machine's clock changes nothing.
// Keys whose windows have all passed are
// dropped within sweepEvery or so of the next call.
type Memory struct {
	start  time.Time
	seed   maphash.Seed
	shards [64]shard
}

// sweepEvery is how long a key may be idle in memory beyond its longest window.
const sweepEvery = time.Minute

// shard is a part of the keys under one lock.
type shard struct {
	sync.Mutex
	states map[string]*State
	sweep  time.Time // when to look for idle keys again
	_      [64]byte  // keeps the locks of neighbours on different cache lines
}

// NewMemory makes a Memory that has granted nothing.
func NewMemory() *Memory {
	return &Memory{start: time.Now(), seed: maphash.MakeSeed()}
}

// Take is as Limiter says. It never waits, and errs only on impossible bounds.
func (m *Memory) Take(_ context.Context, bounds []Bound, want int) (Grant, error) {
	bounds, err := kept(bounds)
	if err != nil {
		return Grant{}, err
	}
	if len(bounds) == 0 {
		return Grant{N: max(0, want)}, nil
	}
	states, now, unlock := m.lock(keysOf(bounds))
	defer unlock()
	return take(now, bounds, states, want), nil
}

// Refund is as Limiter says.
func (m *Memory) Refund(_ context.Context, g Grant, n int) error {
	n, some := g.back(n)
	if !some {
		return nil
	}
	states, _, unlock := m.lock(g.keys())
	defer unlock()
	for i, s := range states {
		s.Refund(g.Stamps[i].At, n)
	}
	return nil
}

// RefundEach is as Limiter says.
func (m *Memory) RefundEach(ctx context.Context, list []Back) error {
	return oneByOne(ctx, m, list)
}

// Peek is as Limiter says.
func (m *Memory) Peek(_ context.Context, bounds []Bound) (Grant, error) {
	bounds, err := kept(bounds)
	if err != nil {
		return Grant{}, err
	}
	if len(bounds) == 0 {
		return Grant{N: maxMax}, nil
	}
	states, now, unlock := m.lock(keysOf(bounds))
	defer unlock()
	return peek(now, bounds, states), nil
}

// lock locks the shards of the keys, in one order for all callers, and returns the
// keys' states and the time, which must be read under the locks so that it never
// steps back for a key.
func (m *Memory) lock(keys []string) (states []*State, now time.Time, unlock func()) {
	places := make([]int, len(keys))
	for i, key := range keys {
		places[i] = int(maphash.String(m.seed, key) % uint64(len(m.shards)))
	}
	held := places
	if len(places) > 1 {
		held = slices.Compact(slices.Sorted(slices.Values(places)))
	}
	for _, p := range held {
		m.shards[p].Lock()
	}
	now = m.start.Add(time.Since(m.start))
	for _, p := range held {
		m.shards[p].tidy(now)
	}
	states = make([]*State, len(keys))
	for i, key := range keys {
		states[i] = m.shards[places[i]].state(key)
	}
	return states, now, func() {
		for _, p := range held {
			m.shards[p].Unlock()
		}
	}
}

// state is the key's state, a new one where there is none.
func (sh *shard) state(key string) *State {
	s := sh.states[key]
	if s == nil {
		s = new(State)
		sh.states[key] = s
	}
	return s
}

// tidy drops the idle keys where that is due.
func (sh *shard) tidy(now time.Time) {
	if !now.Before(sh.sweep) {
		sh.drop(now)
		sh.sweep = now.Add(sweepEvery)
	}
}

// drop forgets the idle keys.
func (sh *shard) drop(now time.Time) {
	if sh.states == nil {
		sh.states = map[string]*State{}
	}
	for key, s := range sh.states {
		if s.Idle(now) {
			delete(sh.states, key)
		}
	}
}
