package rule

import (
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
)

// Day is a duty day: who is on duty, from its hand-over to the next.
type Day struct {
	Shift
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
}

// Days are n duty days of a roster from the date of a moment on, which must be in the roster's zone (see Zone). The error
// says that the hand-over is not a time of day.
func Days(roster posthouse.Roster, from time.Time, n int) ([]Day, error) {
	handOver, err := parseClock(roster.HandOver)
	if err != nil {
		return nil, fmt.Errorf("roster %q: hand_over: %w", roster.Name, err)
	}
	year, month, day := from.Date()
	begin := func(i int) time.Time {
		want := time.Date(year, month, day+i, 0, int(handOver), 0, 0, time.UTC)
		return showing(want.AddDate(0, 0, -2).In(from.Location()), want)
	}
	days := make([]Day, n)
	for i := range days {
		date := time.Date(year, month, day+i, 0, 0, 0, 0, time.UTC)
		days[i] = Day{shiftOn(roster, date), begin(i), begin(i + 1)}
	}
	return days, nil
}

// NowAndNext are the duty day of a moment, which must be in the roster's zone, and the one after it.
func NowAndNext(roster posthouse.Roster, local time.Time) (now, next Day, err error) {
	days, err := Days(roster, local.AddDate(0, 0, -1), 3)
	if err != nil {
		return now, next, err
	}
	if local.Before(days[1].From) {
		return days[0], days[1], nil
	}
	return days[1], days[2], nil
}
