package api

import (
	"errors"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/work"
)

func (a *api) delivery(c *call) (answer, error) {
	d, err := a.Store.Delivery(c.Context(), c.key.Tenant, c.PathValue("id"))
	if err != nil {
		return answer{}, err
	}
	return ok(d)
}

func (a *api) deliveries(c *call) (answer, error) {
	f := c.filter()
	if err := c.wrong(); err != nil {
		return answer{}, err
	}
	list, next, err := a.Store.Deliveries(c.Context(), f)
	if err != nil {
		return answer{}, err
	}
	return pageOf(list, next)
}

func (a *api) attempts(c *call) (answer, error) {
	list, err := a.Store.Attempts(c.Context(), c.key.Tenant, c.PathValue("id"))
	if err != nil {
		return answer{}, err
	}
	return pageOf(list, "")
}

func (a *api) events(c *call) (answer, error) {
	list, err := a.Store.Events(c.Context(), c.key.Tenant, c.PathValue("id"))
	if err != nil {
		return answer{}, err
	}
	return pageOf(list, "")
}

func (a *api) explain(c *call) (answer, error) {
	d, err := a.Store.Delivery(c.Context(), c.key.Tenant, c.PathValue("id"))
	if err != nil {
		return answer{}, err
	}
	return ok(a.Engine.Explain(c.Context(), d))
}

// resolveBody is a person's word on a delivery that is unknown or quarantined.
type resolveBody struct {
	Outcome engine.Resolution `json:"outcome"`
}

var resolutions = []engine.Resolution{engine.ResolveSent, engine.ResolveFail, engine.ResolveRetry}

var resolveReader = bodyOf[resolveBody]()

func (a *api) resolve(c *call) (answer, error) {
	in, err := loose(c, resolveReader)
	if err != nil {
		return answer{}, err
	}
	if !slices.Contains(resolutions, in.Outcome) && !c.concerns("outcome") {
		c.refuse("outcome", "is %.60q: want one of %s", in.Outcome, words(resolutions))
	}
	if err := c.wrong(); err != nil {
		return answer{}, err
	}
	d, err := a.Engine.Resolve(c.Context(), c.key.Tenant, c.PathValue("id"), in.Outcome)
	if err != nil {
		return answer{}, err
	}
	return ok(d)
}

// replayBody says how one delivery is sent again.
type replayBody struct {
	ForceNew bool `json:"force_new,omitempty" doc:"Give the provider a new idempotency key, so that one who remembers the old one sends again."`
}

// replayView is what became of the wish to send a delivery again.
type replayView struct {
	Of     string         `json:"of" doc:"The old delivery."`
	ID     string         `json:"id,omitempty" doc:"The new delivery; missing where there is none."`
	Code   posthouse.Code `json:"code,omitempty" doc:"Why there is none."`
	Reason string         `json:"reason,omitempty"`
}

var replayReader = bodyOf[replayBody]()

func (a *api) replay(c *call) (answer, error) {
	in, err := optional(c, replayReader)
	if err != nil {
		return answer{}, err
	}
	d, err := a.Store.Delivery(c.Context(), c.key.Tenant, c.PathValue("id"))
	if err != nil {
		return answer{}, err
	}
	made, err := a.Store.AddReplay(c.Context(), time.Now(), c.key.Tenant, []string{d.ID}, in.ForceNew)
	if err == nil {
		err = made[0].Err
	}
	if err != nil {
		return answer{}, err
	}
	a.Engine.Wake(c.key.Tenant, d.Channel)
	return ok(viewReplay(made[0]))
}

func viewReplay(r work.Replay) replayView {
	v := replayView{Of: r.Of, ID: r.ID}
	var coded *posthouse.Error
	if errors.As(r.Err, &coded) {
		v.Code, v.Reason = coded.Code, coded.Message
	}
	return v
}

// replayAllBody selects what is sent again.
type replayAllBody struct {
	Channel  string            `json:"channel,omitempty"`
	Kind     string            `json:"kind,omitempty"`
	Ref      string            `json:"ref,omitempty"`
	User     string            `json:"user,omitempty"`
	States   []posthouse.State `json:"states,omitempty" doc:"Of failed, expired, quarantined and undelivered. Defaults to all of them."`
	Since    time.Time         `json:"since,omitzero"`
	Until    time.Time         `json:"until,omitzero"`
	ForceNew bool              `json:"force_new,omitempty" doc:"Give the provider new idempotency keys."`
	DryRun   bool              `json:"dry_run,omitempty" doc:"Only count."`
	Max      int               `json:"max,omitempty" doc:"At most that many. Defaults to 1000; 100000 is the most."`
}

// replaysView answers a replay by filter.
type replaysView struct {
	Matched  int          `json:"matched" doc:"How many deliveries fit, up to max."`
	Replayed int          `json:"replayed" doc:"How many are being sent again."`
	DryRun   bool         `json:"dry_run"`
	Replays  []replayView `json:"replays" doc:"The first 1000 of them, one by one."`
}

// Bounds of one replay by filter.
const (
	defaultReplays = 1000
	maxReplays     = 100_000
)

// replayable are the states a replay is for.
var replayable = []posthouse.State{posthouse.Failed, posthouse.Expired, posthouse.Quarantined, posthouse.Undelivered}

var replayAllReader = bodyOf[replayAllBody]()

func (a *api) replayAll(c *call) (answer, error) {
	in, err := loose(c, replayAllReader)
	if err != nil {
		return answer{}, err
	}
	c.checkReplay(&in)
	if err := c.wrong(); err != nil {
		return answer{}, err
	}
	f := work.Filter{
		Tenant: c.key.Tenant, Channel: in.Channel, Kind: in.Kind, Ref: in.Ref, User: in.User,
		States: in.States, Since: in.Since, Until: in.Until,
	}
	if in.DryRun {
		n, err := a.count(c, f, in.Max)
		if err != nil {
			return answer{}, err
		}
		return ok(replaysView{Matched: n, DryRun: true, Replays: []replayView{}})
	}
	made, err := a.Store.ReplayAll(c.Context(), time.Now(), f, in.ForceNew, in.Max)
	if len(made) > 0 {
		a.wakeAll(c, in.Channel)
	}
	if err != nil {
		return answer{}, err
	}
	return ok(viewReplays(made))
}

func (c *call) checkReplay(in *replayAllBody) {
	if in.Max == 0 {
		in.Max = defaultReplays
	}
	if in.Max < 0 || in.Max > maxReplays {
		c.refuse("max", "is %d: want 1 to %d", in.Max, maxReplays)
	}
	for i, s := range in.States {
		if !slices.Contains(replayable, s) {
			c.refuse("states["+itoa(i)+"]", "is %.60q: want one of %s", s, words(replayable))
		}
	}
	if len(in.States) == 0 {
		in.States = replayable
	}
	if in.Channel+in.Kind+in.Ref+in.User == "" && in.Since.IsZero() && in.Until.IsZero() {
		c.refuse("channel", "or kind, ref, user, since or until is required: a replay of everything is not meant by accident")
	}
}

// count counts what a filter selects, up to max.
func (a *api) count(c *call, f work.Filter, max int) (int, error) {
	n := 0
	for {
		f.Limit = min(maxPage, max-n)
		list, next, err := a.Store.Deliveries(c.Context(), f)
		n += len(list)
		if err != nil || next == "" || n >= max {
			return n, err
		}
		f.Cursor = next
	}
}

// wakeAll wakes one channel, or all of them.
func (a *api) wakeAll(c *call, name string) {
	if name != "" {
		a.Engine.Wake(c.key.Tenant, name)
		return
	}
	list, err := a.Channels.List(c.Context(), c.key.Tenant)
	if err != nil {
		return // they look by themselves soon
	}
	for _, ch := range list {
		a.Engine.Wake(c.key.Tenant, ch.Name)
	}
}

func viewReplays(made []work.Replay) replaysView {
	v := replaysView{Matched: len(made), Replays: make([]replayView, 0, min(len(made), maxPage))}
	for i, r := range made {
		if r.Err == nil {
			v.Replayed++
		}
		if i < maxPage {
			v.Replays = append(v.Replays, viewReplay(r))
		}
	}
	return v
}
