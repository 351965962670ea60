package flow

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
	"github.com/posthouse/posthouse/workflow"
)

// A notice that could not be made into messages is tried again after retryAfter, then as the engine puts a plan off, after 5, 10,
// 20, 40 … seconds and up to ten minutes: a template or a channel may be mended. After maxRetries, some three days, it is
// let be.
const (
	retryAfter = 30 * time.Second
	maxRetries = 450
)

// Compose makes the messages of a task that could not be made when its events came, and cancels again what was
// withdrawn. It tells what can be told, as an event does; while there is something that cannot, it is an error, and
// the engine's planner asks again. It satisfies intake.Composer.
func (f *Flow) Compose(ctx context.Context, p work.Plan, now time.Time) ([]posthouse.Draft, work.Plan, error) {
	if p.Failures > maxRetries {
		p.NextAt = time.Time{}
		return nil, p, nil
	}
	var out wire.TaskOutcome
	t, err := f.takings(ctx, work.Caller{Sight: work.SeeAll()}, p.Tenant, workflow.Event{Task: p.ID}, now, &out)
	if err == nil {
		err = t.takeBack(ctx)
	}
	if err != nil {
		return nil, p, err
	}
	if len(t.refused) > 0 && !out.Changed && !t.ledger.Recall {
		return nil, p, errors.New(strings.Join(slices.Compact(slices.Sorted(maps.Values(t.refused))), "; "))
	}
	t.ledger.Recall = false
	if len(t.before) > largeLedger {
		t.ledger.drop(now)
	}
	return nil, t.planned(canonical(&t.ledger)), nil
}
