package admission

import (
	"maps"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
)

// scheduler chooses which lane and which account has its turn, among what the stages leave. The channel is locked for all its methods.
type scheduler interface {
	// mark says that a lane may hold something due, marked whether it is said to, and any whether some lane is.
	mark(l Lane)
	marked(l Lane) bool
	any() bool
	// next is what has its turn of so much room: an account, and lanes, whose marks are taken. Without an account, wake is when to look
	// again; zero says that somebody will wake the channel.
	next(now time.Time, most Room, free asked) (p pick, wake time.Time)
	// choose is the account that has its turn of those that may send what is in a lane.
	choose(now time.Time, l Lane, most Room, free asked) (a *Account, room Room, bound Stage, wake time.Time)
	// more reports whether another account may claim of a lane beside so many, or another lane be claimed of at the same moment.
	more(l Lane, accounts int) bool
	// narrow shares fewer than were reserved between lanes, by their weights.
	narrow(lanes []share, n int, p *pick)
	// gather says that an account can send that could not, and freed that a slot of one came free.
	gather()
	freed(a *Account)
	// took says that an account was given so many, found whether a claim of a lane has found all that it asked for, or the last of it.
	took(a *Account, n int)
	found(l Lane, all, emptied bool)
	// settle says how many deliveries of a lane were given in so many of its turns, and rank how much of its share a priority has had.
	settle(l Lane, turns, given int)
	rank(p posthouse.Priority) float64
}

// asked is what the stages leave.
type asked interface {
	// lane reports whether a lane is open, and account how much of so much room an account may have. bound is the stage that leaves
	// no more.
	lane(now time.Time, l Lane) (room Room, next time.Time)
	account(now time.Time, a *Account, l Lane, most Room) (room Room, bound Stage, next time.Time)
}

// pick is what has its turn.
type pick struct {
	account *Account // nil for none
	room    Room
	bound   Stage // which leaves no more
	lanes   []share
	credits state.Credits // before it was their turn
}

// share is how much of a lane is to be claimed.
type share struct {
	Lane
	n     int // that may be claimed
	taken int // of the lane's stages, and has not begun
}

// laneOpens is when a lane of the priorities that are asked about opens first, zero where none is shut until a time.
func laneOpens(now time.Time, free asked, due func(posthouse.Priority) bool) (first time.Time) {
	for _, p := range posthouse.Priorities() {
		if !due(p) {
			continue
		}
		if room, next := free.lane(now, Lane{Priority: p}); room.none() {
			first = sooner(first, next)
		}
	}
	return first
}

// sooner is the first of two times that are known; zero is unknown.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// single is the scheduler of a channel with one account: its lanes share the room by their weights, in one claim after the other.
type single struct {
	account *Account
	due     map[posthouse.Priority]bool
	credits state.Credits // weighted shares not yet used
	batch   bool          // a call takes many: room is not cut
}

func newSingle(a *Account, batch bool) *single {
	return &single{account: a, batch: batch, due: map[posthouse.Priority]bool{}, credits: state.Credits{}}
}

func (s *single) mark(l Lane)                     { s.due[l.Priority] = true }
func (s *single) marked(l Lane) bool              { return s.due[l.Priority] }
func (s *single) more(Lane, int) bool             { return false }
func (s *single) freed(*Account)                  {}
func (s *single) took(*Account, int)              {}
func (s *single) found(Lane, bool, bool)          {}
func (s *single) settle(Lane, int, int)           {}
func (s *single) rank(posthouse.Priority) float64 { return 0 }

func (s *single) any() bool {
	for _, due := range s.due {
		if due {
			return true
		}
	}
	return false
}

func (s *single) gather() {
	for _, p := range posthouse.Priorities() {
		s.due[p] = true
	}
}

func (s *single) choose(now time.Time, l Lane, most Room, free asked) (*Account, Room, Stage, time.Time) {
	room, bound, next := free.account(now, s.account, l, most)
	if room.none() {
		return nil, Room{}, bound, next
	}
	return s.account, room, bound, next
}

func (s *single) next(now time.Time, most Room, free asked) (p pick, wake time.Time) {
	if !s.any() {
		return pick{}, time.Time{}
	}
	a, room, bound, next := s.choose(now, Lane{}, most, free)
	if a == nil {
		return pick{}, next
	}
	left := map[posthouse.Priority]int{}
	for _, p := range posthouse.Priorities() {
		if !s.due[p] {
			continue
		}
		if open, _ := free.lane(now, Lane{Priority: p}); !open.none() {
			left[p] = open.N
		}
	}
	p = pick{account: a, room: room, bound: bound, credits: maps.Clone(s.credits)}
	counts := s.split(room.N, left)
	for _, of := range posthouse.Priorities() {
		if n := min(counts[of], left[of]); n > 0 {
			p.lanes = append(p.lanes, share{Lane: Lane{Priority: of}, n: n})
			s.due[of] = false
		}
	}
	if len(p.lanes) == 0 {
		return pick{}, laneOpens(now, free, func(p posthouse.Priority) bool { return s.due[p] })
	}
	return p, time.Time{}
}

// narrow has them share by the turns that they have had before it was theirs: of many that wait for a tight limit, each has its share of
// what that lets through, and not the first all of it.
func (s *single) narrow(lanes []share, n int, p *pick) {
	if len(lanes) < 2 || n <= 0 {
		return
	}
	open := map[posthouse.Priority]int{}
	for _, l := range lanes {
		open[l.Priority] = l.n
	}
	s.credits = maps.Clone(p.credits)
	counts := s.split(n, open)
	for i := range lanes {
		lanes[i].n = min(lanes[i].n, counts[lanes[i].Priority])
	}
}

// split shares n between the priorities that are open.
func (s *single) split(n int, open map[posthouse.Priority]int) map[posthouse.Priority]int {
	counts := map[posthouse.Priority]int{}
	isDue := func(p posthouse.Priority) bool { return s.due[p] }
	isOpen := func(p posthouse.Priority) bool { return open[p] > 0 }
	switch {
	case len(open) > 1 && s.batch:
		// A part of the room could be too little for the call of any of them, where all of it is not.
		counts[s.credits.Next(isDue, isOpen)] = n
	case len(open) > 1:
		for range n {
			counts[s.credits.Next(isDue, isOpen)]++
		}
	default:
		for p := range open {
			counts[p] = n // the same, without counting it out
		}
	}
	return counts
}
