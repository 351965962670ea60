package admission

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
)

// turns share among the priorities of a channel with several accounts by their weights, counted in deliveries: a turn is what an account
// may begin, and a tight limit lets through now much of it and now nothing.
type turns struct {
	had    map[posthouse.Priority]float64 // deliveries given, by weight
	out    map[posthouse.Priority]int     // turns whose claims are not made
	size   float64                        // deliveries that a turn comes to: a moving mean
	absent map[posthouse.Priority]bool    // has nothing to send
}

// mostBehind is how far a priority may be behind the first, in rounds of all weights: who waits for an account of its own must not
// keep the others waiting once that is free.
const mostBehind = 100

func newTurns() turns {
	return turns{had: map[posthouse.Priority]float64{}, out: map[posthouse.Priority]int{}, absent: map[posthouse.Priority]bool{}, size: 1}
}

// next is the priority that has had the least of its share among those that are open, empty where none is.
func (t *turns) next(open func(posthouse.Priority) bool) (best posthouse.Priority) {
	least := 0.0
	for _, p := range posthouse.Priorities() {
		if !open(p) {
			continue
		}
		if had := t.had[p] + float64(t.out[p])*t.size/float64(state.WeightOf(p)); best == "" || had < least {
			best, least = p, had
		}
	}
	return best
}

// begin counts a turn, and end what some came to.
func (t *turns) begin(p posthouse.Priority) { t.out[p]++ }

func (t *turns) end(p posthouse.Priority, ended, given int) {
	if t.out[p] -= ended; ended > 0 {
		t.size += (float64(given)/float64(ended) - t.size) * blend
	}
	t.had[p] += float64(given) / float64(state.WeightOf(p))
	for _, other := range posthouse.Priorities() {
		t.had[other] = max(t.had[other], t.had[p]-mostBehind)
	}
}

// leave says that a priority has nothing to send, and back that it has again: it has had no less than who has waited longest meanwhile.
func (t *turns) leave(p posthouse.Priority) { t.absent[p] = true }

func (t *turns) back(p posthouse.Priority) {
	if !t.absent[p] {
		return
	}
	delete(t.absent, p)
	least, some := 0.0, false
	for _, other := range posthouse.Priorities() {
		if other != p && !t.absent[other] && (!some || t.had[other] < least) {
			least, some = t.had[other], true
		}
	}
	if some {
		t.had[p] = max(t.had[p], least)
	}
}
