package state

import "github.com/posthouse/posthouse"

// WeightOf is the share of a priority while all of them have work.
func WeightOf(p posthouse.Priority) int {
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

// mostCredit is what a priority that waits for room may save: more would keep the others waiting once there is room for it.
const mostCredit = 10

// Next is smooth weighted round robin: every priority that is due gains its weight, and the richest of those that may have the turn pays
// the sum. One that is due and has no room for the moment saves its share until it has. It is empty where none may have the turn.
func (c Credits) Next(due, open func(p posthouse.Priority) bool) posthouse.Priority {
	var best posthouse.Priority
	sum := 0
	for _, p := range posthouse.Priorities() {
		gains := WeightOf(p)
		switch {
		case open(p):
		case due(p):
			gains = max(0, min(gains, mostCredit-c[p]))
		default:
			continue
		}
		c[p] += gains
		sum += gains
		if open(p) && (best == "" || c[p] > c[best]) {
			best = p
		}
	}
	if best != "" {
		c[best] -= sum
	}
	return best
}
