package engine

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// suspectAfter is how many leases a delivery has lost when it may be the one that takes its workers down.
const suspectAfter = 2

func suspect(d *posthouse.Delivery) bool { return d.ClaimLosses >= suspectAfter }

// suspects keeps deliveries apart that have lost their leases together.
type suspects struct {
	restore *restorer
	one     atomic.Bool // one is under way: no other begins
}

// setApart lets one suspect at a time be under way in this process and gives the others back for a
// while, before that one is sent: should it take the process down, it takes no other suspect with it,
// and becomes poison alone. Without it those that were lost together would be claimed together and lost
// together again. A channel that sends in runs gives nothing back, or its suspects would wait for a run
// each; there they part by their waits. end is that of the lease.
func (su *suspects) setApart(r *route, items []work.Item, end time.Time) []work.Item {
	if r.Settings.Every > 0 || !slices.ContainsFunc(items, func(item work.Item) bool { return suspect(&item.Delivery) }) {
		return items
	}
	var sent []work.Item
	back := map[string]int64{} // delivery → token
	for _, item := range items {
		if suspect(&item.Delivery) && !su.one.CompareAndSwap(false, true) {
			back[item.Delivery.ID] = item.Delivery.Token
			continue
		}
		sent = append(sent, item)
	}
	if len(back) > 0 {
		su.restore.giveBack(r, back, end, func(d posthouse.Delivery, now time.Time) work.Change {
			wait := time.Duration(rand.Int64N(max(1, int64(time.Until(end)))))
			if left := d.Deadline.Sub(now); left > 0 {
				wait = min(wait, left/2)
			}
			return state.AfterRelease(d, now.Add(wait), state.ReasonApart)
		})
	}
	return sent
}

// cleared lets the next suspect begin when this one has ended.
func (su *suspects) cleared(d *posthouse.Delivery) {
	if suspect(d) {
		su.one.Store(false)
	}
}
