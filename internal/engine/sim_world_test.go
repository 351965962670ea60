package engine

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/decide"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/verify"
	"github.com/posthouse/posthouse/internal/work"
)

// world is all there is in one seed: the database, the provider, the workers' seats, the callers.
type world struct {
	t        *testing.T
	seed     uint64
	store    *store.Store
	start    time.Time
	provider *carrier
	channels []*simChannel
	seats    []*seat
	callers  []*caller
	phones   []*phone
	campaign *simCampaign   // nil in most worlds
	acts     sync.WaitGroup // all that the script started
	over     chan struct{}  // closed when dead processes may go
	ending   chan struct{}  // closed when the faults end
	bumped   chan struct{}  // closed when the epoch was raised
	hung     chan struct{}  // closed when phones may go
	calling  sync.WaitGroup // the phones

	mu         sync.Mutex
	calm       bool
	ghosts     []*process // every process there was
	grants     map[string]map[time.Time]int
	client     []verify.ClientLine
	agentLines []verify.AgentLine
	permit     []verify.GrantLine
	seen       map[string]int
	book       []string // the fault journal, for people
}

// simChannel is a channel as the script pauses it.
type simChannel struct {
	name     string
	settings posthouse.ChannelSettings
	window   time.Duration
	batch    int
	shares   bool // its driver takes messages that say the same in one call
	asks     bool
	paused   bool // under world.mu
}

// seat is where one worker after another lives.
type seat struct {
	name string
	now  *process // under world.mu; nil while nobody is there
}

func newWorld(t *testing.T, seed uint64, st *store.Store) *world {
	w := &world{
		t: t, seed: seed, store: st, start: time.Now(),
		over: make(chan struct{}), ending: make(chan struct{}), bumped: make(chan struct{}), hung: make(chan struct{}),
		grants: map[string]map[time.Time]int{}, seen: map[string]int{},
	}
	w.provider = &carrier{w: w, calls: map[string]int{}, taken: map[string]time.Time{}}
	r := w.draw("world")
	w.channels = w.drawChannels(r)
	w.drawPhones()
	w.drawCampaign()
	for n := range 2 + r.IntN(3) {
		w.seats = append(w.seats, &seat{name: fmt.Sprintf("w%d", n)})
	}
	target := 20 + r.IntN(41)
	for n, deliveries := 0, 0; deliveries < target; n++ {
		c := w.drawCaller(n)
		w.callers = append(w.callers, c)
		deliveries += len(c.draft.To)
	}
	return w
}

// draw is the randomness for one thing, whenever it is asked for.
func (w *world) draw(about ...any) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintln(h, about...)
	return rand.New(rand.NewPCG(w.seed, h.Sum64()))
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// between is a duration from a to b that is hardly ever the same twice.
func between(r *rand.Rand, a, b time.Duration) time.Duration {
	return a + time.Duration(r.Int64N(int64(b-a)))
}

// drawChannels makes one channel of each kind.
func (w *world) drawChannels(r *rand.Rand) []*simChannel {
	s := func(seconds ...int) (list []posthouse.Duration) {
		for _, n := range seconds {
			list = append(list, posthouse.Duration(time.Duration(n)*time.Second))
		}
		return list
	}
	basics := func(policy posthouse.Policy) posthouse.ChannelSettings {
		return posthouse.ChannelSettings{
			OnUnknown: policy, Backoff: s(1, 5, 20, 40), Tries: 3 + r.IntN(4), Jitter: new(float64), Timeout: s(3 + r.IntN(6))[0],
			ProbeAfter: s(5)[0], ProbeMax: s(30)[0], MaxInflight: pick(r, 0, 0, 1, 3, 8),
		}
	}
	list := []*simChannel{
		{name: "hook", settings: basics(posthouse.Retry), window: channel.Forever},
		{name: "chat", settings: basics(posthouse.Retry), window: pick(r, 0, 30*time.Second, 2*time.Minute)},
		{name: "sms", settings: basics(posthouse.Hold)},
		{name: "bulk", settings: basics(posthouse.AssumeSent), batch: 2 + r.IntN(9)},
		{name: "paid", settings: basics(posthouse.Query), asks: true},
		{name: "rounds", settings: basics(posthouse.Retry), window: channel.Forever},
		{name: "phones", settings: basics(posthouse.Hold)},
		{name: "lk", settings: basics(posthouse.Retry)},
	}
	for _, c := range list[6:] {
		c.settings.Pull, c.settings.Timeout = true, s(8 + r.IntN(10))[0]
	}
	list[2].settings.Limits = []posthouse.Limit{{Max: 1 + r.IntN(3), Per: s(2)[0]}, {Max: 4 + r.IntN(6), Per: s(15)[0]}}
	list[2].settings.HoldTimeout = pick(r, 0, s(60)[0])
	list[3].settings.Limits = []posthouse.Limit{{Max: 5 + r.IntN(10), Per: s(5)[0]}}
	list[5].settings.Every = &s(20)[0]
	list[3].shares = w.draw("shares").IntN(4) > 0
	return list
}

// open gives a process a channel as it now is.
func (w *world) open(p *process, c *simChannel) {
	w.mu.Lock()
	paused := c.paused
	w.mu.Unlock()
	o := state.Opened{Window: c.window, MaxBatch: c.batch}
	if c.shares {
		o.Shares = func(posthouse.Content, string) bool { return true }
	}
	switch d := (driver{p, c}); {
	case c.batch > 0:
		o.Driver = batchDriver{d}
	case c.asks:
		o.Driver = askDriver{d}
	default:
		o.Driver = d
	}
	ch := posthouse.Channel{Tenant: posthouse.DefaultTenant, Name: c.name, Driver: "test", ChannelSettings: c.settings, Version: 1, Paused: paused}
	if err := p.engine.Routes.SetChannel(ch, o); err != nil {
		w.t.Error(err)
	}
}

// act runs a part of the script.
func (w *world) act(do func()) {
	w.acts.Add(1)
	go func() {
		defer w.acts.Done()
		do()
	}()
}

// until waits for a time of the storm; it reports whether the storm still goes on.
func (w *world) until(at time.Duration) bool { return w.rest(time.Until(w.start.Add(at))) }

func (w *world) rest(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return !w.isCalm()
	case <-w.ending:
		return false
	}
}

// storm plays the script: everything that happens while there are faults.
func (w *world) storm() {
	for _, s := range w.seats {
		w.act(func() { w.live(s) })
	}
	for _, c := range w.callers {
		w.act(func() { c.run(w) })
	}
	for _, ph := range w.phones {
		w.calling.Go(ph.live)
	}
	if w.campaign != nil {
		w.act(w.campaign.run)
	}
	r := w.draw("script")
	for n := range r.IntN(4) {
		w.act(func() { w.pauseOne(n) })
	}
	for n := range 1 + r.IntN(6) {
		w.act(func() { w.cutOne(n) })
	}
	for n := range r.IntN(6) {
		w.act(func() { w.resolveOne(n) })
	}
	for n := range 2 + r.IntN(4) {
		w.act(func() { w.reassignOne(n) })
	}
	if r.Float64() < 0.15 {
		w.act(w.raiseEpoch)
	}
	time.Sleep(simStorm)
	w.mu.Lock()
	w.calm = true
	for _, c := range w.channels {
		c.paused = false
	}
	w.mu.Unlock()
	w.note("the faults end")
	close(w.ending)
	w.join()
	for _, p := range w.running() {
		for _, c := range w.channels {
			time.Sleep(time.Millisecond)
			w.open(p, c)
		}
	}
}

// join waits for all that the script started. What never ends cannot be left behind in a bubble of
// virtual time, so it ends the test binary.
func (w *world) join() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.acts.Wait()
	}()
	select {
	case <-done:
	case <-time.After(simHorizon):
		panic(fmt.Sprintf("seed %d: %v after the faults a stop or a call has not ended:\n%s", w.seed, simHorizon, strings.Join(w.book, "\n")))
	}
}

// live has one process after another in a seat. Each is killed at a moment, killed at a call, or
// stopped; and one that outlived a rise of the epoch is stopped as its operator would. The last one
// lives on when the faults have ended.
func (w *world) live(s *seat) {
	w.rest(between(w.draw("seat", s.name), 0, 2*time.Second))
	for n := 1; ; n++ {
		name := fmt.Sprintf("%s.%d", s.name, n)
		r := w.draw("life", name)
		end, span, down := r.IntN(4), between(r, 5*time.Second, 60*time.Second), between(r, 10*time.Millisecond, 15*time.Second)
		var d doom
		if end == 0 {
			d = doom{pick(r, "accept", "claim", "record", "record", "revise", "limit", "set gate", "hand out", "report"), 1 + r.IntN(6), r.IntN(2) == 0}
		}
		p := w.spawn(name, w.campaignDoom(name, d))
		if p == nil {
			time.Sleep(between(r, time.Second, 2*time.Second))
			continue
		}
		w.sit(s, p)
		w.watch(p, span, between(r, 0, 20*time.Second))
		if w.isCalm() && p.alive() && !w.isStale(p) {
			return
		}
		w.sit(s, nil)
		if end == 1 {
			p.kill("at a moment of its life", "")
		}
		if p.alive() {
			w.stop(p, between(r, 0, 12*time.Second))
		}
		w.rest(down)
	}
}

// watch waits until a process is to be taken from its seat, or the faults end.
func (w *world) watch(p *process, span, grace time.Duration) {
	timer := time.NewTimer(span)
	defer timer.Stop()
	var bumped chan struct{}
	if p.engine.life.Epoch() == 1 {
		bumped = w.bumped
	}
	select {
	case <-timer.C:
	case <-p.dead:
	case <-bumped:
		w.rest(grace)
	case <-w.ending:
	}
}

// isStale reports whether the process is from before a rise of the epoch.
func (w *world) isStale(p *process) bool {
	select {
	case <-w.bumped:
		return p.engine.life.Epoch() == 1
	default:
		return false
	}
}

func (w *world) stop(p *process, drain time.Duration) {
	w.note("%s is told to stop within %v", p.name, drain)
	p.call(func() {
		ctx, cancel := context.WithTimeout(context.Background(), drain)
		defer cancel()
		if err := p.engine.Stop(ctx); err != nil {
			w.t.Error(err)
		}
		w.note("%s has stopped", p.name)
	})
}

// sit puts a process into a seat, or takes it away.
func (w *world) sit(s *seat, p *process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.now = p
}

// running are the processes that can be called now.
func (w *world) running() (list []*process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.seats {
		if s.now != nil && s.now.alive() {
			list = append(list, s.now)
		}
	}
	return list
}

// someone is a process to call, nil where there is none.
func (w *world) someone(r *rand.Rand) *process {
	list := w.running()
	if len(list) == 0 {
		return nil
	}
	return list[r.IntN(len(list))]
}

// pauseOne pauses a channel for a while; the processes learn of it one after another.
func (w *world) pauseOne(n int) {
	r := w.draw("pause", n)
	c := w.channels[r.IntN(len(w.channels))]
	if !w.until(between(r, 0, simStorm)) {
		return
	}
	length := between(r, time.Second, 90*time.Second)
	w.note("%s is paused for %v", c.name, length)
	for _, paused := range []bool{true, false} {
		w.mu.Lock()
		c.paused = paused && !w.calm
		w.mu.Unlock()
		for _, p := range w.running() {
			time.Sleep(between(r, 0, time.Second))
			w.open(p, c)
		}
		if paused && !w.rest(length) {
			return
		}
	}
}

func (w *world) cutOne(n int) {
	r := w.draw("cut", n)
	if !w.until(between(r, 0, simStorm-30*time.Second)) {
		return
	}
	if p := w.someone(r); p != nil { // mostly for longer than a lease, so that others take over
		p.cutOff(between(r, 5*time.Second, 45*time.Second))
		w.saw("worker cut off from the database", 1)
	}
}

// settledUnknown is how long a person waits before judging an unknown: no request is on its way
// for so long.
const settledUnknown = time.Minute

// resolveOne has a person look at what is unknown or quarantined, ask the provider, and say it.
func (w *world) resolveOne(n int) {
	r := w.draw("resolve", n)
	if !w.until(between(r, settledUnknown, simStorm)) {
		return
	}
	list := w.stuck()
	list = slices.DeleteFunc(list, func(d posthouse.Delivery) bool { return time.Since(d.UpdatedAt) < settledUnknown })
	if p := w.someone(r); p != nil && len(list) > 0 {
		w.resolve(p, list[r.IntN(len(list))], r)
	}
}

// resolve says the truth about a delivery, and has what did not arrive tried again or not.
func (w *world) resolve(p *process, d posthouse.Delivery, r *rand.Rand) {
	word := pick(r, decide.ResolveFail, decide.ResolveRetry)
	if w.provider.has(d.IdemKey) {
		word = decide.ResolveSent
		if d.State == posthouse.Quarantined {
			word = decide.ResolveFail
		}
	}
	p.call(func() {
		_, err := p.engine.Operator.Resolve(context.Background(), d.Tenant, d.ID, word)
		w.note("a person says %s of %s (%s): %v", word, d.User, d.State, err)
	})
}

// Stuck are the deliveries that are unknown or quarantined, by user.
func (w *world) stuck() []posthouse.Delivery {
	return w.deliveries(posthouse.Unknown, posthouse.Quarantined)
}

// deliveries are those in some states, all without any, by user.
func (w *world) deliveries(states ...posthouse.State) []posthouse.Delivery {
	list, _, err := w.store.Messages.Deliveries(context.Background(), work.Filter{Sight: work.SeeAll(), Tenant: posthouse.DefaultTenant, States: states, Limit: 1000})
	if err != nil {
		w.t.Fatal(err)
	}
	slices.SortFunc(list, func(a, b posthouse.Delivery) int { return cmp.Compare(a.User, b.User) })
	return list
}

// raiseEpoch is what an operator does with a restored database.
func (w *world) raiseEpoch() {
	r := w.draw("epoch")
	if !w.until(between(r, 20*time.Second, simStorm-20*time.Second)) {
		return
	}
	held, err := w.store.Epochs.BumpEpoch(context.Background(), time.Now())
	w.note("the epoch is raised, %d deliveries are held: %v", held, err)
	if err != nil {
		w.t.Error(err)
	}
	w.saw("epoch raised", 1)
	close(w.bumped)
}

// resting reports whether nothing waits for a process. What stands in line may wait for a person's word on the one before it.
func (w *world) resting() bool {
	return !slices.ContainsFunc(w.deliveries(posthouse.Pending, posthouse.Sending), func(d posthouse.Delivery) bool { return d.Line == "" })
}

// settle is the time without faults: everything must come to rest, then people close what is theirs,
// and everything must be closed.
func (w *world) settle() {
	began := time.Now()
	w.await("nothing waits for a machine", began, func() bool {
		return w.resting() &&
			!slices.ContainsFunc(w.deliveries(posthouse.Unknown), func(d posthouse.Delivery) bool { return !d.DueAt.IsZero() })
	})
	if w.campaign != nil {
		w.await("the campaign has ended", began, w.campaign.settled)
	}
	time.Sleep(settledUnknown)
	r := w.draw("last word")
	w.await("nothing is open", began, func() bool {
		if w.resting() { // what was tried again may be stuck anew
			for _, d := range w.stuck() {
				w.resolve(w.someone(r), d, r)
			}
		}
		return len(w.deliveries(posthouse.Pending, posthouse.Sending, posthouse.Unknown, posthouse.Quarantined)) == 0
	})
	w.note("all is settled")
	close(w.hung)
	w.calling.Wait()
}

// await waits for something that must come true before the horizon.
func (w *world) await(what string, began time.Time, done func() bool) {
	for !done() {
		if time.Since(began) > simHorizon {
			w.fail("", "%v after the faults it does not hold: %s", simHorizon, what)
			return
		}
		time.Sleep(5 * time.Second)
	}
}

// end stops the living, and lets the dead go.
func (w *world) end() {
	for _, p := range w.running() {
		w.stop(p, 30*time.Second)
	}
	close(w.over)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, p := range w.ghosts {
		if err := p.engine.Stop(ctx); err != nil {
			w.t.Error(err)
		}
	}
	synctest.Wait()
}

func (w *world) isCalm() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calm
}

// granted notes permits by the moment of their grant; given back ones are negative.
func (w *world) granted(key string, windows []posthouse.Limit, at time.Time, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.grants[key] == nil {
		w.grants[key] = map[time.Time]int{}
	}
	w.grants[key][at] += n
	line := verify.GrantLine{At: at, Key: key, Windows: windows, Op: verify.OpTake, Want: n, Granted: n, RefusedBy: -1}
	if n < 0 {
		line.Op, line.Want, line.Granted = verify.OpRefund, -n, 0
	}
	w.permit = append(w.permit, line)
}

// told writes into the callers' journal.
func (w *world) told(line verify.ClientLine) {
	w.mu.Lock()
	defer w.mu.Unlock()
	line.At, line.Tenant = time.Now(), posthouse.DefaultTenant
	w.client = append(w.client, line)
}

// saw counts a rare event; 0 names it.
func (w *world) saw(name string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[name] += n
}

func (w *world) tell(seen *sightings) {
	for name, n := range w.seen {
		seen.add(name, n)
	}
}

// note writes into the fault journal.
func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.book = append(w.book, fmt.Sprintf("%12v ", time.Since(w.start).Round(time.Millisecond))+fmt.Sprintf(format, args...))
}

// log is where a process logs to: nowhere, but in a run of one seed.
func (w *world) log(p *process) io.Writer {
	if *simSeed == 0 || !testing.Verbose() {
		return io.Discard
	}
	return ledger{w, p}
}

// ledger writes a process's log into the fault journal.
type ledger struct {
	w *world
	p *process
}

func (l ledger) Write(b []byte) (int, error) {
	_, line, _ := strings.Cut(strings.TrimSpace(string(b)), "level=")
	l.w.note("%s logs %s", l.p.name, line)
	return len(b), nil
}
