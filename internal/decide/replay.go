package decide

import (
	"context"
	"time"

	"github.com/posthouse/posthouse/internal/work"
)

// Replayer makes new deliveries of those that ended badly.
type Replayer interface {
	AddReplay(ctx context.Context, now time.Time, tenant string, ids []string, forceNew bool) ([]work.Replay, error)
}

// replayStep is how many deliveries are listed at once to be replayed.
const replayStep = 500

// ReplayAll replays what a filter selects, newest first, up to most deliveries. What has an open replay is passed over.
func ReplayAll(ctx context.Context, from Selector, by Replayer, f work.Filter, forceNew bool, most int) ([]work.Replay, error) {
	f.Cursor = ""
	var done []work.Replay
	for most > 0 {
		f.Limit = min(most, replayStep)
		list, next, err := from.Deliveries(ctx, f)
		if err != nil {
			return done, err
		}
		ids := make([]string, len(list))
		for i := range list {
			ids[i] = list[i].ID
		}
		made, err := by.AddReplay(ctx, time.Now(), f.Tenant, ids, forceNew)
		done = append(done, made...)
		if err != nil || next == "" {
			return done, err
		}
		most -= len(list)
		f.Cursor = next
	}
	return done, nil
}
