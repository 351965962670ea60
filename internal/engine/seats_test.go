package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/admission"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/store/storetest"
	"github.com/posthouse/posthouse/internal/work"
)

// door is a database that counts what begins with its accept and what is claimed, and fails when the test says so.
type door struct {
	database
	started, claimed, disowned atomic.Int64
	mu                         sync.Mutex
	accept                     func() error // instead of an accept
	answer                     func() error // to one that was stored
	disown                     func() error // instead of a look for one
}

// errAgain has a transaction run again.
var errAgain = errors.New("again")

func (d *door) set(set func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	set()
}

func (d *door) fault(of *func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if *of == nil {
		return nil
	}
	return (*of)()
}

func (d *door) AcceptAndStart(ctx context.Context, now time.Time, subs []*work.Submission, seats work.Seats) ([]work.Outcome, []work.Start, error) {
	if err := d.fault(&d.accept); err != nil { // the first run is undone: for good, or for another
		seats.Run(now)
		m := &subs[0].Entries[0].Message
		seats.Ask(work.Lane{Tenant: m.Tenant, Channel: m.Channel, Priority: m.Priority}, 1)
		if !errors.Is(err, errAgain) {
			return nil, nil, err
		}
	}
	outcomes, starts, err := d.database.AcceptAndStart(ctx, now, subs, seats)
	for _, of := range starts {
		d.started.Add(int64(len(of.Items)))
	}
	if lost := d.fault(&d.answer); lost != nil && err == nil {
		return nil, nil, lost
	}
	return outcomes, starts, err
}

func (d *door) Claim(ctx context.Context, now time.Time, c work.Claim) ([]work.Item, error) {
	items, err := d.database.Claim(ctx, now, c)
	d.claimed.Add(int64(len(items)))
	return items, err
}

func (d *door) Disown(ctx context.Context, now time.Time, lane work.Lane, of work.Seating) ([]string, error) {
	if err := d.fault(&d.disown); err != nil {
		return nil, err
	}
	d.disowned.Add(1)
	return d.database.Disown(ctx, now, lane, of)
}

// doored runs a test on an engine whose starts are counted.
func doored(t *testing.T, test func(r *rig, d *door)) {
	virtual(t, func(r *rig) {
		d := &door{database: storetest.All(r.store)}
		r.between(d)
		test(r, d)
	})
}

// taken is how many seats are taken: at least one where something is reserved.
func (r *rig) taken(name string) int {
	of := r.engine.Routes.route(r.tenant, name).admission
	if busy, _ := of.Busy(); !busy {
		return 0
	}
	return max(1, of.UnderWay())
}

// try accepts a draft, or says why not.
func (r *rig) try(d posthouse.Draft) error {
	_, err := r.engine.Intake.Accept(r.Context(), intake.Request{Caller: work.Program(), Tenant: r.tenant, Drafts: []posthouse.Draft{d}})
	return err
}

func TestAMessageBeginsWithItsAccept(t *testing.T) {
	doored(t, func(r *rig, d *door) {
		r.open("c", posthouse.ChannelSettings{}, state.Opened{})
		id := r.send(text("c", "u1"))[0]
		r.pass(time.Millisecond)
		r.want(id, posthouse.Sent, "", 0)
		if got := r.history(id); got != "accept start sent " || d.started.Load() != 1 || d.claimed.Load() != 0 {
			r.Errorf("history %q, %d began with their accepts, %d were claimed; want one that was not claimed", got, d.started.Load(), d.claimed.Load())
		}
		if n := r.taken("c"); n != 0 {
			r.Errorf("%d slots are taken when all is sent", n)
		}
		// A lane that goes on asking is looked at, whatever is claimed; one that was quiet is asked for with the first.
		r.quiet()
		for range 100 {
			r.send(text("c", "u2"))
			r.pass(30 * time.Millisecond)
		}
		if s, c := d.started.Load(), d.claimed.Load(); s < 95 || s+c != 101 {
			r.Errorf("%d of 101 began with their accepts, %d were claimed", s, c)
		}
	})
}

// What may not begin at once, or would have to be asked for elsewhere than in memory, is due.
func TestWithoutASeatWhatIsAcceptedIsDue(t *testing.T) {
	ever := posthouse.Duration(time.Minute)
	for name, of := range map[string]struct {
		settings posthouse.ChannelSettings
		begin    func(r *rig)
		draft    func(d *posthouse.Draft)
	}{
		"a paused channel":         {posthouse.ChannelSettings{}, func(r *rig) { r.pause("c") }, nil},
		"a window":                 {posthouse.ChannelSettings{Limits: []posthouse.Limit{{Max: 10, Per: ever}}}, nil, nil},
		"a rate":                   {posthouse.ChannelSettings{Rate: &posthouse.RateSettings{Base: 10}}, nil, nil},
		"runs":                     {posthouse.ChannelSettings{Every: &ever}, nil, nil},
		"results cannot be stored": {posthouse.ChannelSettings{}, func(r *rig) { r.engine.recorder.database.Store(takesNone) }, nil},
		"it is not sure":           {posthouse.ChannelSettings{}, func(r *rig) { r.engine.recorder.database.Store(mayTake) }, nil},
		"another epoch":            {posthouse.ChannelSettings{}, func(r *rig) { r.engine.Outlive() }, nil},
		"it rests":                 {posthouse.ChannelSettings{}, func(r *rig) { r.engine.Rest() }, nil},
		"a parked account": {posthouse.ChannelSettings{}, func(r *rig) {
			r.provider.answer = func(channel.Outgoing) channel.Result { return channel.Result{Class: posthouse.ClassAuth} }
			r.send(text("c", "u0"))
			r.pass(time.Millisecond)
		}, nil},
		"two recipients":  {posthouse.ChannelSettings{}, nil, func(d *posthouse.Draft) { d.To = append(d.To, posthouse.Recipient{User: "u2"}) }},
		"an ordering key": {posthouse.ChannelSettings{}, nil, func(d *posthouse.Draft) { d.OrderingKey = "k" }},
		"scheduled":       {posthouse.ChannelSettings{}, nil, func(d *posthouse.Draft) { d.NotBefore = time.Now().Add(time.Hour) }},
		"a deadline":      {posthouse.ChannelSettings{}, nil, func(d *posthouse.Draft) { d.Deadline = time.Now().Add(time.Hour) }},
		"sensitive":       {posthouse.ChannelSettings{}, nil, func(d *posthouse.Draft) { d.Sensitive = true }},
		"a quiet channel": {posthouse.ChannelSettings{}, func(r *rig) { r.quiet() }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			doored(t, func(r *rig, d *door) {
				r.open("c", of.settings, state.Opened{})
				if of.begin != nil {
					of.begin(r)
				}
				before := d.started.Load()
				draft := text("c", "u1")
				if of.draft != nil {
					of.draft(&draft)
				}
				r.send(draft)
				if n := d.started.Load() - before; n != 0 {
					r.Errorf("%d began with their accepts, want none", n)
				}
				synctest.Wait()
			})
		})
	}
}

// What another process has accepted, and nobody here announced, is found though what comes here begins at once.
func TestABacklogIsNotPassedForEver(t *testing.T) {
	doored(t, func(r *rig, d *door) {
		r.open("c", posthouse.ChannelSettings{}, state.Opened{})
		r.send(text("c", "first"))
		r.pass(time.Millisecond)
		id := posthouse.NewID()
		e := work.Entry{Message: posthouse.Message{ID: id, Tenant: r.tenant, Channel: "c", Priority: posthouse.Normal, Content: posthouse.Content{Text: "hello"}}}
		e.Deliveries = []posthouse.Delivery{{
			ID: posthouse.DeliveryID(id, 1), Message: id, Tenant: r.tenant, Channel: "c", Priority: posthouse.Normal, State: posthouse.Pending,
			Recipient: posthouse.Recipient{User: "waits"}, IdemKey: posthouse.DeliveryID(id, 1), OnUnknown: posthouse.Hold, Epoch: 1,
		}}
		if _, err := r.store.Submissions.Accept(r.Context(), time.Now(), []*work.Submission{{Tenant: r.tenant, Entries: []work.Entry{e}}}); err != nil {
			r.Fatal(err)
		}
		for range 25 { // the poller looks every two seconds
			r.send(text("c", "u1"))
			r.pass(10 * time.Millisecond)
		}
		r.want(e.Deliveries[0].ID, posthouse.Sent, "", 0)
		if d.started.Load() < 10 {
			r.Errorf("%d began with their accepts: no stream would have passed it", d.started.Load())
		}
	})
}

// Where seats are too few the rest is due, and goes before what comes later.
func TestWhatFindsNoSeatGoesBeforeWhatComesLater(t *testing.T) {
	doored(t, func(r *rig, d *door) {
		free := make(chan struct{})
		r.provider.answer = func(channel.Outgoing) channel.Result {
			<-free
			return channel.Result{Class: posthouse.ClassOK}
		}
		r.open("c", posthouse.ChannelSettings{MaxInflight: 2}, state.Opened{})
		for i := range 5 {
			r.send(text("c", fmt.Sprint("u", i)))
			synctest.Wait()
		}
		if n := d.started.Load(); n != 2 || r.taken("c") != 2 {
			r.Errorf("%d began, %d are under way; want two", n, r.taken("c"))
		}
		for i := range 5 {
			free <- struct{}{}
			r.pass(10 * time.Millisecond)
			r.send(text("c", fmt.Sprint("v", i)))
			synctest.Wait()
		}
		close(free)
		r.pass(time.Second)
		if got := fmt.Sprint(r.provider.to()[:7]); got != "[u0 u1 u2 u3 u4 v0 v1]" {
			r.Errorf("sent to %s", got)
		}
	})
}

// The answer to the commit is lost: what is stored is not sent by it, its seat is taken until that is known, and then it is sent once.
func TestAStartWithoutAnAnswerGoesBackUnsent(t *testing.T) {
	for name, stored := range map[string]bool{"stored": true, "not stored": false} {
		t.Run(name, func(t *testing.T) {
			doored(t, func(r *rig, d *door) {
				r.open("c", posthouse.ChannelSettings{OnUnknown: posthouse.Hold}, state.Opened{})
				away := errors.New("the database is away")
				d.set(func() {
					d.answer = func() error { return errLostCommit }
					d.disown = func() error { return away }
				})
				if !stored {
					d.database = uncommitted{d.database}
				}
				err := r.try(text("c", "u1"))
				if posthouse.CodeOf(err) != posthouse.CodeOutcomeUnknown {
					r.Fatalf("the caller is told %v", err)
				}
				r.pass(5 * time.Second)
				if r.taken("c") != 1 || len(r.provider.to()) != 0 {
					r.Errorf("while nobody knows %d seats are taken, sent to %v; want one, and nobody", r.taken("c"), r.provider.to())
				}
				d.set(func() { d.answer, d.disown = nil, nil })
				r.pass(2 * time.Second)
				if r.taken("c") != 0 || d.disowned.Load() != 1 {
					r.Errorf("%d seats are taken when it is known, after %d looks", r.taken("c"), d.disowned.Load())
				}
				want := 0
				if stored {
					want = 1
				}
				if got := r.provider.to(); len(got) != want {
					r.Errorf("sent to %v, want %d", got, want)
				}
				r.pass(time.Minute) // its lease ends
				unknown, _, err := r.store.Messages.Deliveries(r.Context(), work.Filter{Tenant: r.tenant, Sight: work.SeeAll(), States: []posthouse.State{posthouse.Unknown}})
				if err != nil || len(unknown) > 0 {
					r.Errorf("unknown is %v, %v", unknown, err)
				}
			})
		})
	}
}

// uncommitted is a database in which accepts are undone after they took their seats.
type uncommitted struct{ database }

func (uncommitted) AcceptAndStart(_ context.Context, now time.Time, subs []*work.Submission, seats work.Seats) ([]work.Outcome, []work.Start, error) {
	seats.Run(now)
	for _, sub := range subs {
		m := &sub.Entries[0].Message
		seats.Ask(work.Lane{Tenant: m.Tenant, Channel: m.Channel, Priority: m.Priority}, 1)
	}
	return nil, nil, errLostCommit
}

// shared is a source that several goroutines draw from.
type shared struct {
	mu  sync.Mutex
	src rand.Source
}

func (s *shared) Uint64() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.src.Uint64()
}

// Whatever fails, and however often: at the end every seat is free, and every sender.
func TestNoSeatLeaks(t *testing.T) {
	virtual(t, func(r *rig) {
		r.senders = admission.Senders{Min: 3, Max: 3}
		d := &door{database: storetest.All(r.store)}
		r.between(d)
		chance := rand.New(&shared{src: rand.NewPCG(1, 2)}) // sends draw of it too
		sometimes := func(share float64, err error) func() error {
			return func() error {
				if chance.Float64() < share {
					return err
				}
				return nil
			}
		}
		refused := posthouse.Errorf(posthouse.CodeUnavailable, "refused")
		undone := func() error { return cmp.Or(sometimes(0.2, refused)(), sometimes(0.2, errAgain)()) }
		d.set(func() {
			d.accept, d.answer, d.disown = undone, sometimes(0.2, errLostCommit), sometimes(0.5, refused)
		})
		r.provider.decide(func(channel.Outgoing) channel.Result {
			return channel.Result{Class: []posthouse.Class{posthouse.ClassOK, posthouse.ClassTransient, posthouse.ClassRecipient, posthouse.ClassUnknown}[chance.IntN(4)]}
		})
		r.open("c", posthouse.ChannelSettings{MaxInflight: 4}, state.Opened{})
		for i := range 300 {
			_ = r.try(text("c", fmt.Sprint("u", i))) // some are told that it failed
			if chance.IntN(20) == 0 {
				r.open("c", posthouse.ChannelSettings{MaxInflight: 4}, state.Opened{})
			}
			r.pass(time.Duration(chance.IntN(30)) * time.Millisecond)
		}
		d.set(func() { d.accept, d.answer, d.disown = nil, nil, nil })
		r.pass(10 * time.Minute)
		if r.taken("c") != 0 || d.started.Load() < 50 {
			r.Errorf("%d seats are taken, of %d that began with their accepts", r.taken("c"), d.started.Load())
		}
		res := r.engine.Routes.route(r.tenant, "c").admission.ReserveIn(time.Now(), admission.Lane{Priority: posthouse.Normal}, 10)
		if res == nil || res.N() != 3 {
			r.Errorf("%+v is free, want all 3 senders", res)
		} else {
			res.Close()
		}
	})
}
