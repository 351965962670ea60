package engine

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/admission"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/store/storetest"
)

// clerk takes a while for each message, and notes when they began and how many did at once.
type clerk struct {
	takes time.Duration

	mu         sync.Mutex
	began      []time.Time
	of         []string // their channels
	busy, most int
}

func (c *clerk) Send(ctx context.Context, out channel.Outgoing) channel.Result {
	c.mu.Lock()
	c.began, c.of = append(c.began, time.Now()), append(c.of, out.Channel)
	c.busy++
	c.most = max(c.most, c.busy)
	c.mu.Unlock()
	select {
	case <-time.After(c.takes):
	case <-ctx.Done():
	}
	c.mu.Lock()
	c.busy--
	c.mu.Unlock()
	return channel.Result{Class: posthouse.ClassOK}
}

// between counts those of a channel, or all, that began in a part of the time.
func (c *clerk) between(of string, from, to time.Time) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, t := range c.began {
		if !t.Before(from) && t.Before(to) && (of == "" || of == c.of[i]) {
			n++
		}
	}
	return n
}

// another starts a second process on the rig's database.
func (r *rig) another(of admission.Senders) *Engine {
	r.Helper()
	e, err := New(Options{Stores: parts(storetest.All(r.store)), Rosters: r.store.Rosters, Limiter: limit.SQL{Rows: r.store.Limits}, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Senders: of})
	if err != nil {
		r.Fatal(err)
	}
	if err := e.Start(context.Background()); err != nil {
		r.Fatal(err)
	}
	return e
}

func (r *rig) openAt(e *Engine, name string, settings posthouse.ChannelSettings, d channel.Driver) {
	r.Helper()
	ch := posthouse.Channel{Tenant: r.tenant, Name: name, Driver: "test", ChannelSettings: settings, Version: 1}
	if err := e.Routes.SetChannel(ch, state.Opened{Driver: d, Window: channel.Forever}); err != nil {
		r.Fatal(err)
	}
}

// shown is what the metric of a name and a label says.
func shown(r *rig, e *Engine, name, label string) float64 {
	r.Helper()
	families, err := e.o.Metrics.(*prometheus.Registry).Gather()
	if err != nil {
		r.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && (label == "" || m.GetLabel()[0].GetValue() == label) {
				return m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	r.Fatalf("there is no metric %s %s", name, label)
	return 0
}

// flood hands in n messages for a channel.
func (r *rig) flood(name string, n int) {
	for n > 0 {
		some := min(n, 500)
		users := make([]string, some)
		for i := range users {
			users[i] = fmt.Sprint("u", i)
		}
		r.send(text(name, users...))
		n -= some
	}
}

// FLEET-4: a process makes as many calls at once, over all its channels, as the load asks for, never more than may be; what waits
// for a sender on one channel goes when one comes free on another; and the metrics show it.
func TestFLEET_4_CallsOfAllChannelsStayWithinTheSenders(t *testing.T) {
	virtual(t, func(r *rig) {
		r.stop()
		e := r.another(admission.Senders{Min: 2, Max: 20})
		r.engine = e
		c := &clerk{takes: time.Second}
		r.openAt(e, "a", posthouse.ChannelSettings{}, c)
		r.openAt(e, "b", posthouse.ChannelSettings{}, c)
		r.flood("a", 100)
		r.pass(time.Millisecond)
		r.flood("b", 100)
		began := time.Now()
		r.pass(5500 * time.Millisecond)
		if c.most != 20 {
			t.Errorf("%d calls were under way at once, want the 20 that may be", c.most)
		}
		if n := c.between("", began.Add(-time.Second), time.Now()); n != 120 {
			t.Errorf("%d calls began within 5.5 s, want 20 a second", n)
		}
		if n := c.between("b", began, began.Add(3*time.Second)); n == 0 {
			t.Error("a channel had no sender while another had all")
		}
		if n := shown(r, e, "posthouse_senders", ""); n != 20 {
			t.Errorf("the metric says %v senders, want 20", n)
		}
		r.pass(30 * time.Second)
		if n := c.between("", began.Add(-time.Second), time.Now()); n != 200 {
			t.Errorf("%d of 200 were sent", n)
		}
		r.flood("a", 1) // whoever looks, sees that the herd is gone
		r.pass(2 * time.Second)
		if n := shown(r, e, "posthouse_senders", ""); n > 6 {
			t.Errorf("the metric says %v senders after a lull, want few", n)
		}
		if grew := shown(r, e, "posthouse_sender_changes_total", "grew"); grew < 3 {
			t.Errorf("the metric says that their number grew %v times, want 2 to 20 in several steps", grew)
		}
	})
}

// FLEET-4: processes share what waits without one that coordinates them: who joins has its share within 2 s, and what one that is
// gone had is the others' within 2 s.
func TestFLEET_4_ProcessesThatJoinAndGoChangeTheShares(t *testing.T) {
	virtual(t, func(r *rig) {
		settings := posthouse.ChannelSettings{MaxInflight: 10, Limits: []posthouse.Limit{per(40, time.Second)}}
		r.stop()
		e := r.another(admission.Senders{Min: 2, Max: 20})
		r.engine = e
		first, second := &clerk{takes: 400 * time.Millisecond}, &clerk{takes: 400 * time.Millisecond}
		r.openAt(e, "c", settings, first)
		r.flood("c", 2000)
		r.pass(10 * time.Second)
		joined := time.Now()
		other := r.another(admission.Senders{Min: 2, Max: 20})
		r.openAt(other, "c", settings, second)
		r.pass(12 * time.Second)
		from, to := joined.Add(2*time.Second), joined.Add(12*time.Second)
		mine, theirs := first.between("", from, to), second.between("", from, to)
		if all := mine + theirs; all < 380 || all > 410 || mine < all/4 || theirs < all/4 {
			t.Errorf("in 10 s that began 2 s after another had joined, %d and %d of its began; want 400 and a share for each", mine, theirs)
		}
		left := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		defer cancel()
		if err := other.Stop(ctx); err != nil {
			t.Error(err)
		}
		r.pass(12 * time.Second)
		if n := first.between("", left.Add(2*time.Second), left.Add(12*time.Second)); n < 240 || n > 260 {
			t.Errorf("%d began in 10 s that began 2 s after the other had gone, want 250: 10 at once of 400ms", n)
		}
		if n := second.between("", left.Add(time.Second), time.Now()); n != 0 {
			t.Errorf("%d began in the process that is gone", n)
		}
	})
}
