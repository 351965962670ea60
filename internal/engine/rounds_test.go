package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/admission"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/store/storetest"
)

// FLEET-12: what accounts may send at one moment is claimed at one moment, and not one account after the other. No account goes
// faster for it, and no more is under way than may be.
func TestFLEET_12_AccountsAreClaimedForAtOnce(t *testing.T) {
	const accounts, base, messages = 40, 20, 1500
	for name, c := range map[string]struct{ pinned, batch bool }{
		"by any account": {}, "by accounts that are named": {pinned: true}, "by calls that take many": {batch: true},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(r *rig) {
				opened := state.Opened{Window: channel.Forever, Driver: r.provider}
				if c.batch { // of messages that each are one call
					r.senders = admission.Senders{Min: 4, Max: 256}
					opened.Driver, opened.MaxBatch = &batching{provider: r.provider}, 20
				}
				r.between(slowClaims{storetest.All(r.store), 50 * time.Millisecond})
				list := make([]*state.Account, accounts)
				for i := range list {
					list[i] = by(fmt.Sprintf("a%02d", i), opened.Driver)
					list[i].BaseRate = base
				}
				opened.Accounts = list
				r.open("c", posthouse.ChannelSettings{Accounts: true, LimitBy: posthouse.LimitByCalls}, opened)
				for i := range messages {
					d := text("c", fmt.Sprint("u", i))
					if c.pinned {
						d.Account = list[i%accounts].Name
					}
					r.send(d)
				}
				r.pass(5 * time.Second)
				// One claim after the other would have sent 20 times in a second what an account may send at once: some 200.
				if n := len(r.provider.sent()); n < 1000 {
					r.Errorf("%d were sent in 5 seconds, want more than 1000 of %d", n, messages)
				}
				for _, a := range list[:3] {
					r.window(per(base, time.Second), a.Name, func(out channel.Outgoing) bool { return out.Account == a.Name })
				}
				r.pass(30 * time.Second)
				if n := len(r.provider.sent()); n != messages {
					r.Errorf("%d were sent, want all %d", n, messages)
				}
				if busy, _ := r.engine.Routes.route(r.tenant, "c").admission.Busy(); busy {
					r.Error("something is reserved or under way when all is done")
				}
			})
		})
	}
}

// A claim of several accounts is of those that were granted permits. What the others' calls could have taken is nobody's: it was
// started for an account without a name, and lost its lease.
func TestNothingIsClaimedForAccountsWithoutPermits(t *testing.T) {
	hours(t)
	virtual(t, func(r *rig) {
		r.senders = admission.Senders{Min: 4, Max: 256}
		r.stop()
		r.restart()
		b := &batching{provider: r.provider}
		list := make([]*state.Account, 4)
		for i := range list {
			list[i] = by(fmt.Sprintf("a%02d", i), b, per(2, time.Minute))
		}
		r.open("c", posthouse.ChannelSettings{Accounts: true, LimitBy: posthouse.LimitByCalls}, state.Opened{Window: channel.Forever, Driver: b, MaxBatch: 20, Accounts: list})
		var ids []string
		for i := range 40 {
			ids = append(ids, r.send(text("c", fmt.Sprint("u", i)))...)
		}
		r.pass(15 * time.Minute)
		for _, id := range ids {
			if d := r.want(id, posthouse.Sent, "", 0); d.Account == "" || d.Attempts != 1 {
				r.Errorf("%s went by %q in %d attempts", id, d.Account, d.Attempts)
			}
		}
	})
}
