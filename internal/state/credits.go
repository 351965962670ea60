package state

import "github.com/posthouse/posthouse"

// weightOf is the share of a priority while all of them have work.
func weightOf(p posthouse.Priority) int {
	switch p {
	case posthouse.High:
		return 6
	case posthouse.Low:
		return 1
	}
	return 3
}

// Credits are the weighted shares of a channel's priorities that are not yet used.
type Credits map[posthouse.Priority]int

// Next is smooth weighted round robin: every priority that is due gains its weight, the richest pays the sum. It is
// empty where none is due.
func (c Credits) Next(due func(p posthouse.Priority) bool) posthouse.Priority {
	var best posthouse.Priority
	sum := 0
	for _, p := range posthouse.Priorities() {
		if !due(p) {
			continue
		}
		c[p] += weightOf(p)
		sum += weightOf(p)
		if best == "" || c[p] > c[best] {
			best = p
		}
	}
	if best != "" {
		c[best] -= sum
	}
	return best
}
