package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
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
	hours(t)
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
	hours(t)
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

// A channel whose hours are over is slow from its first call on, and one with a calendar until that was read.
func TestANewChannelKeepsItsHoursFromTheFirstCallOn(t *testing.T) {
	t.Parallel()
	night := time.Date(2026, 11, 26, 23, 0, 0, 0, time.UTC) // a Thursday
	hours := func(calendar string) *posthouse.RateSettings {
		return &posthouse.RateSettings{Base: 20, Hours: &posthouse.WorkingHours{From: "09:00", To: "18:00", Outside: 0.25, Calendar: calendar}}
	}
	for _, c := range []struct {
		name string
		rate *posthouse.RateSettings
		at   time.Time
		want float64
	}{
		{"without hours", &posthouse.RateSettings{Base: 20}, night, 1},
		{"without a rate", nil, night, 1},
		{"at night", hours(""), night, 0.25},
		{"by day", hours(""), night.Add(-12 * time.Hour), 1},
		{"on a Saturday", hours(""), night.Add(36 * time.Hour), 0.25},
		{"by day, with a calendar that nobody has read", hours("workdays"), night.Add(-12 * time.Hour), 0.25},
	} {
		if got := firstFactor(&state.Settings{Rate: c.rate, Location: time.UTC}, c.at); got != c.want {
			t.Errorf("%s: the factor is %v, want %v", c.name, got, c.want)
		}
	}
}

// FLEET-5: how fast an account could go is kept once a minute with all that made it up, while it calls; one that does not costs no row.
func TestRatesAreKeptByTheMinute(t *testing.T) {
	hours(t)
	virtual(t, func(r *rig) {
		h := &hidden{most: 20}
		r.provider.answer = h.answer
		r.open("chat", posthouse.ChannelSettings{Accounts: true, Rate: &posthouse.RateSettings{}}, state.Opened{Window: channel.Forever, Accounts: []*state.Account{by("a", r.provider), by("idle", r.provider)}})
		users := make([]string, 1000)
		for i := range users {
			users[i] = posthouse.NewID()
		}
		began := time.Now()
		for range 3 {
			m := text("chat", users...)
			m.Account = "a"
			r.send(m)
		}
		r.pass(10 * time.Minute)
		of := func(account string) []work.RateMinute {
			t.Helper()
			list, err := r.store.Minutes.RatesOf(context.Background(), r.tenant, "chat", account, began)
			if err != nil {
				t.Fatal(err)
			}
			return list
		}
		list := of("a")
		if len(list) < 2 || len(list) > 5 {
			t.Fatalf("%d rows are kept of some three minutes of calls: %+v", len(list), list)
		}
		for i, m := range list {
			product := m.Base * m.Health * m.Success * m.Load * m.Time
			if !m.At.Equal(began.Truncate(time.Minute).Add(time.Duration(i+1)*time.Minute)) || m.Rate.Rate < 10 || m.Rate.Rate > 25 || m.Reason == "" || product < m.Rate.Rate-0.01 || product > m.Rate.Rate+0.01 {
				t.Errorf("row %d is %+v, the product of its factors %v", i, m, product)
			}
		}
		if idle := of("idle"); len(idle) > 0 {
			t.Errorf("of an account that makes no call %+v is kept", idle)
		}
	})
}

// The windows of a channel are those of its tenant and its own, and those of each account, its base rate's too; of a channel that is not open there are none.
func TestWindowsOfAChannel(t *testing.T) {
	virtual(t, func(r *rig) {
		slow := by("slow", r.provider)
		slow.Limits, slow.BaseRate = []posthouse.Limit{per(1, time.Minute)}, 0.5
		r.open("chat", posthouse.ChannelSettings{Accounts: true, Limits: []posthouse.Limit{per(9, time.Second)}, AccountLimits: []posthouse.Limit{per(5, time.Second)}}, state.Opened{Accounts: []*state.Account{slow, by("b", r.provider)}})
		r.open("one", posthouse.ChannelSettings{AccountLimits: []posthouse.Limit{per(5, time.Second)}}, state.Opened{})
		said := func(channel string, accounts ...string) (list []string) {
			tiers, open := r.engine.Routes.Windows(r.tenant, channel, accounts)
			for _, c := range tiers {
				list = append(list, fmt.Sprint(c.Name, "/", c.Account, " ", c.Windows))
			}
			if open != (channel != "none") {
				t.Errorf("%s is open: %v", channel, open)
			}
			return list
		}
		all := []string{"channel/ [9/1.08s]", "account/b [5/1.08s]", "account/slow [1/1m0.08s]", "rate/slow [1/2s]"}
		if diff := cmp.Diff(all, said("chat")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(slices.Delete(slices.Clone(all), 1, 2), said("chat", "slow", "none")); diff != "" {
			t.Errorf("of one account (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"account/ [5/1.08s]"}, said("one")); diff != "" {
			t.Errorf("without accounts (-want +got):\n%s", diff)
		}
		if got := said("none"); got != nil {
			t.Errorf("of no channel there are %v", got)
		}
	})
}
