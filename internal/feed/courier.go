package feed

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/work"
)

// Ledger is where subscriptions are kept, with how far each has come.
type Ledger interface {
	Subscriptions(ctx context.Context, tenant string) ([]work.Subscription, error)
	// TakeSubscription leases one, as it was read, to one process at a time.
	TakeSubscription(ctx context.Context, now time.Time, sub *work.Subscription, owner string, lease time.Duration) (taken bool, err error)
	// NoteSubscription writes how far one has come, and renews the lease, or ends it with none.
	NoteSubscription(ctx context.Context, now time.Time, sub *work.Subscription, owner string, lease time.Duration, dead []work.DeadLetter) (held bool, err error)
	EditSubscription(ctx context.Context, now time.Time, tenant, id string, edit func(*work.Subscription) error) (work.Subscription, error)
}

// teller posts events to a subscriber: a Poster.
type teller interface {
	events(ctx context.Context, sub *work.Subscription, list []work.FeedEvent) *failure
}

// Courier tells subscribers, for as long as Run runs. Each subscription is served by one process at a time, which holds its lease,
// at its own pace: one that does not answer holds up no other.
type Courier struct {
	Ledger Ledger
	Log    *Log
	Poster teller
	Logger *slog.Logger

	owner  string
	mu     sync.Mutex
	served map[string]serving
	rounds sync.WaitGroup
}

// serving is a round that is under way, of a subscription as it was.
type serving struct {
	version int64
	end     context.CancelFunc
}

const (
	courierEvery = time.Second
	// courierLease is how long a subscription waits whose process was killed.
	courierLease = 60 * time.Second
	renewEvery   = 15 * time.Second
	// noteEvery is how much time may pass until the place is written down: what was told since then is told again after a crash.
	noteEvery = 500 * time.Millisecond
	// longestWait bounds what a subscriber may ask for by Retry-After.
	longestWait = time.Hour
)

// ladder are the waits between the tries to tell one thing; after the last one it is a dead letter. In all it is about a day.
var ladder = []time.Duration{
	5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 8 * time.Hour,
}

// afterDead is where the ladder begins for what follows a dead letter, until something is taken: nobody answers there, and each
// step is a day.
const afterDead = 5

// Run serves subscriptions until ctx ends.
func (c *Courier) Run(ctx context.Context) {
	c.owner, c.served = posthouse.NewID(), map[string]serving{}
	tick := time.NewTicker(life.Spread(courierEvery))
	defer tick.Stop()
	defer c.rounds.Wait()
	for {
		list, err := c.Ledger.Subscriptions(ctx, "")
		if err != nil && ctx.Err() == nil {
			c.Logger.Warn("the subscriptions cannot be read now", "error", err)
		}
		for i := range list {
			c.heed(&list[i])
			if list[i].State == work.SubscriptionActive {
				c.begin(ctx, &list[i])
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// heed ends the round of a subscription that was changed: it may wait for what happens next, or for its next try, and what
// was asked for is to begin at once.
func (c *Courier) heed(sub *work.Subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now, served := c.served[sub.ID]; served && (now.version != sub.Version || sub.State != work.SubscriptionActive) {
		now.end()
	}
}

// begin serves a subscription, unless this process or another one does already.
func (c *Courier) begin(ctx context.Context, sub *work.Subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, served := c.served[sub.ID]; served {
		return
	}
	taken, err := c.Ledger.TakeSubscription(ctx, time.Now(), sub, c.owner, courierLease)
	if err != nil || !taken {
		return // the next round looks again
	}
	ctx, end := context.WithCancel(ctx)
	c.served[sub.ID] = serving{sub.Version, end}
	c.rounds.Go(func() {
		defer func() {
			end()
			c.mu.Lock()
			delete(c.served, sub.ID)
			c.mu.Unlock()
		}()
		(&round{c: c, sub: sub, noted: time.Now()}).run(ctx)
	})
}

// round serves one subscription, as long as it holds its lease.
type round struct {
	c     *Courier
	sub   *work.Subscription
	noted time.Time // when the lease was renewed
	dead  []work.DeadLetter
}

func (r *round) run(ctx context.Context) {
	for ctx.Err() == nil {
		if wait := time.Until(r.sub.NextAt); wait > 0 {
			pause(ctx, min(wait, renewEvery))
			if !r.note(ctx, renewEvery/2) {
				return
			}
			continue
		}
		looking, cancel := context.WithTimeout(ctx, renewEvery)
		list, next, err := r.c.Log.Next(looking, r.sub.At)
		cancel()
		switch {
		case err == nil:
			if !r.tell(ctx, list, next) {
				return
			}
		case errors.Is(err, ErrClosed):
			r.leave(ctx)
			return
		case ctx.Err() == nil && !errors.Is(err, context.DeadlineExceeded):
			r.c.Logger.Warn("the events for a subscription cannot be read now", "subscription", r.sub.ID, "error", err)
			pause(ctx, time.Second)
		}
		if !r.note(ctx, noteEvery) {
			return
		}
	}
	r.leave(ctx)
}

// tell posts the events of a page that the subscriber wants, in order, and reports whether the lease still holds. Where one is not
// taken, those behind it wait.
func (r *round) tell(ctx context.Context, list []work.FeedEvent, next posthouse.FeedPosition) bool {
	f := Filter{Tenant: r.sub.Tenant, Sight: work.SeeAll(), Channels: r.sub.Channels, Kinds: r.sub.Kinds, Refs: r.sub.Refs, States: r.sub.States, Types: r.sub.Types}
	for wanted := f.of(list); len(wanted) > 0; {
		part := alike(wanted[:min(len(wanted), max(r.sub.Batch, 1))])
		wanted = wanted[len(part):]
		failed := r.c.Poster.events(ctx, r.sub, part)
		if ctx.Err() != nil {
			return true // its end says nothing of the subscriber
		}
		if failed != nil {
			return r.failed(ctx, failed, part)
		}
		now := time.Now()
		r.sub.At, r.sub.Failures, r.sub.LastError, r.sub.ToldAt = part[len(part)-1].Pos, 0, "", now
		r.sub.Told += int64(len(part))
		if !r.note(ctx, noteEvery) {
			return false
		}
	}
	r.sub.At = next
	return true
}

// alike are the first of a list that are of one sort: deliveries', notifications', or providers'.
func alike(list []work.FeedEvent) []work.FeedEvent {
	for i := range list {
		if sortOf(&list[i].FeedEvent) != sortOf(&list[0].FeedEvent) {
			return list[:i]
		}
	}
	return list
}

// failed goes down the ladder: what is not taken at its end is a dead letter, and what follows is tried.
func (r *round) failed(ctx context.Context, f *failure, part []work.FeedEvent) bool {
	r.sub.Failures++
	r.sub.LastError = f.text
	if f.gone {
		_, err := r.c.Ledger.EditSubscription(ctx, time.Now(), r.sub.Tenant, r.sub.ID, func(s *work.Subscription) error {
			s.State, s.Reason, s.At = work.SubscriptionPaused, "gone", r.sub.At
			return nil
		})
		return err != nil
	}
	if r.sub.Failures > len(ladder) {
		for i := range part {
			r.dead = append(r.dead, work.DeadLetter{At: part[i].Pos, Tries: r.sub.Failures, Error: f.text})
		}
		r.sub.Dead += int64(len(part))
		r.sub.At, r.sub.Failures = part[len(part)-1].Pos, afterDead
		r.c.Logger.Error("a subscriber did not take events, which are dead letters now", "subscription", r.sub.ID, "url", r.sub.URL, "events", len(part), "error", f.text)
	} else {
		wait := ladder[r.sub.Failures-1]
		r.sub.NextAt = time.Now().Add(max(wait+rand.N(wait/10), f.after))
	}
	return r.note(ctx, 0)
}

// note writes the place down and renews the lease, where the last time is longer ago than at most.
func (r *round) note(ctx context.Context, most time.Duration) bool {
	if time.Since(r.noted) < most {
		return true
	}
	held, err := r.c.Ledger.NoteSubscription(ctx, time.Now(), r.sub, r.c.owner, courierLease, r.dead)
	switch {
	case err == nil && held:
		r.noted, r.dead = time.Now(), nil
	case err != nil && time.Since(r.noted) < courierLease-2*renewEvery:
		return true // the lease still holds: the next time may succeed
	}
	return err == nil && held
}

// leave gives the lease back, for another process to go on at once.
func (r *round) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_, _ = r.c.Ledger.NoteSubscription(ctx, time.Now(), r.sub, r.c.owner, 0, r.dead) // else the lease ends by itself
}
