package intake

import (
	"cmp"
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/work"
)

// routed is what becomes of the drafts of a request that name a route: plans, which send their messages later.
type routed struct {
	by         []bool // of all drafts, in their order: whether it names a route
	list       []work.Routed
	problems   []posthouse.Problem
	mentionAll bool
}

// routed takes the drafts that name a route out of a request.
func (in *Intake) routed(ctx context.Context, req *Request, now time.Time) (w routed, err error) {
	n := 0
	for i := range req.Drafts {
		if req.Drafts[i].Route != "" {
			n++
		}
	}
	if n == 0 {
		return w, nil
	}
	path := req.pathOf
	places := make([]string, len(req.Drafts))
	for i := range places {
		places[i] = path(i)
	}
	known, unnamed, err := in.named(ctx, req.Tenant, req.Drafts, now, path)
	if err != nil {
		return w, err
	}
	var direct []posthouse.Draft
	var kept []string
	for i := range known {
		d := known[i]
		w.by = append(w.by, d.Route != "")
		if d.Route == "" {
			direct, kept = append(direct, req.Drafts[i]), append(kept, places[i])
			continue
		}
		p := &draft.Problems{Path: places[i], List: unnamed[i]}
		draft.Check(&d, cmp.Or(req.MaxRecipients, in.o.MaxRecipients), now, p)
		id := cmp.Or(d.ID, posthouse.NewID())
		if in.o.Routes == nil {
			p.Add("route", "routes are not known here")
		} else if len(p.List) == 0 {
			routed, mentionAll, err := in.beginOne(ctx, req, id, &d, now, p)
			if err != nil {
				return w, err
			}
			w.list, w.mentionAll = append(w.list, routed), w.mentionAll || mentionAll
		}
		w.problems = append(w.problems, p.List...)
	}
	req.Drafts, req.Path = direct, func(i int) string { return kept[i] }
	return w, nil
}

// begin makes the plans of a draft of the outbox that names a route.
func (in *Intake) begin(ctx context.Context, tenant, id string, d *posthouse.Draft, now time.Time, p *draft.Problems) ([]work.Routed, error) {
	if in.o.Routes == nil {
		p.Add("route", "routes are not known here")
	}
	if len(p.List) > 0 {
		return nil, nil
	}
	routed, _, err := in.beginOne(ctx, &Request{Tenant: tenant, Caller: work.Program()}, id, d, now, p)
	return []work.Routed{routed}, err
}

// beginOne makes the plans of a draft. The content of a sensitive one is sealed beside them.
func (in *Intake) beginOne(ctx context.Context, req *Request, id string, d *posthouse.Draft, now time.Time, p *draft.Problems) (work.Routed, bool, error) {
	m := posthouse.Message{ID: id, Tenant: req.Tenant, Payload: d.Payload, NotBefore: d.NotBefore, Deadline: d.Deadline}
	if d.Content != nil {
		m.Content = *d.Content
	}
	sealed, err := in.seal(d, &m, now, p)
	if err != nil || len(p.List) > 0 {
		return work.Routed{}, false, err
	}
	own := *d
	own.Deadline = m.Deadline
	routed, mentionAll, err := in.o.Routes.Begin(ctx, req, id, &own, now, p)
	routed.Sealed = sealed
	return routed, mentionAll, err
}

// inOrder puts what was stored in the order of the drafts: what goes its own way was stored first.
func (w *routed) inOrder(stored []posthouse.Accepted) []posthouse.Accepted {
	if len(w.by) == 0 || len(stored) != len(w.by) {
		return stored
	}
	list := make([]posthouse.Accepted, 0, len(stored))
	direct, way := stored[:len(stored)-len(w.list)], stored[len(stored)-len(w.list):]
	for _, byRoute := range w.by {
		if byRoute {
			list, way = append(list, way[0]), way[1:]
		} else {
			list, direct = append(list, direct[0]), direct[1:]
		}
	}
	return list
}

// People are those whom recipients mean at a time: a roster stands for whoever is on duty, a role for whoever has it. missing says of each
// that stands for nobody why.
func (in *Intake) People(ctx context.Context, tenant string, to []posthouse.Recipient, now time.Time) (people []posthouse.Recipient, missing []posthouse.Problem, err error) {
	for _, one := range to {
		found, wrong, err := in.named(ctx, tenant, []posthouse.Draft{{To: []posthouse.Recipient{one}}}, now, func(int) string { return "" })
		if err != nil {
			return nil, nil, err
		}
		missing = append(missing, wrong[0]...)
		if len(wrong[0]) == 0 {
			people = append(people, found[0].To...)
		}
	}
	return people, missing, nil
}
