package lksms

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
)

// checkApp refuses a name that is none, or not the caller's.
func checkApp(who caller, id string) error {
	switch {
	case draft.AgentID(id) != "":
		return malformed("app_id %s", draft.AgentID(id))
	case !who.mayBe(id):
		return refuse(http.StatusForbidden, "the key belongs to the app %q: it cannot act as %q", who.key.Agent, id)
	}
	return nil
}

// errOwnKey keeps those who share a password from acting as an app that has a key.
func errOwnKey(id string) error {
	return refuse(http.StatusForbidden, "the app %q has a key of its own: show it as the password", id)
}

// app is the agent that a caller acts as. One that the shared pair brings along for the first time is kept.
func (d *apps) app(c *call, id string) (posthouse.Agent, error) {
	if err := checkApp(c.who, id); err != nil {
		return posthouse.Agent{}, err
	}
	a, err := d.Agents.Agent(c.Context(), c.who.tenant, id)
	if posthouse.CodeOf(err) == posthouse.CodeNotFound && c.who.shared {
		a, err = d.meet(c, id)
	}
	switch {
	case err != nil:
		return a, err
	case c.who.shared && a.Key != "":
		return a, errOwnKey(id)
	case !slices.Contains(a.Channels, d.Channel):
		return a, refuse(http.StatusForbidden, "the app %q is not registered for the channel %s", id, d.Channel)
	}
	a.Channels = []string{d.Channel}
	return a, nil
}

// How many apps that were not registered are kept, and for how long after they were heard of last.
const (
	maxMet    = 1000
	metUnseen = 30 * 24 * time.Hour
)

// meet keeps an app that was not registered: without limits, as the document has none.
func (d *apps) meet(c *call, id string) (posthouse.Agent, error) {
	a, err := d.Agents.MeetAgent(c.Context(), time.Now(), posthouse.Agent{
		Tenant: c.who.tenant, ID: id, Channels: []string{d.Channel}, Limits: []posthouse.Limit{}, State: posthouse.AgentActive,
		App: clipped(c.UserAgent(), 100),
	}, maxMet, metUnseen)
	if posthouse.CodeOf(err) == posthouse.CodeConflict { // another request of its was faster
		return d.Agents.Agent(c.Context(), c.who.tenant, id)
	}
	if form, shown := d.format(c, c.URL.Query()); err == nil && !shown && form == FormatList {
		d.Log.Warn("an app fetches tasks for the first time, in the form list: one that wants {total_count, app_id, tasks} reads nothing of it; then set sms_pending_format to page, or name it in sms_page_agents",
			"tenant", a.Tenant, "app", a.ID, "user_agent", a.App)
	}
	return a, err
}

// reporter is the name of the app that a caller reports for. Only whether it has a key is looked up, and
// remembered for a while: there are many reports, and each is judged by what the app was handed.
func (d *apps) reporter(c *call, id string) (string, error) {
	if err := checkApp(c.who, id); err != nil || !c.who.shared {
		return id, err
	}
	own, known := d.keyed.get(id)
	if !known {
		a, err := d.Agents.Agent(c.Context(), c.who.tenant, id)
		if err != nil && posthouse.CodeOf(err) != posthouse.CodeNotFound {
			return id, err
		}
		own = a.Key != ""
		d.keyed.put(id, own)
	}
	if own {
		return id, errOwnKey(id)
	}
	return id, nil
}

// roll remembers for a short while which apps of the default tenant have a key of their own.
type roll struct {
	mu   sync.Mutex
	apps map[string]remembered
}

type remembered struct {
	own   bool
	until time.Time
}

const (
	rollMemory = 2 * time.Second
	maxRoll    = 10_000
)

func (r *roll) get(id string) (own, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, ok := r.apps[id]
	return m.own, ok && time.Now().Before(m.until)
}

func (r *roll) put(id string, own bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.apps == nil || len(r.apps) >= maxRoll {
		r.apps = map[string]remembered{}
	}
	r.apps[id] = remembered{own, time.Now().Add(rollMemory)}
}
