package route

import (
	"cmp"
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/intake"
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
	var after time.Duration
	for n.Round = 1; n.Step < len(n.Follows.Steps); {
		n.Step++
		s := n.step(n.Step)
		shown := wire.PreviewedStep{Step: n.Step, After: posthouse.Duration(after), Until: s.Until, Messages: []wire.PreviewedMessage{}}
		drafts, skipped, err := r.drafts(ctx, n, now, true)
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
			after += s.Within.Std()
		}
		out.Steps = append(out.Steps, shown)
	}
	return out, nil
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
