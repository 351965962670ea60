package route

import (
	"cmp"
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// mostRepeated bounds the notifications of which a preview shows the rounds that repeat the steps: each of these is judged as the first.
const mostRepeated = 20

// Preview says who would get what when, if a draft that names a route were accepted now. Nothing is stored.
func (r *Router) Preview(ctx context.Context, req *intake.Request, d posthouse.Draft, now time.Time) (wire.RoutePreview, error) {
	out := wire.RoutePreview{Notifications: []wire.PreviewedNotification{}}
	if _, err := r.open(ctx, req, &d, ""); err != nil {
		return out, err
	}
	people, missing, err := r.Intake.People(ctx, req.Tenant, d.To, now)
	if err != nil {
		return out, err
	}
	p := draft.Problems{List: missing}
	if d.To = people; len(p.List) == 0 {
		draft.Check(&d, cmp.Or(req.MaxRecipients, draft.MaxRecipients), now, &p)
	}
	if err := posthouse.Invalid("the message cannot be accepted", p.List); err != nil {
		return out, err
	}
	d.Sensitive, d.ForgetAfter = false, 0 // nothing of it is stored
	routed, _, err := r.Begin(ctx, req, posthouse.NewID(), &d, now, &p)
	if err == nil {
		err = posthouse.Invalid("the message cannot be accepted", p.List)
	}
	if err != nil {
		return out, err
	}
	var ahead Foresight
	if r.Foresee != nil {
		ahead = r.Foresee()
	}
	for _, plan := range routed.Plans {
		n, err := read(plan)
		if err != nil {
			return out, err
		}
		if len(routed.Plans) > mostRepeated {
			n.Follows.Repeat = 0
		}
		shown, err := r.previewed(ctx, req, &n, ahead, now)
		if err != nil {
			return out, err
		}
		out.Notifications = append(out.Notifications, shown)
	}
	return out, nil
}

// previewed is what the steps of one notification would send.
func (r *Router) previewed(ctx context.Context, req *intake.Request, n *notification, ahead Foresight, now time.Time) (wire.PreviewedNotification, error) {
	out := wire.PreviewedNotification{To: n.To}
	start := later(now, n.NextAt)
	at := start
	for n.follow() {
		shown, next, err := r.previewedStep(ctx, req, n, ahead, at)
		if err != nil {
			return out, err
		}
		if shown.WaitsUntil != nil {
			at = *shown.WaitsUntil
		}
		shown.After = posthouse.Duration(at.Sub(start))
		if out.Steps = append(out.Steps, shown); shown.Ends != "" {
			break
		}
		at = next
	}
	return out, nil
}

// again is the round of a step that has come before, 0 in the first.
func again(round int) int {
	if round < 2 {
		return 0
	}
	return round
}

// previewedStep is what the step that a notification is at would send, should its turn come at a time, and when the next one has its turn at the
// latest.
func (r *Router) previewedStep(ctx context.Context, req *intake.Request, n *notification, ahead Foresight, at time.Time) (shown wire.PreviewedStep, next time.Time, err error) {
	s, deadline := n.step(n.Step), n.limit()
	shown = wire.PreviewedStep{Step: n.Step, Round: again(n.Round), Until: s.Until, Messages: []wire.PreviewedMessage{}}
	if !deadline.IsZero() && !deadline.After(at) {
		shown.Skipped, shown.Ends = ReasonExpired, ReasonExpired
		return shown, at, nil
	}
	free, err := r.free(ctx, n, at)
	if err != nil {
		return shown, at, err
	}
	if why := state.QuietBeyond(&posthouse.Delivery{Deadline: deadline}, free); free.After(at) && why != "" {
		shown.Skipped, shown.Ends, shown.Detail = ReasonQuietHours, ReasonQuietHours, why
		return shown, at, nil
	}
	if free.After(at) {
		at = free
		shown.WaitsUntil, shown.Reason = &free, ReasonQuietHours
	}
	drafts, skipped, err := r.drafts(ctx, n, at, true)
	if err != nil {
		return shown, at, err
	}
	if shown.Skipped, shown.Detail = skipped.why, skipped.detail; skipped.ends {
		shown.Ends = ReasonPreference
		return shown, at, nil
	}
	able := false
	for i := range drafts {
		m := wire.PreviewedMessage{Channel: drafts[i].Channel, To: drafts[i].To[0], Template: drafts[i].Template}
		if m.Language, err = r.language(ctx, n.Tenant, &drafts[i]); err != nil {
			return shown, at, err
		}
		answer, err := r.Intake.Accept(ctx, intake.Request{Tenant: req.Tenant, Caller: req.Caller, HandedIn: at, Drafts: drafts[i : i+1], DryRun: true})
		_, invalid := problemsOf(err)
		switch {
		case invalid:
			m.Problem = err.Error()
		case err != nil:
			return shown, at, err
		default:
			able = true
			if err := r.foresee(ctx, n, ahead, &answer, &m, at); err != nil {
				return shown, at, err
			}
		}
		shown.Messages = append(shown.Messages, m)
	}
	if len(drafts) > 0 && !able {
		shown.Skipped = SkippedRefused
	}
	if n.Follows.Kind == posthouse.RouteAll {
		return shown, at, nil
	}
	if able && n.ends() {
		shown.Ends = n.Reason
	}
	return shown, n.passes(at, ahead), nil
}

// foresee says what would become of a message that its step sends at a time.
func (r *Router) foresee(ctx context.Context, n *notification, ahead Foresight, answer *intake.Answer, m *wire.PreviewedMessage, at time.Time) error {
	if ahead == nil {
		n.Deliveries = append(n.Deliveries, posthouse.NotificationDelivery{Step: n.Step, Round: n.Round, Channel: m.Channel, State: posthouse.Pending, At: at})
		return nil
	}
	for i := range answer.Judged {
		e := &answer.Judged[i]
		for _, d := range e.Deliveries {
			var err error
			if d.Reason != state.ReasonDigest { // its digest says when it leaves
				if d, err = ahead.Claimed(ctx, work.Item{Message: &e.Message, Delivery: d}, at); err != nil {
					return err
				}
			}
			if over := at.Add(n.step(n.Step).Within.Std()); over.After(at) && n.Follows.Kind != posthouse.RouteAll && !d.DueAt.Before(over) && !leftAlone(d.State, d.Reason) {
				d.State, d.Reason, d.Error = posthouse.Cancelled, ReasonStepOver, "it waits longer than its step has time: "+d.Reason
			}
			if failed(d.State) {
				m.Skipped, m.Detail = cmp.Or(d.Reason, string(d.State)), d.Error
			} else if m.Reason = d.Reason; d.DueAt.After(at) {
				m.WaitsUntil = &d.DueAt
			}
			n.Deliveries = append(n.Deliveries, posthouse.NotificationDelivery{
				ID: d.ID, Step: n.Step, Round: n.Round, Channel: d.Channel, User: cmp.Or(d.User, d.Address), State: d.State, Reason: d.Reason, At: later(at, d.DueAt),
			})
		}
	}
	return nil
}

// passes is when the step after the one that a notification is at would begin at the latest, where that one began at a time. What waits since its
// recipient is left alone has its step's time when it begins.
func (n *notification) passes(at time.Time, ahead Foresight) time.Time {
	s, next := n.step(n.Step), at
	for _, d := range n.current() {
		switch {
		case d.State == posthouse.Expired:
			next = later(next, n.limit())
		case left(&d):
			next = later(next, d.At.Add(s.Within.Std()))
		case !failed(d.State):
			next = later(next, at.Add(s.Within.Std()))
		}
		if s.Until == posthouse.ProofSent && ahead != nil {
			ahead.Failed(d.ID)
		}
	}
	return next
}

// freeTries bounds how often free asks again, and mostAhead how far that leads: at the end of one window another may begin.
const (
	freeTries = 20
	mostAhead = 60 * 24 * time.Hour
)

// free is when the step that a notification is at may begin, should its turn come at a time: as Advance decides it, and again at the end of
// each wait. Steps that all begin at once wait for each other.
func (r *Router) free(ctx context.Context, n *notification, at time.Time) (time.Time, error) {
	first, last := n.Step, n.Step
	if n.Follows.Kind == posthouse.RouteAll {
		first, last = 1, len(n.Follows.Steps)
	}
	start := at
	for range freeTries {
		moved := false
		for i := first; i <= last; i++ {
			try := *n
			try.Step = i
			wait, err := r.quiet(ctx, &try, at)
			if err != nil {
				return at, err
			}
			if wait.After(at) {
				at, moved = wait, true
				break
			}
		}
		if !moved || at.Sub(start) >= mostAhead {
			break
		}
	}
	return at, nil
}

// language is that of the text that a person would get, empty where a template has no others.
func (r *Router) language(ctx context.Context, tenant string, d *posthouse.Draft) (string, error) {
	if d.Template == "" || r.Template == nil || r.Language == nil {
		return "", nil
	}
	t, err := r.Template(ctx, tenant, d.Template)
	if posthouse.CodeOf(err) == posthouse.CodeNotFound || err == nil && len(t.Texts) == 0 {
		return "", nil // its problem says so, or it has one
	}
	if err != nil {
		return "", err
	}
	return r.Language(ctx, t, d.To[0].User)
}
