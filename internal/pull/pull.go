package pull

import (
	"context"
	"log/slog"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/content"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/metrics"
	"github.com/posthouse/posthouse/internal/quiet"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/suppress"
	"github.com/posthouse/posthouse/internal/work"
)

// HandOuts is the desk's part of the database.
type HandOuts interface {
	Ready(ctx context.Context, now time.Time, lanes []work.Lane) ([]bool, error)
	HandOut(ctx context.Context, now time.Time, h work.HandOut) (work.HandedOut, error)
	Record(ctx context.Context, now time.Time, decide func(now time.Time) []work.Change) (refused []string, err error)
	Agent(ctx context.Context, tenant, id string) (posthouse.Agent, error)
}

// Held is what agents hold.
type Held interface {
	// Failures are what has failed of deliveries so far, by class.
	Failures(ctx context.Context, ids []string) (map[string]work.Failures, error)
	HeldBy(ctx context.Context, tenant, agent string) ([]posthouse.Delivery, error)
	Renew(ctx context.Context, now time.Time, tenant, owner string, holds []work.Hold, lease time.Duration) ([]work.Renewed, error)
	Revise(ctx context.Context, now time.Time, sel work.Selection,
		decide func(now time.Time, found []posthouse.Delivery) []work.Change) ([]posthouse.Delivery, error)
}

// Words is where what agents say is written down.
type Words interface {
	Report(ctx context.Context, now time.Time, list []work.Report,
		decide func(now time.Time, r *work.Report, known work.Known) *work.Change) ([]work.Report, error)
	SeenAgents(ctx context.Context, now time.Time, list []work.Seen) error
}

// Channels are those that agents can be handed something of.
type Channels interface {
	// Channel is an open channel, nil where there is none of this name.
	Channel(tenant, name string) *state.Channel
	// Settings are a channel's, or cautious ones where it is not open.
	Settings(k state.Key) *state.Settings
}

// Limiter bounds what an agent is handed. limit's types satisfy it.
type Limiter interface {
	Take(ctx context.Context, bounds []limit.Bound, want int) (limit.Grant, error)
	Each(ctx context.Context, asks []limit.Ask) ([]limit.Grant, error)
	Refund(ctx context.Context, grant limit.Grant, n int) error
}

// Options makes a Pull. All are required.
type Options struct {
	HandOuts HandOuts
	Held     Held
	Words    Words
	Contents *content.Contents
	Channels Channels
	Limiter  Limiter
	// Sieve finds the suppressed recipients.
	Sieve *suppress.Sieve
	// Quiet has the quiet hours and caps.
	Quiet   *quiet.Keeper
	Life    *life.Life
	Log     *slog.Logger
	Metrics *metrics.Metrics
	// Poll is how often the database is asked for what this process did not announce.
	Poll time.Duration
	// Owner names this process.
	Owner string
	// Counted is told of each attempt that has ended by the word of an agent, how long that took since its start, and what became of the delivery.
	Counted func(key work.MinuteKey, took time.Duration, after posthouse.State)
	// Settled is told how deliveries stand that were changed.
	Settled func(list []posthouse.Delivery)
}

// Pull is the roles that serve agents.
type Pull struct {
	*Desk
	*Holds
	*Reporter
	*Roll
}

// New makes the roles. Desk, Reporter and Roll are run by their Runs.
func New(o Options) Pull {
	o.Held, o.Words = watchedHeld{o.Held, o.Settled}, watchedWords{o.Words, o.Settled}
	permits := &permits{limiter: o.Limiter, life: o.Life, log: o.Log}
	roll := &Roll{words: o.Words, permits: permits, life: o.Life, log: o.Log}
	desk := &Desk{o: o, lines: newLines(), permits: permits, roll: roll, credits: map[state.Key]state.Credits{}}
	return Pull{
		Desk:     desk,
		Holds:    &Holds{store: o.Held, channels: o.Channels, life: o.Life, log: o.Log, desk: desk, roll: roll},
		Reporter: newReporter(&o, permits),
		Roll:     roll,
	}
}
