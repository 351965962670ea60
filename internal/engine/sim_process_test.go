package engine

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/store/storetest"
	"github.com/posthouse/posthouse/internal/usher"
	"github.com/posthouse/posthouse/internal/work"
)

// process is one life of a worker: an engine, and between it and the database everything that can go
// wrong there. Once it is dead no call of it reaches the database and no byte the provider, as after
// kill -9: each blocks until the world ends. A call that was under way is done, or not, by the moment.
//
// Its clock is skew ahead of the database's, which counts for all, as on a database with many
// processes. The engine reads the virtual clock, which is the database's; so that it is the engine
// that is wrong, every instant that passes between the two is moved by skew on its way.
type process struct {
	w      *world
	name   string // seat and life, such as "w1.3"
	skew   time.Duration
	engine *Engine
	dead   chan struct{}
	once   sync.Once

	mu    sync.Mutex
	calls map[string]int
	tocks map[string]time.Time // when the loops began to wait
	doom  doom
	cut   time.Time // until when the database cannot be reached
}

// doom kills a process at its nth call of an operation, before or after the call is done.
type doom struct {
	op    string
	nth   int
	after bool
}

// The engine's pace in the simulation.
const (
	simPoll   = 2 * time.Second
	simRescue = 5 * time.Second
)

// spawn makes a process and starts its engine; nil where the start failed.
func (w *world) spawn(name string, d doom) *process {
	r := w.draw("process", name)
	p := &process{w: w, name: name, dead: make(chan struct{}), calls: map[string]int{}, tocks: map[string]time.Time{}, doom: d}
	p.skew = pick(r, 0, 0, 0, 0, 5*time.Second, -5*time.Second, time.Hour, -time.Hour)
	e, err := New(Options{
		Stores: parts(p), Rosters: w.store.Rosters, Limiter: meter{limit.SQL{Rows: p}, w}, Log: slog.New(slog.NewTextHandler(w.log(p), nil)),
		Owner: name, Poll: simPoll, RescueEvery: simRescue, Clock: p.databaseTime, Campaigns: p.sends(),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	p.engine = e
	e.seats.queue, e.seats.age = aside{p}, 10*time.Second // else too little begins with its accept: callers are few
	w.mu.Lock()
	w.ghosts = append(w.ghosts, p)
	w.mu.Unlock()
	for _, c := range w.channels {
		w.open(p, c)
	}
	if err := e.Start(context.Background()); err != nil {
		w.note("%s does not start: %v", name, err)
		return nil // as a server that exits
	}
	w.note("%s starts, its clock is off by %v", name, p.skew)
	return p
}

// databaseTime is the database's clock as the process reads it.
func (p *process) databaseTime(context.Context) (now time.Time, err error) {
	defer p.tock("epoch")
	if !p.engine.Routes.isStarted() { // all loops begin when it is known
		for _, loop := range []string{"poll", "relay", "rescue", "inquire", "usher", "campaign"} {
			defer p.tock(loop)
		}
	} else if p.alive() && p.engine.life.Stopped() {
		return now, life.ErrStopping
	}
	err = p.look("clock", func() error {
		now = time.Now().Add(-p.skew)
		return nil
	})
	return now, err
}

// kill is kill -9, before or after a call, or at a moment.
func (p *process) kill(when, op string) {
	p.once.Do(func() {
		p.w.note("%s is killed %s %s", p.name, when, op)
		p.w.saw("process killed "+when, 1)
		close(p.dead)
	})
}

func (p *process) alive() bool {
	select {
	case <-p.dead:
		return false
	default:
		return true
	}
}

// call has a caller of the process do something with it; it reports false where the process died
// before it answered.
func (p *process) call(do func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-p.dead:
	}
	return p.alive()
}

var errGone = errors.New("the process is dead, and the world has ended")

// sleep waits, and never returns in a dead process before the world ends; it reports false then.
func (p *process) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.dead:
	}
	if p.alive() {
		return true
	}
	<-p.w.over
	return false
}

// look makes one call to the database that only reads: late, cut off or refused, as the seed wants.
func (p *process) look(op string, f func() error) error { return p.reach(op, 0, f) }

// do makes one call that writes: it may also be lost on its way, or done and its answer lost.
func (p *process) do(op string, f func() error) error { return p.reach(op, 0.025, f) }

func (p *process) reach(op string, lossy float64, f func() error) error {
	p.mu.Lock()
	p.calls[op]++
	n := p.calls[op]
	doomed := strings.HasPrefix(op, p.doom.op) && n == p.doom.nth && p.doom.op != "" && !p.w.isCalm()
	p.mu.Unlock()
	r := p.w.draw("call", p.name, op, n)
	before, after, fate := latency(r), latency(r), r.Float64()
	if p.w.isCalm() {
		fate = 1
	}
	if !p.sleep(before) || !p.sleep(p.cutFor()) {
		return errGone
	}
	if doomed && !p.doom.after {
		p.kill("before a call", op)
	}
	if !p.sleep(0) {
		return errGone
	}
	switch {
	case fate < 0.02:
		return posthouse.Errorf(posthouse.CodeUnavailable, "the simulated database does not answer")
	case fate < 0.02+lossy*0.4:
		p.w.note("%s: %s is lost on its way", p.name, op)
		return errLostCommit
	}
	err := f()
	if doomed && p.doom.after {
		p.kill("after a call", op)
	}
	if !p.sleep(after) || !p.sleep(p.cutFor()) {
		return errGone
	}
	if err == nil && fate < 0.02+lossy {
		p.w.note("%s: %s is done and its answer lost", p.name, op)
		p.w.saw("commit done, answer lost", 1)
		return errLostCommit
	}
	return err
}

var errLostCommit = &posthouse.Error{Code: posthouse.CodeOutcomeUnknown, Message: "the simulated database's answer to the commit was lost"}

// latency is a wait that hardly ever is the same twice; a few are seconds long.
func latency(r *rand.Rand) time.Duration {
	d := 200*time.Microsecond + time.Duration(r.Int64N(int64(3*time.Millisecond)))
	if r.Float64() < 0.02 {
		d += time.Duration(r.Int64N(int64(4 * time.Second)))
	}
	return d
}

func (p *process) cutFor() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Until(p.cut)
}

// cutOff takes the process's connections to the database away for a while; the provider still
// answers it.
func (p *process) cutOff(d time.Duration) {
	p.w.note("%s is cut off from the database for %v", p.name, d)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = time.Now().Add(d)
}

// tick holds up a loop of the engine that waited for pace and for up to a fifth more by chance: its
// wait is always three tenths more. A loop of an engine that stops gets no answer any more, wherever
// in its wait it was.
func (p *process) tick(loop string, pace time.Duration) error {
	p.mu.Lock()
	timer := time.NewTimer(time.Until(p.tocks[loop].Add(pace + 3*pace/10)))
	p.mu.Unlock()
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.engine.life.Stopping():
	case <-p.dead:
	}
	if p.alive() && p.engine.life.Stopped() {
		return life.ErrStopping
	}
	return nil
}

// tock notes that a loop begins to wait, as far as its calls can show.
func (p *process) tock(loop string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tocks[loop] = time.Now()
}

// Accept is as database says; so are the others.
func (p *process) AcceptAndStart(ctx context.Context, _ time.Time, subs []*work.Submission, seats work.Seats) (outcomes []work.Outcome, starts []work.Start, err error) {
	shifted := make([]*work.Submission, len(subs))
	for i := range subs {
		sub := *subs[i]
		sub.Entries = slices.Clone(sub.Entries)
		for j := range sub.Entries {
			e := &sub.Entries[j]
			e.Deliveries = slices.Clone(e.Deliveries)
			moveMessage(&e.Message, p.skew)
			for k := range e.Deliveries {
				moveDelivery(&e.Deliveries[k], p.skew)
			}
		}
		shifted[i] = &sub
	}
	err = p.do("accept", func() (err error) {
		outcomes, starts, err = p.w.store.Submissions.AcceptAndStart(ctx, time.Now(), shifted, seats)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	for _, of := range starts {
		p.w.saw("started with the accept", len(of.Items))
		p.back(of.Items)
	}
	return outcomes, starts, nil
}

// back moves what was read to the process's clock.
func (p *process) back(items []work.Item) {
	moved := map[*posthouse.Message]bool{}
	for i := range items {
		moveDelivery(&items[i].Delivery, -p.skew)
		if m := items[i].Message; m != nil && !moved[m] {
			moved[m] = true
			moveMessage(m, -p.skew)
		}
	}
}

func (p *process) Disown(ctx context.Context, _ time.Time, lane work.Lane, of work.Seating) (started []string, err error) {
	err = p.do("disown", func() (err error) {
		started, err = p.w.store.Queue.Disown(ctx, time.Now(), lane, of)
		p.w.saw("disowned start", len(started))
		return err
	})
	return started, err
}

// aside is the database for the seats of a process, whose looks have a pace of their own.
type aside struct{ *process }

func (p aside) Ready(ctx context.Context, _ time.Time, lanes []work.Lane) (ready []bool, err error) {
	err = p.look("ready/seats", func() (err error) {
		ready, err = p.w.store.Queue.Ready(ctx, time.Now(), lanes)
		return err
	})
	return ready, err
}

func (p *process) Answer(ctx context.Context, tenant, endpoint, key, hash string) (answer []byte, found bool, err error) {
	err = p.look("answer", func() (err error) {
		answer, found, err = p.w.store.Answers.Answer(ctx, tenant, endpoint, key, hash)
		return err
	})
	return answer, found, err
}

func (p *process) Template(ctx context.Context, tenant, name string, version int) (posthouse.Template, error) {
	return p.w.store.Templates.Template(ctx, tenant, name, version)
}

func (p *process) Addresses(ctx context.Context, tenant, channel string, users []string) (known map[string]string, err error) {
	err = p.look("addresses", func() (err error) {
		known, err = p.w.store.Users.Addresses(ctx, tenant, channel, users)
		return err
	})
	return known, err
}

func (p *process) Outbox(ctx context.Context, _ time.Time, kind work.Kind, max, bytes int) (rows []work.Enqueued, err error) {
	if kind == work.TaskEvents {
		return nil, nil // there are none, and they would be looked for at their own times
	}
	defer p.tock("relay")
	if err := p.tick("relay", simPoll); err != nil {
		return nil, err
	}
	err = p.look("outbox", func() (err error) {
		rows, err = p.w.store.Outbox.Outbox(ctx, time.Now(), kind, max, bytes)
		return err
	})
	for i := range rows {
		move(&rows[i].CreatedAt, -p.skew)
	}
	return rows, err
}

func (p *process) Relay(ctx context.Context, _ time.Time, list []work.Relay) (outcomes []work.Outcome, err error) {
	err = p.do("relay", func() (err error) {
		outcomes, err = p.w.store.Outbox.Relay(ctx, time.Now(), list)
		return err
	})
	return outcomes, err
}

func (p *process) Done(ctx context.Context, _ time.Time, rows []string) error {
	return p.do("done", func() error { return p.w.store.Outbox.Done(ctx, time.Now(), rows) })
}

func (p *process) Reject(ctx context.Context, _ time.Time, list []work.Rejection) (held []string, err error) {
	err = p.do("reject", func() (err error) {
		held, err = p.w.store.Outbox.Reject(ctx, time.Now(), list)
		return err
	})
	return held, err
}

// OutboxDepth, WaitingNotifications, HeldNotifications, HeldReminders, Depths, Turn and Prune are for figures, channels that change and old rows: no part of what is simulated.
func (p *process) OutboxDepth(context.Context) (int, int, error) { return 0, 0, nil }

func (p *process) WaitingNotifications(context.Context) (map[string]int, error) { return nil, nil }
func (p *process) HeldNotifications(context.Context) (map[string]int, error)    { return nil, nil }
func (p *process) HeldReminders(context.Context) (map[string]int, error)        { return nil, nil }

func (p *process) Depths(context.Context) ([]work.Depth, error) { return nil, nil }

func (p *process) Turn(context.Context, time.Time, work.Lane, int) (int, error) { return 0, nil }

func (p *process) Prune(context.Context, time.Time, work.Retention, int) (int, error) { return 0, nil }

func (p *process) Ready(ctx context.Context, _ time.Time, lanes []work.Lane) (ready []bool, err error) {
	loop := "poll"
	if len(lanes) > 0 && lanes[0].Pulled {
		loop = "attend" // which has a pace of its own
	} else {
		defer p.tock(loop)
		if err := p.tick(loop, simPoll); err != nil {
			return nil, err
		}
	}
	err = p.look("ready/"+loop, func() (err error) {
		ready, err = p.w.store.Queue.Ready(ctx, time.Now(), lanes)
		return err
	})
	return ready, err
}

func (p *process) Admit(ctx context.Context, _ time.Time, named []work.LineKey, max int, how work.Admission) (admitted []posthouse.Delivery, looked int, err error) {
	if len(named) == 0 {
		defer p.tock("usher")
		if err := p.tick("usher", usher.Every); err != nil {
			return nil, 0, err
		}
	}
	err = p.do("admit", func() (err error) {
		admitted, looked, err = p.w.store.Queue.Admit(ctx, time.Now(), named, max, how)
		return err
	})
	return admitted, looked, err
}

func (p *process) Failures(ctx context.Context, ids []string) (past map[string]work.Failures, err error) {
	err = p.look("failures", func() (err error) {
		past, err = p.w.store.Queue.Failures(ctx, ids)
		return err
	})
	return past, err
}

func (p *process) LinesHeldBy(ctx context.Context, messages []string) (list []work.LineKey, err error) {
	err = p.look("held by", func() (err error) {
		list, err = p.w.store.Queue.LinesHeldBy(ctx, messages)
		return err
	})
	return list, err
}

func (p *process) Holder(ctx context.Context, l work.LineKey) (string, error) {
	return p.w.store.Queue.Holder(ctx, l)
}

func (p *process) Ahead(ctx context.Context, l work.Lane, due time.Time, id string, max int) (int, error) {
	return p.w.store.Queue.Ahead(ctx, l, due, id, max)
}

func (p *process) DuePins(ctx context.Context, _ time.Time, tenant, channel string) ([]work.Lane, error) {
	return p.w.store.Queue.DuePins(ctx, time.Now(), tenant, channel)
}

func (p *process) HeldBack(ctx context.Context, _ time.Time, reason, behind string, max int) ([]work.HeldBack, error) {
	return p.w.store.Queue.HeldBack(ctx, time.Now(), reason, behind, max)
}

func (p *process) Claim(ctx context.Context, _ time.Time, c work.Claim) (items []work.Item, err error) {
	move(&c.DueBefore, p.skew)
	err = p.do("claim/"+c.Channel+"/"+string(c.Priority), func() (err error) {
		items, err = p.w.store.Queue.Claim(ctx, time.Now(), c)
		return err
	})
	if err != nil {
		return nil, err
	}
	p.back(items)
	return items, nil
}

func (p *process) Record(ctx context.Context, _ time.Time, decide func(now time.Time) []work.Change) (refused []string, err error) {
	var changes []work.Change
	err = p.do("record", func() (err error) {
		refused, err = p.w.store.Queue.Record(ctx, time.Now(), func(now time.Time) []work.Change {
			changes = decide(now.Add(-p.skew))
			moveChanges(changes, p.skew)
			return changes
		})
		return err
	})
	moveChanges(changes, -p.skew) // the engine reads them again
	if err != nil {
		return nil, err
	}
	p.w.saw("stale result refused", len(refused))
	return refused, nil
}

func (p *process) Revise(ctx context.Context, _ time.Time, sel work.Selection,
	decide func(now time.Time, found []posthouse.Delivery) []work.Change,
) (after []posthouse.Delivery, err error) {
	loop, wait := whose(sel.Due)
	defer p.tock(loop)
	if err := p.tick(loop, wait); err != nil && sel.Due != "" {
		return nil, err
	}
	err = p.do("revise/"+string(sel.Due), func() (err error) {
		after, err = p.w.store.Queue.Revise(ctx, time.Now(), sel, func(now time.Time, found []posthouse.Delivery) []work.Change {
			found = slices.Clone(found)
			for i := range found {
				moveDelivery(&found[i], -p.skew)
			}
			changes := decide(now.Add(-p.skew), found)
			moveChanges(changes, p.skew)
			return changes
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	for i := range after {
		moveDelivery(&after[i], -p.skew)
	}
	return after, nil
}

// whose tells the loops apart that revise what is due: the rescuer, which looks for three kinds one
// after another, and the inquirer, which looks for one, asks, and writes down what it was told.
func whose(due work.Due) (loop string, wait time.Duration) {
	switch due {
	case "":
		return "inquire", 0
	case work.LeaseLost:
		return "rescue", simRescue
	case work.QueryDue:
		return "inquire", simRescue
	}
	return "rescue", 0
}

// Plans are as database says. No world has any: the planner's own tests do.
func (p *process) Plan(ctx context.Context, tenant string, kind work.PlanType, id string) (work.Plan, bool, error) {
	return p.w.store.Plans.Plan(ctx, tenant, kind, id)
}

func (p *process) PlansByRef(ctx context.Context, tenant string, kind work.PlanType, about, ref string) ([]work.Plan, error) {
	return p.w.store.Plans.PlansByRef(ctx, tenant, kind, about, ref)
}

func (p *process) OpenOf(ctx context.Context, tenant string, messages []string) ([]string, error) {
	return p.w.store.Messages.OpenOf(ctx, tenant, messages)
}

func (p *process) DuePlans(ctx context.Context, _ time.Time, max int) ([]work.Plan, error) {
	return p.w.store.Plans.DuePlans(ctx, time.Now(), max)
}

func (p *process) PutOffPlan(ctx context.Context, _ time.Time, plan work.Plan, why string, wait time.Duration) (bool, error) {
	return p.w.store.Plans.PutOffPlan(ctx, time.Now(), plan, why, wait)
}

// Awaited and Receive are as database says. No world has a provider with receipts: the tracker's own tests do.
func (p *process) Awaited(ctx context.Context, _ time.Time, max int, hold time.Duration) ([]work.Awaited, error) {
	return p.w.store.Receipts.Awaited(ctx, time.Now(), max, hold)
}

func (p *process) Receive(ctx context.Context, _ time.Time, ids []string, decide func(now time.Time, found []posthouse.Delivery) work.Learnt) error {
	return p.w.store.Receipts.Receive(ctx, time.Now(), ids, decide)
}

func (p *process) Epoch(ctx context.Context) (epoch int64, err error) {
	if p.engine.Routes.isStarted() {
		if err := p.tick("epoch", simRescue); err != nil {
			return 0, err
		}
	}
	err = p.look("epoch", func() error {
		epoch, err = p.w.store.Epochs.Epoch(ctx)
		return err
	})
	return epoch, err
}

func (p *process) Gates(ctx context.Context, tenant string) (gates []work.Gate, err error) {
	defer p.tock("poll")
	err = p.look("gates", func() (err error) {
		gates, err = p.w.store.Gates.Gates(ctx, tenant)
		return err
	})
	return gates, err // their times are by the caller's clock already
}

func (p *process) SetGate(ctx context.Context, _ time.Time, g work.Gate, wait time.Duration) error {
	return p.do("set gate/"+g.Channel, func() error { return p.w.store.Gates.SetGate(ctx, time.Now(), g, wait) })
}

func (p *process) ClearGate(ctx context.Context, tenant, channel, account string) error {
	return p.do("clear gate/"+channel, func() error { return p.w.store.Gates.ClearGate(ctx, tenant, channel, account) })
}

func (p *process) Message(ctx context.Context, tenant, id string) (m posthouse.Message, n int, err error) {
	err = p.look("message", func() (err error) {
		m, n, err = p.w.store.Messages.Message(ctx, tenant, id)
		return err
	})
	moveMessage(&m, -p.skew)
	return m, n, err
}

// UpdateLimits and LookLimits are as limit.Rows and limit.Looker say. What they pass is on the
// database's clock, and the engine only gives it back.
func (p *process) UpdateLimits(ctx context.Context, keys []string, change func(now time.Time, states [][]byte) ([][]byte, error)) error {
	return p.do("limit/"+strings.Join(keys, "+"), func() error { return p.w.store.Limits.UpdateLimits(ctx, keys, change) })
}

func (p *process) LookLimits(ctx context.Context, keys []string) (states [][]byte, now time.Time, err error) {
	return p.w.store.Limits.LookLimits(ctx, keys)
}

func (p *process) Suppressed(ctx context.Context, now time.Time, tenant, channel string, addresses []string) (found map[string]string, err error) {
	err = p.do("suppressed", func() error {
		found, err = p.w.store.Suppressions.Suppressed(ctx, now.Add(-p.skew), tenant, channel, addresses)
		return err
	})
	return found, err
}

func (p *process) Suppress(ctx context.Context, now time.Time, list []posthouse.Suppression) error {
	return p.do("suppress", func() error { return p.w.store.Suppressions.Suppress(ctx, now.Add(-p.skew), list) })
}

// AddMinutes and the others leave the counts out, and the rates: nothing that is judged follows from them.
func (p *process) AddMinutes(context.Context, time.Time, []work.Minute) error   { return nil }
func (p *process) Minutes(context.Context, time.Time) ([]work.Minute, error)    { return nil, nil }
func (p *process) FoldMinutes(context.Context, time.Time, int) (int, error)     { return 0, nil }
func (p *process) AddRates(context.Context, time.Time, []work.RateMinute) error { return nil }
func (p *process) DropRates(context.Context, time.Time, int) (int, error)       { return 0, nil }

var _ interface {
	database
	limit.Rows
} = (*process)(nil)

var _ database = storetest.Whole{}

// move shifts an instant; one that is not set stays so.
func move(t *time.Time, by time.Duration) {
	if !t.IsZero() {
		*t = t.Add(by)
	}
}

func moveDelivery(d *posthouse.Delivery, by time.Duration) {
	for _, t := range []*time.Time{&d.CreatedAt, &d.UpdatedAt, &d.DueAt, &d.NotBefore, &d.Deadline, &d.StartedAt, &d.FirstStartAt, &d.LeaseUntil} {
		move(t, by)
	}
}

func moveMessage(m *posthouse.Message, by time.Duration) {
	for _, t := range []*time.Time{&m.CreatedAt, &m.NotBefore, &m.Deadline} {
		move(t, by)
	}
}

func moveChanges(changes []work.Change, by time.Duration) {
	if by == 0 {
		return
	}
	for i := range changes {
		moveDelivery(&changes[i].Before, by)
		moveDelivery(&changes[i].After, by)
		for j := range changes[i].Events {
			e := &changes[i].Events[j]
			for _, t := range []*time.Time{&e.At, &e.Due, &e.LeaseUntil} {
				move(t, by)
			}
		}
	}
}

// meter notes what a process's limiter granted.
type meter struct {
	limit.SQL
	w *world
}

func (m meter) Take(ctx context.Context, bounds []limit.Bound, want int) (limit.Grant, error) {
	g, err := m.SQL.Take(ctx, bounds, want)
	for _, s := range g.Stamps {
		i := slices.IndexFunc(bounds, func(b limit.Bound) bool { return b.Key == s.Key })
		m.w.granted(s.Key, bounds[i].Windows, s.At, g.N)
	}
	if err == nil && g.N == 0 {
		m.w.saw("limiter refused", 1)
	}
	return g, err
}

func (m meter) Refund(ctx context.Context, g limit.Grant, n int) error {
	return m.RefundEach(ctx, []limit.Back{{Grant: g, N: n}})
}

func (m meter) RefundEach(ctx context.Context, list []limit.Back) error {
	for _, b := range list {
		for _, s := range b.Grant.Stamps {
			name := s.Key[strings.Index(s.Key, "/")+1:]
			m.w.granted(s.Key, m.w.channel(name).settings.Limits, s.At, -b.N)
		}
	}
	return m.SQL.RefundEach(ctx, list)
}
