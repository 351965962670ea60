package engine

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/state"
)

// crowdedProvider bears so many calls at once, and refuses more at once.
type crowdedProvider struct {
	bears int
	scope channel.Scope

	mu                    sync.Mutex
	busy, refused, served int
}

func (p *crowdedProvider) Send(ctx context.Context, _ channel.Outgoing) channel.Result {
	p.mu.Lock()
	if p.busy >= p.bears {
		p.refused++
		p.mu.Unlock()
		return channel.Result{Class: posthouse.ClassRate, Code: "45033", After: 2 * time.Second, AtOnce: p.scope}
	}
	p.busy++
	p.mu.Unlock()
	select {
	case <-time.After(80 * time.Millisecond):
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy--
	p.served++
	return channel.Result{Class: posthouse.ClassOK}
}

func (p *crowdedProvider) counts() (served, refused int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.served, p.refused
}

// FLEET-5: how many calls at once a provider bears is learned from what it refuses: by one account, and by twenty of one
// corporation together. Nothing is parked for it.
func TestTooManyCallsAtOnceAreLearned(t *testing.T) {
	hours(t)
	const bears = 10
	for name, accounts := range map[string]int{"one account": 0, "twenty accounts": 20} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(r *rig) {
				p := &crowdedProvider{bears: bears, scope: channel.OfChannel}
				o := state.Opened{Window: channel.Forever, Driver: p}
				for i := range accounts {
					o.Accounts = append(o.Accounts, by(fmt.Sprint("a", i), p))
				}
				settings := posthouse.ChannelSettings{Accounts: accounts > 0}
				if accounts > 0 { // each of which finds a rate beside it
					settings.Rate = &posthouse.RateSettings{}
				}
				r.open("c", settings, o)
				r.flood("c", 2500)
				r.pass(10 * time.Second)
				before, refusedBefore := p.counts()
				r.pass(5 * time.Second)
				served, refused := p.counts()
				served, refused = served-before, refused-refusedBefore
				most := bears * int(5*time.Second/(80*time.Millisecond)) // what it can serve in that time
				if served < most*9/10 || refused > served/100 {
					r.Errorf("%d of %d were served in five seconds and %d refused, want nine tenths and one in a hundred", served, most, refused)
				}
				x := r.engine.Explainer.Explain(r.Context(), r.get(r.send(text("c", "late"))[0]))
				if !strings.Contains(fmt.Sprint(x.Waits), "bears no more at once") {
					r.Errorf("what waits for a call to end is explained as %v", x.Waits)
				}
				if strings.Contains(fmt.Sprint(x.Waits), "refuses") {
					r.Errorf("an account is parked: %v", x.Waits)
				}
			})
		})
	}
}

// One account that bears few at once slows no other of its channel.
func TestAnAccountThatBearsFewAtOnceSlowsNoOther(t *testing.T) {
	virtual(t, func(r *rig) {
		narrow, wide := &crowdedProvider{bears: 2, scope: channel.OfAccount}, &crowdedProvider{bears: 1000}
		r.open("c", posthouse.ChannelSettings{Accounts: true, MaxInflight: 64}, state.Opened{
			Window: channel.Forever, Driver: narrow, Accounts: []*state.Account{by("narrow", narrow), by("wide", wide)}})
		for i := range 500 {
			r.send(pinnedTo("narrow", fmt.Sprint("u", i)))
			r.send(pinnedTo("wide", fmt.Sprint("v", i)))
		}
		r.pass(10 * time.Second)
		if served, _ := wide.counts(); served != 500 {
			r.Errorf("%d of 500 left by the account that bears all", served)
		}
		if served, refused := narrow.counts(); served < 200 || refused > 70 {
			r.Errorf("by the other %d left and %d were refused, want some 225 and no more than one burst", served, refused)
		}
	})
}

// The channel's own bound holds for all of its accounts together.
func TestAChannelBoundsWhatItsAccountsHaveUnderWay(t *testing.T) {
	virtual(t, func(r *rig) {
		c := &clerk{takes: time.Second}
		o := state.Opened{Window: channel.Forever, Driver: c}
		for i := range 5 {
			o.Accounts = append(o.Accounts, by(fmt.Sprint("a", i), c))
		}
		r.open("c", posthouse.ChannelSettings{Accounts: true, MaxInflight: 10, ChannelMaxInflight: 12}, o)
		r.flood("c", 100)
		r.pass(20 * time.Second)
		if c.most != 12 || len(c.began) != 100 {
			r.Errorf("%d of 100 were sent, up to %d at once; want 12", len(c.began), c.most)
		}
	})
}
