package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/admission"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/content"
	"github.com/posthouse/posthouse/internal/decide"
	"github.com/posthouse/posthouse/internal/inquire"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/metrics"
	"github.com/posthouse/posthouse/internal/pacer"
	"github.com/posthouse/posthouse/internal/pull"
	"github.com/posthouse/posthouse/internal/quiet"
	"github.com/posthouse/posthouse/internal/rate"
	"github.com/posthouse/posthouse/internal/refuge"
	"github.com/posthouse/posthouse/internal/rescue"
	"github.com/posthouse/posthouse/internal/rollup"
	"github.com/posthouse/posthouse/internal/segment"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/suppress"
	"github.com/posthouse/posthouse/internal/taskbody"
	"github.com/posthouse/posthouse/internal/upkeep"
	"github.com/posthouse/posthouse/internal/usher"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/rule"
)

// Limiter decides how many sends may start now. limit's types satisfy it.
type Limiter interface {
	Take(ctx context.Context, bounds []limit.Bound, want int) (limit.Grant, error)
	Each(ctx context.Context, asks []limit.Ask) ([]limit.Grant, error)
	Refund(ctx context.Context, grant limit.Grant, n int) error
	RefundEach(ctx context.Context, list []limit.Back) error
	Peek(ctx context.Context, bounds []limit.Bound) (limit.Grant, error)
	Fills(ctx context.Context, bounds []limit.Bound) ([][]limit.Fill, error)
}

// DefaultKeep is how long settled deliveries are kept by default.
const DefaultKeep = 90 * 24 * time.Hour

// Options makes an engine. Stores, Rosters and Limiter are required.
type Options struct {
	Stores  Stores
	Rosters rule.Rosters
	// Roles say who has a role of the directory. Defaults to none: a draft that names one is refused.
	Roles intake.Roles
	// Rules are the rules there are. Defaults to rule.Types().
	Rules   []rule.Type
	Limiter Limiter
	// TenantLimits are the windows of all that a tenant sends, by its name; "*" is each that is not named. Defaults to
	// none.
	TenantLimits map[string][]posthouse.Limit
	// Senders bounds how many provider calls are under way in this process. Defaults to no bound but the channels' own.
	Senders admission.Senders
	// Shapes are the token buckets by which priorities of tenants begin. Defaults to none.
	Shapes posthouse.Shapes
	// Log defaults to slog.Default().
	Log *slog.Logger
	// Metrics defaults to a registry of its own.
	Metrics prometheus.Registerer
	// Tracer defaults to none.
	Tracer trace.TracerProvider
	// Owner names this process in leases. Defaults to pid and a random part.
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
	// KeepSent is how long those are kept that were sent or delivered. Defaults to Keep; negative keeps all.
	KeepSent time.Duration
	// KeepLogs is how long the logs of requests, hand-outs and reports are kept. Defaults to 90 days; negative
	// keeps all.
	KeepLogs time.Duration
	// Sealer encrypts the contents of sensitive messages. Defaults to none: then there can be none.
	Sealer content.Sealer
	// KeyTTL is how long an Idempotency-Key is kept. Defaults to 7 days.
	KeyTTL time.Duration
	// MaxRecipients bounds the recipients of one message. Defaults to 1000.
	MaxRecipients int
	// PlatformURL is put into the payload of templated messages as platformUrl, where they have none.
	// Defaults to none.
	PlatformURL string
	// TaskEvents takes the events of tasks that come through the outbox; one may come twice. Defaults to
	// none: they wait in the outbox.
	TaskEvents func(ctx context.Context, row work.Enqueued, event *taskbody.NewEvent) error
	// Jobs takes the jobs that come through the outbox, with their rows; one may come twice. Defaults to none: they
	// wait in the outbox.
	Jobs func(ctx context.Context, row work.Enqueued, job json.RawMessage) error
	// Accepters is how many transactions accept at once. Defaults to 1; the server passes 2
	// for databases with several writers.
	Accepters int
	// Refresh looks for channels that another process has made a moment ago; it is called when a
	// draft names one that is not known. Defaults to nothing.
	Refresh func(ctx context.Context) error
	// Broken reports whether there is a channel of this name that cannot be opened: what is handed
	// in for it is refused for now, not for good. Defaults to none.
	Broken func(tenant, channel string) bool
	// Outgrown says in what way the database was upgraded for newer programs than this one, and nothing where it was not. Defaults to never.
	Outgrown func(ctx context.Context) (string, error)
	// Elsewhere answers what is to be accepted while another place has to do so, with where that is. Defaults to never.
	Elsewhere func() error
	// Quotas bound how many deliveries may be open. Defaults to none.
	Quotas intake.Quotas
	// Media has the files that contents name by upload. Defaults to none.
	Media intake.Media
	// Choices are what users of the directory want of messages. Defaults to everything.
	Choices *suppress.Choices
	// Quiet has the quiet hours and caps of tenants. Defaults to none: those of channels hold alone.
	Quiet *quiet.Keeper
	// Feed is told of budgets that are nearly spent, or spent. Defaults to nobody.
	Feed upkeep.Feed
	// Woken has what else waits for quiet hours looked at anew, once they have changed. Defaults to nothing.
	Woken func(ctx context.Context, now time.Time) error
	// Routes begin the notifications of messages that name a route. Defaults to none: each is refused.
	Routes intake.Routing
	// Overdue lists the deliveries of a notification that are not to start any more. Defaults to none.
	Overdue func(ctx context.Context, tenant, notification string, now time.Time) (deliveries []string, err error)
	// Gatherer gathers messages that name a digest. Defaults to none: each is refused.
	Gatherer intake.Gatherer
	// Collection is what has gathered a delivery, for explain. Defaults to none.
	Collection func(ctx context.Context, tenant, id string) (posthouse.Collection, error)
	// Others are the deliveries that say more of one that is explained. Defaults to none.
	Others Others
	// Composers say what follows when a plan's moment has come, by its type. Defaults to none: then plans
	// are kept, and nothing comes of them.
	Composers map[work.PlanType]intake.Composer
	// Campaigns are what sending campaigns needs: all of it, or nothing. Defaults to nothing: then none are sent.
	Campaigns Campaigns
	// RepairEvery is how often segments are looked for that their workers have left. Defaults to 30s.
	RepairEvery time.Duration
	// AcceptOnly runs no dispatcher, recorder, rescuer or planner: a front door without a sender.
	AcceptOnly bool
}

// Campaigns are what the engine needs to send campaigns.
type Campaigns struct {
	Segments segment.Store
	Legs     segment.Legs
	Steward  segment.Steward
	// Directory says which users the members of campaigns are. Defaults to none: then members have no preferences and no languages of their own.
	Directory campaign.Directory
	// Scheduled judges what schedules start. Defaults to none: then they start no campaigns.
	Scheduled intake.Campaigns
}

// Engine is a running engine: New, Start, Stop. It wires roles and runs them; what it can do, they do.
type Engine struct {
	Contents  *content.Contents
	Intake    *intake.Intake
	Reminders *intake.Reminders
	Pull      pull.Pull
	Routes    *Routes
	Operator  decide.Operator
	Explainer *Explainer
	Gates     *Gatekeeper
	Rescuer   *rescue.Rescuer
	Pruner    *upkeep.Pruner
	// Campaigner is nil where no campaigns are sent.
	Campaigner *segment.Campaigner

	o          Options
	life       *life.Life
	shift      *shift
	recorder   *recorder
	sender     *sender
	deliveries *deliveries
	dispatcher *dispatcher
	seats      *seats
	permits    *permits
	rollup     *rollup.Rollup
	shaper     *admission.Shaper // nil where nothing is shaped
	usher      *usher.Usher
	queue      Queue // which tells the usher of what is settled
	measurer   *upkeep.Measurer
	holder     *segment.Holder // nil where no campaigns are sent
	stopOnce   sync.Once
}

// New makes an engine; nothing runs until Start.
func New(o Options) (*Engine, error) {
	if !o.Stores.complete() || o.Rosters == nil || o.Limiter == nil {
		return nil, errors.New("engine: Stores, Rosters and Limiter are required")
	}
	o.defaults()
	e := &Engine{o: o, life: life.New()}
	e.life.Elsewhere(o.Elsewhere)
	e.shift = newShift(e.life)
	m := metrics.New(o.Metrics)
	e.takeIn(m)
	e.sendOut(m)
	e.Routes.admits = admission.Options{
		Senders: e.pool(m), Shaper: e.shaper, Stale: e.life.Stale, Stuck: e.recorder.Stuck, Unsure: e.recorder.unsure, Again: o.Poll,
	}
	return e, nil
}

// pool is of as many senders as the load asks for; nil where their number has no bound.
func (e *Engine) pool(m *metrics.Metrics) *admission.Pool {
	if e.o.Senders.Max == 0 {
		return nil
	}
	return admission.NewPool(time.Now(), e.o.Senders, m.SendersAre)
}

func (o *Options) defaults() {
	o.Log = cmp.Or(o.Log, slog.Default())
	o.Location = cmp.Or(o.Location, time.UTC)
	o.Poll = cmp.Or(o.Poll, 250*time.Millisecond)
	o.RescueEvery = cmp.Or(o.RescueEvery, 2*time.Second)
	o.RepairEvery = cmp.Or(o.RepairEvery, 30*time.Second)
	o.LeaseMargin = cmp.Or(o.LeaseMargin, 10*time.Second)
	o.Keep = cmp.Or(o.Keep, DefaultKeep)
	o.KeepSent = cmp.Or(o.KeepSent, o.Keep)
	o.KeepLogs = cmp.Or(o.KeepLogs, 90*24*time.Hour)
	o.Accepters = cmp.Or(o.Accepters, 1)
	o.Quiet = keeperOf(o.Quiet, o)
	if o.Owner == "" {
		o.Owner = fmt.Sprintf("%d-%04x", os.Getpid(), rand.IntN(1<<16))
	}
	if o.Clock == nil {
		o.Clock = func(context.Context) (time.Time, error) { return time.Now(), nil }
	}
	if o.Metrics == nil {
		o.Metrics = prometheus.NewRegistry()
	}
}

// tracer is nil where nobody looks at traces.
func (o *Options) tracer() trace.Tracer {
	if o.Tracer == nil {
		return nil
	}
	return o.Tracer.Tracer("github.com/posthouse/posthouse/internal/engine")
}

// takeIn makes the roles that accept, and those that hand out.
func (e *Engine) takeIn(m *metrics.Metrics) {
	o, l := &e.o, e.life
	e.shaper = admission.NewShaper(o.Shapes)
	e.Contents = &content.Contents{Store: o.Stores.Contents, Sealer: o.Sealer, PlatformURL: o.PlatformURL, Now: l.Now}
	e.Routes = &Routes{rules: rule.Env{Types: o.Rules, Rosters: o.Rosters}, zone: o.Location, tenantLimits: o.TenantLimits, shift: e.shift, log: o.Log, metrics: m, routes: map[state.Key]*route{}}
	e.rollup = rollup.New(o.Stores.Minutes, l, o.Log)
	e.seats = &seats{routes: e.Routes, life: l, log: o.Log, owner: o.Owner, margin: o.LeaseMargin, age: lookAge, asked: make(chan struct{}, 1)}
	e.Intake = intake.New(intake.Options{
		Store: o.Stores.Intake, Contents: e.Contents, Channels: e.Routes, Life: l, Log: o.Log, Metrics: m, Tracer: o.tracer(),
		KeyTTL: o.KeyTTL, MaxRecipients: o.MaxRecipients, Refresh: o.Refresh, Broken: o.Broken, Quotas: o.Quotas, Media: o.Media, Counted: e.rollup.Accepted,
		Seats: e.seats, Rosters: o.Rosters, Roles: o.Roles, Location: o.Location, Routes: o.Routes, Gatherer: o.Gatherer,
	})
	e.usher = usher.New(o.Stores.Lines, e.Routes, l, o.Log)
	e.queue = watched{o.Stores.Queue, e.usher.Settled}
	e.Routes.standing = e.usher.Look
	e.Operator = decide.Operator{Queue: e.queue, Rouse: e.Routes.Rouse}
	e.Reminders = &intake.Reminders{Intake: e.Intake, Store: o.Stores.Reminders, Life: l, Location: o.Location, Withdraw: e.Operator.Withdraw, Campaigns: o.Campaigns.Scheduled}
	e.Pull = pull.New(pull.Options{
		HandOuts: o.Stores.HandOuts, Held: o.Stores.Held, Words: o.Stores.Words, Settled: e.usher.Settled, Contents: e.Contents, Channels: e.Routes, Limiter: o.Limiter,
		Sieve: e.sieve(), Quiet: o.Quiet, Life: l, Log: o.Log, Metrics: m, Poll: o.Poll, Owner: o.Owner,
		Counted: e.rollup.Add,
	})
	e.Routes.changed, e.Routes.pulled = e.Pull.Desk.WakeAll, e.Pull.Desk.Wake
	e.Explainer = &Explainer{routes: e.Routes, lines: o.Stores.Lines, depths: o.Stores.Depths, limiter: o.Limiter, life: l, collection: o.Collection, others: o.Others}
}

// sendOut makes the roles that claim, send, record and rescue.
func (e *Engine) sendOut(m *metrics.Metrics) {
	o, l, queue := &e.o, e.life, e.queue
	e.Gates = &Gatekeeper{store: o.Stores.Gates, routes: e.Routes, life: l, log: o.Log, metrics: m}
	e.permits = newPermits(o.Limiter, o.Log, m, o.Quiet)
	e.recorder = newRecorder(o.Log, e.Intake.Busy, e.permits.refund)
	e.sender = &sender{
		shift: e.shift, recorder: e.recorder, gates: e.Gates, halted: e.Routes.halted, log: o.Log, metrics: m, tracer: o.tracer(), margin: o.LeaseMargin,
	}
	e.Routes.ends = func(of rollup.AccountKey) (rate.Ends, float64) { return e.rollup.Of(of) }
	restore := &restorer{queue: queue, life: l, log: o.Log}
	e.deliveries = &deliveries{
		queue: queue, contents: e.Contents, suspects: &suspects{restore: restore}, restorer: restore, permits: e.permits, sieve: e.sieve(), quiet: o.Quiet,
		rollup: e.rollup, stands: e.usher.Look, rouse: e.Routes.Rouse, life: l, log: o.Log, metrics: m, owner: o.Owner,
	}
	e.dispatcher = &dispatcher{
		kinds: []kind{e.deliveries}, sender: e.sender, limiter: o.Limiter, permits: e.permits, life: l, log: o.Log, metrics: m,
		poll: o.Poll, margin: o.LeaseMargin,
	}
	e.seats.recorder, e.seats.sender, e.seats.deliveries, e.seats.queue = e.recorder, e.sender, e.deliveries, queue
	e.sendCampaigns(m)
	e.Rescuer = &rescue.Rescuer{
		Queue: queue, Failures: queue.Failures, Results: e.recorder, Settings: e.Routes.Settings, Reported: e.Pull.Reporter.Has, Unread: e.Pull.Roll.Unread, Returned: e.Pull.Desk.Returned,
		Life: l, Log: o.Log, Metrics: m, Every: o.RescueEvery,
	}
	e.Pruner = upkeep.NewPruner(upkeep.Pruner{Old: o.Stores.Old, Minutes: o.Stores.Minutes, Keep: work.RetentionOf(o.Keep, o.KeepSent), KeepLogs: o.KeepLogs, Life: l, Log: o.Log})
	turner := &refuge.Turner{Store: o.Stores.Depths, Served: e.Routes, Refresh: o.Refresh, Life: l, Log: o.Log}
	e.measurer = &upkeep.Measurer{Store: o.Stores.Depths, Counted: turner.Turn, Life: l, Log: o.Log, Metrics: m}
}

// sieve finds those among whom something has started to whom nothing is sent.
func (e *Engine) sieve() *suppress.Sieve {
	return &suppress.Sieve{Asked: e.o.Stores.Suppressed, Kept: e.o.Stores.Suppressed, Now: e.life.Now, Choices: e.o.Choices, Overdue: e.o.Overdue}
}

// sendCampaigns makes the roles that campaigns need besides.
func (e *Engine) sendCampaigns(m *metrics.Metrics) {
	o := &e.o
	if o.Campaigns.Segments == nil {
		return
	}
	e.holder = segment.NewHolder(segment.Options{
		Store: o.Campaigns.Segments, Legs: o.Campaigns.Legs, Life: e.life, Log: o.Log, Metrics: m, Owner: o.Owner, Brake: o.Campaigns.Steward,
		Terms: func(c *work.Campaign) (campaign.Terms, bool) {
			r := e.Routes.route(c.Tenant, c.Channel)
			if r == nil {
				return campaign.Terms{}, false
			}
			return termsOf(r, c), true
		},
	})
	rouse := func(l work.Lane, pin work.Pin) {
		e.Routes.Rouse(state.Key{Tenant: l.Tenant, Channel: l.Channel}, l.Priority, pin)
	}
	e.Campaigner = segment.NewCampaigner(o.Campaigns.Steward, e.holder, rouse, e.recorder.Stuck, o.Poll, o.RepairEvery)
	languages, _ := o.Stores.Contents.(content.Languages)
	e.dispatcher.kinds = append(e.dispatcher.kinds, &segments{e.holder, e.Routes, e.permits, e.sieve(), o.Campaigns.Directory, languages, o.Quiet, e.rollup, o.Log, m})
}

// Start reads the epoch and begins all roles. Channels are added with SetChannel, before or
// after.
func (e *Engine) Start(ctx context.Context) error {
	epoch, err := e.o.Stores.Epochs.Epoch(ctx)
	if err != nil {
		return err
	}
	if err := e.Gates.look(ctx); err != nil { // else each process that starts would try once more what is parked
		return err
	}
	e.life.SetEpoch(epoch)
	e.life.Set(ctx, e.o.Clock)
	for range e.o.Accepters {
		e.shift.loop(e.Intake.Run)
	}
	warden := &upkeep.Warden{Epochs: e.o.Stores.Epochs, Outgrown: e.o.Outgrown, Clock: e.o.Clock, Life: e.life, Log: e.o.Log, Every: e.o.RescueEvery}
	for _, role := range []func(context.Context){warden.Run, e.Pull.Reporter.Run, e.Pull.Desk.Attend, e.Pull.Roll.Run, e.usher.Run} {
		e.shift.loop(role)
	}
	if !e.o.AcceptOnly {
		for _, role := range e.roles() {
			e.shift.loop(role)
		}
		runner := &runner{dispatcher: e.dispatcher, life: e.life, log: e.o.Log, metrics: e.dispatcher.metrics}
		e.Routes.serve = func(r *route) {
			if r.Settings.Every > 0 {
				runner.serve(r)
			} else {
				e.dispatcher.dispatch(r)
			}
		}
	}
	e.Routes.start()
	return nil
}

// budgetRescues is how many looks for lost leases go by between two looks at budgets.
const budgetRescues = 5

// roles are those that a front door does not have.
func (e *Engine) roles() []func(context.Context) {
	o, l, m := &e.o, e.life, e.dispatcher.metrics
	relay := &intake.Relay{Intake: e.Intake, Store: o.Stores.Outbox, Life: l, Log: o.Log, Poll: o.Poll, Keep: o.Keep, TaskEvents: o.TaskEvents, Jobs: o.Jobs}
	poller := &poller{queue: o.Stores.Queue, routes: e.Routes, gates: e.Gates, life: l, log: o.Log, every: o.Poll}
	doors := e.doors()
	inquirer := &inquire.Inquirer{Doors: doors, Queue: e.queue, Failures: e.queue.Failures, Messages: o.Stores.Contents}
	tracker := &inquire.Tracker{Doors: doors, Store: o.Stores.Receipts, Settled: e.usher.Settled, Contents: e.Contents, Metrics: m}
	pace := &pacer.Pacer{Seen: e.rollup, Channels: e.Routes, Shaper: e.shaper, Rosters: o.Rosters, Kept: o.Stores.Minutes, Owner: o.Owner, Life: l, Log: o.Log, Metrics: m}
	budgets := &upkeep.Budgets{Spending: e.Routes, Counts: o.Limiter, Feed: o.Feed, Every: min(upkeep.DepthEvery, budgetRescues*o.RescueEvery), Life: l, Log: o.Log, Metrics: m}
	mover := &refuge.Mover{Queue: e.queue, Refuges: e.Routes, Life: l, Log: o.Log}
	waker := &rescue.Waker{Queue: e.queue, Quiet: o.Quiet, Channels: e.Routes, Woken: o.Woken, Life: l, Log: o.Log}
	list := []func(context.Context){
		budgets.Run,
		e.recorder.run, e.permits.run, e.rollup.Run, pace.Run, poller.run, e.seats.look, relay.Messages, relay.Events, e.planner().Run, e.Rescuer.Run, inquirer.Run, tracker.Run, mover.Run, waker.Run, e.Pruner.Run, e.Pruner.Forget, e.Pruner.Sweeping, e.measurer.Run,
	}
	if e.Campaigner != nil {
		list = append(list, e.Campaigner.Run)
	}
	return list
}

// Recaller asks providers to take back what was sent, whose history it reads.
func (e *Engine) Recaller(history func(ctx context.Context, tenant, delivery, cursor string, limit int) ([]posthouse.Event, string, error)) *inquire.Recaller {
	return &inquire.Recaller{Doors: e.doors(), Queue: e.queue, History: history, Contents: e.Contents, Collection: e.o.Collection}
}

// doors are the way to drivers.
func (e *Engine) doors() inquire.Doors {
	return inquire.Doors{Channels: e.Routes, Bounded: e.shift.bounded, Life: e.life, Log: e.o.Log, Every: e.o.RescueEvery, Grace: min(e.o.LeaseMargin/4, maxGrace)}
}

func (e *Engine) planner() *intake.Planner {
	return &intake.Planner{
		Intake: e.Intake, Store: e.o.Stores.Plans, Life: e.life, Log: e.o.Log, Metrics: e.dispatcher.metrics, Poll: e.o.Poll, Composers: e.o.Composers,
	}
}

// Rest starts no sends any more; all else goes on until Stop. The server calls it before it waits for the requests of
// callers and agents to finish: these need an engine that commits, and what it began to send meanwhile would have less
// time to end.
func (e *Engine) Rest() {
	e.shift.resting.Store(true)
	e.Routes.rest()
}

// Stop ends the engine: nothing new is claimed, sends under way may finish until ctx ends,
// results are recorded. It is idempotent; a shutdown burns no tries.
func (e *Engine) Stop(ctx context.Context) error {
	if !e.Routes.isStarted() {
		return nil
	}
	e.stopOnce.Do(func() {
		e.Rest()
		e.life.Stop()
		idle, inTime := e.shift.drain(ctx)
		if !inTime {
			e.o.Log.Warn("sends were still under way at the end of the drain: their outcome may be unknown")
		}
		if !e.o.AcceptOnly {
			e.recorder.finish(ctx)
			if e.holder != nil {
				e.holder.Release(e.life.Context())
			}
			e.permits.finish(ctx)
			e.rollup.Finish(ctx)
		}
		<-idle
		e.life.End()
	})
	e.shift.loops.Wait()
	return e.Routes.close()
}

// Outlive lets this process start nothing more: the database went back under it. It reports whether that is new.
func (e *Engine) Outlive() bool { return e.life.Outlive() }

// Outdated reports whether the database was upgraded under this process, for newer ones.
func (e *Engine) Outdated() bool { return e.life.Outdated() }

// Stale reports whether the database was restored or upgraded under this process.
func (e *Engine) Stale() bool { return e.life.Stale() }

// Epoch is that of the database when this process began to work on it.
func (e *Engine) Epoch() int64 { return e.life.Epoch() }

// Share says how many processes look for work in the database, this one among them.
func (e *Engine) Share(n int) { e.life.Share(n) }

// Unreadable is how many deliveries in the queue no role can move, as last counted.
func (e *Engine) Unreadable() int { return e.measurer.Unreadable() }

// Depths are what was open when it was last counted, and when that was.
func (e *Engine) Depths() ([]work.Depth, time.Time) { return e.measurer.Depths() }
