package mutant

import (
	"net/url"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/torture/internal/proxy"
)

// rig is what a scenario makes its run of.
type rig struct {
	*testing.T
	binary string
	db     house.Database
	flags  []string // more of the judge's
}

// open starts a house of the rig's binary, with a channel to the provider as the scenario wants it. Its
// leases are long unless the scenario is about them: on a busy machine a provider reads late what came
// in time.
func (r *rig) open(o house.Options, change func(*posthouse.Channel)) *house.House {
	r.Helper()
	if o.DSN == "" {
		o.DSN = r.db.DSN(r)
	}
	o.Binary = r.binary
	if o.Env == nil {
		o.Env = []string{"POSTHOUSE_LEASE_MARGIN=10s"}
	}
	h := house.Open(r, o)
	ch := h.Channel("generic")
	if change != nil {
		change(&ch)
	}
	h.PutChannel(r, ch)
	return h
}

// link stands a proxy before the rig's database, and returns it with the ways through it and past it.
func (r *rig) link() (link *proxy.Proxy, through, past string) {
	r.Helper()
	past = r.db.DSN(r)
	u, err := url.Parse(past)
	if err != nil {
		r.Fatal(err)
	}
	if link, err = proxy.Start(proxy.Options{Target: u.Host, Protocol: proxy.Postgres}); err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() {
		if err := link.Close(); err != nil {
			r.Error(err)
		}
	})
	u.Host = link.Addr()
	return link, u.String(), past
}

func milliseconds(n int) posthouse.Duration {
	return posthouse.Duration(time.Duration(n) * time.Millisecond)
}
