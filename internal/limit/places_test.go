package limit_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/limit/limittest"
)

var per = limittest.Per

// one is the bound of a call for one key.
func one(key string, windows []posthouse.Limit) []limit.Bound {
	return []limit.Bound{{Key: key, Windows: windows}}
}

// rows is a table in memory: one lock for all rows.
type rows struct {
	now    func() time.Time // defaults to time.Now
	mu     sync.Mutex
	text   map[string][]byte
	writes atomic.Int64
	err    error // of the next calls
}

func (r *rows) UpdateLimits(_ context.Context, keys []string, change func(time.Time, [][]byte) ([][]byte, error)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return r.err
	}
	now := time.Now
	if r.now != nil {
		now = r.now
	}
	texts, err := change(now(), r.texts(keys))
	if err != nil {
		return err
	}
	if r.text == nil {
		r.text = map[string][]byte{}
	}
	for i, text := range texts {
		if text != nil {
			r.text[keys[i]] = text
			r.writes.Add(1)
		}
	}
	return nil
}

func (r *rows) texts(keys []string) [][]byte {
	texts := make([][]byte, len(keys))
	for i, key := range keys {
		texts[i] = r.text[key]
	}
	return texts
}

// glassRows are rows that can be read without their lock.
type glassRows struct{ *rows }

func (r glassRows) LookLimits(_ context.Context, keys []string) ([][]byte, time.Time, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.texts(keys), time.Now(), r.err
}

// openMini is a Redis that lives in this process, on the clock of the bubble.
func openMini(t *testing.T) limit.Limiter {
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	r := limit.OpenRedisBy(m.Dial, limit.RedisOptions{})
	t.Cleanup(func() {
		r.Close()
		m.Close()
	})
	return r
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		open func(t *testing.T) limit.Limiter
	}{
		{"memory", func(*testing.T) limit.Limiter { return limit.NewMemory() }},
		{"sql", func(*testing.T) limit.Limiter { return limit.SQL{Rows: new(rows)} }},
		{"sql that is looked at without a lock", func(*testing.T) limit.Limiter { return limit.SQL{Rows: glassRows{new(rows)}} }},
		{"redis in memory", openMini},
		{"leased", func(t *testing.T) limit.Limiter { return leaser{leased(t, new(rows))} }},
		{"fallback", func(t *testing.T) limit.Limiter {
			return &limit.Fallback{Primary: openMini(t), Secondary: limit.SQL{Rows: new(rows)}}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			limittest.Run(t, limittest.Options{Open: c.open, Virtual: true})
		})
	}
}

func TestMemoryGrantsEachPermitOnce(t *testing.T) {
	t.Parallel()
	m, windows := limit.NewMemory(), []posthouse.Limit{per(3_000_000, time.Hour)}
	var granted atomic.Int64
	var takers sync.WaitGroup
	for range 8 {
		takers.Go(func() {
			for {
				g, err := m.Take(t.Context(), one("key", windows), 3)
				if granted.Add(int64(g.N)); err != nil || g.N == 0 {
					return
				}
			}
		})
	}
	takers.Wait()
	if got := granted.Load(); got != 3_000_000 {
		t.Errorf("granted %d, want 3000000", got)
	}
}

func TestMemoryDropsIdleKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := limit.NewMemory()
		take := func(key string, w posthouse.Limit) {
			t.Helper()
			if _, err := m.Take(t.Context(), one(key, []posthouse.Limit{w}), 1); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 1000 {
			take("second "+string(rune('a'+i)), per(5, time.Second))
		}
		take("hour", per(5, time.Hour))
		limittest.Pause(t.Context(), 2*time.Minute)
		for i := range 10_000 { // touches every shard
			take("hour "+string(rune('a'+i)), per(5, time.Hour))
		}
		if got := m.Keys(); got != 10_001 {
			t.Errorf("%d keys are kept, want 10001", got)
		}
	})
}

func TestSQLWritesNothingWhereNothingIsGranted(t *testing.T) {
	t.Parallel()
	r := new(rows)
	l := limit.SQL{Rows: r}
	windows := []posthouse.Limit{per(5, time.Hour)}
	for range 10 {
		if _, err := l.Take(t.Context(), one("key", windows), 5); err != nil {
			t.Fatal(err)
		}
	}
	if n := r.writes.Load(); n != 1 {
		t.Errorf("%d writes, want 1", n)
	}
}

func TestSQLRefusesARowItCannotRead(t *testing.T) {
	t.Parallel()
	table := &rows{text: map[string][]byte{"key": []byte("garbage")}}
	l, windows := limit.SQL{Rows: table}, []posthouse.Limit{per(5, time.Hour)}
	g, err := l.Take(t.Context(), one("key", windows), 5)
	want := `take permits of "key": the row of "key": read limit state: it does not begin with "a"`
	if err == nil || err.Error() != want || g.N != 0 {
		t.Errorf("got %+v, error %v, want error %s", g, err, want)
	}
	for _, l := range []limit.SQL{l, {Rows: glassRows{table}}} {
		want := strings.Replace(want, "take", "peek", 1)
		if _, err := l.Peek(t.Context(), one("key", windows)); err == nil || err.Error() != want {
			t.Errorf("%T: got error %v, want %s", l.Rows, err, want)
		}
	}
}

func TestSQLReturnsTheErrorOfItsRows(t *testing.T) {
	t.Parallel()
	down := errors.New("connection refused")
	l := limit.SQL{Rows: &rows{err: down}}
	g, err := l.Take(t.Context(), one("key", []posthouse.Limit{per(5, time.Hour)}), 5)
	if !errors.Is(err, down) || g.N != 0 {
		t.Errorf("got %+v, error %v, want %v", g, err, down)
	}
	if err := l.Refund(t.Context(), limit.Grant{N: 1, Stamps: []limit.Stamp{{Key: "key", At: time.Now()}}}, 1); !errors.Is(err, down) {
		t.Errorf("refund: got error %v, want %v", err, down)
	}
}
