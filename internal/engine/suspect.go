package engine

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// suspectAfter is how many leases a delivery has lost when it may be the one that takes its workers down.
const suspectAfter = 2

func suspect(d *posthouse.Delivery) bool { return d.ClaimLosses >= suspectAfter }

// setApart lets one suspect at a time be under way in this process and gives the others back for a
// while, before that one is sent: should it take the process down, it takes no other suspect with it,
// and becomes poison alone. Without it those that were lost together would be claimed together and lost
// together again. A channel that sends in runs gives nothing back, or its suspects would wait for a run
// each; there they part by their waits. end is that of the lease.
func (e *Engine) setApart(r *route, items []work.Item, end time.Time) []work.Item {
	if r.Settings.Every > 0 || !slices.ContainsFunc(items, func(item work.Item) bool { return suspect(&item.Delivery) }) {
		return items
	}
	var sent []work.Item
	back := map[string]int64{} // delivery → token
	for _, item := range items {
		if suspect(&item.Delivery) && !e.suspect.CompareAndSwap(false, true) {
			back[item.Delivery.ID] = item.Delivery.Token
			continue
		}
		sent = append(sent, item)
	}
	if len(back) > 0 {
		e.giveBack(r, back, end)
	}
	return sent
}

// giveBack returns suspects, and repeats it for as long as the one that is sent could still begin. None of
// them is sent: where the answer to the commit was lost, another process may have them by now. A repeat finds
// those that are given back already not ours; those that never were have their lease end.
func (e *Engine) giveBack(r *route, tokens map[string]int64, end time.Time) {
	ids := slices.Sorted(maps.Keys(tokens))
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		_, err := e.o.Store.Revise(e.bg, time.Now(), work.Selection{Tenant: r.Key.Tenant, IDs: ids}, func(now time.Time, found []posthouse.Delivery) (changes []work.Change) {
			for _, d := range found {
				if d.State != posthouse.Sending || d.Token != tokens[d.ID] {
					continue
				}
				wait := time.Duration(rand.Int64N(max(1, int64(time.Until(end)))))
				if left := d.Deadline.Sub(now); left > 0 {
					wait = min(wait, left/2)
				}
				changes = append(changes, state.AfterRelease(d, now.Add(wait), state.ReasonApart))
			}
			return changes
		})
		if err == nil {
			return
		}
		again := time.Until(end) > r.Settings.Timeout+pause
		e.log.Warn("deliveries that lost their leases together can not be parted", "channel", r.Key.Channel, "deliveries", len(ids), "again", again, "error", err)
		if !again || !e.pause(pause) {
			return
		}
	}
}

// cleared lets the next suspect begin when one has ended.
func (e *Engine) cleared(batch []done) {
	for i := range batch {
		if suspect(&batch[i].item.Delivery) {
			e.suspect.Store(false)
		}
	}
}
