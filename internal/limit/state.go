package limit

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
)

// slots is how many slots a window is counted in, and the highest Max whose
// grants are kept to the microsecond instead. A permit comes free up to one
// slot late, so a saturated window uses at least slots/(slots+1) of its Max: 99 %.
const slots = 100

// maxBack is how far a clock may step back and still be read as standing still.
// It is more than any time daemon leaves between two machines, and short enough to wait for.
const maxBack = int64(time.Minute / time.Microsecond)

// State is what was granted for one key, in each of its windows. The zero State
// has granted nothing. It is a plain value without a lock or a clock: the place
// that keeps it brings both.
//
// A window is a list of runs, oldest first. Each grant is stamped with its time,
// rounded up to the window's step, and grants of one stamp share a run; the run
// counts until the stamp is a whole window old. Rounding up keeps every sliding
// window exact from above, and bounds the list to slots+1 runs.
type State struct {
	latest  int64 // the latest time seen, µs since 1970
	granted int64 // the time of the last grant; of a text its latest, as what grants nothing is not written
	windows []window
	touched bool // something was granted or given back since it was read
}

type window struct {
	per, step int64 // µs
	sum       int   // of the runs
	runs      []run
}

type run struct {
	stamp int64 // µs since 1970, a multiple of the window's step
	n     int
}

// Take grants up to want permits in all limits, or none where one of them has
// no room, and notes them in all.
//
// The limits may change from call to call. A window that is new counts what the
// next longer one knows, or the longest there is; one that is left out is forgotten.
// A clock that steps back by up to a minute stands still until it has caught up;
// one that was set back further goes on from there, as if no time had passed
// since the last call. Neither grants anything that a steady clock would not.
func (s *State) Take(now time.Time, limits []posthouse.Limit, want int) Grant {
	return take(now, []Bound{{Windows: limits}}, []*State{s}, want)
}

// Peek tells how many permits are free, and where none is, which limit holds
// and for how long. It changes nothing.
func (s *State) Peek(now time.Time, limits []posthouse.Limit) Grant {
	return peek(now, []Bound{{Windows: limits}}, []*State{s})
}

// Refund gives back n permits of the grant made at the time at, in every window
// that still knows it.
func (s *State) Refund(at time.Time, n int) {
	t := at.UnixMicro()
	if n <= 0 || t > s.latest {
		return
	}
	for i := range s.windows {
		s.touched = s.windows[i].refund(t, n) || s.touched
	}
}

// Idle reports whether nothing counts any more, so that the state may be dropped.
func (s *State) Idle(now time.Time) bool {
	t := now.UnixMicro()
	for _, w := range s.windows {
		if k := len(w.runs); k > 0 && w.runs[k-1].stamp+w.per > t {
			return false
		}
	}
	return true
}

func (s *State) clone() *State {
	windows := slices.Clone(s.windows)
	for i := range windows {
		windows[i].runs = slices.Clone(windows[i].runs)
	}
	return &State{latest: s.latest, granted: s.granted, windows: windows}
}

// advance brings the state to the given time and limits, and returns the time
// that counts, in µs: the given one, or the latest seen if that is later.
func (s *State) advance(now time.Time, limits []posthouse.Limit) int64 {
	t, back := now.UnixMicro(), int64(0)
	switch late := s.latest - t; {
	case late > maxBack:
		back = late
	case late > 0:
		t = s.latest
	}
	if back > 0 || !s.fits(limits) {
		s.windows = s.rebuilt(limits, back)
	}
	s.latest = t
	for i := range s.windows {
		s.windows[i].expire(t)
	}
	return t
}

// fits reports whether the windows are those of the limits.
func (s *State) fits(limits []posthouse.Limit) bool {
	if len(s.windows) != len(limits) {
		return false
	}
	for i, l := range limits {
		per, step := grid(l)
		if s.windows[i].per != per || s.windows[i].step != step {
			return false
		}
	}
	return true
}

// rebuilt makes the windows of the limits from what the present ones know, each
// stamp moved back by so many µs.
func (s *State) rebuilt(limits []posthouse.Limit, back int64) []window {
	windows := make([]window, len(limits))
	for i, l := range limits {
		w := &windows[i]
		w.per, w.step = grid(l)
		for _, r := range s.source(w.per) {
			w.add(min(r.stamp, s.latest)-back, r.n) // no grant is younger than the latest
		}
	}
	return windows
}

// source is the runs of the shortest window that reaches back as far as per, or
// of the longest where none does.
func (s *State) source(per int64) []run {
	var best window
	for _, w := range s.windows {
		covers, better := w.per >= per, w.per < best.per
		if best.per < per {
			covers, better = true, w.per > best.per
		}
		if covers && better {
			best = w
		}
	}
	return best.runs
}

// add notes n permits in all windows.
func (s *State) add(t int64, n int) {
	s.touched, s.granted = true, t
	for i := range s.windows {
		s.windows[i].add(t, n)
	}
}

// room is how many permits are free in all windows.
func (s *State) room(limits []posthouse.Limit) int {
	room := math.MaxInt
	for i, l := range limits {
		room = min(room, l.Max-s.windows[i].sum)
	}
	return room
}

// next is how long until every window has room for one, and the limit that takes longest.
func (s *State) next(t int64, limits []posthouse.Limit) (wait time.Duration, held posthouse.Limit) {
	for i, l := range limits {
		free := s.windows[i].free(t, l.Max)
		if d := time.Duration(free-t) * time.Microsecond; d > wait {
			wait, held = d, l
		}
	}
	return wait, held
}

// grid is the length of a limit's window and the step its stamps are rounded to, in µs.
func grid(l posthouse.Limit) (per, step int64) {
	per = max(1, int64((l.Per.Std()+time.Microsecond-1)/time.Microsecond))
	if l.Max <= slots {
		return per, 1
	}
	return per, (per + slots - 1) / slots
}

// ceil rounds t up to a multiple of step.
func ceil(t, step int64) int64 {
	q := t / step
	if q*step < t {
		q++
	}
	return q * step
}

func (w *window) expire(t int64) {
	old := 0
	for old < len(w.runs) && w.runs[old].stamp+w.per <= t {
		w.sum -= w.runs[old].n
		old++
	}
	if old > 0 {
		w.runs = append(w.runs[:0], w.runs[old:]...)
	}
}

func (w *window) add(t int64, n int) {
	w.sum += n
	stamp := ceil(t, w.step)
	if k := len(w.runs); k > 0 && w.runs[k-1].stamp >= stamp {
		w.runs[k-1].n += n
		return
	}
	w.runs = append(w.runs, run{stamp, n})
}

// refund takes n from the run of the time t. A run of another stamp is never
// touched: taken from a younger one, the older would count too short.
func (w *window) refund(t int64, n int) (found bool) {
	i, found := slices.BinarySearchFunc(w.runs, ceil(t, w.step), func(r run, stamp int64) int {
		return cmp.Compare(r.stamp, stamp)
	})
	if !found {
		return false
	}
	n = min(n, w.runs[i].n)
	w.sum -= n
	w.runs[i].n -= n
	if w.runs[i].n == 0 {
		w.runs = slices.Delete(w.runs, i, i+1)
	}
	return true
}

// free is when fewer than limit permits count.
func (w *window) free(t int64, limit int) int64 {
	sum := w.sum
	for _, r := range w.runs {
		if sum < limit {
			break
		}
		sum -= r.n
		t = r.stamp + w.per
	}
	if limit < 1 {
		return t + w.per // never; look again in a while
	}
	return t
}
