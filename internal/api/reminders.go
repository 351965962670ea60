package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/read"
	"github.com/posthouse/posthouse/internal/remind"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Reminds opens and ends reminders. The engine's roles satisfy it.
type Reminds interface {
	Remind(ctx context.Context, req intake.Request, r posthouse.Reminder) (_ posthouse.Reminder, duplicate bool, _ intake.Answer, err error)
	EndReminder(ctx context.Context, v work.Viewer, id, reason string) (posthouse.Reminder, error)
	EndReminders(ctx context.Context, v work.Viewer, kind, ref, reason string) ([]posthouse.Reminder, error)
	Replace(ctx context.Context, req intake.Request, r posthouse.Reminder) (_ posthouse.Reminder, opened bool, err error)
	PauseReminder(ctx context.Context, v work.Viewer, id string, paused bool) (posthouse.Reminder, error)
}

// Plans reads reminders and tasks.
type Plans interface {
	Plan(ctx context.Context, tenant string, kind work.PlanType, id string) (p work.Plan, found bool, err error)
	Plans(ctx context.Context, tenant string, kind work.PlanType, cursor string, limit int) (list []work.Plan, next string, err error)
	PlansByRef(ctx context.Context, tenant string, kind work.PlanType, about, ref string) ([]work.Plan, error)
	PlansIn(ctx context.Context, tenant string, kind work.PlanType, f work.PlanFilter, cursor string, limit int) (list []work.Plan, next string, err error)
}

// reminders is the resource of what is told at several moments.
type reminders struct {
	engine Reminds
	plans  Plans
}

var (
	remindBody  = web.BodyOf[wire.Remind]().Keyed()
	replaceBody = web.BodyOf[wire.Remind]()
)

func (r reminders) routes() []web.Route {
	return web.Tagged("reminders",
		web.Post("/v1/reminders", sends, "Send a message at several moments: in a countdown, or again and again.", remindBody, r.add).Query("dry_run").Answers(http.StatusAccepted, http.StatusOK).Sighted(),
		web.Get("/v1/reminders", reads, "List reminders by id, or those of a kind and ref.", r.list).Query("kind", "ref", "held").Paged().Sighted(),
		web.Get("/v1/reminders/{id}", reads, "One reminder, with its next slots.", r.get).Sighted(),
		web.Put("/v1/reminders/{id}", sends, "Open it, or replace what it says while it is open: what has come of it stays.", replaceBody, r.replace).Answers(http.StatusOK, http.StatusCreated).Audited().Sighted(),
		web.Act("/v1/reminders/{id}/pause", sends, "Have nothing more come of it until it is resumed.", r.pause).Audited().Sighted(),
		web.Act("/v1/reminders/{id}/resume", sends, "Have it go on with its first slot from now.", r.resume).Audited().Sighted(),
		web.Act("/v1/reminders/{id}/end", sends, "End it, and cancel what has not started of its last message.", r.end).Audited().Sighted(),
		web.Post("/v1/reminders/end", sends, "End all of a kind and ref.", refBody, r.endAll).Audited().Sighted(),
	)
}

// shownSlots is how many slots to come are shown.
const shownSlots = 10

func viewReminder(r posthouse.Reminder) wire.Reminder {
	v := wire.Reminder{Reminder: r, Slots: remind.Next(r, shownSlots)}
	if v.Slots == nil {
		v.Slots = []time.Time{}
	}
	return v
}

// viewPlan shows a stored reminder.
func viewPlan(p work.Plan) (wire.Reminder, error) {
	r, err := remind.Read(p)
	return viewReminder(r), err
}

// reminderOf is what a body asks for.
func reminderOf(in wire.Remind) posthouse.Reminder {
	return posthouse.Reminder{Draft: in.Draft, Campaign: in.Campaign, Countdown: in.Countdown, Repeat: in.Repeat, Missed: in.Missed}
}

// mayQuery refuses a query of a key that may not make one: it shows whatever the database's user may read.
func mayQuery(c *web.Call, in wire.Remind) error {
	if in.Campaign == nil || in.Campaign.Query == nil || c.Key.Scope.Allows(posthouse.ScopeAdmin) {
		return nil
	}
	return posthouse.Errorf(posthouse.CodeForbidden, "campaign.query: the key's scope is %s, and a query of another program's database takes admin", c.Key.Scope)
}

func (r reminders) add(c *web.Call, in wire.Remind) (wire.Reminder, error) {
	rehearse := c.Truth("dry_run")
	if err := cmp.Or(c.Wrong(), mayQuery(c, in)); err != nil {
		return wire.Reminder{}, err
	}
	made, duplicate, out, err := r.engine.Remind(c.Context(), intake.Request{Tenant: c.Tenant(), Caller: c.Caller(), Endpoint: "reminders", Key: c.Once.Key, Hash: c.Once.Hash, DryRun: rehearse},
		reminderOf(in))
	if err != nil {
		return wire.Reminder{}, err
	}
	if rehearse {
		c.Status = http.StatusOK
	}
	c.Replayed(out.Replayed)
	view := viewReminder(made)
	if duplicate {
		view.DuplicateOf, c.Status = made.ID, http.StatusOK
	}
	return view, nil
}

func (r reminders) replace(c *web.Call, in wire.Remind) (wire.Reminder, error) {
	id := c.PathValue("id")
	if key := in.Draft.DedupKey; key != "" && key != id {
		c.Refuse("draft.dedup_key", "is not the id of the address: leave it out")
	}
	if err := cmp.Or(c.Wrong(), mayQuery(c, in)); err != nil {
		return wire.Reminder{}, err
	}
	want := reminderOf(in)
	want.ID = id
	stored, opened, err := r.engine.Replace(c.Context(), intake.Request{Tenant: c.Tenant(), Caller: c.Caller()}, want)
	if err != nil {
		return wire.Reminder{}, err
	}
	if opened {
		c.Status = http.StatusCreated
	}
	return viewReminder(stored), nil
}

func (r reminders) pause(c *web.Call) (wire.Reminder, error)  { return r.setPaused(c, true) }
func (r reminders) resume(c *web.Call) (wire.Reminder, error) { return r.setPaused(c, false) }

func (r reminders) setPaused(c *web.Call, paused bool) (wire.Reminder, error) {
	stored, err := r.engine.PauseReminder(c.Context(), c.Viewer(), c.PathValue("id"), paused)
	if err != nil {
		return wire.Reminder{}, err
	}
	return viewReminder(stored), nil
}

func (r reminders) get(c *web.Call) (wire.Reminder, error) {
	id := c.PathValue("id")
	p, found, err := r.plans.Plan(c.Context(), c.Tenant(), work.PlanReminder, id)
	if err == nil && !found {
		err = posthouse.Errorf(posthouse.CodeNotFound, "there is no reminder %.80q", id)
	}
	if err != nil {
		return wire.Reminder{}, err
	}
	view, err := viewPlan(p)
	if err == nil && !intake.Sees(c.Sight(), view.Reminder) {
		return wire.Reminder{}, posthouse.Errorf(posthouse.CodeNotFound, "there is no reminder %.80q", id)
	}
	return view, err
}

// list lists all, or those of a kind and ref; of them, those that a new epoch holds.
func (r reminders) list(c *web.Call) (out wire.Page[wire.Reminder], err error) {
	kind, ref, held := c.Query.Get("kind"), c.Query.Get("ref"), c.Truth("held")
	if (kind == "") != (ref == "") {
		c.Refuse("query", "names one of kind and ref: reminders are found by both")
	}
	cursor, limit, err := c.Page()
	if err != nil {
		return out, err
	}
	var list []work.Plan
	if ref != "" {
		list, err = r.plans.PlansByRef(c.Context(), c.Tenant(), work.PlanReminder, kind, ref)
		list = slices.DeleteFunc(list, func(p work.Plan) bool { return held && p.Held == "" })
	} else {
		weight := func(p *work.Plan) int { return len(p.Doc) }
		list, out.Next, err = read.Gather(cursor, limit, weight, func(cursor string, limit int) ([]work.Plan, string, error) {
			if held {
				return r.plans.PlansIn(c.Context(), c.Tenant(), work.PlanReminder, work.PlanFilter{Held: work.ReasonEpochHold}, cursor, limit)
			}
			return r.plans.Plans(c.Context(), c.Tenant(), work.PlanReminder, cursor, limit)
		})
	}
	out.Items = make([]wire.Reminder, 0, len(list))
	for i := 0; i < len(list) && err == nil; i++ {
		var view wire.Reminder
		if view, err = viewPlan(list[i]); intake.Sees(c.Sight(), view.Reminder) {
			out.Items = append(out.Items, view)
		}
	}
	return out, err
}

func (r reminders) end(c *web.Call) (wire.Reminder, error) {
	ended, err := r.engine.EndReminder(c.Context(), c.Viewer(), c.PathValue("id"), remind.ReasonEnded)
	if err != nil {
		return wire.Reminder{}, err
	}
	return viewReminder(ended), nil
}

// endAll ends those of a kind and ref. There may be none.
func (r reminders) endAll(c *web.Call, in wire.Ref) (out wire.Page[wire.Reminder], err error) {
	if err := checkRef(c, in); err != nil {
		return out, err
	}
	ended, err := r.engine.EndReminders(c.Context(), c.Viewer(), in.Kind, in.Ref, remind.ReasonEnded)
	c.Asked(in, len(ended))
	out.Items = make([]wire.Reminder, len(ended))
	for i := range ended {
		out.Items[i] = viewReminder(ended[i])
	}
	return out, err
}

var refBody = web.BodyOf[wire.Ref]().Loose()

// checkRef checks the body of what is done to all of a kind and ref.
func checkRef(c *web.Call, in wire.Ref) error {
	for _, f := range []struct{ name, value string }{{"kind", in.Kind}, {"ref", in.Ref}} {
		if f.value == "" {
			c.RefuseNew(f.name, "is required")
		}
	}
	return c.Wrong()
}
