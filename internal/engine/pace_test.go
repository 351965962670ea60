package engine

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/state"
)

// hidden is a provider's limit that nobody has documented: so many calls in any second.
type hidden struct {
	most int

	mu       sync.Mutex
	accepted []time.Time
	refused  []time.Time
}

func (h *hidden) answer(channel.Outgoing) channel.Result {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	if n := len(h.accepted); n >= h.most && now.Sub(h.accepted[n-h.most]) < time.Second {
		h.refused = append(h.refused, now)
		return channel.Result{Class: posthouse.ClassRate, Code: "45009", After: 100 * time.Millisecond}
	}
	h.accepted = append(h.accepted, now)
	return channel.Result{Class: posthouse.ClassOK}
}

// since counts what was accepted and refused from a time on.
func (h *hidden) since(at time.Time) (accepted, refused int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, list := range []struct {
		at *[]time.Time
		n  *int
	}{{&h.accepted, &accepted}, {&h.refused, &refused}} {
		for _, t := range *list.at {
			if !t.Before(at) {
				*list.n++
			}
		}
	}
	return accepted, refused
}

// FLEET-5: an account finds its provider's limit by itself and keeps to it, and says of what its rate is made.
func TestAnAccountFindsItsRate(t *testing.T) {
	virtual(t, func(r *rig) {
		h := &hidden{most: 20}
		r.provider.answer = h.answer
		r.open("chat", posthouse.ChannelSettings{Rate: &posthouse.RateSettings{}}, state.Opened{Window: channel.Forever})
		users := make([]string, 500)
		for i := range users {
			users[i] = posthouse.NewID()
		}
		var ids []string
		for range 5 {
			ids = append(ids, r.send(text("chat", users...))...)
		}
		r.pass(30 * time.Second)
		steady := time.Now()
		r.pass(time.Minute)
		accepted, refused := h.since(steady)
		t.Logf("%.1f a second of 20, %d of %d calls refused", float64(accepted)/60, refused, accepted+refused)
		if accepted < 60*20*85/100 || refused*100 > accepted+refused {
			t.Errorf("%d were accepted in a minute and %d refused, want most of 1200 and one in a hundred", accepted, refused)
		}
		rates := r.engine.Routes.Rates(r.tenant, "chat")
		if len(rates) != 1 || rates[0].Rate < 15 || rates[0].Rate > 21 || rates[0].Reason == "" || rates[0].Time != 1 {
			t.Errorf("the rates are %+v, want one near 20", rates)
		}
		if product := rates[0].Base * rates[0].Health * rates[0].Success * rates[0].Load * rates[0].Time; product < rates[0].Rate-0.01 || product > rates[0].Rate+0.01 {
			t.Errorf("the rate is %v, and the product of its factors %v", rates[0].Rate, product)
		}
		x := r.engine.Explainer.Explain(context.Background(), r.get(ids[len(ids)-1]))
		if len(x.Waits) == 0 || !strings.Contains(x.Waits[len(x.Waits)-1].Detail, "calls a second: base") {
			t.Errorf("the explanation is %+v, want the rate with its factors", x.Waits)
		}
	})
}

// A configured base is never exceeded, and outside of working hours an account goes slower.
func TestABaseHoldsAndTheHoursSlowItDown(t *testing.T) {
	virtual(t, func(r *rig) { // virtual time begins on a Saturday
		roster := posthouse.Roster{Tenant: r.tenant, Name: "workdays", Overrides: map[string][]string{"2000-01-01": {"everybody"}}}
		if _, err := r.store.Rosters.PutRoster(context.Background(), time.Now(), roster); err != nil {
			t.Fatal(err)
		}
		hours := &posthouse.WorkingHours{From: "00:05", To: "18:00", Calendar: "workdays", Outside: 0.25}
		r.open("chat", posthouse.ChannelSettings{TimeZone: "UTC", Rate: &posthouse.RateSettings{Base: 4, Hours: hours}}, state.Opened{Window: channel.Forever})
		r.pass(20 * time.Second)
		users := make([]string, 1000)
		for i := range users {
			users[i] = posthouse.NewID()
		}
		r.send(text("chat", users...))
		r.send(text("chat", users...))
		r.pass(4 * time.Minute)
		if n := len(r.provider.sent()); n < 220 || n > 262 {
			t.Errorf("%d were sent in 4 minutes of the night, want about a quarter of 4 a second", n)
		}
		r.pass(time.Minute)
		before := len(r.provider.sent())
		r.pass(time.Minute)
		if n := len(r.provider.sent()) - before; n < 216 || n > 244 {
			t.Errorf("%d were sent in a minute of a working day, want nearly 240", n)
		}
		r.window(per(4, time.Second), "the account", func(channel.Outgoing) bool { return true })
	})
}
