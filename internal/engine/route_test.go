package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/store/storetest"
	"github.com/posthouse/posthouse/internal/work"
)

// slowClaim is a database that answers the first start when the test says so: a claim that finds anything, or an accept.
type slowClaim struct {
	database
	once        sync.Once
	found, goOn chan struct{}
}

func (s *slowClaim) Claim(ctx context.Context, now time.Time, c work.Claim) ([]work.Item, error) {
	items, err := s.database.Claim(ctx, now, c)
	s.hold(len(items) > 0)
	return items, err
}

func (s *slowClaim) AcceptAndStart(ctx context.Context, now time.Time, subs []*work.Submission, seats work.Seats) ([]work.Outcome, []work.Start, error) {
	outcomes, starts, err := s.database.AcceptAndStart(ctx, now, subs, seats)
	s.hold(len(starts) > 0)
	return outcomes, starts, err
}

func (s *slowClaim) hold(found bool) {
	if found {
		s.once.Do(func() {
			close(s.found)
			<-s.goOn
		})
	}
}

// whileStarting lets a test do something to the channel c while a delivery of it starts: with its accept, or by a claim.
func whileStarting(r *rig, o state.Opened, claimed bool, do func()) (id string) {
	r.Helper()
	db := &slowClaim{database: storetest.All(r.store), found: make(chan struct{}), goOn: make(chan struct{})}
	r.between(db)
	r.open("c", posthouse.ChannelSettings{}, o)
	if claimed {
		r.quiet()
	}
	accepted := make(chan string)
	go func() { accepted <- r.send(text("c", "u1"))[0] }()
	<-db.found
	do()
	close(db.goOn)
	id = <-accepted
	r.pass(time.Second)
	return id
}

// Nothing starts any more on a channel that is paused, also where its database is slow.
func TestWhatStartsWhileItsChannelIsPausedIsGivenBack(t *testing.T) {
	for name, halt := range map[string]func(r *rig){
		"paused":  func(r *rig) { r.pause("c") },
		"removed": func(r *rig) { r.engine.Routes.RemoveChannel(r.tenant, "c") },
	} {
		for how, claimed := range map[string]bool{"by a claim": true, "with the accept": false} {
			t.Run(name+" "+how, func(t *testing.T) {
				virtual(t, func(r *rig) {
					id := whileStarting(r, state.Opened{}, claimed, func() { halt(r) })
					if d := r.want(id, posthouse.Pending, state.ReasonPaused, 0); d.Attempts != 0 || len(r.provider.to()) > 0 {
						r.Errorf("%d attempts are counted, sent to %v; want none", d.Attempts, r.provider.to())
					}
					r.open("c", posthouse.ChannelSettings{}, state.Opened{})
					r.pass(time.Second)
					r.want(id, posthouse.Sent, "", 0)
					if got := r.history(id); got != "accept start release start sent " {
						r.Errorf("got the history %q", got)
					}
				})
			})
		}
	}
}

// closable is a driver that counts its sends, and those after it was closed.
type closable struct {
	closed     atomic.Bool
	sent, late atomic.Int32
}

func (c *closable) Send(context.Context, channel.Outgoing) channel.Result {
	c.sent.Add(1)
	if c.closed.Load() {
		c.late.Add(1)
	}
	return channel.Result{Class: posthouse.ClassOK}
}

func (c *closable) Close() error {
	c.closed.Store(true)
	return nil
}

// A claim that is under way while a channel is stored finds what is accepted after that: it goes by the new settings.
func TestWhatStartsWhileItsChannelIsReplacedGoesByTheNew(t *testing.T) {
	for how, claimed := range map[string]bool{"by a claim": true, "with the accept": false} {
		t.Run(how, func(t *testing.T) {
			virtual(t, func(r *rig) {
				old, new := &closable{}, &closable{}
				id := whileStarting(r, state.Opened{Driver: old}, claimed, func() { r.open("c", posthouse.ChannelSettings{}, state.Opened{Driver: new}) })
				r.want(id, posthouse.Sent, "", 0)
				if got := r.history(id); got != "accept start release start sent " {
					r.Errorf("got the history %q", got)
				}
				if old.sent.Load() != 0 || new.sent.Load() != 1 || !old.closed.Load() {
					r.Errorf("the old driver sent %d and is closed: %v; the new sent %d; want 0, closed, 1", old.sent.Load(), old.closed.Load(), new.sent.Load())
				}
			})
		})
	}
}

// asked is a driver that is asked about what it sent, and notes whether it was closed before the answer.
type asked struct {
	closable
	begun, answer chan struct{}
	cut           atomic.Bool
}

func (a *asked) wait() {
	a.begun <- struct{}{}
	<-a.answer
	if a.closed.Load() {
		a.cut.Store(true)
	}
}

// inquired is asked what became of an unknown, and tracked whether it arrived.
type (
	inquired struct{ *asked }
	tracked  struct{ *asked }
)

func (q inquired) Send(context.Context, channel.Outgoing) channel.Result {
	return channel.Result{Class: posthouse.ClassUnknown}
}

func (q inquired) Query(context.Context, channel.Outgoing) (channel.Finding, channel.Result) {
	q.wait()
	return channel.Found, channel.Result{}
}

func (q tracked) Send(context.Context, channel.Outgoing) channel.Result {
	return channel.Result{Class: posthouse.ClassOK, Ref: "1", Await: time.Second}
}

func (q tracked) Track(context.Context, string, []posthouse.Recipient) ([]channel.Receipt, error) {
	q.wait()
	return []channel.Receipt{{Known: true, Delivered: true}}, nil
}

func TestADriverIsOpenForWhatItIsAskedWhileItIsReplaced(t *testing.T) {
	for name, c := range map[string]struct {
		driver func(*asked) channel.Driver
		policy posthouse.Policy
		state  posthouse.State
		reason string
		tries  int
	}{
		"inquirer": {func(a *asked) channel.Driver { return inquired{a} }, posthouse.Query, posthouse.Sent, "query_found", 1},
		"tracker":  {func(a *asked) channel.Driver { return tracked{a} }, posthouse.Hold, posthouse.Delivered, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(r *rig) {
				old := &asked{begun: make(chan struct{}), answer: make(chan struct{})}
				r.open("c", posthouse.ChannelSettings{OnUnknown: c.policy}, state.Opened{Driver: c.driver(old), Timeout: time.Minute})
				id := r.send(text("c", "u1"))[0]
				<-old.begun
				r.open("c", posthouse.ChannelSettings{OnUnknown: c.policy}, state.Opened{Driver: c.driver(&asked{})})
				synctest.Wait()
				if old.closed.Load() {
					r.Error("the driver was closed while it was asked")
				}
				close(old.answer)
				r.pass(time.Second)
				r.want(id, c.state, c.reason, c.tries)
				if old.cut.Load() || !old.closed.Load() {
					r.Errorf("closed before its answer: %v; closed after it: %v", old.cut.Load(), old.closed.Load())
				}
			})
		})
	}
}
