package limittest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limit"
)

// testPhantomKeys is testPhantom over keys: what an account refuses must not stay taken
// from its channel, whichever is named first.
func testPhantomKeys(t *testing.T, l limit.Limiter, _ bool) {
	x := newTester(t, l)
	hour, day := Per(500, time.Hour), Per(100, 24*time.Hour)
	channel, account := x.of("channel", hour), x.of("account", hour, day)
	granted := 0
	for i := range 60 {
		bounds := []limit.Bound{channel, account}
		if i%2 == 0 {
			bounds = []limit.Bound{account, channel}
		}
		granted += x.takeAll(5, bounds...).N
	}
	if granted != 100 {
		t.Errorf("granted %d, want 100", granted)
	}
	g := x.takeAll(1, channel, account)
	if g.N != 0 || g.Held != day || g.Key != account.Key || g.Stamps != nil {
		t.Errorf("got %+v, want it held by %+v of %s", g, day, account.Key)
	}
	if free := x.peekAll(channel); free.N != 400 {
		t.Errorf("%d free in the channel, want 400", free.N)
	}
	if g := x.peekAll(channel, account); g.N != 0 || g.Held != day || g.Key != account.Key {
		t.Errorf("peeking got %+v, want it held by %+v of %s", g, day, account.Key)
	}
	if g := x.takeAll(7, channel, x.of("sibling", hour)); g.N != 7 || len(g.Stamps) != 2 {
		t.Errorf("a sibling got %+v, want 7 counted for two keys", g)
	}
}

func testRefundKeys(t *testing.T, l limit.Limiter, _ bool) {
	x := newTester(t, l)
	channel, account := x.of("channel", Per(10, time.Hour)), x.of("account", Per(8, time.Hour))
	first := x.takeAll(3, account, channel)
	g := x.takeAll(9, channel, account)
	if g.N != 5 || g.Key != account.Key {
		t.Fatalf("got %+v, want 5 and to be held by the account", g)
	}
	for _, back := range []struct {
		g limit.Grant
		n int
	}{{g, 2}, {first, 99}, {first, 0}} {
		if err := x.Refund(t.Context(), back.g, back.n); err != nil {
			t.Fatal(err)
		}
	}
	if a, c := x.peekAll(account).N, x.peekAll(channel).N; a != 5 || c != 7 {
		t.Errorf("%d and %d free after 5 came back, want 5 in the account and 7 in the channel", a, c)
	}
}

func testBounds(t *testing.T, l limit.Limiter, _ bool) {
	x := newTester(t, l)
	hour := Per(3, time.Hour)
	free, bound := x.of("free"), x.of("bound", hour)
	if g := x.takeAll(5, free, bound); g.N != 3 || g.Key != bound.Key || len(g.Stamps) != 1 || g.Stamps[0].Key != bound.Key {
		t.Errorf("got %+v, want 3 counted for the one key with a window", g)
	}
	if g := x.takeAll(5, free, x.of("free too")); g.N != 5 || !g.At.IsZero() || g.Stamps != nil {
		t.Errorf("got %+v without a window, want all and nothing counted", g)
	}
	if g := x.takeAll(5); g.N != 5 {
		t.Errorf("got %+v without a key, want all", g)
	}
	if g := x.peekAll(free); g.N < 1_000_000 {
		t.Errorf("peeking without a window says %+v, want plenty", g)
	}
	many := make([]limit.Bound, 17)
	for i := range many {
		many[i] = x.of(fmt.Sprint("many", i), hour)
	}
	for _, c := range []struct {
		bounds []limit.Bound
		want   string
	}{
		{[]limit.Bound{bound, free, bound}, "twice"},
		{[]limit.Bound{free, x.of("typo", Per(1, 0))}, x.of("typo").Key},
		{many, "at most 16"},
	} {
		g, err := x.Take(t.Context(), c.bounds, 1)
		_, peeked := x.Peek(t.Context(), c.bounds)
		for _, err := range []error{err, peeked} {
			if posthouse.CodeOf(err) != posthouse.CodeInvalid || !strings.Contains(err.Error(), c.want) || g.N != 0 {
				t.Errorf("got %+v, error %v, want an error of code invalid that says %q", g, err, c.want)
			}
		}
	}
}

// schedule is what several takers were granted, by key.
type schedule struct {
	mu      sync.Mutex
	bounds  []limit.Bound
	log     map[string][]limit.Grant
	granted int
}

// note writes n permits of a grant, negative ones where they came back.
func (s *schedule) note(g limit.Grant, n int) (granted int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stamp := range g.Stamps {
		s.log[stamp.Key] = append(s.log[stamp.Key], limit.Grant{N: n, At: stamp.At})
	}
	s.granted += n
	return s.granted
}

// testSchedules has takers draw on random sets of keys at once, in random order, give
// some back, and wait as they are told. By its own times, no key holds more in any
// span of its windows than it may.
func testSchedules(t *testing.T, l limit.Limiter, _ bool) {
	x := newTester(t, l)
	s := &schedule{log: map[string][]limit.Grant{}, bounds: []limit.Bound{
		x.of("tenant", Per(60, 100*time.Millisecond)),
		x.of("channel", Per(40, 100*time.Millisecond), Per(120, 400*time.Millisecond)),
		x.of("account 1", Per(5, 20*time.Millisecond), Per(70, 300*time.Millisecond)),
		x.of("account 2", Per(150, 500*time.Millisecond)),
		x.of("account 3", Per(1, 3*time.Millisecond)),
		x.of("recipient", Per(30, 200*time.Millisecond)),
	}}
	var takers sync.WaitGroup
	for n := range 12 {
		takers.Go(func() { x.draw(s, rand.New(rand.NewPCG(uint64(n), 14)), 400) })
	}
	takers.Wait()
	for _, b := range s.bounds {
		if len(s.log[b.Key]) == 0 {
			t.Errorf("nothing was taken of %s", b.Key)
		}
		CheckLog(t, b.Windows, net(s.log[b.Key]))
	}
}

// draw draws permits until all takers together hold so many.
func (t tester) draw(s *schedule, random *rand.Rand, total int) {
	for t.Context().Err() == nil {
		var bounds []limit.Bound
		for _, i := range random.Perm(len(s.bounds))[:1+random.IntN(4)] {
			bounds = append(bounds, s.bounds[i])
		}
		g, err := t.Take(t.Context(), bounds, 1+random.IntN(6))
		if err != nil {
			t.Error(err)
			return
		}
		if s.note(g, g.N) >= total {
			return
		}
		if n := random.IntN(g.N + 1); n > 0 && random.IntN(8) == 0 {
			if err := t.Refund(t.Context(), g, n); err != nil {
				t.Error(err)
				return
			}
			s.note(g, -n)
		}
		Pause(t.Context(), g.Wait)
	}
}

// net adds up what was granted and given back at each moment.
func net(log []limit.Grant) []limit.Grant {
	sums := map[int64]limit.Grant{}
	for _, g := range log {
		at := g.At.UnixMicro()
		sums[at] = limit.Grant{N: sums[at].N + g.N, At: g.At}
	}
	list := make([]limit.Grant, 0, len(sums))
	for _, g := range sums {
		list = append(list, g)
	}
	return list
}

// of is a bound beside the tester's own key.
func (t tester) of(name string, windows ...posthouse.Limit) limit.Bound {
	return limit.Bound{Key: t.key + "/" + name, Windows: windows}
}

func (t tester) takeAll(want int, bounds ...limit.Bound) limit.Grant {
	t.Helper()
	g, err := t.Take(t.Context(), bounds, want)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (t tester) peekAll(bounds ...limit.Bound) limit.Grant {
	t.Helper()
	g, err := t.Peek(t.Context(), bounds)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// testEach has many requests decided at once: what the first are granted counts for the next, and what one window refuses
// stays free in all others.
func testEach(t *testing.T, l limit.Limiter, _ bool) {
	x := newTester(t, l)
	app, ann, bob := x.of("app", Per(5, time.Hour)), x.of("ann", Per(2, time.Hour)), x.of("bob", Per(9, time.Hour))
	free := x.of("free")
	one := func(bounds ...limit.Bound) limit.Ask { return limit.Ask{Bounds: bounds, Want: 1} }
	asks := []limit.Ask{one(ann, app), one(app, ann), one(ann, app), one(bob, app), one(free), one(), one(bob, app), one(app, bob), one(bob), one(bob, app)}
	grants, err := l.Each(t.Context(), asks)
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, g := range grants {
		got = append(got, g.N)
	}
	if want := []int{1, 1, 0, 1, 1, 1, 1, 1, 1, 0}; !slices.Equal(got, want) {
		t.Fatalf("granted %v, want %v", got, want)
	}
	if g := grants[2]; g.Key != ann.Key || g.Held != ann.Windows[0] || g.Wait <= 0 {
		t.Errorf("the third is %+v, want it held by %s", g, ann.Key)
	}
	if g := grants[9]; g.Key != app.Key || g.Wait <= 0 {
		t.Errorf("the last is %+v, want it held by %s", g, app.Key)
	}
	if free := x.peekAll(bob).N; free != 5 {
		t.Errorf("%d of 9 are free, want 5: a refusal consumes nothing", free)
	}
	if err := l.RefundEach(t.Context(), []limit.Back{{Grant: grants[0], N: 1}, {Grant: grants[2], N: 1}, {Grant: grants[6], N: 3}, {Grant: grants[8], N: 1}}); err != nil {
		t.Fatal(err)
	}
	if a, b, c := x.peekAll(app).N, x.peekAll(ann).N, x.peekAll(bob).N; a != 2 || b != 1 || c != 7 {
		t.Errorf("%d, %d and %d are free after three came back, want 2, 1 and 7", a, b, c)
	}
	if _, err := l.Each(t.Context(), []limit.Ask{one(bob), one(x.of("typo", Per(0, time.Hour)))}); posthouse.CodeOf(err) != posthouse.CodeInvalid {
		t.Errorf("got error %v, want one of code invalid", err)
	}
}
