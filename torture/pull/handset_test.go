package pull

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/verify"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// handset is what phones of both protocols are. It lives many lives; between them it keeps what a phone has on
// its disk: which messages it has sent.
type handset struct {
	*swarm
	id   string
	rng  *rand.Rand
	sent map[string]bool // by idempotency key
}

func (s *swarm) handset(id string, number int) *handset {
	return &handset{swarm: s, id: id, rng: rand.New(rand.NewPCG(uint64(number), 1)), sent: map[string]bool{}}
}

// chance is true in so many cases of a thousand.
func (p *handset) chance(permille int) bool { return p.rng.IntN(1000) < permille }

// complain fails the test where a server refuses what it must take.
func (p *handset) complain(err error) {
	if status := (*statusError)(nil); errors.As(err, &status) && status.status < 500 && status.status != http.StatusConflict && status.status != http.StatusNotFound {
		p.t.Errorf("%s: %v", p.id, err)
	}
}

// send is what a phone does with one message, and what it thinks of it. Some take longer than their lease.
func (p *handset) send(ctx context.Context, key, number string) posthouse.Outcome {
	if p.sent[key] {
		return posthouse.OutcomeSent
	}
	slow := p.chance(p.slowness)
	if slow && p.chance(500) {
		house.Pause(ctx, lease+time.Second)
	}
	if slow {
		defer house.Pause(ctx, lease+time.Second)
	}
	switch n := p.rng.IntN(1000); {
	case n < 60:
		p.arrived(key, number, verify.ArrivalRefused)
		return posthouse.OutcomeNotSent
	case n < 80:
		if p.chance(500) {
			p.arrived(key, number, verify.ArrivalLost) // it does not know, and does not keep it in mind
		}
		return posthouse.OutcomeUnknown
	case n < 200:
		p.take(key, number)
		return posthouse.OutcomeDelivered
	}
	p.take(key, number)
	return posthouse.OutcomeSent
}

// take sends a message and keeps in mind that it has.
func (p *handset) take(key, number string) {
	p.sent[key] = true
	p.arrived(key, number, verify.ArrivalAccepted)
}

// word writes what a phone asked and was told.
func (p *handset) word(asked time.Time, op, delivery string, token int64, report string, outcome posthouse.Outcome, answer string) {
	if answer == string(posthouse.ReportStale) || answer == verify.AnswerRefused && op == verify.OpReport {
		p.stale.Add(1)
	}
	p.words.write(p.t, verify.AgentLine{
		At: time.Now().UTC(), Asked: asked.UTC(), Agent: p.id, Op: op, Delivery: delivery, Token: token, Report: report, Outcome: outcome, Answer: answer,
	})
}
