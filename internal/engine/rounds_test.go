package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/store/storetest"
)

// FLEET-12: what accounts may send at one moment is claimed at one moment, and not one account after the other. No account goes
// faster for it, and no more is under way than may be.
func TestFLEET_12_AccountsAreClaimedForAtOnce(t *testing.T) {
	const accounts, base, messages = 40, 20, 1500
	for name, pinned := range map[string]bool{"by any account": false, "by accounts that are named": true} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(r *rig) {
				r.between(slowClaims{storetest.All(r.store), 50 * time.Millisecond})
				list := make([]*state.Account, accounts)
				for i := range list {
					list[i] = by(fmt.Sprintf("a%02d", i), r.provider)
					list[i].BaseRate = base
				}
				r.open("c", posthouse.ChannelSettings{Accounts: true}, state.Opened{Window: channel.Forever, Driver: r.provider, Accounts: list})
				for i := range messages {
					d := text("c", fmt.Sprint("u", i))
					if pinned {
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
				rt := r.engine.Routes.route(r.tenant, "c")
				rt.mu.Lock()
				defer rt.mu.Unlock()
				if rt.promised != (promise{}) || rt.inflight != 0 {
					r.Errorf("%+v is promised and %d under way when all is done", rt.promised, rt.inflight)
				}
			})
		})
	}
}
