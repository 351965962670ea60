package route

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// Begin is intake.Routing's: it makes the notifications of a draft. What no step could ever send is refused.
func (r *Router) Begin(ctx context.Context, req *intake.Request, id string, d *posthouse.Draft, now time.Time, p *draft.Problems) (routed work.Routed, mentionAll bool, err error) {
	var way posthouse.Route
	way, err = r.open(ctx, req, d, p.Path)
	if posthouse.CodeOf(err) == posthouse.CodeNotFound {
		p.Add("route", "there is no route %.80q", d.Route)
		return routed, false, nil
	}
	if err != nil {
		return routed, false, err
	}
	if i := untold(d, &way); i >= 0 {
		p.Add("content", "is required, or a template with a payload: step %d of the route %s has no template of its own", i+1, way.Name)
		return routed, false, nil
	}
	if c := d.Content; r.Link == nil && c != nil && strings.Contains(c.Title+c.Text, linkMark) {
		p.Add("content.text", "holds %s, and the server has no public_url to make links of", linkMark)
		return routed, false, nil
	}
	if c := d.Content; r.PreferencesLink == nil && c != nil && strings.Contains(c.Title+c.Text, preferencesMark) {
		p.Add("content.text", "holds %s, and the server has no public_url to make links of", preferencesMark)
		return routed, false, nil
	}
	if i := slices.IndexFunc(way.Steps, func(s posthouse.RouteStep) bool { return len(s.To) == 0 }); i >= 0 && len(d.To) == 0 {
		p.Add("to", "is required: step %d of the route %s names no recipients of its own", i+1, way.Name)
		return routed, false, nil
	}
	if len(d.To) == 0 && !slices.ContainsFunc(way.Steps[0].To, func(to posthouse.Recipient) bool { return to.Manager == 0 }) {
		p.Add("to", "is required: step 1 of the route %s is for the managers of the message's recipients", way.Name)
		return routed, false, nil
	}
	own := *d
	own.Route, own.ID, own.DedupKey, own.DedupWindow, own.Priority = "", "", "", 0, draft.Priority(d)
	var startBy time.Time
	if d.Reminder != "" { // what a slot has begun goes on when the next one comes
		startBy, own.Deadline = d.Deadline, time.Time{}
	}
	routed = work.Routed{ID: id, DedupScope: dedupScope(d.Route), DedupKey: d.DedupKey, DedupWindow: cmp.Or(d.DedupWindow.Std(), state.DefaultDedupWindow)}
	parties := [][]posthouse.Recipient{append([]posthouse.Recipient{}, d.To...)}
	if way.For != posthouse.RouteAny && len(d.To) > 0 {
		parties = parties[:0]
		for _, to := range distinct(d.To) {
			parties = append(parties, []posthouse.Recipient{to})
		}
	}
	for i, to := range parties {
		n := &notification{
			Notification: posthouse.Notification{
				ID: posthouse.DeliveryID(id, i+1), Message: id, Tenant: req.Tenant, Route: way.Name, RouteVersion: way.Version, Kind: d.Kind, Ref: d.Ref,
				To: to, State: posthouse.NotificationWaiting, NextAt: later(now, d.NotBefore), Deadline: own.Deadline,
				Steps: []posthouse.NotificationStep{}, Deliveries: []posthouse.NotificationDelivery{},
			},
			Follows: way, Draft: own, StartBy: startBy, BestEffort: req.BestEffort, DedupKey: d.DedupKey, DedupWindow: posthouse.Duration(routed.DedupWindow), Recorded: true,
		}
		n.Draft.To = nil
		if i == 0 {
			n.Things = req.Things[d.DedupKey]
		}
		if i == 0 { // what is wrong with one is wrong with the others, but for their addresses
			if mentionAll, err = r.judge(ctx, req, n, now, p); err != nil || len(p.List) > 0 {
				return routed, false, err
			}
		}
		n.MentionAll = mentionAll
		plan, err := n.plan()
		if err != nil {
			return routed, false, err
		}
		routed.Plans = append(routed.Plans, plan)
	}
	return routed, mentionAll, nil
}

// untold is the first step of a route that has nothing to say of a draft, -1 for none.
func untold(d *posthouse.Draft, way *posthouse.Route) int {
	if d.Content != nil || d.Template != "" || d.Kind != "" {
		return -1
	}
	return slices.IndexFunc(way.Steps, func(s posthouse.RouteStep) bool {
		return slices.ContainsFunc(s.Channels, func(name string) bool { return s.TemplateOn(name) == "" })
	})
}

// End is intake.Routing's: it ends the notifications of a message, and withdraws what has not started of them.
func (r *Router) End(ctx context.Context, tenant, message string) error {
	for cursor := ""; ; {
		list, next, err := r.Plans.Notifications(ctx, tenant, message, cursor, 100)
		for i := 0; i < len(list) && err == nil; i++ {
			_, err = r.Plans.Notification(ctx, time.Now(), tenant, list[i].ID, End)
		}
		if cursor = next; err != nil || cursor == "" {
			return err
		}
	}
}

// open is the route that a draft names. One that sends what the caller's key is not for is refused.
func (r *Router) open(ctx context.Context, req *intake.Request, d *posthouse.Draft, path string) (posthouse.Route, error) {
	sight := req.Caller.Sight
	if !sight.Kind(d.Kind) {
		return posthouse.Route{}, posthouse.Errorf(posthouse.CodeForbidden, "%skind is %.80q: the key is for %s", path, d.Kind, strings.Join(sight.Kinds, ", "))
	}
	way, err := r.Routes.Route(ctx, req.Tenant, d.Route, 0)
	if err != nil {
		return way, err
	}
	for i := range way.Steps {
		for _, name := range way.Steps[i].Channels {
			if !sight.Channel(name) {
				return way, posthouse.Errorf(posthouse.CodeForbidden, "%sroute %.80q sends on channel %.80q: the key is for %s", path, d.Route, name, strings.Join(sight.Channels, ", "))
			}
		}
	}
	return way, nil
}

// distinct are recipients, each once.
func distinct(to []posthouse.Recipient) []posthouse.Recipient {
	seen := map[posthouse.Recipient]bool{}
	var list []posthouse.Recipient
	for _, r := range to {
		if !seen[r] {
			seen[r], list = true, append(list, r)
		}
	}
	return list
}

// judge says what is wrong with what the steps of a notification would send now, and whether any of it calls everybody. That somebody
// cannot be reached on one channel is no problem: the next step is for that. Nor is a step whose channel or template is gone, as long as
// another can send. For a caller that cannot mend the route nothing is, as long as
// something can be sent.
func (r *Router) judge(ctx context.Context, req *intake.Request, n *notification, now time.Time, p *draft.Problems) (mentionAll bool, err error) {
	var wrong, gone []posthouse.Problem
	able := false
	for i := 0; i < len(n.Follows.Steps) && (len(wrong) == 0 || n.BestEffort); i++ {
		try := *n
		try.Step, try.Round = i+1, 1
		drafts, lacks, err := r.drafts(ctx, &try, now, false)
		if err != nil {
			return false, err
		}
		for _, l := range lacks.gone {
			gone = append(gone, posthouse.Problem{Path: "template", Message: fmt.Sprintf("%s (step %d of the route %s, channel %s)", l.says(), i+1, n.Route, l.channel)})
		}
		for j := range drafts {
			answer, _, err := r.rehearse(ctx, intake.Request{
				Tenant: req.Tenant, Caller: req.Caller, HandedIn: req.HandedIn, MaxRecipients: req.MaxRecipients,
			}, &try, &drafts[j])
			mentionAll = mentionAll || answer.MentionAll
			problems, invalid := problemsOf(err)
			if err != nil && !invalid {
				return false, err
			}
			able = able || err == nil
			for _, w := range problems {
				said := posthouse.Problem{Path: w.Path, Message: fmt.Sprintf("%s (step %d of the route %s, channel %s)", w.Message, i+1, n.Route, drafts[j].Channel)}
				switch {
				case w.Path == "channel": // it is gone, which whoever sends cannot help: the step is passed over
					gone = append(gone, said)
				case !strings.HasPrefix(w.Path, "to["):
					wrong = append(wrong, said)
				}
			}
		}
	}
	if n.BestEffort && able {
		return mentionAll, nil
	}
	if !able {
		wrong = append(wrong, gone...)
	}
	if n.BestEffort && len(wrong) == 0 {
		p.Add("route", "%.80q reaches nobody now: no step has somebody whose address is known", n.Route)
	}
	for _, w := range wrong {
		p.Add(w.Path, "%s", w.Message)
	}
	return mentionAll, nil
}

// rehearse asks the intake about what the current step of a notification would send, and stores nothing. On best effort a draft whose template
// does not fit becomes the message's own content; instead says why.
func (r *Router) rehearse(ctx context.Context, req intake.Request, n *notification, d *posthouse.Draft) (answer intake.Answer, instead string, err error) {
	req.DryRun, req.Drafts = true, []posthouse.Draft{*d}
	answer, err = r.Intake.Accept(ctx, req)
	_, invalid := problemsOf(err)
	s := n.step(n.Step)
	own := s.TemplateOn(d.Channel)
	if !invalid || !n.BestEffort || n.Draft.Content == nil || own == "" {
		return answer, "", err
	}
	payload, broken := n.payload()
	plain := *s
	plain.Template, plain.Templates = "", nil
	text, unmade := r.draft(n, &plain, d.To[0], d.Channel, payload)
	if cmp.Or(broken, unmade) != nil {
		return answer, "", err
	}
	req.Drafts = []posthouse.Draft{text}
	second, wrong := r.Intake.Accept(ctx, req)
	if wrong != nil {
		return answer, "", err
	}
	*d = text
	return second, fmt.Sprintf("%s: the template %s does not fit, so the message's own text is told: %v", d.Channel, own, err), nil
}

// problemsOf are the problems of an error that says that something is invalid.
func problemsOf(err error) ([]posthouse.Problem, bool) {
	var coded *posthouse.Error
	if errors.As(err, &coded) && coded.Code == posthouse.CodeInvalid {
		return coded.Problems, true
	}
	return nil, false
}
