package admission

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/retry"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// channelOf is a channel whose settings are changed by set, with these accounts.
func channelOf(set func(*state.Channel), accounts ...string) *state.Channel {
	profile, _ := retry.Named("")
	ch := &state.Channel{Key: state.Key{Tenant: "t", Channel: "c"}}
	ch.Settings.MaxInflight, ch.Settings.ChannelInflight, ch.Settings.Batch, ch.Settings.Profile = 32, 1000, 1, profile
	for _, name := range accounts {
		ch.Stored.Accounts = true
		ch.Opened.Accounts = append(ch.Opened.Accounts, &state.Account{Account: posthouse.Account{Name: name}})
	}
	if set != nil {
		set(ch)
	}
	return ch
}

// bounded is a channel of which every stage bounds something.
func bounded(now time.Time, accounts ...string) *Channel {
	return New(channelOf(func(ch *state.Channel) {
		ch.Settings.Rate = &posthouse.RateSettings{Base: 20}
		ch.Settings.Limits = []posthouse.Limit{{Max: 50, Per: posthouse.Duration(time.Second)}}
	}, accounts...), Options{
		Senders: NewPool(now, Senders{Min: 40, Max: 40}, func(int, int) {}),
		Shaper:  NewShaper(posthouse.Shapes{"*": {posthouse.Normal: {Rate: 100, Burst: 30}, posthouse.Low: {Rate: 10}}}),
	})
}

// Each stage of the list, and each that somebody adds to it: what is taken of it is gone, and comes back whether it is given back or
// ends. What it says it would give, it gives.
func TestEachStageHasBackWhatWasTaken(t *testing.T) {
	t.Parallel()
	for _, accounts := range [][]string{nil, {"a", "b"}} {
		for i := range bounded(midnight).list {
			c := bounded(midnight, accounts...)
			s := c.list[i]
			t.Run(fmt.Sprintf("%T of %d accounts", s, len(accounts)), func(t *testing.T) {
				t.Parallel()
				of := Of{Account: c.account("a"), Lane: Lane{Priority: posthouse.Normal}}
				switch s.scope() {
				case ofChannel:
					of = Of{}
				case ofLane:
					of.Account = nil
				}
				two := Room{2, 2}
				for _, end := range []string{"returned", "ended"} {
					before, next := s.Free(midnight, of)
					if before.none() || !next.IsZero() {
						t.Fatalf("nothing is free at first: %v until %s", before, next)
					}
					if sh, others := s.(shared); others {
						if got := sh.TakeUpTo(midnight, of, two); got != two {
							t.Errorf("it gives %v of %v", got, two)
						}
					} else {
						s.Take(of, two)
					}
					if after, _ := s.Free(midnight, of); after.N > before.N || after.Calls > before.Calls {
						t.Errorf("%v is free after some was taken of %v", after, before)
					}
					if end == "returned" {
						s.Return(of, two)
					} else {
						s.Begin(midnight, of, two, 0)
						if s.scope() != ofLane {
							s.End(midnight, of, Ended{Room: Room{0, 2}})
							s.End(midnight, of, Ended{Room: Room{2, 0}, Unsent: 2})
						} else {
							s.End(midnight, of, Ended{Room: two, Unsent: 2})
						}
					}
					after, _ := s.Free(midnight, of)
					if _, spent := s.(*rates); spent && end == "ended" {
						if after, _ = s.Free(midnight.Add(time.Second), of); after.Calls == 0 {
							t.Error("the rate has not come back in a second")
						}
					} else if after != before {
						t.Errorf("%v is free after all was %s, want %v as at first", after, end, before)
					}
				}
			})
		}
	}
}

// quota is a bound that somebody adds: one file, and one line in the list.
type quota struct {
	counter
	most int
}

func (q *quota) scope() scope { return ofAccount }

// Free is Stage's.
func (q *quota) Free(_ time.Time, of Of) (Room, time.Time) {
	return Room{q.most - q.at(of).N, unbounded}, time.Time{}
}

// Why is Stage's.
func (q *quota) Why(time.Time, *Question) []Wait {
	return []Wait{{Cause: "quota", Detail: fmt.Sprintf("%d are under way", q.used[0].N)}}
}

func TestABoundIsOneFileAndOneLine(t *testing.T) {
	t.Parallel()
	c := New(channelOf(nil), Options{})
	c.add(&quota{counter: count(c.places()), most: 3}) // the line
	r := reserveOne(t, c)
	if n := r.N(); n != 3 {
		t.Fatalf("%d may begin, want the 3 that the new bound leaves", n)
	}
	var seats []*Seat
	for range 3 {
		seats = append(seats, r.Begin(midnight, 0, "", 1, 0))
	}
	r.Close()
	c.MarkAll()
	if list, next := c.Reserve(midnight); len(list) > 0 || !next.IsZero() {
		t.Errorf("%d reservations while the new bound is used up, the next at %s", len(list), next)
	}
	q := &Question{Delivery: &posthouse.Delivery{Priority: posthouse.Normal}, Due: true, Ahead: func(int) int { return 0 }}
	if why := c.Why(midnight, q); len(why) != 1 || why[0].Cause != "quota" {
		t.Errorf("it is explained as %v", why)
	}
	seats[0].End(midnight, 0)
	if r := reserveOne(t, c); r.N() != 1 {
		t.Errorf("%d may begin after one has ended", r.N())
	}
}

func reserveOne(t *testing.T, c *Channel) *Reservation {
	t.Helper()
	list, next := c.Reserve(midnight)
	if len(list) != 1 {
		t.Fatalf("%d reservations, the next at %s; want one", len(list), next)
	}
	return list[0]
}

// books is what must be nothing when nothing is under way.
func books(c *Channel) string {
	text := c.State().Text()
	if c.open != 0 {
		text += fmt.Sprintf(" %d reservations are open", c.open)
	}
	if p := c.of.Senders; p.taken != 0 || p.busy != 0 {
		text += fmt.Sprintf(" senders %d taken, %d busy", p.taken, p.busy)
	}
	return text
}

// stingy is a bound of which others take at the same moment: it may give less than it said.
type stingy struct {
	counter
	give func(most int) int
}

func (s *stingy) scope() scope { return ofChannel }

// Free is Stage's.
func (s *stingy) Free(time.Time, Of) (Room, time.Time) { return everything, time.Time{} }

// TakeUpTo is shared's.
func (s *stingy) TakeUpTo(_ time.Time, of Of, n Room) Room {
	got := Room{n.N, s.give(n.Calls)}
	s.Take(of, got)
	return got
}

// Whatever fails between a reservation and its end, at the end every stage is as it was: nothing leaks, and nothing comes back twice.
func TestNothingLeaksAndNothingComesBackTwice(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		pool := NewPool(midnight, Senders{Min: 2, Max: 2 + r.IntN(60)}, func(int, int) {})
		shaper := NewShaper(posthouse.Shapes{"*": {posthouse.Low: {Rate: 50, Burst: 1 + r.IntN(40)}}})
		var names []string
		for i := range r.IntN(2) * (1 + r.IntN(6)) {
			names = append(names, fmt.Sprint("a", i))
		}
		sent, now := 0, midnight
		c := New(channelOf(func(ch *state.Channel) {
			ch.Settings.MaxInflight, ch.Settings.ChannelInflight, ch.Settings.Batch = 1+r.IntN(40), 1+r.IntN(60), 1+r.IntN(2)*r.IntN(30)
			ch.Settings.ByCalls = r.IntN(2) == 0
			if r.IntN(2) == 0 {
				ch.Settings.Rate = &posthouse.RateSettings{Base: float64(r.IntN(100))}
			}
		}, names...), Options{Senders: pool, Shaper: shaper, Unsure: func() bool { return r.IntN(20) == 0 }})
		c.add(&stingy{count(1), func(most int) int {
			if r.IntN(4) == 0 {
				return r.IntN(most + 1)
			}
			return most
		}})
		var open []*Reservation
		var seats []*Seat
		step := func(drain bool) {
			switch k := r.IntN(8); {
			case k < 2 && !drain:
				c.MarkAll()
				if len(names) > 0 {
					c.Mark(Lane{work.ByAccount(names[r.IntN(len(names))]), posthouse.Priorities()[r.IntN(3)]})
				}
				list, _ := c.Reserve(now)
				open = append(open, list...)
			case k == 2 && !drain:
				if res := c.ReserveIn(now, Lane{Priority: posthouse.Low}, 1+r.IntN(50)); res != nil {
					open = append(open, res)
				}
			case k < 6 && len(open) > 0:
				i := r.IntN(len(open))
				res := open[i]
				if r.IntN(4) > 0 {
					seats = append(seats, play(r, res, now)...)
				}
				res.Close()
				if r.IntN(2) == 0 {
					res.Close()
				}
				open = slices.Delete(open, i, i+1)
			case len(seats) > 0:
				i := r.IntN(len(seats))
				s := seats[i]
				unsent := r.IntN(s.n + 1)
				if r.IntN(3) > 0 {
					a := Answer{Class: []posthouse.Class{posthouse.ClassOK, posthouse.ClassRate, posthouse.ClassUnknown}[r.IntN(3)], Took: time.Millisecond}
					if r.IntN(9) == 0 {
						a.Class, a.AtOnce = posthouse.ClassRate, []channel.Scope{channel.OfChannel, channel.OfAccount}[r.IntN(2)]
					}
					s.Answered(now, &a)
					s.Answered(now, nil)
				}
				_, back := s.End(now, unsent)
				if _, again := s.End(now, unsent); again != 0 || back > unsent {
					t.Fatalf("seed %d: %d permits of %d unsent come back, and %d at a second end", seed, back, unsent, again)
				}
				if s.of.Lane.Priority == posthouse.Low {
					sent += s.n - unsent
				}
				seats = slices.Delete(seats, i, i+1)
			}
			now = now.Add(time.Duration(r.IntN(20)) * time.Millisecond)
		}
		for range 300 {
			step(false)
		}
		for len(open)+len(seats) > 0 {
			step(true)
		}
		if got := books(c); got != "" {
			t.Fatalf("seed %d: when all has ended there is left: %s", seed, got)
		}
		if busy, _ := c.Busy(); busy {
			t.Fatalf("seed %d: it is busy with nothing", seed)
		}
		if b := shaper.buckets[ShapeKey{"t", posthouse.Low}]; b != nil {
			now = now.Add(time.Hour)
			b.fill(now)
			if b.tokens != b.burst {
				t.Fatalf("seed %d: %v tokens of %v are there after an hour of nothing", seed, b.tokens, b.burst)
			}
		}
	}
}

// play claims what a reservation may, with whatever a limiter and a database do.
func play(r *rand.Rand, res *Reservation, now time.Time) (seats []*Seat) {
	if r.IntN(3) == 0 {
		grants := make([]limit.Grant, len(res.parts))
		for i := range grants {
			grants[i] = limit.Grant{N: r.IntN(res.parts[i].n + 1), Wait: time.Second}
		}
		if _, none := res.Grant(now, grants); none {
			return nil
		}
	}
	for i := range res.Lanes() {
		parts, n, cut := res.Claim(i)
		if n == 0 {
			continue
		}
		f := Finding{Given: make([]Given, len(parts)), Cut: cut, Larger: r.IntN(9) == 0, Failed: r.IntN(9) == 0}
		for k, p := range parts {
			for left := r.IntN(p.Max + 1); left > 0 && (p.Calls == 0 || f.Given[k].Calls < p.Calls); {
				size, brought := 1, Brought{}
				if res.c.Whole() {
					size = 1 + r.IntN(min(left, res.c.Settings.Batch))
					brought = Brought{Messages: 1 + r.IntN(size), Calls: 1, Most: 50, Carried: 1}
				}
				left -= size
				f.Given[k] = f.Given[k].And(Given{N: size, Calls: 1, Brought: brought})
				if r.IntN(9) == 0 { // a call more would have been needed, and it went back
					f.Given[k] = f.Given[k].And(Given{Brought: brought, Full: true})
				}
				if r.IntN(9) > 0 { // else it was claimed and set apart
					seats = append(seats, res.Begin(now, i, p.Account, size, time.Millisecond))
				}
			}
		}
		res.Found(i, parts, f)
	}
	return seats
}

// What is reserved for one is not there for another, whoever asks: no more begins than the slots allow.
func TestAReservationOfALaneLeavesTheRest(t *testing.T) {
	t.Parallel()
	c := New(channelOf(func(ch *state.Channel) { ch.Settings.MaxInflight = 10 }), Options{})
	normal := Lane{Priority: posthouse.Normal}
	first := c.ReserveIn(midnight, normal, 7)
	second := c.ReserveIn(midnight, normal, 7)
	if first.N() != 7 || second.N() != 3 {
		t.Fatalf("%d and %d are reserved of 10, want 7 and 3", first.N(), second.N())
	}
	if c.ReserveIn(midnight, normal, 1) != nil {
		t.Error("something is reserved of nothing")
	}
	first.Begin(midnight, 0, "", 2, 0)
	first.Close()
	if third := c.ReserveIn(midnight, normal, 100); third.N() != 5 {
		t.Errorf("%d are free after two of seven have begun, want 5", third.N())
	}
	if !c.Marked(normal) {
		t.Error("the lane's mark is gone")
	}
}

// FLEET-10: where a limit is tighter than the slots, each priority has its share of what it lets through, from the first on.
func TestPrioritiesShareATightLimit(t *testing.T) {
	t.Parallel()
	c := New(channelOf(nil), Options{})
	counts := map[posthouse.Priority]int{}
	for round := range 40 {
		r := reserveOne(t, c)
		if _, none := r.Grant(midnight, []limit.Grant{{N: 5}}); none {
			t.Fatal("nothing is granted of five")
		}
		var seats []*Seat
		for i, l := range r.Lanes() {
			parts, n, cut := r.Claim(i)
			if n == 0 {
				continue
			}
			for range n { // it has more than it may claim
				seats = append(seats, r.Begin(midnight, i, "", 1, 0))
			}
			counts[l.Priority] += n
			r.Found(i, parts, Finding{Given: []Given{{N: n, Calls: n}}, Cut: cut})
		}
		r.Close()
		for _, s := range seats {
			s.End(midnight, 0)
		}
		if round == 1 {
			if diff := cmp.Diff(map[posthouse.Priority]int{posthouse.High: 6, posthouse.Normal: 3, posthouse.Low: 1}, counts); diff != "" {
				t.Errorf("of the first ten (-want +got):\n%s", diff)
			}
		}
	}
	if diff := cmp.Diff(map[posthouse.Priority]int{posthouse.High: 120, posthouse.Normal: 60, posthouse.Low: 20}, counts); diff != "" {
		t.Errorf("of 200 (-want +got):\n%s", diff)
	}
}

// Thousands of accounts share by their weights what waits, in virtual time, and none has more under way than it may.
func TestThousandsOfAccountsShareByTheirWeights(t *testing.T) {
	t.Parallel()
	const accounts = 3000
	names := make([]string, accounts)
	for i := range names {
		names[i] = fmt.Sprintf("a%04d", i)
	}
	ch := channelOf(func(ch *state.Channel) { ch.Settings.MaxInflight, ch.Settings.ChannelInflight = 4, accounts*4 }, names...)
	for i, a := range ch.Opened.Accounts {
		a.Weight = 1 + i%3
	}
	c := New(ch, Options{})
	counts, now := map[int]int{}, midnight
	var under []*Seat
	for range 1200 {
		now = now.Add(10 * time.Millisecond)
		c.Mark(Lane{Priority: posthouse.Normal})
		r := c.ReserveIn(now, Lane{Priority: posthouse.Normal}, 150)
		parts, _, cut := r.Claim(0)
		f := Finding{Cut: cut}
		for _, p := range parts {
			for range p.Max {
				s := r.Begin(now, 0, p.Account, 1, 0)
				under = append(under, s)
				counts[s.of.Account.Weight]++
				if n := s.of.Account.underWay; n > 4 {
					t.Fatalf("%s has %d under way", p.Account, n)
				}
			}
			f.Given = append(f.Given, Given{N: p.Max, Calls: p.Max})
		}
		r.Found(0, parts, f)
		r.Close()
		for len(under) > 2000 {
			under[0].End(now, 0)
			under = under[1:]
		}
	}
	for weight, n := range counts {
		if want := 1200 * 150 * weight / 6; n < want*9/10 || n > want*11/10 {
			t.Errorf("accounts of weight %d had %d, want some %d", weight, n, want)
		}
	}
	if diff := cmp.Diff(3, len(counts)); diff != "" {
		t.Error(diff)
	}
}

// What a message costs does not depend on how many accounts are idle.
func BenchmarkAMessage(b *testing.B) {
	for _, n := range []int{0, 1, 100, 10_000} {
		b.Run(fmt.Sprint(n, " accounts"), func(b *testing.B) {
			names := make([]string, n)
			for i := range names {
				names[i] = fmt.Sprintf("a%05d", i)
			}
			c := New(channelOf(func(ch *state.Channel) { ch.Settings.MaxInflight = 64 }, names...), Options{Senders: NewPool(midnight, Senders{Min: 1000, Max: 1000}, func(int, int) {})})
			now := midnight
			for left := b.N; left > 0; {
				c.Mark(Lane{Priority: posthouse.Normal})
				list, _ := c.Reserve(now)
				for _, r := range list {
					parts, _, cut := r.Claim(0)
					f := Finding{Given: make([]Given, len(parts)), Cut: cut}
					var seats []*Seat
					for k, p := range parts {
						for range p.Max {
							seats = append(seats, r.Begin(now, 0, p.Account, 1, 0))
						}
						f.Given[k] = Given{N: p.Max, Calls: p.Max}
						left -= p.Max
					}
					r.Found(0, parts, f)
					r.Close()
					for _, s := range seats {
						s.Answered(now, &Answer{Class: posthouse.ClassOK, Took: time.Millisecond})
						s.End(now, 0)
					}
				}
				now = now.Add(time.Millisecond)
			}
		})
	}
}
