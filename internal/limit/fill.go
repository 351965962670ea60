package limit

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
)

// Fill says how full a window is.
type Fill struct {
	posthouse.Limit
	// Used is how much of it is taken. A limit that was lowered may have more in it than its Max.
	Used int
	// Opens is how long until it has room again, 0 where it has.
	Opens time.Duration
	// Granted is when the last permit was granted, also one that has come back since.
	Granted time.Time
}

// fill looks at windows and changes nothing.
func (s *State) fill(now time.Time, windows []posthouse.Limit) []Fill {
	seen := s.clone()
	at := seen.advance(now, windows)
	list := make([]Fill, len(windows))
	for i, l := range windows {
		w := &seen.windows[i]
		list[i] = Fill{Limit: l, Used: w.sum, Granted: timeOf(s.granted)}
		if w.sum >= l.Max {
			list[i].Opens = time.Duration(w.free(at, l.Max)-now.UnixMicro()) * time.Microsecond
		}
	}
	return list
}

// Fills are how full the windows of bounds are, in their order. It takes nothing and locks nothing.
func (q SQL) Fills(ctx context.Context, bounds []Bound) ([][]Fill, error) {
	if len(bounds) == 0 {
		return nil, nil
	}
	list, keys := make([][]Fill, len(bounds)), keysOf(bounds)
	look := func(now time.Time, states []*State) {
		for i, s := range states {
			list[i] = s.fill(now, bounds[i].Windows)
		}
	}
	looker, ok := q.Rows.(Looker)
	if !ok {
		return list, q.update(ctx, "look at", keys, look)
	}
	texts, now, err := looker.LookLimits(ctx, keys)
	if err == nil {
		_, err = changed(now, keys, texts, look)
	}
	return list, failed("look at", keys, err)
}

// Fills are how full the windows of bounds are, in their order: of those that this process holds as it has granted, of all others as
// their rows say. What another process has reserved for the moment counts there.
func (l *Leased) Fills(ctx context.Context, bounds []Bound) ([][]Fill, error) {
	list := make([][]Fill, len(bounds))
	var others []Bound
	var at []int
	l.mu.Lock()
	now := time.Now()
	for i, b := range bounds {
		if of := l.keys[b.Key]; of.runs(now, b.Windows) {
			list[i] = of.state.fill(now.Add(of.offset), b.Windows)
		} else {
			others, at = append(others, b), append(at, i)
		}
	}
	l.mu.Unlock()
	fills, err := SQL{l.Rows}.Fills(ctx, others)
	for i := range fills {
		list[at[i]] = fills[i]
	}
	return list, err
}

// Fills are how full the windows of bounds are, in their order.
func (m *Memory) Fills(_ context.Context, bounds []Bound) ([][]Fill, error) {
	list := make([][]Fill, len(bounds))
	if len(bounds) == 0 {
		return list, nil
	}
	states, now, unlock := m.lock(keysOf(bounds))
	defer unlock()
	for i, s := range states {
		list[i] = s.fill(now, bounds[i].Windows)
	}
	return list, nil
}
