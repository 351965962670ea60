package api

import (
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/remind"
	"github.com/posthouse/posthouse/internal/work"
)

// reminderBody is a reminder as it is asked for.
type reminderBody struct {
	Draft     posthouse.Draft      `json:"draft" doc:"What each slot sends. Its dedup_key is the reminder's id."`
	Countdown *posthouse.Countdown `json:"countdown,omitempty"`
	Repeat    *posthouse.Repeat    `json:"repeat,omitempty"`
	Missed    posthouse.Missed     `json:"missed,omitempty" doc:"expire or collapse. Defaults to collapse."`
}

// reminderView is a reminder with what is to come.
type reminderView struct {
	posthouse.Reminder
	DuplicateOf string      `json:"duplicate_of,omitempty" doc:"The open reminder that has the dedup_key already; nothing was created."`
	Slots       []time.Time `json:"next_slots" doc:"The next slots, at most 10."`
}

// shownSlots is how many slots to come are shown.
const shownSlots = 10

func viewReminder(r posthouse.Reminder) reminderView {
	v := reminderView{Reminder: r, Slots: remind.Next(r, shownSlots)}
	if v.Slots == nil {
		v.Slots = []time.Time{}
	}
	return v
}

var reminderReader = bodyOf[reminderBody]()

func (a *api) addReminder(c *call) (answer, error) {
	key, hash, in, err := readKeyed(c, reminderReader)
	if err != nil {
		return answer{}, err
	}
	if err := c.wrong(); err != nil {
		return answer{}, err
	}
	r, duplicate, out, err := a.Engine.Remind(c.Context(), engine.Request{Tenant: c.key.Tenant, Endpoint: "reminders", Key: key, Hash: hash},
		posthouse.Reminder{Draft: in.Draft, Countdown: in.Countdown, Repeat: in.Repeat, Missed: in.Missed})
	if err != nil {
		return answer{}, err
	}
	view, status := viewReminder(r), http.StatusAccepted
	if duplicate {
		view.DuplicateOf, status = r.ID, http.StatusOK
	}
	return answer{status: status, header: replayHeader(out.Replayed), body: view}, nil
}

func (a *api) reminder(c *call) (answer, error) {
	id := c.PathValue("id")
	p, found, err := a.Store.Plan(c.Context(), c.key.Tenant, work.PlanReminder, id)
	if err == nil && !found {
		err = posthouse.Errorf(posthouse.CodeNotFound, "there is no reminder %.80q", id)
	}
	if err != nil {
		return answer{}, err
	}
	r, err := remind.Read(p)
	if err != nil {
		return answer{}, err
	}
	return ok(viewReminder(r))
}

// reminders lists all, or those of a kind and ref.
func (a *api) reminders(c *call) (answer, error) {
	kind, ref := c.query.Get("kind"), c.query.Get("ref")
	cursor, limit := c.query.Get("cursor"), c.number("limit", 1, maxPage)
	if (kind == "") != (ref == "") {
		c.refuse("query", "names one of kind and ref: reminders are found by both")
	}
	if err := c.wrong(); err != nil {
		return answer{}, err
	}
	var list []work.Plan
	var next string
	var err error
	if ref != "" {
		list, err = a.Store.PlansByRef(c.Context(), c.key.Tenant, work.PlanReminder, kind, ref)
	} else {
		list, next, err = a.Store.Plans(c.Context(), c.key.Tenant, work.PlanReminder, cursor, limit)
	}
	if err != nil {
		return answer{}, err
	}
	views := make([]reminderView, len(list))
	for i, p := range list {
		r, err := remind.Read(p)
		if err != nil {
			return answer{}, err
		}
		views[i] = viewReminder(r)
	}
	return pageOf(views, next)
}

func (a *api) endReminder(c *call) (answer, error) {
	r, err := a.Engine.EndReminder(c.Context(), c.key.Tenant, c.PathValue("id"), remind.ReasonEnded)
	if err != nil {
		return answer{}, err
	}
	return ok(viewReminder(r))
}

// endReminders ends those of a kind and ref. There may be none.
func (a *api) endReminders(c *call) (answer, error) {
	in, err := c.ref()
	if err != nil {
		return answer{}, err
	}
	ended, err := a.Engine.EndReminders(c.Context(), c.key.Tenant, in.Kind, in.Ref, remind.ReasonEnded)
	if err != nil {
		return answer{}, err
	}
	views := make([]reminderView, len(ended))
	for i := range ended {
		views[i] = viewReminder(ended[i])
	}
	return pageOf(views, "")
}

// ref reads the body of what is done to all of a kind and ref.
func (c *call) ref() (refBody, error) {
	in, err := loose(c, refReader)
	if err != nil {
		return in, err
	}
	for _, f := range []struct{ name, value string }{{"kind", in.Kind}, {"ref", in.Ref}} {
		if f.value == "" && !c.concerns(f.name) {
			c.refuse(f.name, "is required")
		}
	}
	return in, c.wrong()
}
