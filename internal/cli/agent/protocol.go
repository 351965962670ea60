package agent

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// protocol is a server, in the words that the app speaks.
type protocol interface {
	// claim fetches deliveries. The id makes a repeat find the same ones, where the protocol has it.
	claim(ctx context.Context, id string) (claimed, error)
	// renew makes the leases of what is held last longer, where the protocol has it.
	renew(ctx context.Context, tasks []*task) error
	// start tells that a message is about to be sent, or answers why it must not be.
	start(ctx context.Context, t *task) (refused string, err error)
	// giveBack returns what was not started.
	giveBack(ctx context.Context, tasks []*task, reason string) error
	// report tells what came of messages, and answers in their order what the server made of it.
	report(ctx context.Context, list []posthouse.AgentReport) ([]posthouse.ReportResult, error)
}

// hearer is a server that takes the texts that a phone gets.
type hearer interface {
	received(ctx context.Context, texts []wire.ReceivedText) ([]wire.ReceivedResult, error)
}

// claimed is what a claim was answered with.
type claimed struct {
	tasks  []*task
	reason string        // why there is nothing, empty for no work
	after  time.Duration // when to ask again, 0 for at once
}

// nothing reports whether there was nothing, and is no reason to ask again.
func (c claimed) nothing() bool { return len(c.tasks) == 0 && c.after == 0 }

// task is a delivery as the app holds it.
type task struct {
	delivery string
	token    int64
	key      string // the same whenever the delivery is handed out
	text     Text
	started  bool // the server knows that it is being sent
	once     bool // no claim finds it again: the app itself must remember it, and cannot give it back
	lease    time.Duration
	until    time.Time // by the app's own clock, when the lease ends
}

func (t *task) over(now time.Time) bool { return !now.Before(t.until) }

// resultRefused is a report that the server cannot read. It will not read it the next time either.
const resultRefused posthouse.ReportResult = "refused"
