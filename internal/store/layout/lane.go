package layout

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// The column priority of queue and settled holds a lane's number: 0, 1, 2 by priority for what our workers
// send, ten more for what agents fetch, and twenty more for what agents fetch and has failed before. So the
// index of what is due finds each of them in order. Messages have the bare priority.
const (
	lanePulled = 10
	laneAgain  = 20
)

// LaneNumber is what the column holds of a lane.
func LaneNumber(p posthouse.Priority, pulled, again bool) int64 {
	switch n := sqldb.PriorityNumber(p); {
	case pulled && again:
		return n + laneAgain
	case pulled:
		return n + lanePulled
	default:
		return n
	}
}

// laneOf follows from the row alone: whoever writes a row writes its lane.
func laneOf(d *posthouse.Delivery) int64 { return LaneNumber(d.Priority, d.Pulled, d.Tries > 0) }

// ReadLane is what LaneNumber made of a priority, and of nonsense a pushed lane of priority normal.
func ReadLane(n int64) (p posthouse.Priority, pulled, again bool) {
	if n < 0 || n >= laneAgain+lanePulled || int(n%lanePulled) >= len(posthouse.Priorities()) {
		return posthouse.Normal, false, false
	}
	return sqldb.PriorityOf(n % lanePulled), n >= lanePulled, n >= laneAgain
}

// NumberOf is what the column holds of a lane.
func NumberOf(l work.Lane) int64 { return LaneNumber(l.Priority, l.Pulled, l.Again) }
