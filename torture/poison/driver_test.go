package poison

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// oddity is one way a driver misbehaves, and what must become of the delivery then.
type oddity struct {
	name string
	send func(ctx context.Context, end <-chan struct{}) channel.Result
	want posthouse.State
}

var rubbish = "a\x00b\xff" + strings.Repeat("字", 40_000)

var oddities = []oddity{
	{"panics", func(context.Context, <-chan struct{}) channel.Result { panic(rubbish) }, posthouse.Quarantined},
	{"panics with an error", func(context.Context, <-chan struct{}) channel.Result { panic(fmt.Errorf("boom")) }, posthouse.Quarantined},
	{"panics on its own data", func(context.Context, <-chan struct{}) channel.Result {
		var nothing map[string]string
		nothing["x"] = "y" //nolint:staticcheck // it is to panic
		return channel.Result{}
	}, posthouse.Quarantined},
	{"hangs until its time-out", func(ctx context.Context, _ <-chan struct{}) channel.Result {
		<-ctx.Done()
		return channel.Result{Class: posthouse.ClassUnknown, Code: channel.CodeTimeout}
	}, posthouse.Unknown},
	{"hangs for ever", func(_ context.Context, end <-chan struct{}) channel.Result {
		<-end
		return channel.Result{Class: posthouse.ClassOK}
	}, posthouse.Unknown},
	{"answers nothing", func(context.Context, <-chan struct{}) channel.Result { return channel.Result{} }, posthouse.Unknown},
	{"answers a class nobody knows", func(context.Context, <-chan struct{}) channel.Result {
		return channel.Result{Class: "maybe", Error: rubbish}
	}, posthouse.Unknown},
	{"refuses with rubbish", func(context.Context, <-chan struct{}) channel.Result {
		return channel.Result{Class: posthouse.ClassContent, Code: rubbish, Error: rubbish, Ref: rubbish, Request: rubbish, Response: rubbish}
	}, posthouse.Failed},
	{"accepts with rubbish", func(context.Context, <-chan struct{}) channel.Result {
		return channel.Result{Class: posthouse.ClassOK, Code: rubbish, Ref: rubbish, Request: rubbish, Response: rubbish}
	}, posthouse.Sent},
	{"asks to wait since before the ark", func(context.Context, <-chan struct{}) channel.Result {
		return channel.Result{Class: posthouse.ClassTransient, After: math.MinInt64}
	}, posthouse.Failed},
}

// oddDriver does what a message's text says, and accepts all others.
type oddDriver struct {
	end  chan struct{}
	mu   sync.Mutex
	good int
	last time.Time // when the last good one was accepted
}

func (d *oddDriver) describe() channel.Type {
	return channel.Type{
		Name: "odd", Title: "Odd", Doc: "Misbehaves as a message's text says.", MaxBatch: 1, Window: channel.Forever,
		Open: func(channel.Config, channel.Env) (channel.Driver, error) { return d, nil },
	}
}

// Send takes two milliseconds, as a provider near by does.
func (d *oddDriver) Send(ctx context.Context, out channel.Outgoing) channel.Result {
	for _, o := range oddities {
		if o.name == out.Content.Text {
			return o.send(ctx, d.end)
		}
	}
	house.Pause(ctx, 2*time.Millisecond)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.good, d.last = d.good+1, time.Now()
	return channel.Result{Class: posthouse.ClassOK}
}

func (d *oddDriver) done() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.good
}

// TestADriverThatMisbehavesHarmsNobodyElse (E1) drains a queue in which one message of a hundred makes
// the driver panic, hang or answer rubbish, and the same queue without those, in turns.
func TestADriverThatMisbehavesHarmsNobodyElse(t *testing.T) {
	house.Alone(t)
	for _, db := range databases(house.Postgres) {
		t.Run(string(db), func(t *testing.T) {
			messages, rounds := house.Size(2_000, 10_000), house.Size(1, 5)
			odd, wrong := 0, 0
			var ratios []float64
			for range rounds {
				clean := drain(t, db, messages, false)
				harmed := drain(t, db, messages, true)
				odd += len(harmed.odd)
				wrong += len(harmed.wrong)
				for _, w := range harmed.wrong[:min(3, len(harmed.wrong))] {
					t.Error(w)
				}
				ratios = append(ratios, harmed.rate/clean.rate)
			}
			slices.Sort(ratios)
			ratio := ratios[len(ratios)/2]
			house.Report(t, house.Row{
				Test: "E1", Database: string(db), What: fmt.Sprintf("the driver panics, hangs or answers rubbish, in %d ways", len(oddities)), N: odd, Unit: fmt.Sprintf("such messages, 1 %% of %d", rounds*messages),
				Figure: fmt.Sprintf("%d not in the state they should be in; the others are sent at %.0f %% of the speed without them (median of %d)", wrong, 100*ratio, rounds),
				Bar:    "0; ≥ 95 % in the full form", Bound: house.Bound(odd), Pass: wrong == 0 && (ratio >= 0.95 || !house.Full()),
			})
		})
	}
}

// drained is what one drain did.
type drained struct {
	rate  float64 // good messages a second
	odd   map[string]oddity
	wrong []string
}

// drain fills a new database's queue, and then measures how fast the good messages leave it.
func drain(t *testing.T, db house.Database, messages int, spoil bool) drained {
	t.Helper()
	dsn := db.DSN(t)
	d := drained{odd: map[string]oddity{}}
	driver := &oddDriver{end: make(chan struct{})}
	fill := serve(t, server.Options{DSN: dsn, AcceptOnly: true}, driver.describe())
	putOdd(t, fill)
	for from := 0; from < messages; from += 500 {
		drafts := make([]posthouse.Draft, min(500, messages-from))
		for i := range drafts {
			drafts[i] = house.Text("odd", from+i)
			if n := from + i; spoil && n%100 == 50 {
				drafts[i].Content.Text = oddities[n/100%len(oddities)].name
			}
		}
		accepted, err := fill.Accept(t.Context(), posthouse.DefaultTenant, drafts...)
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range accepted {
			if n := from + i; spoil && n%100 == 50 {
				d.odd[a.Deliveries[0].ID] = oddities[n/100%len(oddities)]
			}
		}
	}
	if err := fill.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	s := serve(t, server.Options{DSN: dsn, RescueEvery: 200 * time.Millisecond, LeaseMargin: time.Second}, driver.describe())
	good := messages - len(d.odd)
	house.Until(t, "all good messages are sent", func() bool { return driver.done() >= good })
	d.rate = float64(good) / driver.last.Sub(begin).Seconds()
	st := openStore(t, dsn)
	house.Until(t, "nothing is under way", func() bool {
		depths, err := st.Queue.Depths(t.Context())
		return err == nil && !hasWork(depths)
	})
	d.wrong = misplaced(t, st, &d)
	close(driver.end)
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	return d
}

// misplaced lists what is not in the state it should be in.
func misplaced(t *testing.T, st *store.Store, d *drained) (list []string) {
	t.Helper()
	f := work.Filter{Sight: work.SeeAll(), Tenant: posthouse.DefaultTenant, Limit: 1000}
	for {
		page, next, err := st.Messages.Deliveries(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for i := range page {
			want, name := posthouse.Sent, "is good"
			if o, ok := d.odd[page[i].ID]; ok {
				want, name = o.want, o.name
			}
			if page[i].State != want {
				list = append(list, fmt.Sprintf("a delivery whose driver %s is %s (%s): want %s", name, page[i].State, page[i].Reason, want))
			}
		}
		if f.Cursor = next; next == "" {
			return list
		}
	}
}

func putOdd(t *testing.T, s *server.Server) {
	t.Helper()
	ch := posthouse.Channel{Name: "odd", Driver: "odd"}
	ch.OnUnknown, ch.Tries, ch.MaxInflight = posthouse.Hold, 2, 100
	ch.Timeout, ch.Backoff = posthouse.Duration(500*time.Millisecond), []posthouse.Duration{posthouse.Duration(100 * time.Millisecond)}
	if _, err := s.PutChannel(t.Context(), posthouse.DefaultTenant, ch); err != nil {
		t.Fatal(err)
	}
}

// testKeyring is a fixed key: nothing here is secret.
const testKeyring = "test:cG9zdGhvdXNlLWJlbmNobWFyay1rZXlyaW5nLTAwMDE=" //nolint:gosec // not a secret

// serve starts a server in this process with drivers of the test; it stops with the test, if not before.
func serve(t *testing.T, o server.Options, drivers ...channel.Type) *server.Server {
	t.Helper()
	o.Addr, o.Keyring, o.Drivers, o.Log = "127.0.0.1:0", testKeyring, drivers, slog.New(slog.DiscardHandler)
	o.Announce = func(string) {}
	s, err := server.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.WithoutCancel(t.Context())) })
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}
