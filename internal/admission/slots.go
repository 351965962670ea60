package admission

import (
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
)

// channelSlots bound what all accounts of a channel have under way.
type channelSlots struct {
	counter
	c    *Channel
	most int
}

func (s *channelSlots) scope() scope { return ofChannel }

// Free is Stage's.
func (s *channelSlots) Free(time.Time, Of) (Room, time.Time) {
	if s.c.accounts == nil {
		return everything, time.Time{} // max_inflight is of all there is
	}
	return Room{s.most - s.used[0].N, unbounded}, time.Time{}
}

// Why is Stage's.
func (s *channelSlots) Why(time.Time, *Question) []Wait {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if s.c.accounts == nil || s.used[0].N < s.most {
		return nil
	}
	return []Wait{{Cause: "inflight", Detail: fmt.Sprintf("all %d slots of the channel are in use in this process", s.most)}}
}

// accountSlots bound what an account has under way.
type accountSlots struct {
	counter
	c *Channel
}

func (s *accountSlots) scope() scope { return ofAccount }

// Free is Stage's.
func (s *accountSlots) Free(_ time.Time, of Of) (Room, time.Time) {
	return Room{s.c.Settings.MaxInflight - s.at(of).N, unbounded}, time.Time{}
}

// Why is Stage's.
func (s *accountSlots) Why(now time.Time, q *Question) []Wait {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if !s.c.allHeld(now, s, q) {
		return nil
	}
	if s.c.accounts == nil {
		return []Wait{{Cause: "inflight", Detail: fmt.Sprintf("all %d slots of this process are in use", s.c.Settings.MaxInflight)}}
	}
	return []Wait{{Cause: "inflight", Detail: fmt.Sprintf("all %d slots of each account that may send it are in use in this process", s.c.Settings.MaxInflight)}}
}

// headroom keeps an eighth of the slots from what is of low priority: what is above it need not wait until a provider has answered a
// whole herd.
type headroom struct {
	counter
	c *Channel
}

func (s *headroom) scope() scope { return ofLane }

// Free is Stage's.
func (s *headroom) Free(_ time.Time, of Of) (Room, time.Time) {
	if of.Lane.Priority != posthouse.Low || s.c.accounts != nil {
		return everything, time.Time{}
	}
	most, batch := s.c.Settings.MaxInflight, s.c.Settings.Batch
	left := min(most/8, max(0, most-batch)) // a whole call has room
	return Room{most - left - s.used[0].N, unbounded}, time.Time{}
}

// care lets one attempt of a channel begin, where it has to be found out whether results can be written again.
type care struct {
	counter
	c *Channel
}

func (s *care) scope() scope { return ofChannel }

// Free is Stage's.
func (s *care) Free(time.Time, Of) (Room, time.Time) {
	if !s.c.of.Unsure() {
		return everything, time.Time{}
	}
	return Room{1 - s.used[0].N, unbounded}, time.Time{}
}

// Why is Stage's.
func (s *care) Why(time.Time, *Question) []Wait {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if !s.c.of.Unsure() || s.used[0].N < 1 {
		return nil
	}
	return []Wait{{Cause: "inflight", Detail: "one attempt is under way to find out whether the database takes results again"}}
}

// probing lets one attempt of an account begin at a time, where its provider has refused it for more than its rate.
type probing struct {
	counter
	c *Channel
}

func (s *probing) scope() scope { return ofAccount }

// Free is Stage's.
func (s *probing) Free(_ time.Time, of Of) (Room, time.Time) {
	if !s.c.probes(of.Account) {
		return everything, time.Time{}
	}
	return Room{1 - s.at(of).N, unbounded}, time.Time{}
}
