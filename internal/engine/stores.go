package engine

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/content"
	"github.com/posthouse/posthouse/internal/inquire"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/pacer"
	"github.com/posthouse/posthouse/internal/pull"
	"github.com/posthouse/posthouse/internal/rollup"
	"github.com/posthouse/posthouse/internal/suppress"
	"github.com/posthouse/posthouse/internal/upkeep"
	"github.com/posthouse/posthouse/internal/usher"
	"github.com/posthouse/posthouse/internal/work"
)

// Stores are the parts of the database that the roles use, each in the words of the role that needs it. All
// are required.
type Stores struct {
	Intake    intake.Store
	Outbox    intake.Outbox
	Plans     intake.Plans
	Reminders intake.Known
	Contents  content.Store
	HandOuts  pull.HandOuts
	Held      pull.Held
	Words     pull.Words
	Queue     Queue
	Receipts  inquire.Receipts
	Gates     Gates
	Depths    Depths
	Old       upkeep.Old
	Epochs    upkeep.Epochs
	Minutes   Minutes
	Lines     usher.Lines
	// Suppressed has the addresses to which nothing is sent.
	Suppressed Suppressed
}

// complete reports whether nothing is missing.
func (s *Stores) complete() bool {
	return s.Intake != nil && s.Outbox != nil && s.Plans != nil && s.Reminders != nil && s.Contents != nil && s.HandOuts != nil &&
		s.Held != nil && s.Words != nil && s.Queue != nil && s.Receipts != nil && s.Gates != nil && s.Depths != nil && s.Old != nil && s.Epochs != nil && s.Minutes != nil && s.Lines != nil && s.Suppressed != nil
}

// Suppressed has the addresses to which nothing is sent, and takes those that providers say are gone.
type Suppressed interface {
	suppress.Asked
	suppress.Kept
}

// Queue is what dispatcher, recorder and rescuer do to deliveries.
type Queue interface {
	Ready(ctx context.Context, now time.Time, lanes []work.Lane) ([]bool, error)
	Claim(ctx context.Context, now time.Time, c work.Claim) ([]work.Item, error)
	// DuePins lists the lanes of a channel that have something due for certain accounts.
	DuePins(ctx context.Context, now time.Time, tenant, channel string) ([]work.Lane, error)
	Record(ctx context.Context, now time.Time, decide func(now time.Time) []work.Change) (refused []string, err error)
	// Failures are those of deliveries so far, by delivery.
	Failures(ctx context.Context, ids []string) (map[string]work.Failures, error)
	// Disown finds what a start has stored whose commit gave no answer, and lets nothing of it be stored from now on.
	Disown(ctx context.Context, now time.Time, lane work.Lane, of work.Seating) (started []string, err error)
	// HeldBack lists pending deliveries that wait for one reason until a time that is to come, by their ids behind one.
	HeldBack(ctx context.Context, now time.Time, reason, behind string, max int) ([]work.HeldBack, error)
	Reviser
}

// Reviser locks deliveries and decides on them.
type Reviser interface {
	Revise(ctx context.Context, now time.Time, sel work.Selection,
		decide func(now time.Time, found []posthouse.Delivery) []work.Change) ([]posthouse.Delivery, error)
}

// Gates are the accounts that a provider refused, as all processes know them.
type Gates interface {
	Gates(ctx context.Context, tenant string) ([]work.Gate, error)
	SetGate(ctx context.Context, now time.Time, g work.Gate, wait time.Duration) error
	ClearGate(ctx context.Context, tenant, channel, account string) error
}

// Depths counts what waits, and moves what waits where nobody looks.
type Depths interface {
	upkeep.Depths
	// Ahead counts what waits in a lane and comes before a place in it, up to max.
	Ahead(ctx context.Context, l work.Lane, due time.Time, id string, max int) (int, error)
	Turn(ctx context.Context, now time.Time, from work.Lane, max int) (int, error)
}

// Minutes counts what was accepted and how attempts ended, for all processes, and keeps how fast accounts could go.
type Minutes interface {
	rollup.Store
	pacer.Kept
	upkeep.Minutes
}
