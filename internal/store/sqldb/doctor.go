package sqldb

import (
	"context"
	"fmt"
	"time"
)

// Finding is one setting of the database that is unsafe.
type Finding struct {
	Setting string `json:"setting"`
	Value   string `json:"value"`
	Why     string `json:"why"`
}

// Doctor names what is unsafe about the database's settings and its clock.
func (s *DB) Doctor(ctx context.Context) ([]Finding, error) {
	found, err := s.Dialect.check(ctx, s.Reader)
	if err != nil || !s.SharedClock() {
		return found, s.Coded(err, "check the database's settings")
	}
	asked := time.Now()
	theirs, err := s.Now(ctx)
	if err != nil {
		return found, err
	}
	return append(found, skew(asked, theirs, time.Now())...), nil
}

// maxSkew is how far this machine's clock and the database's may lie apart.
const maxSkew = 2 * time.Second

// skew compares the database's clock with ours when we asked and when we had the answer.
func skew(asked, theirs, answered time.Time) []Finding {
	var off time.Duration
	var word string
	switch {
	case theirs.After(answered.Add(maxSkew)):
		off, word = theirs.Sub(answered), "ahead of"
	case theirs.Before(asked.Add(-maxSkew)):
		off, word = asked.Sub(theirs), "behind"
	default:
		return nil
	}
	return []Finding{{
		Setting: "clock",
		Value:   fmt.Sprintf("%v %s this machine", off.Round(100*time.Millisecond), word),
		Why:     "due times and leases go by the database's clock, what callers see of schedules by this machine's: set both by NTP",
	}}
}
