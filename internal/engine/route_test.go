package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/work"
)

// slowClaim is a database that answers the first claim that finds anything when the test says so.
type slowClaim struct {
	Store
	once        sync.Once
	found, goOn chan struct{}
}

func (s *slowClaim) Claim(ctx context.Context, now time.Time, c work.Claim) ([]work.Item, error) {
	items, err := s.Store.Claim(ctx, now, c)
	if len(items) > 0 {
		s.once.Do(func() {
			close(s.found)
			<-s.goOn
		})
	}
	return items, err
}

// whileClaiming lets a test do something to the channel c while a delivery of it is claimed.
func whileClaiming(r *rig, o Opened, do func()) (id string) {
	r.Helper()
	db := &slowClaim{Store: r.store, found: make(chan struct{}), goOn: make(chan struct{})}
	r.between(db)
	r.open("c", posthouse.ChannelSettings{}, o)
	id = r.send(text("c", "u1"))[0]
	<-db.found
	do()
	close(db.goOn)
	r.pass(time.Second)
	return id
}

// Who pauses a channel wants nothing to start any more, also where its database is slow.
func TestWhatIsClaimedWhileItsChannelIsPausedIsGivenBack(t *testing.T) {
	for name, halt := range map[string]func(r *rig){
		"paused":  func(r *rig) { r.pause("c") },
		"removed": func(r *rig) { r.engine.RemoveChannel(r.tenant, "c") },
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(r *rig) {
				id := whileClaiming(r, Opened{}, func() { halt(r) })
				if d := r.want(id, posthouse.Pending, ReasonPaused, 0); d.Attempts != 0 || len(r.provider.to()) > 0 {
					r.Errorf("%d attempts are counted, sent to %v; want none", d.Attempts, r.provider.to())
				}
				r.open("c", posthouse.ChannelSettings{}, Opened{})
				r.pass(time.Second)
				r.want(id, posthouse.Sent, "", 0)
				if got := r.history(id); got != "accept start release start sent " {
					r.Errorf("got the history %q", got)
				}
			})
		})
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

func TestADriverIsOpenForWhatIsClaimedWhileItIsReplaced(t *testing.T) {
	virtual(t, func(r *rig) {
		old := &closable{}
		id := whileClaiming(r, Opened{Driver: old}, func() { r.open("c", posthouse.ChannelSettings{}, Opened{}) })
		r.want(id, posthouse.Sent, "", 0)
		if old.sent.Load() != 1 || old.late.Load() > 0 || !old.closed.Load() {
			r.Errorf("the old driver sent %d, %d of them closed, and is closed: %v; want one, and closed after it", old.sent.Load(), old.late.Load(), old.closed.Load())
		}
	})
}
