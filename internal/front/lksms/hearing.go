package lksms

import (
	"sync"

	"github.com/posthouse/posthouse"
)

// hearing knows which apps have never reported anything. One that fetches tasks and reports on none mostly wants them in
// another form, and reads none of what it is handed.
type hearing struct {
	mu    sync.Mutex
	heard map[appKey]bool
	given map[appKey]bool // they were handed tasks, and nothing was heard of them
	told  map[appKey]bool // the log has a line about them
}

type appKey struct{ tenant, id string }

// unheard reports whether an app has never reported anything here. What it did before it was brought over does not count.
func (d *apps) unheard(c *call, app *posthouse.Agent) (bool, error) {
	k := appKey{app.Tenant, app.ID}
	if d.hearing.knows(k) {
		return false, nil
	}
	spoke, err := d.Agents.Spoke(c.Context(), app.Tenant, app.ID, app.CreatedAt)
	if err != nil || spoke {
		d.hearing.hears(k, spoke)
		return false, err
	}
	if d.hearing.repeats(k) {
		d.Log.Warn("an app fetches tasks and reports on none: it may want them in another form than it gets; set sms_pending_format, or name it in sms_page_agents",
			"tenant", app.Tenant, "app", app.ID, "user_agent", clipped(c.UserAgent(), 100), "pending_format", d.Format)
	}
	return true, nil
}

func (h *hearing) knows(k appKey) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.heard[k]
}

func (h *hearing) hears(k appKey, spoke bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if spoke {
		h.heard[k] = true
		delete(h.given, k)
		delete(h.told, k)
	}
}

// repeats reports, once, whether an app of which nothing was heard asks again after it was handed something.
func (h *hearing) repeats(k appKey) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.given[k] || h.told[k] {
		return false
	}
	h.told[k] = true
	return true
}

// hands notes that an app was handed something.
func (h *hearing) hands(k appKey) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.given[k] = true
}

func newHearing() *hearing {
	return &hearing{heard: map[appKey]bool{}, given: map[appKey]bool{}, told: map[appKey]bool{}}
}
