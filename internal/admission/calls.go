package admission

import (
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/rate"
)

// atOnce bounds the calls under way by what was learned of a provider that refuses more at the same time.
type atOnce struct {
	counter
	began []int // calls that have begun and are not over
	most  []rate.AtOnce
}

func learning(places int) atOnce {
	return atOnce{counter: count(places), began: make([]int, places), most: make([]rate.AtOnce, places)}
}

func placeOf(of Of) int {
	if of.Account == nil {
		return 0
	}
	return of.Account.place
}

// Free is Stage's.
func (s *atOnce) Free(now time.Time, of Of) (Room, time.Time) {
	most, next := s.most[placeOf(of)].Most(now)
	return Room{unbounded, min(unbounded, most-s.at(of).Calls)}, next
}

// Begin is Stage's.
func (s *atOnce) Begin(_ time.Time, of Of, n Room, _ time.Duration) {
	i := placeOf(of)
	for range n.Calls {
		s.began[i]++
		s.most[i].Began(s.began[i])
	}
}

// learn ends a call, and learns from what was said to it. of is whose bound this is.
func (s *atOnce) learn(now time.Time, of Of, e Ended, mine channel.Scope) {
	s.counter.End(now, of, e)
	i := placeOf(of)
	s.began[i] -= e.Calls
	switch {
	case e.Answer == nil:
	case e.Answer.AtOnce == mine:
		s.most[i].Refused(now, e.Answer.Took, s.began[i])
	case e.Answer.AtOnce == "" && e.Answer.Class == posthouse.ClassOK:
		s.most[i].Accepted()
	}
}

// crowded reports whether so many calls are under way as are borne at once.
func (s *atOnce) crowded(now time.Time, place int) bool {
	most, _ := s.most[place].Most(now)
	return s.began[place] >= most
}

func bearsNoMore(calls int) []Wait {
	return []Wait{{Cause: "inflight", Detail: fmt.Sprintf("%d calls are under way, and the provider bears no more at once", calls)}}
}

// channelCalls are those of all accounts together, as where a corporation has many.
type channelCalls struct {
	atOnce
	c *Channel
}

func (s *channelCalls) scope() scope { return ofChannel }

// End is Stage's.
func (s *channelCalls) End(now time.Time, of Of, e Ended) { s.learn(now, Of{}, e, channel.OfChannel) }

// Why is Stage's.
func (s *channelCalls) Why(now time.Time, _ *Question) []Wait {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if s.crowded(now, 0) {
		return bearsNoMore(s.began[0])
	}
	return nil
}

// accountCalls are those of each account.
type accountCalls struct {
	atOnce
	c *Channel
}

func (s *accountCalls) scope() scope { return ofAccount }

// End is Stage's.
func (s *accountCalls) End(now time.Time, of Of, e Ended) { s.learn(now, of, e, channel.OfAccount) }

// Why is Stage's.
func (s *accountCalls) Why(now time.Time, q *Question) []Wait {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	most := -1
	for _, a := range s.c.crew(q.lane().Pin) {
		if !s.crowded(now, a.place) {
			return nil
		}
		most = max(most, s.began[a.place])
	}
	if most < 0 {
		return nil
	}
	return bearsNoMore(most)
}

// senders bound the calls of all channels of a process.
type senders struct {
	speechless
	c    *Channel
	pool *Pool // nil where their number has no bound
}

func (s *senders) scope() scope { return ofChannel }

// Free is Stage's.
func (s *senders) Free(now time.Time, _ Of) (Room, time.Time) {
	if s.pool == nil {
		return everything, time.Time{}
	}
	return Room{unbounded, s.pool.Free(now, s.c, s.c.of.Wake)}, time.Time{}
}

// TakeUpTo is shared's.
func (s *senders) TakeUpTo(now time.Time, _ Of, n Room) Room {
	return Room{n.N, s.pool.Take(now, n.Calls, s.c, s.c.of.Wake)}
}

// Take is Stage's.
func (s *senders) Take(_ Of, n Room) { s.pool.Began(-n.Calls, 0, 0) }

// Return is Stage's.
func (s *senders) Return(_ Of, n Room) {
	if n.Calls != 0 {
		s.pool.Began(n.Calls, 0, 0)
	}
}

// Begin is Stage's.
func (s *senders) Begin(_ time.Time, _ Of, n Room, waited time.Duration) {
	s.pool.Began(n.Calls, n.Calls, waited)
}

// End is Stage's.
func (s *senders) End(now time.Time, _ Of, e Ended) {
	took := time.Duration(0)
	if e.Answer != nil {
		took = e.Answer.Took
	}
	for range e.Calls {
		s.pool.Ended(now, took)
	}
}

// Short is grower's.
func (s *senders) Short() { s.pool.Short() }
