package pull

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/verify"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// Of each run: how many phones fetch, from which channel, and how long they hold what they were handed.
const (
	phones      = 16
	channelName = "phones"
	lease       = 2 * time.Second
)

// liver is a phone of either protocol: live returns when it has died.
type liver interface {
	live(ctx context.Context)
}

// swarm is all phones of a run, and what outlives them.
type swarm struct {
	t         *testing.T
	network   *network
	words     *journal[verify.AgentLine]
	arrivals  *journal[verify.ArrivalLine]
	slowness  int          // how many of a thousand sends are slow
	seq       atomic.Int64 // of arrivals
	recovered atomic.Int64 // claims whose repeat found what their lost answer had handed out
	stale     atomic.Int64 // reports that came too late to change anything
	deaths    atomic.Int64
	hung      sync.Once // by the first phone that is handed anything

	calm    chan struct{} // closed when nobody dies any more
	closing chan struct{} // closed when nobody fetches any more
	over    context.CancelFunc
	running sync.WaitGroup
}

func newSwarm(t *testing.T, h *house.House, arrivals *journal[verify.ArrivalLine]) *swarm {
	t.Helper()
	return &swarm{
		t: t, network: newNetwork(t, h), words: newJournal[verify.AgentLine](t, "agents.jsonl"), arrivals: arrivals, slowness: house.Form(40, 15),
		calm: make(chan struct{}), closing: make(chan struct{}),
	}
}

// release lets phones loose. Each dies now and then, as by kill -9, and lives again.
func (s *swarm) release(list []liver) {
	var ctx context.Context
	ctx, s.over = context.WithCancel(s.t.Context())
	for i, p := range list {
		random := rand.New(rand.NewPCG(uint64(i), 9))
		s.running.Go(func() {
			for s.on(ctx) {
				s.oneLife(ctx, p, 500*time.Millisecond+time.Duration(random.Int64N(int64(4*time.Second))))
				house.Pause(ctx, time.Duration(random.Int64N(int64(200*time.Millisecond))))
			}
		})
	}
}

// oneLife ends after a time, or in calm with the run alone.
func (s *swarm) oneLife(ctx context.Context, p liver, length time.Duration) {
	life, die := context.WithCancel(ctx)
	defer die()
	s.running.Go(func() {
		select {
		case <-s.calm:
			return
		case <-life.Done():
			return
		case <-time.After(length):
		}
		select {
		case <-s.calm:
		default:
			s.deaths.Add(1)
			die()
		}
	})
	p.live(life)
}

// on reports whether a phone goes on fetching.
func (s *swarm) on(ctx context.Context) bool {
	select {
	case <-s.closing:
		return false
	default:
		return ctx.Err() == nil
	}
}

// end lets the phones finish what they have in hand, and ends them.
func (s *swarm) end() {
	close(s.closing)
	s.running.Wait()
	s.over()
	s.network.transport.CloseIdleConnections()
}

// arrived writes what the network took, or refused.
func (s *swarm) arrived(key, user, answer string) {
	n := s.seq.Add(1)
	s.arrivals.write(s.t, verify.ArrivalLine{
		Seq: n, At: time.Now().UTC(), Provider: "phone", Path: "/", Key: key, User: user, Text: "hello", Answer: answer, ID: fmt.Sprintf("sim-%d", n),
	})
}
