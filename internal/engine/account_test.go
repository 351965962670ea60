package engine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/state"
)

// twoAccounts opens a channel that sends by two accounts, each with a provider of its own.
func (r *rig) twoAccounts(settings posthouse.ChannelSettings, limits ...posthouse.Limit) (a, b *provider) {
	a, b = &provider{}, &provider{}
	settings.Accounts = true
	r.open("c", settings, state.Opened{Window: channel.Forever, Driver: a, Accounts: []*state.Account{by("a", a, limits...), by("b", b)}})
	return a, b
}

// by is an account with a provider of its own.
func by(name string, d channel.Driver, limits ...posthouse.Limit) *state.Account {
	a := posthouse.Account{Name: name, Version: 1, AccountSettings: posthouse.AccountSettings{Limits: limits}}
	return &state.Account{Account: a, Opener: func() (channel.Driver, error) { return d, nil }}
}

// sentBy is how many deliveries of the rig ended as sent, by the account that the claim wrote into them.
func (r *rig) sentBy(ids []string) map[string]int {
	r.Helper()
	counts := map[string]int{}
	for _, id := range ids {
		d := r.get(id)
		if d.State != posthouse.Sent {
			r.Errorf("delivery to %s is %s (%s), want sent", d.User, d.State, d.Reason)
		}
		counts[d.Account]++
		events, err := r.store.History.Events(r.Context(), r.tenant, id)
		if err != nil {
			r.Fatal(err)
		}
		for _, e := range events {
			if e.Type == posthouse.EventStart && e.To == posthouse.Sending && e.Account == "" {
				r.Errorf("the start of the delivery to %s names no account", d.User)
			}
		}
	}
	return counts
}

func TestAParkedAccountLeavesTheOthersToSend(t *testing.T) {
	virtual(t, func(r *rig) {
		a, b := r.twoAccounts(posthouse.ChannelSettings{})
		a.answer = func(channel.Outgoing) channel.Result {
			return channel.Result{Class: posthouse.ClassAuth, Code: "401", Error: "no such key"}
		}
		var ids []string
		for range 10 {
			ids = append(ids, r.send(text("c", "u1"))...)
			r.pass(2 * time.Second)
		}
		if got := r.sentBy(ids); got["b"] != 10 {
			r.Errorf("sent by %v, want all by the account b", got)
		}
		if len(a.sent()) == 0 || len(a.sent()) > 3 {
			r.Errorf("the refused account was tried %d times in 20 seconds, want its refusal and few probes", len(a.sent()))
		}
		for _, out := range b.sent() {
			if out.Account != "b" {
				r.Errorf("the driver of b was handed a message for the account %q", out.Account)
			}
		}
		gates, err := r.store.Gates.Gates(r.Context(), r.tenant)
		if err != nil || len(gates) != 1 || gates[0].Account != "a" {
			r.Errorf("stored gates: %+v, %v; want one of the account a", gates, err)
		}
	})
}

func TestAnAccountsLimitsHoldBesideItsChannels(t *testing.T) {
	virtual(t, func(r *rig) {
		second := posthouse.Duration(time.Second)
		settings := posthouse.ChannelSettings{Limits: []posthouse.Limit{{Max: 5, Per: second}}, MaxInflight: 1}
		a, b := r.twoAccounts(settings, posthouse.Limit{Max: 1, Per: posthouse.Duration(time.Minute)})
		r.pause("c")
		var ids []string
		for range 12 {
			ids = append(ids, r.send(text("c", "u1"))...)
		}
		r.resume("c")
		r.pass(500 * time.Millisecond)
		if n := len(a.sent()) + len(b.sent()); n > 5 {
			r.Errorf("%d were sent within a second, want no more than the channel's 5", n)
		}
		r.pass(10 * time.Second)
		if diff := cmp.Diff(map[string]int{"a": 1, "b": 11}, r.sentBy(ids)); diff != "" {
			r.Errorf("sent by (-want +got):\n%s", diff)
		}
	})
}

func TestAnUnknownIsAskedOfTheAccountThatSentIt(t *testing.T) {
	virtual(t, func(r *rig) {
		lost := func(channel.Outgoing) channel.Result { return channel.Result{Class: posthouse.ClassUnknown} }
		a := &asking{provider: &provider{answer: lost}, findings: []channel.Finding{channel.Absent, channel.Absent, channel.Absent, channel.Absent}}
		b := &asking{provider: &provider{answer: lost}, findings: []channel.Finding{channel.Found, channel.Found, channel.Found, channel.Found}}
		r.open("c", posthouse.ChannelSettings{OnUnknown: posthouse.Query, Tries: 1, Accounts: true}, state.Opened{Driver: a, Accounts: []*state.Account{by("a", a), by("b", b)}})
		var ids []string
		for range 4 {
			ids = append(ids, r.send(text("c", "u1"))...)
			r.pass(time.Second)
		}
		r.pass(time.Minute)
		for _, id := range ids {
			d := r.get(id)
			want := map[string]posthouse.State{"a": posthouse.Failed, "b": posthouse.Sent}[d.Account]
			if d.State != want {
				r.Errorf("what was sent by the account %q is %s, want %s", d.Account, d.State, want)
			}
		}
		if len(a.sent()) == 0 || len(b.sent()) == 0 {
			r.Errorf("%d were sent by a and %d by b, want some by each", len(a.sent()), len(b.sent()))
		}
	})
}
