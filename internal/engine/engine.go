package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/rule"
)

// Store is what the engine needs of the database, in the parts its roles use.
type Store interface {
	accepts
	relays
	plans
	moves
	tracks
	knows
	handouts
	forgets
}

// accepts is the accepter's part.
type accepts interface {
	Accept(ctx context.Context, now time.Time, subs []*work.Submission) ([]work.Outcome, error)
	Template(ctx context.Context, tenant, name string, version int) (posthouse.Template, error)
	Addresses(ctx context.Context, tenant, channel string, users []string) (map[string]string, error)
}

// relays is the relay's part.
type relays interface {
	Outbox(ctx context.Context, now time.Time, kind work.Kind, max, bytes int) ([]work.Enqueued, error)
	Relay(ctx context.Context, now time.Time, list []work.Relay) ([]work.Outcome, error)
	Done(ctx context.Context, now time.Time, rows []string) error
	Reject(ctx context.Context, now time.Time, list []work.Rejection) ([]string, error)
	OutboxDepth(ctx context.Context) (waiting, rejected int, err error)
}

// plans is the planner's part, and what people do to reminders.
type plans interface {
	Plan(ctx context.Context, tenant string, kind work.PlanType, id string) (p work.Plan, found bool, err error)
	PlansByRef(ctx context.Context, tenant string, kind work.PlanType, about, ref string) ([]work.Plan, error)
	DuePlans(ctx context.Context, now time.Time, max int) ([]work.Plan, error)
	PutOffPlan(ctx context.Context, now time.Time, p work.Plan, why string, wait time.Duration) (held bool, err error)
}

// moves is what dispatcher, recorder and rescuer do to deliveries.
type moves interface {
	Ready(ctx context.Context, now time.Time, lanes []work.Lane) ([]bool, error)
	Claim(ctx context.Context, now time.Time, c work.Claim) ([]work.Item, error)
	Turn(ctx context.Context, now time.Time, from work.Lane, max int) (int, error)
	Record(ctx context.Context, now time.Time, decide func(now time.Time) []work.Change) (refused []string, err error)
	Revise(ctx context.Context, now time.Time, sel work.Selection,
		decide func(now time.Time, found []posthouse.Delivery) []work.Change) ([]posthouse.Delivery, error)
}

// knows is what all processes share besides deliveries.
type knows interface {
	Epoch(ctx context.Context) (int64, error)
	Gates(ctx context.Context, tenant string) ([]work.Gate, error)
	SetGate(ctx context.Context, now time.Time, g work.Gate, wait time.Duration) error
	ClearGate(ctx context.Context, tenant, channel, account string) error
	Message(ctx context.Context, tenant, id string) (posthouse.Message, int, error)
	OpenOf(ctx context.Context, tenant string, messages []string) ([]string, error)
	Depths(ctx context.Context) ([]work.Depth, error)
}

// handouts is what agents that pull do to deliveries.
type handouts interface {
	HandOut(ctx context.Context, now time.Time, h work.HandOut) (work.HandedOut, error)
	Renew(ctx context.Context, now time.Time, tenant, owner string, holds []work.Hold, lease time.Duration) ([]work.Renewed, error)
	Report(ctx context.Context, now time.Time, list []work.Report,
		decide func(now time.Time, r *work.Report, known work.Known) *work.Change) ([]work.Report, error)
	HeldBy(ctx context.Context, tenant, agent string) ([]posthouse.Delivery, error)
	SeenAgents(ctx context.Context, now time.Time, list []work.Seen) error
	Agent(ctx context.Context, tenant, id string) (posthouse.Agent, error)
}

// forgets is what goes for good when its time has come.
type forgets interface {
	Prune(ctx context.Context, now time.Time, keep time.Duration, max int) (int, error)
	PruneLogs(ctx context.Context, now time.Time, keep time.Duration, max int) (int, error)
	Forget(ctx context.Context, now time.Time, max int) (int, error)
	Sealed(ctx context.Context, tenant string, messages []string) (map[string]string, error)
}

// Limiter decides how many sends may start now. limit's types satisfy it.
type Limiter interface {
	Take(ctx context.Context, bounds []limit.Bound, want int) (limit.Grant, error)
	Refund(ctx context.Context, grant limit.Grant, n int) error
	Peek(ctx context.Context, bounds []limit.Bound) (limit.Grant, error)
}

// Options makes an engine. Store, Rosters and Limiter are required.
type Options struct {
	Store   Store
	Rosters rule.Rosters
	Limiter Limiter
	// Log defaults to slog.Default().
	Log *slog.Logger
	// Metrics defaults to a registry of its own.
	Metrics prometheus.Registerer
	// Tracer defaults to none.
	Tracer trace.TracerProvider
	// Owner names this process in leases. Defaults to host, pid and a random part.
	Owner string
	// Location is the zone of days and rosters. Defaults to UTC; the server passes Asia/Shanghai.
	Location *time.Location
	// Poll is how often the database is asked for work that nobody woke us for.
	// Defaults to 250ms, spread by a fifth.
	Poll time.Duration
	// RescueEvery is how often lost leases and passed deadlines are looked for. Defaults to 2s.
	RescueEvery time.Duration
	// LeaseMargin is what a lease lasts beyond its send's time-out, so that the result can be recorded. After
	// a crash, its deliveries wait for it. Defaults to 10s.
	LeaseMargin time.Duration
	// Clock reads the clock that times of deliveries go by, the database's. Defaults to this machine's.
	Clock func(ctx context.Context) (time.Time, error)
	// Keep is how long settled deliveries are kept. Defaults to 90 days; negative keeps all.
	Keep time.Duration
	// KeepLogs is how long the logs of requests, hand-outs and reports are kept. Defaults to 90 days; negative
	// keeps all.
	KeepLogs time.Duration
	// Sealer encrypts the contents of sensitive messages. Defaults to none: then there can be none.
	Sealer Sealer
	// KeyTTL is how long an Idempotency-Key is kept. Defaults to 7 days.
	KeyTTL time.Duration
	// MaxRecipients bounds the recipients of one message. Defaults to 1000.
	MaxRecipients int
	// PlatformURL is put into the payload of templated messages as platformUrl, where they have none.
	// Defaults to none.
	PlatformURL string
	// TaskEvents takes the events of tasks that come through the outbox; one may come twice. Defaults to
	// none: they wait in the outbox.
	TaskEvents func(ctx context.Context, tenant string, event posthouse.TaskEvent) error
	// Jobs takes the jobs that come through the outbox, with their rows; one may come twice. Defaults to none: they
	// wait in the outbox.
	Jobs func(ctx context.Context, row work.Enqueued, job json.RawMessage) error
	// Accepters is how many transactions accept at once. Defaults to 1; the server passes 2
	// for databases with several writers.
	Accepters int
	// Refresh looks for channels that another process has made a moment ago; it is called when a
	// draft names one that is not known. Defaults to nothing.
	Refresh func(ctx context.Context) error
	// Broken reports whether there is a channel of this name that can not be opened: what is handed
	// in for it is refused for now, not for good. Defaults to none.
	Broken func(tenant, channel string) bool
	// Composers say what follows when a plan's moment has come, by its type. Defaults to none: then plans
	// are kept, and nothing comes of them.
	Composers map[work.PlanType]Composer
	// AcceptOnly runs no dispatcher, recorder, rescuer or planner: a front door without a sender.
	AcceptOnly bool
}

// Engine is a running engine: New, Start, Stop.
type Engine struct {
	o          Options
	log        *slog.Logger
	metrics    *metrics
	tracer     trace.Tracer
	clock      clock
	epoch      atomic.Int64
	unreadable atomic.Int64 // rows of the queue that no role can move
	stale      atomic.Bool  // the database was restored under us: claim nothing
	suspect    atomic.Bool  // one that has lost leases is under way: no other begins

	mu     sync.RWMutex
	routes map[state.Key]*route

	templates templates
	accepter  *accepter
	recorder  *recorder
	reporter  *reporter
	desk      *desk
	seen      roll
	permits   permits
	turn      atomic.Int64  // which of its channels an agent is asked about first
	planning  chan struct{} // capacity 1: a plan is due

	started  bool
	resting  atomic.Bool   // no send starts any more; see Rest
	stopping chan struct{} // closed when nothing new may start
	loops    sync.WaitGroup
	claimers sync.WaitGroup // those of the loops that start sends
	sends    sync.WaitGroup
	sendCtx  context.Context // ends when the drain's time is over
	abort    context.CancelFunc
	bg       context.Context // ends after the last result is recorded
	end      context.CancelFunc
	stopOnce sync.Once
}

// New makes an engine; nothing runs until Start.
func New(o Options) (*Engine, error) {
	if o.Store == nil || o.Rosters == nil || o.Limiter == nil {
		return nil, errors.New("engine: Store, Rosters and Limiter are required")
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	o.Location = cmp.Or(o.Location, time.UTC)
	o.Poll = cmp.Or(o.Poll, 250*time.Millisecond)
	o.RescueEvery = cmp.Or(o.RescueEvery, 2*time.Second)
	o.LeaseMargin = cmp.Or(o.LeaseMargin, 10*time.Second)
	o.Keep = cmp.Or(o.Keep, 90*24*time.Hour)
	o.KeepLogs = cmp.Or(o.KeepLogs, 90*24*time.Hour)
	o.KeyTTL = cmp.Or(o.KeyTTL, 7*24*time.Hour)
	o.MaxRecipients = cmp.Or(o.MaxRecipients, draft.MaxRecipients)
	o.Accepters = cmp.Or(o.Accepters, 1)
	if o.Owner == "" {
		host, _ := os.Hostname()
		o.Owner = fmt.Sprintf("%s-%d-%04x", host, os.Getpid(), rand.IntN(1<<16))
	}
	if o.Clock == nil {
		o.Clock = func(context.Context) (time.Time, error) { return time.Now(), nil }
	}
	if o.Metrics == nil {
		o.Metrics = prometheus.NewRegistry()
	}
	if o.Tracer == nil {
		o.Tracer = noop.NewTracerProvider()
	}
	e := &Engine{
		o: o, log: o.Log, tracer: o.Tracer.Tracer("github.com/posthouse/posthouse/internal/engine"),
		routes: map[state.Key]*route{}, stopping: make(chan struct{}), planning: make(chan struct{}, 1),
	}
	e.metrics = newMetrics(o.Metrics)
	e.accepter = newAccepter(e)
	e.recorder = newRecorder(e)
	e.reporter = newReporter(e)
	e.desk = newDesk()
	return e, nil
}

// Start reads the epoch and begins all roles. Channels are added with SetChannel, before or
// after.
func (e *Engine) Start(ctx context.Context) error {
	epoch, err := e.o.Store.Epoch(ctx)
	if err != nil {
		return err
	}
	e.epoch.Store(epoch)
	e.clock.set(ctx, e.o.Clock)
	e.bg, e.end = context.WithCancel(context.WithoutCancel(ctx))
	e.sendCtx, e.abort = context.WithCancel(e.bg)
	e.started = true
	for range e.o.Accepters {
		e.loop(e.accepter.run)
	}
	e.loop(e.watchEpoch)
	e.loop(e.reporter.run)
	e.loop(e.attend)
	e.loop(e.noteSeen)
	if e.o.AcceptOnly {
		return nil
	}
	e.loop(e.recorder.run)
	e.loop(e.poll)
	e.loop(e.relay)
	e.loop(e.relayEvents)
	e.loop(e.plan)
	e.loop(e.rescue)
	e.loop(e.inquire)
	e.loop(e.track)
	e.loop(e.prune)
	e.loop(e.forget)
	e.loop(e.measure)
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.routes {
		e.begin(r)
	}
	return nil
}

// loop runs one role until it returns.
func (e *Engine) loop(role func(ctx context.Context)) {
	e.loops.Add(1)
	go func() {
		defer e.loops.Done()
		role(e.bg)
	}()
}

// Rest starts no sends any more; all else goes on until Stop. Who serves callers and agents calls it before it waits
// for their requests to finish: these need an engine that commits, and what it began to send meanwhile would have less
// time to end.
func (e *Engine) Rest() {
	e.resting.Store(true)
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.routes {
		r.cancel()
	}
}

// Stop ends the engine: nothing new is claimed, sends under way may finish until ctx ends,
// results are recorded. It is idempotent; a shutdown burns no tries.
func (e *Engine) Stop(ctx context.Context) error {
	if !e.started {
		return nil
	}
	e.stopOnce.Do(func() {
		e.Rest()
		close(e.stopping)
		idle := make(chan struct{})
		go func() {
			e.claimers.Wait() // a claim under way may still hand over what it got: it is given back
			e.sends.Wait()
			close(idle)
		}()
		select {
		case <-idle:
		case <-ctx.Done():
			e.log.Warn("sends are still under way at the end of the drain: their outcome may be unknown")
			e.abort()
			select {
			case <-idle:
			case <-time.After(abortGrace):
			}
		}
		e.recorder.finish(ctx)
		<-idle
		e.end()
	})
	e.loops.Wait()
	return e.closeDrivers()
}

// closeDrivers ends the connections of all channels.
func (e *Engine) closeDrivers() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var errs []error
	for key, r := range e.routes {
		if closer, ok := r.Opened.Driver.(io.Closer); ok {
			errs = append(errs, closer.Close())
		}
		delete(e.routes, key)
	}
	return errors.Join(errs...)
}

// abortGrace is how long sends that were cut off have to say so.
const abortGrace = 2 * time.Second

// Epoch is the epoch this process was started in.
func (e *Engine) Epoch() int64 { return e.epoch.Load() }

// pause waits for d, or until the engine stops; it reports whether to go on.
func (e *Engine) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-e.stopping:
		return false
	}
}

// spread is d with up to a fifth added, so that many processes do not poll in step.
func spread(d time.Duration) time.Duration { return d + time.Duration(rand.Int64N(int64(d)/5+1)) }
