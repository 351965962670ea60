package engine

import (
	"cmp"
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// carrier is the provider of all channels. It knows the truth: what arrived, and whether the
// recipient has the message.
type carrier struct {
	w        *world
	mu       sync.Mutex
	calls    map[string]int // provider calls by user
	taken    map[string]time.Time
	arrivals []*arrival
}

// arrival is one recipient of a request that reached the provider.
type arrival struct {
	at      time.Time
	out     channel.Outgoing
	process string
	class   posthouse.Class // what the provider decided, whether or not the sender was told
	repeat  bool            // it knew the key, and the recipient got nothing more
	told    bool            // its sender got the answer
}

// copied reports whether the recipient has one more message now.
func (a *arrival) copied() bool { return a.class == posthouse.ClassOK && !a.repeat }

// fate is what becomes of one provider call.
type fate string

const (
	fateAnswer  fate = "answer"  // it arrives and is answered
	fateLost    fate = "lost"    // it arrives, the answer gets lost at once
	fateSlow    fate = "slow"    // it arrives, the answer comes after the time-out
	fateVanish  fate = "vanish"  // it never arrives, and the sender cannot know
	fateStall   fate = "stall"   // it never arrives, and the time-out ends it
	fatePanic   fate = "panic"   // the driver panics once it has arrived
	fateShort   fate = "short"   // it arrives; the answer leaves recipients out
	fateNothing fate = "nothing" // it arrives; the driver makes nothing of the answer
)

// drawFate is weighted; all is well in the calm.
func (c *carrier) drawFate(r *rand.Rand) fate {
	n := r.IntN(100)
	if c.w.isCalm() {
		return fateAnswer
	}
	for _, f := range []struct {
		fate   fate
		weight int
	}{{fateLost, 7}, {fateSlow, 4}, {fateVanish, 3}, {fateStall, 2}, {fatePanic, 1}, {fateShort, 2}, {fateNothing, 1}} {
		if n -= f.weight; n < 0 {
			return f.fate
		}
	}
	return fateAnswer
}

// drawClass is what the provider decides about one recipient.
func (c *carrier) drawClass(r *rand.Rand) posthouse.Class {
	n := r.IntN(100)
	if c.w.isCalm() {
		return posthouse.ClassOK
	}
	for _, f := range []struct {
		class  posthouse.Class
		weight int
	}{
		{posthouse.ClassTransient, 9}, {posthouse.ClassRate, 2}, {posthouse.ClassAuth, 1}, {posthouse.ClassAccount, 1},
		{posthouse.ClassRecipient, 2}, {posthouse.ClassContent, 1}, {posthouse.ClassRequest, 1},
	} {
		if n -= f.weight; n < 0 {
			return f.class
		}
	}
	return posthouse.ClassOK
}

// transitMax bounds how long a request is on its way.
const transitMax = 1500 * time.Millisecond

// driver is one process's way to the provider for one channel.
type driver struct {
	p *process
	c *simChannel
}

// The abilities that some channels' drivers have.
type (
	batchDriver struct{ driver }
	askDriver   struct{ driver }
)

func (d driver) Send(ctx context.Context, out channel.Outgoing) channel.Result {
	return d.call(ctx, []channel.Outgoing{out})[0]
}

func (d batchDriver) SendBatch(ctx context.Context, outs []channel.Outgoing) []channel.Result {
	d.p.w.saw("a call shared by messages", count(outs[0].Message != outs[len(outs)-1].Message))
	return d.call(ctx, outs)
}

// call is one request to the provider, for one recipient or many.
func (d driver) call(ctx context.Context, outs []channel.Outgoing) []channel.Result {
	c := d.p.w.provider
	r := d.p.w.draw("send", addressee(outs[0]), c.ordinal(outs))
	fate := c.drawFate(r)
	transit := between(r, 0, 50*time.Millisecond)
	if r.Float64() < 0.2 {
		transit = between(r, 0, transitMax)
	}
	left := r.Float64() < 0.5 // had the bytes left, should the process die now?
	if !d.transit(ctx, transit, left) || fate == fateVanish || fate == fateStall {
		if fate == fateStall {
			d.wait(ctx, time.Hour)
		}
		return d.ambiguous(outs, string(fate))
	}
	results := make([]channel.Result, len(outs))
	arrived := make([]*arrival, len(outs))
	for i, out := range outs {
		results[i], arrived[i] = c.arrive(d, out, d.p.w.draw("class", addressee(out), c.nth(out)))
	}
	answer := between(r, 0, 300*time.Millisecond)
	switch {
	case fate == fateSlow:
		answer = time.Hour
	case r.Float64() < 0.5: // in time, but much can happen meanwhile
		answer = between(r, 0, d.c.settings.Timeout.Std())
	}
	if !d.wait(ctx, answer) || fate == fateLost {
		return d.ambiguous(outs, "API_TIMEOUT")
	}
	switch fate {
	case fatePanic:
		panic("the simulated driver panics")
	case fateShort:
		results = results[:(len(results)+1)/2]
	case fateNothing:
		return make([]channel.Result, len(outs))
	}
	for i := range results {
		arrived[i].told = true
	}
	return results
}

// transit waits while the request is on its way, and reports whether it arrives.
func (d driver) transit(ctx context.Context, t time.Duration, left bool) bool {
	if !d.p.alive() {
		<-d.p.w.over
		return false
	}
	timer := time.NewTimer(t)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	case <-d.p.dead:
	}
	if !left {
		<-d.p.w.over
		return false
	}
	<-timer.C // the bytes are on the wire
	return true
}

// wait waits for the answer, and reports whether it came in time. A dead process gets none.
func (d driver) wait(ctx context.Context, t time.Duration) bool {
	timer := time.NewTimer(t)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-d.p.dead:
	}
	if !d.p.alive() {
		<-d.p.w.over
	}
	return ctx.Err() == nil
}

func (d driver) ambiguous(outs []channel.Outgoing, code string) []channel.Result {
	results := make([]channel.Result, len(outs))
	for i := range results {
		results[i] = channel.Result{Class: posthouse.ClassUnknown, Code: code, Error: "nobody knows"}
	}
	return results
}

// addressee is who gets it: a member of a campaign has an address alone.
func addressee(out channel.Outgoing) string { return cmp.Or(out.Recipient.User, out.Recipient.Address) }

// ordinal counts a call for each of its recipients, and is the count of the first.
func (c *carrier) ordinal(outs []channel.Outgoing) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, out := range outs {
		c.calls[addressee(out)]++
	}
	return c.calls[addressee(outs[0])]
}

func (c *carrier) nth(out channel.Outgoing) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[addressee(out)]
}

// arrive is the provider taking or refusing one message. One that it knows by its key, within its
// memory, it does not take again.
func (c *carrier) arrive(d driver, out channel.Outgoing, r *rand.Rand) (channel.Result, *arrival) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := &arrival{at: time.Now(), out: out, process: d.p.name, class: c.drawClass(r)}
	first, known := c.taken[out.IdemKey]
	if known && a.class.Final() {
		a.class = posthouse.ClassOK // it cannot refuse for good what it has taken
	}
	a.repeat = known && (d.c.window == channel.Forever || time.Since(first) < d.c.window)
	if a.class == posthouse.ClassOK && !known {
		c.taken[out.IdemKey] = a.at
	}
	c.arrivals = append(c.arrivals, a)
	res := channel.Result{Class: a.class, Code: string(a.class)}
	switch {
	case a.class == posthouse.ClassOK:
		res = channel.Result{Class: a.class, Ref: "ref-" + addressee(out), Delivered: r.Float64() < 0.1}
	case a.class == posthouse.ClassRate:
		res.After = between(r, 0, 20*time.Second)
	}
	if a.class != posthouse.ClassOK {
		res.Error = "refused"
	}
	return res, a
}

// Has reports whether the recipient has the message: what a person finds out by asking there.
func (c *carrier) has(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.taken[key]
	return ok
}

// Query is truthful: the provider is asked when nothing is on its way any more.
func (d askDriver) Query(ctx context.Context, out channel.Outgoing) (channel.Finding, channel.Result) {
	c := d.p.w.provider
	r := d.p.w.draw("query", addressee(out), c.ordinal([]channel.Outgoing{out}))
	if !d.wait(ctx, between(r, 0, time.Second)) || (r.Float64() < 0.2 && !d.p.w.isCalm()) {
		return channel.NoAnswer, channel.Result{}
	}
	if c.has(out.IdemKey) {
		return channel.Found, channel.Result{Ref: "ref-" + addressee(out)}
	}
	return channel.Absent, channel.Result{}
}
