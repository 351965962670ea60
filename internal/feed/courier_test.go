package feed

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// ledger keeps subscriptions in memory, as the store does.
type ledger struct {
	mu   sync.Mutex
	subs map[string]*work.Subscription
	dead []work.DeadLetter
}

func (l *ledger) Subscriptions(context.Context, string) (list []work.Subscription, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.subs {
		list = append(list, *s)
	}
	return list, nil
}

func (l *ledger) TakeSubscription(_ context.Context, now time.Time, sub *work.Subscription, owner string, lease time.Duration) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.subs[sub.ID]
	if s.LeaseUntil.After(now) || s.Version != sub.Version || s.At != sub.At {
		return false, nil
	}
	s.LeaseOwner, s.LeaseUntil = owner, now.Add(lease)
	return true, nil
}

func (l *ledger) NoteSubscription(_ context.Context, now time.Time, sub *work.Subscription, owner string, lease time.Duration, dead []work.DeadLetter) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.subs[sub.ID]
	if s.LeaseOwner != owner || s.Version != sub.Version {
		return false, nil
	}
	*s = *sub
	s.LeaseOwner, s.LeaseUntil = owner, now.Add(lease)
	l.dead = append(l.dead, dead...)
	return true, nil
}

func (l *ledger) EditSubscription(_ context.Context, _ time.Time, _, id string, edit func(*work.Subscription) error) (work.Subscription, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.subs[id]
	s.Version++
	s.LeaseOwner, s.LeaseUntil = "", time.Time{}
	return *s, edit(s)
}

// endpoints answer for subscriptions by their URL.
type endpoints struct {
	mu     sync.Mutex
	told   map[string][]string
	answer func(sub *work.Subscription, id string) *failure
}

func (e *endpoints) events(_ context.Context, sub *work.Subscription, list []work.FeedEvent) *failure {
	e.mu.Lock()
	defer e.mu.Unlock()
	if f := e.answer(sub, list[0].Delivery); f != nil {
		return f
	}
	for _, one := range list {
		e.told[sub.ID] = append(e.told[sub.ID], one.Delivery)
	}
	return nil
}

// couriers run processes that serve the subscriptions until the test ends.
func couriers(t *testing.T, n int, l *ledger, b *book, e *endpoints) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range n {
		c := &Courier{Ledger: l, Log: NewLog(b), Poster: e, Logger: slog.New(slog.DiscardHandler)}
		wg.Go(func() { c.Run(ctx) })
	}
	t.Cleanup(func() { cancel(); wg.Wait() })
}

func subscriptions(ids ...string) *ledger {
	l := &ledger{subs: map[string]*work.Subscription{}}
	for _, id := range ids {
		l.subs[id] = &work.Subscription{ID: id, State: work.SubscriptionActive, Version: 1, Target: work.Target{Batch: 3}}
	}
	return l
}

// FLEET-2: an endpoint that is down holds up nobody; what it does not take in a day is a dead letter, and what follows is told
// when it is back.
func TestAnEndpointThatIsDownSlowsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, l := &book{}, subscriptions("up", "down")
		b.add(10)
		began, tries := time.Now(), 0
		e := &endpoints{told: map[string][]string{}, answer: func(sub *work.Subscription, _ string) *failure {
			if sub.ID == "down" && time.Since(began) < 30*time.Hour {
				tries++
				return &failure{text: "HTTP 500"}
			}
			return nil
		}}
		couriers(t, 2, l, b, e)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := e.told["up"]; len(got) != 20 || !slices.Equal(got[:4], []string{"d1", "e1", "d2", "e2"}) {
			t.Errorf("the one that is up was told %v after 2s", got)
		}
		time.Sleep(36 * time.Hour)
		synctest.Wait()
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.dead) != 3 || l.dead[0].At.Row != 1 || l.dead[0].Tries != len(ladder)+1 || !strings.Contains(l.dead[0].Error, "500") {
			t.Errorf("the dead letters are %+v", l.dead)
		}
		if got := e.told["down"]; len(got) != 17 || got[0] != "e2" || l.subs["down"].Failures != 0 || l.subs["down"].Dead != 3 {
			t.Errorf("the one that was down was told %v, and stands at %+v", got, l.subs["down"])
		}
		if tries > len(ladder)+4 {
			t.Errorf("it was tried %d times", tries)
		}
	})
}

// FLEET-2: what somebody asks for begins at once, though the subscriber waits for what happens next or for its next try: a replay, a
// resume, a pause.
func TestAChangeOfASubscriptionBeginsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, l := &book{}, subscriptions("idle", "down")
		b.add(10)
		var well atomic.Bool
		e := &endpoints{told: map[string][]string{}, answer: func(sub *work.Subscription, _ string) *failure {
			if sub.ID == "down" && !well.Load() {
				return &failure{text: "HTTP 500"}
			}
			return nil
		}}
		told := func(id string) int {
			e.mu.Lock()
			defer e.mu.Unlock()
			return len(e.told[id])
		}
		edit := func(id string, edit func(*work.Subscription)) {
			_, _ = l.EditSubscription(t.Context(), time.Now(), "", id, func(s *work.Subscription) error { edit(s); return nil })
			time.Sleep(3 * courierEvery) // two looks: one ends the round, one begins the next; each may come a fifth later
			synctest.Wait()
		}
		couriers(t, 1, l, b, e)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		well.Store(true)
		edit("idle", func(s *work.Subscription) { s.At = posthouse.FeedPosition{} })
		edit("down", func(s *work.Subscription) { s.Failures, s.NextAt = 0, time.Time{} })
		if told("idle") != 40 || told("down") != 20 {
			t.Errorf("one was told %d events with its replay and the other %d after it was resumed, want 40 and 20", told("idle"), told("down"))
		}
		edit("idle", func(s *work.Subscription) { s.State = work.SubscriptionPaused })
		b.add(10)
		time.Sleep(time.Minute)
		synctest.Wait()
		if told("idle") != 40 || told("down") != 40 {
			t.Errorf("one that is paused was told %d events and the other %d, want 40 both", told("idle"), told("down"))
		}
	})
}

// Several processes share subscriptions: each event is told by one of them, and one that was killed is followed by another.
func TestProcessesShareSubscriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, l := &book{}, subscriptions("a", "b", "c")
		l.subs["c"].LeaseOwner, l.subs["c"].LeaseUntil = "killed", time.Now().Add(courierLease)
		b.add(100)
		e := &endpoints{told: map[string][]string{}, answer: func(*work.Subscription, string) *failure { return nil }}
		couriers(t, 3, l, b, e)
		time.Sleep(courierLease + 2*time.Second)
		synctest.Wait()
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, id := range []string{"a", "b", "c"} {
			if got := e.told[id]; len(got) != 200 || got[199] != "e100" {
				t.Errorf("%s was told %d events", id, len(got))
			}
		}
	})
}

// An endpoint that answers 410 wants no more.
func TestAnEndpointThatIsGoneIsPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, l := &book{}, subscriptions("a")
		b.add(2)
		e := &endpoints{told: map[string][]string{}, answer: func(_ *work.Subscription, id string) *failure {
			if id == "d1" {
				return nil
			}
			return &failure{text: "HTTP 410", gone: true}
		}}
		l.subs["a"].Batch = 1
		couriers(t, 1, l, b, e)
		time.Sleep(time.Hour)
		synctest.Wait()
		l.mu.Lock()
		defer l.mu.Unlock()
		if s := l.subs["a"]; s.State != work.SubscriptionPaused || s.Reason != "gone" || s.At != (posthouse.FeedPosition{Row: 1, Index: 0}) {
			t.Errorf("it stands at %+v", s)
		}
	})
}

// After a rotation both secrets sign, until the old one's time is over.
func TestTwoSecretsSignUntilTheOldOneEnds(t *testing.T) {
	t.Parallel()
	const old, young = "whsec_b2xkIHNlY3JldCBvZiAzMiBieXRlcyBmb3IgdGVzdHM=", "whsec_bmV3IHNlY3JldCBvZiAzMiBieXRlcyBmb3IgdGVzdHM="
	now := time.Now()
	secrets := Secrets(nil).Rotate(old, now, time.Hour).Rotate(young, now, time.Hour)
	for after, want := range map[time.Duration]int{0: 2, 59 * time.Minute: 2, time.Hour: 1} {
		if keys, err := secrets.live(now.Add(after)); err != nil || len(keys) != want {
			t.Errorf("after %s %d keys sign, %v; want %d", after, len(keys), err, want)
		}
	}
	if ended := (Secrets{{Key: old}}).Rotate(young, now, 0); len(ended) != 1 || ended[0].Key != young {
		t.Errorf("without an overlap there are %v", ended)
	}
}
