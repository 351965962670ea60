package simulator

import "time"

// window holds a Limit: it remembers when the last Max requests were let in.
type window struct {
	limit  Limit
	starts []time.Time // a ring, once there are limit.Max: an hour's limit of a provider takes megabytes
	oldest int
	locked time.Time // refused until then
}

func newWindow(l *Limit) *window {
	if l == nil {
		return nil
	}
	return &window{limit: *l}
}

// changed is the window under another limit, nil for none. What was let in counts on, so that a limit can be moved while it is
// watched: else each change would let in a window's worth.
func (w *window) changed(l *Limit) *window {
	next := newWindow(l)
	if w == nil || next == nil {
		return next
	}
	for i := range w.starts {
		next.note(w.starts[(w.oldest+i)%len(w.starts)])
	}
	if l.Lockout > 0 {
		next.locked = w.locked
	}
	return next
}

// admit lets a request in, or says how long the window stays shut: a violation.
func (w *window) admit(now time.Time) time.Duration {
	if w == nil {
		return 0
	}
	if wait := w.locked.Sub(now); wait > 0 {
		return wait
	}
	wait := w.wait(now)
	if wait <= 0 {
		w.note(now)
		return 0
	}
	if lockout := w.limit.Lockout.Std(); lockout > 0 {
		w.locked = now.Add(lockout)
		return lockout
	}
	return wait
}

// wait is how long it takes until the window has room for one, 0 and less where it has.
func (w *window) wait(now time.Time) time.Duration {
	if len(w.starts) < w.limit.Max {
		return 0
	}
	return w.limit.Per.Std() - now.Sub(w.starts[w.oldest])
}

// note counts one that was let in.
func (w *window) note(now time.Time) {
	if len(w.starts) < w.limit.Max {
		w.starts = append(w.starts, now)
		return
	}
	w.starts[w.oldest] = now
	w.oldest = (w.oldest + 1) % len(w.starts)
}

// seconds rounds a wait up to the whole seconds that answers name.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
