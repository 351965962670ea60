package rollup

import (
	"maps"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/rate"
	"github.com/posthouse/posthouse/internal/work"
)

// AccountKey names an account.
type AccountKey struct{ Tenant, Channel, Account string }

// hour is what all processes have counted of the last hour, by minute.
type hour struct {
	mu      sync.Mutex
	minutes map[time.Time]map[AccountKey]rate.Ends
	sums    map[AccountKey]rate.Ends
}

// since is from when on counts are to be read: those of the minute before this one may have come late.
func (h *hour) since(now time.Time) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.minutes) == 0 {
		return now.Add(-time.Hour)
	}
	return now.Truncate(time.Minute).Add(-time.Minute)
}

// take takes over the counts from since on, and returns the sums of the hour.
func (h *hour) take(now time.Time, list []work.Minute) map[AccountKey]rate.Ends {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.minutes == nil {
		h.minutes = map[time.Time]map[AccountKey]rate.Ends{}
	}
	fresh := map[time.Time]map[AccountKey]rate.Ends{now.Truncate(time.Minute): {}}
	for _, m := range list {
		if m.Outcome == work.Accepted || m.Outcome == work.GaveUp {
			continue // says nothing about an account, or is counted by its class
		}
		if fresh[m.At] == nil {
			fresh[m.At] = map[AccountKey]rate.Ends{}
		}
		k := AccountKey{m.Tenant, m.Channel, m.Account}
		sum := fresh[m.At][k]
		good, bad := judged(posthouse.Class(m.Outcome))
		fresh[m.At][k] = rate.Ends{Good: sum.Good + good*m.N, Bad: sum.Bad + bad*m.N}
	}
	maps.Copy(h.minutes, fresh)
	h.sums = map[AccountKey]rate.Ends{}
	for at, of := range h.minutes {
		if at.Before(now.Add(-time.Hour)) {
			delete(h.minutes, at)
			continue
		}
		for k, e := range of {
			sum := h.sums[k]
			h.sums[k] = rate.Ends{Good: sum.Good + e.Good, Bad: sum.Bad + e.Bad}
		}
	}
	return maps.Clone(h.sums)
}

// of is how the attempts by an account ended in the last hour, in all processes, and the good ones a second in its best minute.
func (h *hour) of(k AccountKey) (sum rate.Ends, best float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, of := range h.minutes {
		best = max(best, float64(of[k].Good)/60)
	}
	return h.sums[k], best
}

// judged says whether an end speaks for an account or against it. A recipient who does not exist, or a content that is
// refused, says that the provider answers well; that this machine cannot connect, or may not, says nothing.
func judged(c posthouse.Class) (good, bad int) {
	switch c {
	case posthouse.ClassOK, posthouse.ClassRecipient, posthouse.ClassContent:
		return 1, 0
	case posthouse.ClassLocal, posthouse.ClassBlocked:
		return 0, 0
	}
	return 0, 1
}
