package engine

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse"
)

// FLOW-12: a new message wakes the process that took it in: it does not wait for the next look at the
// database, which comes each two seconds here.
func TestANewMessageIsSentAtOnceAndNotAtTheNextPoll(t *testing.T) {
	virtual(t, func(r *rig) {
		r.open("c", posthouse.ChannelSettings{}, idempotent)
		for range 10 { // at ten different moments between two looks
			r.pass(2300 * time.Millisecond)
			began := time.Now()
			r.send(text("c", "u1"))
			r.pass(time.Millisecond)
			if at := r.provider.last(); at.Before(began) || at.Sub(began) > time.Millisecond {
				r.Fatalf("a message of %s is not sent a millisecond later", began.Format(time.StampMilli))
			}
		}
	})
}

// last is when the last send came, the zero time before there was one.
func (p *provider) last() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.at) == 0 {
		return time.Time{}
	}
	return p.at[len(p.at)-1]
}
