package limit

import (
	"context"
	"hash/maphash"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
)

// Memory keeps the states in this process: the limiter of a single process, and
// of tests. Its clock is monotonic, so setting the machine's clock changes nothing.
//
// A restart forgets what was granted. Keys whose windows have all passed are
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

// Take is as Limiter says. It never waits, and errs only on impossible windows.
func (m *Memory) Take(_ context.Context, key string, windows []posthouse.Limit, want int) (Grant, error) {
	if err := check(key, windows); err != nil {
		return Grant{}, err
	}
	if len(windows) == 0 {
		return Grant{N: max(0, want)}, nil
	}
	sh, now := m.lock(key)
	defer sh.Unlock()
	s := sh.states[key]
	if s == nil {
		s = new(State)
		sh.states[key] = s
	}
	return s.Take(now, windows, want), nil
}

// Refund is as Limiter says.
func (m *Memory) Refund(_ context.Context, key string, g Grant, n int) error {
	sh, _ := m.lock(key)
	defer sh.Unlock()
	if s := sh.states[key]; s != nil {
		s.Refund(g.At, min(n, g.N))
	}
	return nil
}

// Peek is as Limiter says.
func (m *Memory) Peek(_ context.Context, key string, windows []posthouse.Limit) (Grant, error) {
	if err := check(key, windows); err != nil {
		return Grant{}, err
	}
	sh, now := m.lock(key)
	defer sh.Unlock()
	s := sh.states[key]
	if s == nil {
		s = new(State)
	}
	return s.Peek(now, windows), nil
}

// lock locks the key's shard and returns it with the time, which must be read
// under the lock so that it never steps back for a key.
func (m *Memory) lock(key string) (*shard, time.Time) {
	sh := &m.shards[maphash.String(m.seed, key)%uint64(len(m.shards))]
	sh.Lock()
	now := m.start.Add(time.Since(m.start))
	if !now.Before(sh.sweep) {
		sh.drop(now)
		sh.sweep = now.Add(sweepEvery)
	}
	return sh, now
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
