package pull

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/verify"
	"github.com/posthouse/posthouse/torture/house"
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
	deaths    atomic.Int64

	calm    chan struct{} // closed when nobody dies any more
	over    context.CancelFunc
	running sync.WaitGroup
}

func newSwarm(t *testing.T, h *house.House, arrivals *journal[verify.ArrivalLine]) *swarm {
	t.Helper()
	return &swarm{
		t: t, network: newNetwork(t, h), words: newJournal[verify.AgentLine](t, "agents.jsonl"), arrivals: arrivals, slowness: 15, calm: make(chan struct{}),
	}
}

// release lets phones loose. Each dies now and then, as by kill -9, and lives again.
func (s *swarm) release(list []liver) {
	var ctx context.Context
	ctx, s.over = context.WithCancel(s.t.Context())
	for i, p := range list {
		random := rand.New(rand.NewPCG(uint64(i), 9))
		s.running.Go(func() {
			for ctx.Err() == nil {
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

// end lets the phones finish nothing more.
func (s *swarm) end() {
	s.over()
	s.running.Wait()
	s.network.transport.CloseIdleConnections()
}

// word writes what a phone asked and was told.
func (p *phone) word(asked time.Time, op, delivery string, token int64, report string, outcome posthouse.Outcome, answer string) {
	p.words.write(p.t, verify.AgentLine{
		At: time.Now().UTC(), Asked: asked.UTC(), Agent: p.id, Op: op, Delivery: delivery, Token: token, Report: report, Outcome: outcome, Answer: answer,
	})
}

// arrived writes what the network took, or refused.
func (s *swarm) arrived(key, user, answer string) {
	n := s.seq.Add(1)
	s.arrivals.write(s.t, verify.ArrivalLine{
		Seq: n, At: time.Now().UTC(), Provider: "phone", Path: "/", Key: key, User: user, Text: "hello", Answer: answer, ID: fmt.Sprintf("sim-%d", n),
	})
}
