package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/admission"
	"github.com/posthouse/posthouse/internal/state"
)

// leaflets are a kind of unit that only this test knows: many messages that are claimed, sent and settled as one and
// have no rows of their own, as the members of a segment do.
type leaflets struct {
	mu      sync.Mutex
	due     []*leaflet
	settled []string // what was written, in order
	broken  int      // writes that fail first
	most    int      // slots that were in use at once
	inUse   int
}

type leaflet struct {
	seated
	of     *leaflets
	route  *route
	name   string
	to     []string
	before func() // nil for nothing
	ended  ending
	freed  int
}

func (l *leaflets) claim(_ context.Context, w wish) (claimed, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found claimed
	for len(l.due) > 0 && found.n+len(l.due[0].to) <= w.max() && w.priority == posthouse.Normal {
		u := l.due[0]
		u.route = w.route
		found.units, found.n, l.due = append(found.units, u), found.n+len(u.to), l.due[1:]
		l.inUse += len(u.to)
	}
	found.given = []admission.Given{{N: found.n, Calls: len(found.units)}}
	found.more = len(l.due) > 0 && w.priority == posthouse.Normal
	l.most = max(l.most, l.inUse)
	return found, nil
}

func (l *leaflets) settle(_ context.Context, batch []unit, insist insist) error {
	return insist(len(batch), func(time.Time) (bool, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.broken > 0 {
			l.broken--
			return false, errors.New("no room")
		}
		for _, u := range batch {
			u := u.(*leaflet)
			words := []string{u.name, string(u.ended.verdict) + u.ended.reason}
			for _, res := range u.ended.results {
				words = append(words, string(res.Class)+res.Code)
			}
			l.settled = append(l.settled, fmt.Sprint(words))
		}
		return true, nil
	})
}

func (u *leaflet) about() about {
	return about{kind: u.of, route: u.route, size: len(u.to), message: u.name, first: u.name}
}

func (u *leaflet) prepare(context.Context, time.Time) bool {
	if u.before != nil {
		u.before()
	}
	return true
}

func (u *leaflet) outgoing() []channel.Outgoing {
	outs := make([]channel.Outgoing, len(u.to))
	for i, to := range u.to {
		outs[i] = channel.Outgoing{Channel: u.route.Key.Channel, Message: u.name, Delivery: u.name, Recipient: posthouse.Recipient{User: to}, Content: posthouse.Content{Text: "hello"}}
	}
	return outs
}

func (u *leaflet) end(e ending)                  { u.ended = e }
func (u *leaflet) holds(id string, _ int64) bool { return id == u.name }

func (u *leaflet) done() (unsent, unseen int) {
	u.of.mu.Lock()
	defer u.of.mu.Unlock()
	u.of.inUse -= len(u.to)
	u.freed++
	return 0, 0
}

// drop makes units due.
func (l *leaflets) drop(r *rig, units ...*leaflet) {
	l.mu.Lock()
	for _, u := range units {
		u.of = l
	}
	l.due = append(l.due, units...)
	l.mu.Unlock()
	r.engine.Operator.Wake(r.tenant, "c")
}

// withLeaflets runs a test on an engine that claims them beside deliveries, over a driver that sends in batches.
func withLeaflets(t *testing.T, settings posthouse.ChannelSettings, test func(r *rig, l *leaflets, b *batching)) {
	virtual(t, func(r *rig) {
		l := &leaflets{}
		r.stop()
		r.kinds = []kind{l}
		r.restart()
		b := &batching{provider: r.provider}
		r.open("c", settings, state.Opened{Driver: b, MaxBatch: 10, Window: channel.Forever})
		test(r, l, b)
	})
}

func TestAnotherKindOfUnitIsClaimedSentAndSettledBesideDeliveries(t *testing.T) {
	settings := posthouse.ChannelSettings{MaxInflight: 10, Limits: []posthouse.Limit{{Max: 9, Per: posthouse.Duration(time.Second)}}}
	withLeaflets(t, settings, func(r *rig, l *leaflets, b *batching) {
		id := r.send(text("c", "u0"))[0]
		var units []*leaflet
		for i := range 5 {
			units = append(units, &leaflet{name: fmt.Sprint("leaflet-", i), to: []string{"a", "b", "c", "d"}})
		}
		l.broken = 1
		l.drop(r, units...)
		r.pass(10 * time.Second)
		r.want(id, posthouse.Sent, "", 0)
		var want []string
		for _, u := range units {
			want = append(want, fmt.Sprintf("[%s result ok ok ok ok]", u.name))
			if u.freed != 1 {
				r.Errorf("%s was done with %d times, want once", u.name, u.freed)
			}
		}
		slices.Sort(l.settled)
		if diff := cmp.Diff(want, l.settled); diff != "" {
			r.Errorf("settled (-want +got):\n%s", diff)
		}
		if l.most > 8 {
			r.Errorf("%d slots were in use at once: the limit has room for two units in a second", l.most)
		}
		sent := 0
		for _, call := range b.calls {
			sent += len(call)
		}
		if sent != 20 {
			r.Errorf("%d messages went in calls of many, want 20", sent)
		}
		a := r.engine.Routes.route(r.tenant, "c").admission
		if busy, _ := a.Busy(); busy {
			r.Error("something is under way afterwards")
		}
		if free := a.ReserveIn(time.Now(), admission.Lane{Priority: posthouse.Normal}, 100); free == nil || free.N() != 10 {
			r.Errorf("%v is free afterwards, want all 10 slots", free)
		} else {
			free.Close()
		}
	})
}

func TestAnotherKindOfUnitIsGivenBackWhereItsChannelIsPaused(t *testing.T) {
	withLeaflets(t, posthouse.ChannelSettings{}, func(r *rig, l *leaflets, b *batching) {
		l.drop(r, &leaflet{name: "late", to: []string{"a", "b"}, before: func() { r.pause("c") }})
		r.pass(time.Second)
		if diff := cmp.Diff([]string{"[late release" + state.ReasonPaused + "]"}, l.settled); diff != "" || len(b.calls) > 0 {
			r.Errorf("after %d calls, settled (-want +got):\n%s", len(b.calls), diff)
		}
	})
}

func TestAnotherKindOfUnitIsUnknownWhereItsDriverDoesNotReturn(t *testing.T) {
	settings := posthouse.ChannelSettings{Timeout: posthouse.Duration(2 * time.Second)}
	withLeaflets(t, settings, func(r *rig, l *leaflets, b *batching) {
		r.provider.answer = func(channel.Outgoing) channel.Result {
			<-time.After(time.Minute)
			return channel.Result{Class: posthouse.ClassOK}
		}
		l.drop(r, &leaflet{name: "lost", to: []string{"a"}})
		r.pass(5 * time.Second)
		if diff := cmp.Diff([]string{"[lost result unknownNO_RETURN]"}, l.settled); diff != "" {
			r.Errorf("settled (-want +got):\n%s", diff)
		}
		r.pass(time.Minute) // the driver comes back, and nothing follows
		if len(l.settled) != 1 {
			r.Errorf("settled %q, want it once", l.settled)
		}
	})
}
