package engine

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// suspectAfter is how many leases a delivery has lost when it may be the one that takes its workers down.
const suspectAfter = 2

func suspect(d *posthouse.Delivery) bool { return d.ClaimLosses >= suspectAfter }

// setApart lets one suspect at a time be under way in this process and gives the others back for a
// while, before that one is sent: should it take the process down, it takes no other suspect with it,
// and becomes poison alone. Without it those that were lost together would be claimed together and lost
// together again. A channel that sends in runs gives nothing back, or its suspects would wait for a run
// each; there they part by their waits.
func (e *Engine) setApart(r *route, items []work.Item, lease time.Duration) []work.Item {
	if r.settings.every > 0 || !slices.ContainsFunc(items, func(item work.Item) bool { return suspect(&item.Delivery) }) {
		return items
	}
	var sent, back []work.Item
	for _, item := range items {
		if suspect(&item.Delivery) && !e.suspect.CompareAndSwap(false, true) {
			back = append(back, item)
			continue
		}
		sent = append(sent, item)
	}
	if len(back) == 0 {
		return items
	}
	_, err := e.o.Store.Record(e.bg, time.Now(), func(now time.Time) []work.Change {
		changes := make([]work.Change, len(back))
		for i := range back {
			wait := time.Duration(rand.Int64N(int64(lease) + 1))
			if left := back[i].Delivery.Deadline.Sub(now); left > 0 {
				wait = min(wait, left/2)
			}
			changes[i] = afterRelease(back[i].Delivery, now.Add(wait), ReasonApart)
		}
		return changes
	})
	if err != nil {
		e.log.Warn("deliveries that lost their leases together can not be parted: they are sent", "channel", r.key.channel, "error", err)
		return items
	}
	return sent
}

// cleared lets the next suspect begin when one has ended.
func (e *Engine) cleared(batch []done) {
	for i := range batch {
		if suspect(&batch[i].item.Delivery) {
			e.suspect.Store(false)
		}
	}
}
