package life

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheDatabasesClockCountsWhereItIsFarFromOurs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c Clock
		for _, step := range []struct {
			away, there, back, want time.Duration
			err                     error
		}{
			{0, 0, 0, 0, nil},
			{time.Hour, 0, 0, time.Hour, nil},
			{time.Minute, 0, 0, time.Hour, errors.New("no answer")}, // as it was
			{-24 * time.Hour, 5 * time.Millisecond, 5 * time.Millisecond, -24 * time.Hour, nil},
			{500 * time.Millisecond, 0, 0, 0, nil},                                    // as far as the way may be
			{0, 0, 20 * time.Second, 0, nil},                                          // the answer was here, and we stood still
			{500 * time.Millisecond, 20 * time.Second, 0, 0, nil},                     // so did the database
			{5 * time.Second, 3 * time.Second, 3 * time.Second, 5 * time.Second, nil}, // no way is as long
			{time.Hour, 0, 0, time.Hour, nil},
			{time.Hour, 0, 20 * time.Second, time.Hour, nil}, // nothing else is known
		} {
			c.Set(context.Background(), func(context.Context) (time.Time, error) {
				time.Sleep(step.there) // in virtual time
				at := time.Now().Add(step.away)
				time.Sleep(step.back)
				return at, step.err
			})
			if got := time.Until(c.Now()); got != step.want {
				t.Errorf("a database %s ahead: our clock is moved by %s, want %s", step.away, got, step.want)
			}
		}
	})
}
