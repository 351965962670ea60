package channel

import (
	"context"
	"sync"
	"time"
)

// TokenCalls bounds the calls for access tokens that a provider refuses: WeCom blocks the address of a caller that shows too
// many wrong secrets, and with it every account that is right. It counts in one process. The zero value is ready to be used,
// from many goroutines.
type TokenCalls struct {
	mu     sync.Mutex
	groups map[string]*tokenCalls
}

// tokenCalls are those of one group.
type tokenCalls struct {
	wrong   []time.Time   // of the last minute
	busy    int           // calls under way, each of which may turn out to be wrong
	changed chan struct{} // closed and made anew when one ends
}

const (
	// mostWrong is how many refused calls a minute a group may have. WeCom names no number; an address was blocked at eleven.
	mostWrong  = 8
	wrongLasts = time.Minute
)

// Begin asks for a call for the token of an application of a group: what a provider counts together, such as a corporation at a
// URL. While as many calls as may still be refused are under way it waits for one of them to end. It returns end, which is to be
// told whether the call was refused, or how long to wait.
func (t *TokenCalls) Begin(ctx context.Context, group string) (end func(refused bool), wait time.Duration, err error) {
	for {
		now := time.Now()
		t.mu.Lock()
		g := t.group(group)
		g.forget(now)
		switch {
		case len(g.wrong) >= mostWrong:
			wait := g.wrong[0].Add(wrongLasts).Sub(now)
			t.mu.Unlock()
			return nil, wait, nil
		case len(g.wrong)+g.busy < mostWrong:
			g.busy++
			t.mu.Unlock()
			return func(refused bool) { t.end(group, refused) }, 0, nil
		}
		changed := g.changed
		t.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
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

func (t *TokenCalls) end(name string, refused bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.group(name)
	g.busy--
	if refused {
		g.wrong = append(g.wrong, time.Now())
	}
	close(g.changed)
	g.changed = make(chan struct{})
	if g.busy == 0 && len(g.wrong) == 0 {
		delete(t.groups, name) // nobody waits: who did was woken, and asks for it anew
	}
}

func (g *tokenCalls) forget(now time.Time) {
	for len(g.wrong) > 0 && now.Sub(g.wrong[0]) >= wrongLasts {
		g.wrong = g.wrong[1:]
	}
}
