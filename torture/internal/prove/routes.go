package prove

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/route"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// The laws of a notification whose steps tell one person.
const (
	lawSteps = "no two steps of a route tell one person, but by a doubt or a person whom the log names, or where the first asks for more than that it was sent, and its time was over"
	lawHears = "a notification says of its deliveries what their rows say"
	lawTold  = "a notification is told as soon as a delivery proves it, and stays acknowledged"
	lawStops = "nothing of a notification that is over waits to begin"
	lawEnds  = "whoever may have got something of what is over hears of the end once, or the planner is to tell it"
	lawHeld  = "in a new epoch no step of a notification begins until a person lets it go on"
	lawNews  = "followers are told of each new state of a notification, once"
)

// routed reports whether a scene has a notification.
func (s *scene) routed() bool { return len(s.route.Steps) > 0 }

// beginRoute stores the scene's notification as a message by its route makes it.
func (m *model) beginRoute() error {
	m.db.SetNotified(route.Law{})
	for i := 0; i < len(m.first); i += m.share() {
		if err := m.beginNotification(posthouse.MessageID(m.first[i])); err != nil {
			return err
		}
	}
	return nil
}

// share is how many messages each notification has at most.
func (m *model) share() int { return len(m.first) / max(1, m.scene.notices) }

func (m *model) beginNotification(id string) error {
	d := posthouse.Draft{Route: "r", To: []posthouse.Recipient{{User: "u0", Address: "a0"}}, Content: &posthouse.Content{Text: "你好"}}
	req := &intake.Request{Tenant: tenant, Caller: work.Caller{Sight: work.SeeAll()}}
	routed, _, err := m.router("").Begin(m.ctx, req, id, &d, epoch0, &draft.Problems{})
	if err != nil {
		return err
	}
	out, err := m.db.Submissions.Accept(m.ctx, epoch0, []*work.Submission{{Tenant: tenant, Endpoint: "messages", KeyTTL: time.Hour, Routed: []work.Routed{routed}}})
	if err == nil {
		err = out[0].Err
	}
	return err
}

// willing finds nothing wrong with what a step would send, and knows no rosters.
type willing struct{ way posthouse.Route }

func (willing) Accept(context.Context, intake.Request) (intake.Answer, error) {
	return intake.Answer{}, nil
}

func (willing) People(_ context.Context, _ string, to []posthouse.Recipient, _ time.Time) ([]posthouse.Recipient, []posthouse.Problem, error) {
	return to, nil, nil
}

func (of willing) Route(context.Context, string, string, int) (posthouse.Route, error) {
	return route.WithDefaults(of.way), nil
}

// router is the product's, whose next message has an id.
func (m *model) router(next string) *route.Router {
	of := willing{m.scene.route}
	return &route.Router{Intake: of, Routes: of, Plans: atPlans{m}, Log: slog.New(slog.DiscardHandler), NewID: func() string { return next }}
}

// atPlans puts the step's moment in the place of the real one.
type atPlans struct{ m *model }

func (a atPlans) Notifications(ctx context.Context, tenant, message, cursor string, limit int) ([]work.Plan, string, error) {
	return a.m.db.Plans.Notifications(ctx, tenant, message, cursor, limit)
}

func (a atPlans) Notification(ctx context.Context, _ time.Time, tenant, id string, decide func(work.Plan, time.Time) (work.Plan, work.Withdrawal, bool, error)) (work.Plan, error) {
	return a.m.db.Plans.Notification(ctx, epoch0, tenant, id, decide)
}

// plans is what a planner does: it reads what is due, and begins the next step over what it has read.
func (m *model) plans(w *world, p int, write writer) {
	if !m.scene.planned() {
		return
	}
	proc := &w.procs[p]
	if len(proc.due) > 0 {
		write(name(p)+" goes on with the "+m.scene.planNoun()+" that it has read", p, m.compose, func(next *world) { m.noteTexts(w, next) })
		return
	}
	if p > 0 && proc.free() && w.procs[0].free() {
		return // which of two that hold nothing reads it makes no difference
	}
	for _, row := range w.rows[plans] {
		if at := m.db.number(plans, row, "next_at"); at > 0 && at <= now {
			write(name(p)+" reads the "+m.scene.planNoun()+", which is due", p, func(proc *process) (err error) {
				proc.due, err = m.db.Plans.DuePlans(m.ctx, epoch0, 1)
				return err
			}, nil)
		}
	}
}

// compose is the planner's: what the router says of a plan, stored over the version that was read.
func (m *model) compose(proc *process) error {
	p := proc.due[0]
	proc.due = nil
	if p.Type == work.PlanCollection {
		return m.composeCollection(proc, p)
	}
	was, err := route.Read(p)
	if err != nil {
		return err
	}
	next, begun := "", slices.Index(m.first, p.ID)+len(was.Deliveries)
	if len(was.Deliveries) < m.share() {
		next = posthouse.MessageID(m.first[begun])
	}
	drafts, after, err := m.router(next).Compose(m.ctx, p, epoch0)
	if !was.ResolvedAt.IsZero() { // what is told of the end is told with the plan, or not at all: the plan says it
		drafts = nil
	}
	if err == nil {
		sub := &work.Submission{Tenant: tenant, Endpoint: "plans", KeyTTL: time.Hour, Plans: []work.Plan{after}}
		for i := range drafts {
			e := m.entry(begun + i)
			e.Message.Notification, e.Message.Step, e.Message.FallbackOf = drafts[i].Notification, drafts[i].Step, drafts[i].FallbackOf
			e.Deliveries[0].Notification, e.Deliveries[0].Epoch = drafts[i].Notification, proc.epoch
			sub.Entries = append(sub.Entries, e)
		}
		var out []work.Outcome
		if out, err = m.db.Submissions.Accept(m.ctx, epoch0, []*work.Submission{sub}); err == nil {
			err = out[0].Err
		}
	}
	if posthouse.CodeOf(err) == posthouse.CodeConflict {
		return nil // another process was faster
	}
	return err
}

// hears is what comes from outside: a person takes note, and the provider says what became of what it has accepted.
func (m *model) hears(w *world, p int, write writer) {
	if !m.scene.planned() {
		return
	}
	if w.left.acks > 0 && len(w.rows[queue])+len(w.rows[settled]) > 0 {
		write("the person acknowledges the notification at "+name(p), p, func(*process) error {
			_, err := m.db.Plans.Notification(m.ctx, epoch0, tenant, m.first[0], func(p work.Plan, at time.Time) (work.Plan, work.Withdrawal, bool, error) {
				return route.Acknowledge(p, "u0", posthouse.AckAPI, nil, at)
			})
			return err
		}, func(next *world) { next.left.acks-- })
	}
	if w.left.resumes > 0 && m.restored(w) {
		write("a person lets the notification go on at "+name(p), p, func(*process) error { return m.letGo(w) }, func(next *world) { next.left.resumes-- })
	}
	if w.left.overs > 0 {
		write("the sender says at "+name(p)+" that it is over", p, func(*process) error {
			_, err := m.db.Plans.Notification(m.ctx, epoch0, tenant, m.first[0], func(p work.Plan, at time.Time) (work.Plan, work.Withdrawal, bool, error) {
				return route.Resolve(p, "over", &route.Ending{Content: map[string]*posthouse.Content{}}, at)
			})
			return err
		}, func(next *world) { next.left.overs-- })
	}
	if w.left.receipts == 0 {
		return
	}
	for id, s := range m.stands(w) {
		if s.state != posthouse.Sent || m.shares(w, id) {
			continue
		}
		for _, delivered := range []bool{true, false} {
			write(fmt.Sprintf("the provider says at %s whether %s was delivered: %t", name(p), m.short(id), delivered), p, func(*process) error {
				return m.db.Receipts.Receive(m.ctx, epoch0, []string{id}, func(at time.Time, found []posthouse.Delivery) work.Learnt {
					asked := []work.Awaited{{Delivery: id, Tenant: tenant, Channel: chanel, UntilAt: at.Add(time.Hour)}}
					return state.Learn(asked, found, map[string]channel.Receipt{id: {Known: true, Delivered: delivered}}, at)
				})
			}, func(next *world) { next.left.receipts-- })
		}
	}
}

// restored reports whether the epoch has been raised.
func (m *model) restored(w *world) bool { return w.left.restores < m.scene.left.restores }

// letGo lets the notification go on, which hears first how its deliveries stand.
func (m *model) letGo(w *world) error {
	var known []posthouse.Delivery
	for id := range m.stands(w) {
		d, err := m.db.Messages.Delivery(m.ctx, tenant, id)
		if err != nil {
			return err
		}
		d.UpdatedAt = epoch0
		known = append(known, d)
	}
	_, err := m.db.Plans.Notification(m.ctx, epoch0, tenant, m.first[0], func(p work.Plan, at time.Time) (work.Plan, work.Withdrawal, bool, error) {
		return route.Resume(p, known, 1, at)
	})
	return err
}

// notices are the plans of a state, and notice is one of them.
func (m *model) notices(w *world) (list []work.Plan) {
	for _, row := range w.rows[plans] {
		list = append(list, m.planOf(row))
	}
	return list
}

func (m *model) notice(w *world, id string) work.Plan {
	list := m.notices(w)
	return list[slices.IndexFunc(list, func(p work.Plan) bool { return p.ID == id })]
}

// planOf is the plan in a row.
func (m *model) planOf(row []any) work.Plan {
	return work.Plan{ID: m.db.word(plans, row, "id"), Tenant: tenant, Doc: []byte(m.db.word(plans, row, "doc")), Version: m.db.number(plans, row, "version"), Held: m.db.word(plans, row, "held")}
}

// judgeNotification asks the laws of a notification.
func (m *model) judgeNotification(before, after *world, is map[string]stand) *violation {
	if !m.scene.routed() {
		return nil
	}
	turns := 0
	for _, row := range after.rows[plans] {
		if v := m.judgeEnds(m.planOf(row), m.db.number(plans, row, "next_at") > 0); v != nil {
			return v
		}
	}
	for _, now := range m.notices(after) {
		v, turned := m.judgePlan(before, m.notice(before, now.ID), now, after, is)
		if v != nil {
			return v
		}
		turns += turned
	}
	if news := len(after.rows[tidings]); news != turns {
		return broken(lawNews, "%d notifications are in a new state, and followers are told of %d", turns, news)
	}
	return nil
}

// judgePlan asks the laws of one notification, and counts its new state.
func (m *model) judgePlan(past *world, before, after work.Plan, w *world, is map[string]stand) (v *violation, turned int) {
	n, way, err := route.Followed(after)
	if err != nil {
		return broken(lawHears, "%v", err), 0
	}
	proof := ""
	for _, d := range n.Deliveries {
		s := is[d.ID]
		said := s.state
		if said == posthouse.Sending { // who holds it is not told there
			said = posthouse.Pending
		}
		if said == posthouse.Unknown && d.State == posthouse.Pending && m.restored(w) { // nobody tells it what an epoch holds
			continue
		}
		if said != d.State {
			return broken(lawHears, "it says that %s is %s, and its row is %s", m.short(d.ID), d.State, s.state), 0
		}
		until := way.Steps[d.Step-1].Until
		if said == posthouse.Delivered && until != posthouse.ProofAcknowledged || said == posthouse.Sent && until == posthouse.ProofSent {
			proof = d.ID
		}
	}
	was, err := route.Read(before)
	switch {
	case err != nil:
		return broken(lawHears, "%v", err), 0
	case m.restored(past) && past.left.resumes == m.scene.left.resumes && len(n.Deliveries) > len(was.Deliveries):
		return broken(lawHeld, "it has %d deliveries, and had %d before the step", len(n.Deliveries), len(was.Deliveries)), 0
	case proof != "" && n.State == posthouse.NotificationWaiting:
		return broken(lawTold, "%s proves it, and it waits", m.short(proof)), 0
	case proof == "" && n.State == posthouse.NotificationTold:
		return broken(lawTold, "it is told, and no delivery proves it"), 0
	case was.State == posthouse.NotificationAcknowledged && n.State != was.State:
		return broken(lawTold, "it was acknowledged, and is %s", n.State), 0
	case !was.ResolvedAt.IsZero() && (n.State == posthouse.NotificationWaiting || len(n.Deliveries) > len(was.Deliveries)):
		return broken(lawStops, "its sender has said that it is over, and it is %s with %d deliveries of %d", n.State, len(n.Deliveries), len(was.Deliveries)), 0
	}
	if n.State != was.State {
		turned = 1
	}
	for _, d := range n.Deliveries {
		if n.State != posthouse.NotificationWaiting && is[d.ID].state == posthouse.Pending && (proof == "" || d.Step != m.stepOf(&n, proof)) {
			return broken(lawStops, "it is %s, and %s may begin", n.State, m.short(d.ID)), 0
		}
	}
	return m.judgeTold(w, slices.Index(m.first, n.ID), &way), turned
}

// judgeEnds asks who hears of the end of a notification. due says that the planner looks at it.
func (m *model) judgeEnds(p work.Plan, due bool) *violation {
	n, err := route.Read(p)
	if err != nil {
		return broken(lawEnds, "%v", err)
	}
	if n.ResolvedAt.IsZero() {
		return nil
	}
	if len(n.Ends) > 1 {
		return broken(lawEnds, "the person hears of it %d times", len(n.Ends))
	}
	for _, d := range n.Deliveries {
		may := d.State == posthouse.Sent || d.State == posthouse.Delivered || d.State == posthouse.Unknown
		if may && len(n.Ends) == 0 && !due {
			return broken(lawEnds, "%s is %s, nobody hears of the end, and the planner does not look", m.short(d.ID), d.State)
		}
	}
	return nil
}

func (m *model) stepOf(n *posthouse.Notification, id string) int {
	i := slices.IndexFunc(n.Deliveries, func(d posthouse.NotificationDelivery) bool { return d.ID == id })
	return n.Deliveries[i].Step
}

// judgeTold asks whether two steps have told the person, given what the log says of each.
func (m *model) judgeTold(w *world, from int, way *posthouse.Route) *violation {
	certain := ""
	for i, box := range w.boxes[from : from+m.share()] {
		excused := box.told || box.persons > 0 || box.doubt && way.OnUnknown == posthouse.UnknownFallBack ||
			way.Steps[min(i, len(way.Steps)-1)].Until != posthouse.ProofSent
		if box.arrivals == 0 || excused {
			continue
		}
		if certain != "" {
			return broken(lawSteps, "%s and %s have both reached the person", certain, m.short(m.first[from+i]))
		}
		certain = m.short(m.first[from+i])
	}
	return nil
}

// normalPlans keeps of a plan what decides: when it is looked at, and its document without the times that only people read.
func (m *model) normalPlans(w *world) {
	versions := map[string][]int64{}
	for _, row := range w.rows[plans] {
		versions[m.db.word(plans, row, "id")] = []int64{m.db.number(plans, row, "version")}
	}
	for p := range w.procs {
		for _, plan := range w.procs[p].due {
			versions[plan.ID] = append(versions[plan.ID], plan.Version)
		}
	}
	m.edit(w, plans, func(s setter) {
		s.clamp(past, "created_at", "updated_at")
		s.clamp(func(t int64) int64 { return max(t, now) }, "next_at")
		s.set("version", rank(versions[s.word("id")], s.number("version"), 0))
		s.set("doc", string(document([]byte(s.word("doc")), 0)))
	})
	if m.scene.notices > 0 {
		slices.SortFunc(w.rows[plans], func(a, b []any) int { return strings.Compare(m.planOf(a).ID, m.planOf(b).ID) })
	}
	for p := range w.procs {
		due := slices.Clone(w.procs[p].due)
		for i := range due {
			due[i].Version = rank(versions[due[i].ID], due[i].Version, 0)
			due[i].CreatedAt, due[i].UpdatedAt, due[i].NextAt = epoch0, epoch0, epoch0
			due[i].Doc = document(due[i].Doc, 0)
		}
		w.procs[p].due = due
	}
}

// document is a notification's, with the end of its step moved into the past, and all other times the present.
func document(doc []byte, by time.Duration) []byte {
	var n map[string]any
	if err := json.Unmarshal(doc, &n); err != nil {
		panic(err) // the router wrote it
	}
	delete(n, "version")
	delete(n, "next_at") // the row says it
	delete(n, "leaves_at")
	if over, ok := n["over"].(string); ok {
		at, err := time.Parse(time.RFC3339Nano, over)
		if err != nil {
			panic(err)
		}
		if at = at.Add(-by); at.Before(epoch0) {
			at = epoch0
		}
		n["over"] = at.Format(time.RFC3339Nano)
	}
	calm(n)
	text, err := json.Marshal(n)
	if err != nil {
		panic(err)
	}
	return text
}

// calm makes all times present that nothing follows from.
func calm(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, of := range v {
			switch k {
			case "at", "created_at", "updated_at", "told_at", "resolved_at":
				v[k] = epoch0
			default:
				calm(of)
			}
		}
	case []any:
		for _, of := range v {
			calm(of)
		}
	}
}
