package decisions

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/decide"
	"github.com/posthouse/posthouse/internal/digest"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

var (
	replayBody    = web.BodyOf[wire.Replay]().Optional()
	replayAllBody = web.BodyOf[wire.ReplayAll]().Loose()
)

func (d Options) replayRoutes() []web.Route {
	return web.Tagged("deliveries",
		web.Post("/v1/deliveries/{id}/replay", posthouse.ScopeAdmin, "Send a failed, expired, quarantined or undelivered one again, as a new delivery.", replayBody, d.replay).Sighted(),
		web.Post("/v1/deliveries/replay", posthouse.ScopeAdmin, "Send again everything a filter selects.", replayAllBody, d.replayAll).Sighted(),
	)
}

func (d Options) replay(c *web.Call, in wire.Replay) (wire.Replayed, error) {
	old, err := d.Read.Deliveries.Delivery(c.Context(), c.Viewer(), c.PathValue("id"))
	if err != nil {
		return wire.Replayed{}, err
	}
	var made []work.Replay
	err = d.withRoom(c, func() (err error) {
		if made, err = d.Replays.AddReplay(c.Context(), time.Now(), c.Tenant(), []string{old.ID}, in.ForceNew); err == nil {
			err = made[0].Err
		}
		return err
	})
	if err != nil {
		return wire.Replayed{}, err
	}
	c.Asked(in, 1)
	d.Judge.Wake(c.Tenant(), old.Channel)
	return viewReplay(made[0]), nil
}

// withRoom replays where the quotas have room for one delivery. A replay of many may go beyond them: an admin has decided
// so, and the next count sees it.
func (d Options) withRoom(c *web.Call, replay func() error) error {
	done, err := d.Quotas.Reserve(c.Context(), c.Tenant(), c.Caller().Payer, 1)
	if err != nil {
		return err
	}
	err = replay()
	if done != nil && err == nil {
		done(1)
	} else if done != nil {
		done(0)
	}
	return err
}

func viewReplay(r work.Replay) wire.Replayed {
	v := wire.Replayed{Of: r.Of, ID: r.ID}
	var coded *posthouse.Error
	if errors.As(r.Err, &coded) {
		v.Code, v.Reason = coded.Code, coded.Message
	}
	return v
}

// Bounds of one decision by filter.
const (
	defaultReplays = 1000
	maxReplays     = 100_000
)

// replayable are the states a replay is for.
var replayable = []posthouse.State{posthouse.Failed, posthouse.Expired, posthouse.Quarantined, posthouse.Undelivered}

func (d Options) replayAll(c *web.Call, in wire.ReplayAll) (wire.ReplayedAll, error) {
	checkReplay(c, &in)
	if err := c.Wrong(); err != nil {
		return wire.ReplayedAll{}, err
	}
	f := work.Filter{
		Tenant: c.Tenant(), Channel: in.Channel, Kind: in.Kind, Ref: in.Ref, User: in.User,
		States: in.States, Since: in.Since, Until: in.Until, Account: in.Account, Reason: in.Reason, Sight: c.Sight(),
	}
	if in.DryRun {
		c.Unchanged()
		n, shared, err := d.count(c, f, in.Max)
		return wire.ReplayedAll{Matched: n, Shared: shared, DryRun: true, Replays: []wire.Replayed{}}, err
	}
	var made []work.Replay
	err := d.withRoom(c, func() (err error) {
		made, err = decide.ReplayAll(c.Context(), d.Read.Deliveries, d.Replays, f, in.ForceNew, in.Max)
		return err
	})
	if len(made) > 0 {
		d.wakeAll(c, in.Channel)
	}
	view := viewReplays(made)
	c.Asked(in, view.Replayed)
	return view, err
}

func checkReplay(c *web.Call, in *wire.ReplayAll) {
	if in.Max == 0 {
		in.Max = defaultReplays
	}
	if in.Max < 0 || in.Max > maxReplays {
		c.Refuse("max", "is %d: want 1 to %d", in.Max, maxReplays)
	}
	for i, s := range in.States {
		if s == posthouse.Unknown {
			c.Refuse(fmt.Sprintf("states[%d]", i), "is unknown: whether these arrived is decided by POST /v1/deliveries/resolve, whose outcome retry sends them again")
		} else if !slices.Contains(replayable, s) {
			c.Refuse(fmt.Sprintf("states[%d]", i), "%s", channel.Want(s, replayable))
		}
	}
	if len(in.States) == 0 {
		in.States = replayable
	}
	if in.Channel+in.Kind+in.Ref+in.User+in.Account+in.Reason == "" && in.Since.IsZero() && in.Until.IsZero() {
		c.Refuse("channel", "or kind, ref, user, account, reason, since or until is required: a replay of everything is not meant by accident")
	}
}

func checkOutcome(c *web.Call, o wire.Outcome) {
	if !slices.Contains(wire.Outcomes(), o) {
		c.RefuseNew("outcome", "%s", channel.Want(o, wire.Outcomes()))
	}
}

// count counts what a filter selects, up to max, and how many of them left with others in one text: they are not sent again by themselves.
func (d Options) count(c *web.Call, f work.Filter, max int) (n, shared int, err error) {
	plans := map[string]work.Plan{}
	for {
		f.Limit = min(web.MaxPage, max-n)
		list, next, err := d.Read.Deliveries.Deliveries(c.Context(), f)
		n += len(list)
		for i := 0; i < len(list) && err == nil; i++ {
			var together bool
			if together, err = d.together(c, plans, &list[i]); together {
				shared++
			}
		}
		if err != nil || next == "" || n >= max {
			return n, shared, err
		}
		f.Cursor = next
	}
}

// together reports whether a delivery left in the text of another one. plans are the collections that were read before.
func (d Options) together(c *web.Call, plans map[string]work.Plan, one *posthouse.Delivery) (bool, error) {
	if one.Collection == "" {
		return false, nil
	}
	p, read := plans[one.Collection]
	if !read {
		var err error
		if p, _, err = d.Plans.Plan(c.Context(), c.Tenant(), work.PlanCollection, one.Collection); err != nil {
			return false, err
		}
		plans[one.Collection] = p
	}
	if p.ID == "" { // it is not kept any more
		return false, nil
	}
	err := digest.Law{}.MayReplay(p, one.ID)
	if posthouse.CodeOf(err) == posthouse.CodeConflict {
		return true, nil
	}
	return false, err
}

// wakeAll wakes one channel, or all of them.
func (d Options) wakeAll(c *web.Call, name string) {
	if name != "" {
		d.Judge.Wake(c.Tenant(), name)
		return
	}
	for cursor := ""; ; {
		list, next, err := d.Channels.List(c.Context(), c.Tenant(), cursor, web.MaxPage)
		for _, ch := range list {
			d.Judge.Wake(c.Tenant(), ch.Name)
		}
		if cursor = next; err != nil || cursor == "" {
			return // those that are left look by themselves soon
		}
	}
}

func viewReplays(made []work.Replay) wire.ReplayedAll {
	v := wire.ReplayedAll{Matched: len(made), Replays: make([]wire.Replayed, 0, min(len(made), web.MaxPage))}
	for i, r := range made {
		if r.Err == nil {
			v.Replayed++
		} else if r.Shared {
			v.Shared++
		}
		if i < web.MaxPage {
			v.Replays = append(v.Replays, viewReplay(r))
		}
	}
	return v
}
