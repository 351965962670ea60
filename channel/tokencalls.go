package channel

import (
	"context"
	"sync"
	"time"
)

// TokenCalls bounds the calls for access tokens that a provider refuses: WeCom blocks the address of a caller that shows too
// many wrong secrets, and with it every account that is right. It counts in one process, and with Permits over all of them. The
// zero value is ready to be used, from many goroutines.
type TokenCalls struct {
	// Permits count over all processes that share a database, and through restarts. Defaults to none.
	Permits TokenPermits

	mu     sync.Mutex
	groups map[string]*tokenCalls
}

// TokenPermits are a place in which several processes count together.
type TokenPermits interface {
	// Take takes one of most permits of a group within a time, or says how long none will be free. The permit of a call that was
	// not refused is given back.
	Take(ctx context.Context, group string, most int, within time.Duration) (giveBack func(context.Context), wait time.Duration, err error)
}

// tokenCalls are those of one group.
type tokenCalls struct {
	wrong   []time.Time   // of the last minute
	busy    int           // calls under way, each of which may turn out to be wrong
	shut    time.Time     // until when other processes have all permits
	changed chan struct{} // closed and made anew when one ends
}

const (
	// mostWrong is how many refused calls a minute a group may have. WeCom names no number; an address was blocked at eleven.
	mostWrong  = 8
	wrongLasts = time.Minute
	// permitLasts is longer by what a call may take from its permit to its provider, who counts what it sees.
	permitLasts = wrongLasts + 10*time.Second
	// permitWaits is how long to ask again for a permit that another process may give back, and permitPoll how often.
	permitWaits, permitPoll = 2 * time.Second, 200 * time.Millisecond
)

// Begin asks for a call for the token of an application of a group: what a provider counts together, such as a corporation at a
// URL. While as many calls as may still be refused are under way it waits for one of them to end. It returns end, which is to be
// told whether the call was refused, or how long to wait.
func (t *TokenCalls) Begin(ctx context.Context, group string) (end func(refused bool), wait time.Duration, err error) {
	if wait, err = t.seat(ctx, group); err != nil || wait > 0 {
		return nil, wait, err
	}
	giveBack, wait, err := t.permit(ctx, group)
	if err != nil || wait > 0 {
		t.end(group, false, wait)
		return nil, wait, err
	}
	return func(refused bool) {
		if !refused {
			giveBack(context.WithoutCancel(ctx))
		}
		t.end(group, refused, 0)
	}, 0, nil
}

// seat waits until this process may have one more call under way, or says how long it may have none.
func (t *TokenCalls) seat(ctx context.Context, group string) (wait time.Duration, err error) {
	for {
		now := time.Now()
		t.mu.Lock()
		g := t.group(group)
		g.forget(now)
		switch {
		case len(g.wrong) >= mostWrong:
			wait := g.wrong[0].Add(wrongLasts).Sub(now)
			t.mu.Unlock()
			return wait, nil
		case now.Before(g.shut):
			wait := g.shut.Sub(now)
			t.mu.Unlock()
			return wait, nil
		case len(g.wrong)+g.busy < mostWrong:
			g.busy++
			t.mu.Unlock()
			return 0, nil
		}
		changed := g.changed
		t.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// permit takes one of those that all processes have together. It asks for a moment: most calls are right, and give theirs back.
func (t *TokenCalls) permit(ctx context.Context, group string) (giveBack func(context.Context), wait time.Duration, err error) {
	if t.Permits == nil {
		return func(context.Context) {}, 0, nil
	}
	for until := time.Now().Add(permitWaits); ; {
		giveBack, wait, err = t.Permits.Take(ctx, group, mostWrong, permitLasts)
		if err != nil || wait <= 0 || !time.Now().Add(permitPoll).Before(until) {
			return giveBack, wait, err
		}
		again := time.NewTimer(permitPoll)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return nil, 0, ctx.Err()
		}
	}
}

// group is one by its name; t is locked.
func (t *TokenCalls) group(name string) *tokenCalls {
	g := t.groups[name]
	if g == nil {
		if t.groups == nil {
			t.groups = map[string]*tokenCalls{}
		}
		g = &tokenCalls{changed: make(chan struct{})}
		t.groups[name] = g
	}
	return g
}

func (t *TokenCalls) end(name string, refused bool, shut time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.group(name)
	g.busy--
	if refused {
		g.wrong = append(g.wrong, time.Now())
	}
	if shut > 0 {
		g.shut = time.Now().Add(shut)
	}
	close(g.changed)
	g.changed = make(chan struct{})
	if g.busy == 0 && len(g.wrong) == 0 && !time.Now().Before(g.shut) {
		delete(t.groups, name) // nobody waits: who did was woken, and asks for it anew
	}
}

func (g *tokenCalls) forget(now time.Time) {
	for len(g.wrong) > 0 && now.Sub(g.wrong[0]) >= wrongLasts {
		g.wrong = g.wrong[1:]
	}
}
