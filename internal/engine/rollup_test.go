package engine

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/rate"
	"github.com/posthouse/posthouse/internal/rollup"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// FLEET-11: what is accepted and attempts are counted by account, content type, outcome and minute, also those of a process that stops; the
// success rate is that of the last hour.
func TestAttemptsAreCountedByTheMinute(t *testing.T) {
	hours(t)
	virtual(t, func(r *rig) {
		r.open("chat", posthouse.ChannelSettings{Accounts: true, Backoff: []posthouse.Duration{posthouse.Duration(time.Minute)}}, state.Opened{
			Content: func(posthouse.Content) []posthouse.Problem { return nil }, Accounts: []*state.Account{by("a", r.provider)},
		})
		failing := true
		r.provider.decide(func(channel.Outgoing) channel.Result {
			if failing {
				failing = false
				return channel.Result{Class: posthouse.ClassTransient}
			}
			return channel.Result{Class: posthouse.ClassOK}
		})
		r.send(text("chat", "u1"))
		r.pass(5 * time.Second)
		m := text("chat", "u1", "u2", "u3")
		m.Content.Type = posthouse.MarkdownContent
		r.send(m)
		r.pass(90 * time.Second)
		r.stop()
		began := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
		list, err := r.store.Minutes.Minutes(context.Background(), began)
		if err != nil {
			t.Fatal(err)
		}
		got := map[work.MinuteKey]int{}
		for _, m := range list {
			got[m.MinuteKey] = m.N
		}
		key := func(minute int, kind, outcome string) work.MinuteKey {
			return work.MinuteKey{At: began.Add(time.Duration(minute) * time.Minute), Tenant: r.tenant, Channel: "chat", Account: "a", Type: kind, Outcome: outcome}
		}
		taken := func(minute int) work.MinuteKey {
			k := key(minute, "", work.Accepted)
			k.Account = ""
			return k
		}
		want := map[work.MinuteKey]int{taken(0): 4, key(0, "text", "transient"): 1, key(0, "markdown", "ok"): 3, key(1, "text", "ok"): 1}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("counted (-want +got):\n%s", diff)
		}
		r.restart()
		r.pass(time.Second)
		if got, _ := r.engine.rollup.Of(rollup.AccountKey{Tenant: r.tenant, Channel: "chat", Account: "a"}); got != (rate.Ends{Good: 4, Bad: 1}) {
			t.Errorf("the last hour is %+v, want 4 good and 1 bad", got)
		}
		r.pass(time.Hour)
		if got, _ := r.engine.rollup.Of(rollup.AccountKey{Tenant: r.tenant, Channel: "chat", Account: "a"}); got != (rate.Ends{}) {
			t.Errorf("an hour later it is %+v, want nothing", got)
		}
	})
}
