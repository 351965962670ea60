package campaign

import (
	"context"
	"fmt"
	"testing"

	"github.com/posthouse/posthouse/internal/work"
)

// Lists that were read for schedules which have been paused since, so that none asks for them, hold up no other.
func TestListsThatNoneAsksForHoldUpNoOther(t *testing.T) {
	t.Parallel()
	s := NewScheduled()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	read := func(context.Context) error { return nil }
	for i := range 3 * mostKept {
		c := &work.Campaign{}
		c.ID = fmt.Sprint(i)
		if _, err := s.fill(gone, c, read); err != nil {
			t.Fatal(err)
		}
		s.wg.Wait()
	}
	if ended, err := s.fill(t.Context(), &work.Campaign{}, read); !ended || err != nil {
		t.Errorf("the next list is read: %t, %v", ended, err)
	}
	if n := len(s.fills); n > mostKept {
		t.Errorf("%d are kept", n)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
