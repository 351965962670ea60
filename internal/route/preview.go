package route

import (
	"cmp"
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/wire"
)

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
	for _, plan := range routed.Plans {
		n, err := read(plan)
		if err != nil {
			return out, err
		}
		shown, err := r.previewed(ctx, req, &n, now)
		if err != nil {
			return out, err
		}
		out.Notifications = append(out.Notifications, shown)
	}
	return out, nil
}

// previewed is what the steps of one notification would send.
func (r *Router) previewed(ctx context.Context, req *intake.Request, n *notification, now time.Time) (wire.PreviewedNotification, error) {
	out := wire.PreviewedNotification{To: n.To}
	start := later(now, n.NextAt)
	at := start
	for n.Round = 1; n.Step < len(n.Follows.Steps); {
		n.Step++
		s := n.step(n.Step)
		shown := wire.PreviewedStep{Step: n.Step, Until: s.Until, Messages: []wire.PreviewedMessage{}}
		free, err := r.free(ctx, n, at)
		if err != nil {
			return out, err
		}
		if deadline := n.Draft.Deadline; free.After(at) && !deadline.IsZero() && !free.Before(deadline) {
			shown.After, shown.Skipped = posthouse.Duration(at.Sub(start)), ReasonQuietHours
			shown.Detail = state.QuietBeyond(&posthouse.Delivery{Deadline: deadline}, free)
			out.Steps = append(out.Steps, shown)
			return out, nil
		}
		if free.After(at) {
			at = free
			shown.WaitsUntil, shown.Reason = &free, ReasonQuietHours
		}
		shown.After = posthouse.Duration(at.Sub(start))
		drafts, skipped, err := r.drafts(ctx, n, at, true)
		if err != nil {
			return out, err
		}
		shown.Skipped, shown.Detail = skipped.why, skipped.detail
		for i := range drafts {
			m := wire.PreviewedMessage{Channel: drafts[i].Channel, To: drafts[i].To[0], Template: drafts[i].Template}
			if m.Language, err = r.language(ctx, n.Tenant, &drafts[i]); err != nil {
				return out, err
			}
			_, err := r.Intake.Accept(ctx, intake.Request{Tenant: req.Tenant, Caller: req.Caller, Drafts: drafts[i : i+1], DryRun: true})
			if _, invalid := problemsOf(err); invalid {
				m.Problem = err.Error()
			} else if err != nil {
				return out, err
			}
			shown.Messages = append(shown.Messages, m)
		}
		if n.Follows.Kind != posthouse.RouteAll && len(shown.Messages) > 0 {
			at = at.Add(s.Within.Std())
		}
		out.Steps = append(out.Steps, shown)
	}
	return out, nil
}

// freeTries bounds how often free asks again: at the end of one window another may begin.
const freeTries = 20

// free is when the step that a notification is at may begin, should its turn come at a time: as Advance decides it, and again at the end of
// each wait. Steps that all begin at once wait for each other.
func (r *Router) free(ctx context.Context, n *notification, at time.Time) (time.Time, error) {
	first, last := n.Step, n.Step
	if n.Follows.Kind == posthouse.RouteAll {
		first, last = 1, len(n.Follows.Steps)
	}
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
		if !moved {
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
