package life_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse/internal/life"
)

func TestASweepBeginsShortlyBeforeTheLastOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var s life.Sight
		for _, step := range []struct {
			name string
			at   time.Duration // since the beginning
			want time.Duration // where it begins; 0: at the beginning
			left time.Duration // when what stays as it is was due; 0: nothing stays
			took time.Duration
		}{
			{"the first", 0, 0, 0, 0},
			{"the next", 7 * time.Second, -5 * time.Second, 0, 0},
			{"what stays is seen again", 8 * time.Second, 2 * time.Second, time.Second, 0},
			{"and again", 9 * time.Second, time.Second, 0, 0},
			{"after ten seconds", 10 * time.Second, 0, 0, time.Second},
			{"longer after a long one", 29 * time.Second, 5 * time.Second, 0, 0},
			{"twenty times as long", 30 * time.Second, 0, 0, time.Hour},
			{"a minute at most", 89 * time.Second, 25 * time.Second, 0, 0},
			{"then all", 90 * time.Second, 0, 0, 0},
		} {
			time.Sleep(time.Until(begun.Add(step.at)))
			since := s.Begin()
			if since.IsZero() != (step.want == 0) || !since.IsZero() && !since.Equal(begun.Add(step.want)) {
				t.Errorf("%s: begins at %s, want %s", step.name, since.Sub(begun), step.want)
			}
			var left time.Time
			if step.left > 0 {
				left = begun.Add(step.left)
			}
			s.End(since, time.Now(), left, step.took)
		}
	})
}
