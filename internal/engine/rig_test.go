package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/admission"
	"github.com/posthouse/posthouse/internal/content"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/sqltest"
	"github.com/posthouse/posthouse/internal/store/storetest"
	"github.com/posthouse/posthouse/internal/transition"
	"github.com/posthouse/posthouse/internal/work"
)

// rig is an engine on a real SQLite database in virtual time, with a provider that the test plays.
type rig struct {
	*testing.T
	engine   *Engine
	store    *store.Store
	front    database // between engine and store, nil for none
	provider *provider
	tenant   string
	tracer   trace.TracerProvider // nil without
	sealer   content.Sealer
	refresh  func(context.Context) error
	kinds    []kind // that are claimed beside deliveries
	sends    Campaigns
	shapes   posthouse.Shapes
	senders  admission.Senders
}

// provider is the other side of a driver: it answers each send as the test says and remembers it.
type provider struct {
	mu     sync.Mutex
	answer func(out channel.Outgoing) channel.Result
	sends  []channel.Outgoing
	at     []time.Time
}

// decide has the provider answer one send after the other: what an answer remembers is written by many goroutines otherwise. It
// may not wait.
func (p *provider) decide(answer func(out channel.Outgoing) channel.Result) {
	p.answer = func(out channel.Outgoing) channel.Result {
		p.mu.Lock()
		defer p.mu.Unlock()
		return answer(out)
	}
}

// sent are the sends so far, while more may come.
func (p *provider) sent() []channel.Outgoing {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.sends)
}

func (p *provider) Send(ctx context.Context, out channel.Outgoing) channel.Result {
	p.mu.Lock()
	p.sends, p.at = append(p.sends, out), append(p.at, time.Now())
	answer := p.answer
	p.mu.Unlock()
	if answer == nil {
		return channel.Result{Class: posthouse.ClassOK, Ref: "ref-" + out.Delivery}
	}
	return answer(out)
}

// to lists the users that were sent to, in order.
func (p *provider) to() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var users []string
	for _, out := range p.sends {
		users = append(users, out.Recipient.User)
	}
	return users
}

// gaps are the times between the sends.
func (p *provider) gaps() []time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	var gaps []time.Duration
	for i := 1; i < len(p.at); i++ {
		gaps = append(gaps, p.at[i].Sub(p.at[i-1]))
	}
	return gaps
}

// hours marks a test of hours of virtual time, of which the race detector makes minutes: with it such a test runs where tests are not
// short. Nothing is in memory then that other tests do not share too.
func hours(t *testing.T) {
	t.Helper()
	if raced && testing.Short() {
		t.Skip("hours of virtual time: the race detector takes minutes for them")
	}
}

// virtual runs a test in virtual time on an engine that has started.
func virtual(t *testing.T, test func(r *rig)) {
	t.Parallel()
	dsn := sqltest.Ready.SQLite(t)
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.NewTextHandler(io.Discard, nil))
		st, err := store.Open(context.Background(), store.Options{DSN: dsn, Log: log})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		ring, err := secret.New(secret.GenerateKey())
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{T: t, store: st, provider: &provider{}, tenant: posthouse.DefaultTenant, sealer: ring}
		r.restart()
		defer func() { r.stop() }()
		test(r)
	})
}

// between puts a store of the test between the engine, which starts anew, and the database.
func (r *rig) between(s database) {
	r.stop()
	r.front = s
	r.restart()
}

// restart starts an engine, as a process that finds the database as it is.
func (r *rig) restart() {
	r.Helper()
	e, err := New(Options{Stores: parts(cmp.Or(r.front, database(storetest.All(r.store)))), Rosters: r.store.Rosters, Limiter: limit.SQL{Rows: r.store.Limits}, Log: slog.New(slog.NewTextHandler(r.Output(), nil)), Poll: 2 * time.Second, RescueEvery: 5 * time.Second, Tracer: r.tracer, Sealer: r.sealer, Refresh: r.refresh, Campaigns: r.sends, Shapes: r.shapes, Senders: r.senders})
	if err != nil {
		r.Fatal(err)
	}
	e.dispatcher.kinds = append(e.dispatcher.kinds, r.kinds...)
	if err := e.Start(context.Background()); err != nil {
		r.Fatal(err)
	}
	r.engine = e
}

func (r *rig) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	if err := r.engine.Stop(ctx); err != nil {
		r.Error(err)
	}
}

// open makes a channel over the rig's provider. Jitter is off unless set.
func (r *rig) open(name string, settings posthouse.ChannelSettings, o state.Opened) {
	r.Helper()
	if settings.Jitter == nil {
		settings.Jitter = new(float64)
	}
	if o.Driver == nil {
		o.Driver = r.provider
	}
	ch := posthouse.Channel{Tenant: r.tenant, Name: name, Driver: "test", ChannelSettings: settings, Version: 1}
	if err := r.engine.Routes.SetChannel(ch, o); err != nil {
		r.Fatal(err)
	}
	synctest.Wait() // its first claim, which would take what a test means for a channel that it pauses next
}

// send accepts a draft and returns its deliveries' ids.
func (r *rig) send(d posthouse.Draft) []string {
	r.Helper()
	answer, err := r.engine.Intake.Accept(context.Background(), intake.Request{Caller: work.Program(), Tenant: r.tenant, Drafts: []posthouse.Draft{d}})
	if err != nil {
		r.Fatal(err)
	}
	var ids []string
	for _, a := range answer.Accepted[0].Deliveries {
		ids = append(ids, a.ID)
	}
	return ids
}

func text(channel string, users ...string) posthouse.Draft {
	d := posthouse.Draft{Channel: channel, Content: &posthouse.Content{Text: "hello"}}
	for _, u := range users {
		d.To = append(d.To, posthouse.Recipient{User: u})
	}
	return d
}

// pass lets virtual time go by and everything settle.
func (r *rig) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (r *rig) get(id string) posthouse.Delivery {
	r.Helper()
	d, err := r.store.Messages.Delivery(context.Background(), r.tenant, id)
	if err != nil {
		r.Fatal(err)
	}
	return d
}

// want checks a delivery's state, reason and counted tries.
func (r *rig) want(id string, state posthouse.State, reason string, tries int) posthouse.Delivery {
	r.Helper()
	d := r.get(id)
	if d.State != state || d.Reason != reason || d.Tries != tries {
		r.Errorf("delivery to %s: got %s, %q, %d tries; want %s, %q, %d tries; history %s", d.User, d.State, d.Reason, d.Tries, state, reason, tries, r.history(id))
	}
	return d
}

// history is a delivery's events, and checks that each follows from the one before.
func (r *rig) history(id string) string {
	r.Helper()
	events, err := r.store.History.Events(context.Background(), r.tenant, id)
	if err != nil {
		r.Fatal(err)
	}
	line, last := "", posthouse.State("")
	for i, e := range events {
		if e.Version != int64(i+1) || e.From != last || !transition.Legal(e.From, e.Type, e.To) {
			r.Errorf("event %d of %s does not follow: %+v", i+1, id, e)
		}
		last = e.To
		line += fmt.Sprintf("%s ", e.Type)
	}
	return line
}

func payload(v any) json.RawMessage {
	b, _ := json.Marshal(v)
	return b
}

// pause pauses a channel as an operator does: by setting it anew.
func (r *rig) pause(name string) { r.Helper(); r.setPaused(name, true) }

func (r *rig) resume(name string) { r.Helper(); r.setPaused(name, false) }

func (r *rig) setPaused(name string, paused bool) {
	r.Helper()
	old := r.engine.Routes.route(r.tenant, name)
	ch := old.Stored
	ch.Paused = paused
	if err := r.engine.Routes.SetChannel(ch, old.Opened); err != nil {
		r.Fatal(err)
	}
}

// either is cmp.Or where another package has its name.
func either[T comparable](value, fallback T) T { return cmp.Or(value, fallback) }

// late hands over the result of an attempt as if it had just come back.
func (r *rig) late(item work.Item, result channel.Result) {
	route := r.engine.Routes.route(r.tenant, item.Delivery.Channel)
	r.engine.recorder.add(&group{
		of: r.engine.deliveries, route: route, is: about{kind: r.engine.deliveries, route: route, size: 1},
		ended: []done{{route: route, item: &item, verdict: verdictResult, result: result}},
	})
}

// quiet lets so much time go by that what comes next is due, and claimed: nobody knows any more that its lane is empty.
func (r *rig) quiet() { r.pass(lookFor + 2*lookAge) }
