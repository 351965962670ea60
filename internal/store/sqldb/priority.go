package sqldb

import (
	"slices"

	"github.com/posthouse/posthouse"
)

// PriorityNumber is a priority as a column has it: its place in the order of dispatch.
func PriorityNumber(p posthouse.Priority) int64 {
	return int64(max(slices.Index(posthouse.Priorities(), p), 0))
}

// PriorityOf is the priority of a column, and the normal one of a number that none has.
func PriorityOf(n int64) posthouse.Priority {
	all := posthouse.Priorities()
	if n < 0 || int(n) >= len(all) {
		return posthouse.Normal
	}
	return all[n]
}
