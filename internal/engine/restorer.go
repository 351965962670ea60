package engine

import (
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/work"
)

// restorer returns deliveries to the queue that were claimed and are not sent after all.
type restorer struct {
	queue Reviser
	life  *life.Life
	log   *slog.Logger
}

// giveBack returns deliveries, by their tokens, and repeats it for as long as one that is sent could still begin. None of them is sent:
// where the answer to the commit was lost, another process may have them by now. A repeat finds those that are given back already not
// ours; those that never were have their lease end.
func (rs *restorer) giveBack(r *route, tokens map[string]int64, end time.Time, release func(d posthouse.Delivery, now time.Time) work.Change) {
	ids := slices.Sorted(maps.Keys(tokens))
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		_, err := rs.queue.Revise(rs.life.Context(), time.Now(), work.Selection{Tenant: r.Key.Tenant, IDs: ids}, func(now time.Time, found []posthouse.Delivery) (changes []work.Change) {
			for _, d := range found {
				if d.State == posthouse.Sending && d.Token == tokens[d.ID] {
					changes = append(changes, release(d, now))
				}
			}
			return changes
		})
		if err == nil {
			return
		}
		again := time.Until(end) > r.Settings.Timeout+pause
		rs.log.Warn("deliveries that were claimed and are not sent cannot be given back", "channel", r.Key.Channel, "deliveries", len(ids), "again", again, "error", err)
		if !again || !rs.life.Pause(pause) {
			return
		}
	}
}
