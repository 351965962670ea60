package api

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/route"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Ways keeps routes.
type Ways interface {
	PutRoute(ctx context.Context, now time.Time, r posthouse.Route) (posthouse.Route, error)
	Route(ctx context.Context, tenant, name string, version int) (posthouse.Route, error)
	Routes(ctx context.Context, tenant, cursor string, limit int) (list []posthouse.Route, next string, err error)
	DeleteRoute(ctx context.Context, tenant, name string) error
}

// WayPreviews say who would get what when.
type WayPreviews interface {
	Preview(ctx context.Context, req *intake.Request, d posthouse.Draft, now time.Time) (wire.RoutePreview, error)
	// Warnings say what of a route would not work now.
	Warnings(ctx context.Context, r *posthouse.Route, now time.Time) ([]posthouse.Problem, error)
}

// Notifications are read, acknowledged and ended.
type Notifications interface {
	Get(ctx context.Context, v work.Viewer, id string) (posthouse.Notification, error)
	List(ctx context.Context, v work.Viewer, f route.Filter, cursor string, limit int) (list []posthouse.Notification, next string, err error)
	// Of are the notifications of a message, none where it follows no route, and what each step of them says.
	Of(ctx context.Context, v work.Viewer, message, cursor string, limit int) (list []posthouse.Notification, says posthouse.Draft, next string, err error)
	// Waiting are those that wait and are about a kind and a ref.
	Waiting(ctx context.Context, v work.Viewer, kind, ref string) ([]posthouse.Notification, error)
	Acknowledge(ctx context.Context, v work.Viewer, id, by string, via posthouse.AckVia, evidence json.RawMessage) (posthouse.Notification, error)
	End(ctx context.Context, v work.Viewer, id string) (posthouse.Notification, error)
	RevokeLinks(ctx context.Context, v work.Viewer, id string) (posthouse.Notification, error)
	// Resume lets one go on that is held.
	Resume(ctx context.Context, v work.Viewer, id string) (posthouse.Notification, error)
}

// ways is the resource of routes, and of the notifications that follow them.
type ways struct {
	store    Ways
	previews WayPreviews
	channels Channels
	told     Notifications
	// users are the directory, by which a person is known by name.
	users Users
}

var (
	routeBody        = web.BodyOf[posthouse.Route]().Loose()
	routePreviewBody = web.BodyOf[posthouse.Draft]()
	ackBody          = web.BodyOf[wire.Ack]().Optional()
)

func (w ways) routes() []web.Route {
	return web.Tagged("routes",
		web.Get("/v1/routes", reads, "List routes, the latest version of each.", w.list).Paged(),
		web.Get("/v1/routes/{name}", reads, "A route, its latest version or a given one.", w.get).Query("version"),
		web.Put("/v1/routes/{name}", admin, "Store a new version.", routeBody, w.put).Guarded(),
		web.Delete("/v1/routes/{name}", admin, "Delete a route, all versions. Notifications that follow it go on.", w.remove),
		web.Post("/v1/routes/{name}/preview", reads, "Who would get what when. Nothing is sent.", routePreviewBody, w.preview).Sighted(),
		web.Get("/v1/notifications", reads, "List notifications, newest first.", w.listTold).Query("state", "person", "route", "kind", "ref", "since", "until", "held").Paged().Sighted(),
		web.Get("/v1/notifications/{id}", reads, "One notification.", w.getTold).Sighted(),
		web.Post("/v1/notifications/{id}/ack", sends, "Acknowledge it: no further step begins.", ackBody, w.ack).Audited().Sighted(),
		web.Act("/v1/notifications/{id}/revoke-links", sends, "Revoke the links and the buttons of cards that were sent for it: nobody acknowledges by them any more. What is sent from then on has new ones.", w.revokeLinks).Audited().Sighted(),
		web.Act("/v1/notifications/{id}/end", sends, "End it: no further step begins, and nobody has taken note.", w.end).Audited().Sighted(),
		web.Act("/v1/notifications/{id}/resume", sends, "Let it go on from now, where a new epoch holds it: its next step may begin at once.", w.resume).Audited().Sighted(),
		web.Get("/v1/messages/{id}/notifications", reads, "Who was told of a message, by which steps.", w.ofMessage).Paged().Sighted(),
		web.Post("/v1/messages/{id}/ack", sends, "Acknowledge a message, for all whom it means or for one.", ackBody, w.ackMessage).Audited().Sighted(),
	)
}

func (w ways) list(c *web.Call) (wire.Page[posthouse.Route], error) {
	return paged(c, func(cursor string, limit int) ([]posthouse.Route, string, error) {
		return w.store.Routes(c.Context(), c.Tenant(), cursor, limit)
	})
}

func (w ways) get(c *web.Call) (posthouse.Route, error) {
	version := c.Number("version", 1, 1<<30)
	if err := c.Wrong(); err != nil {
		return posthouse.Route{}, err
	}
	found, err := w.store.Route(c.Context(), c.Tenant(), c.PathValue("name"), version)
	c.Tag(found.Tag())
	if err == nil {
		found.Warnings, err = w.previews.Warnings(c.Context(), &found, time.Now())
	}
	return found, err
}

func (w ways) put(c *web.Call, in posthouse.Route) (posthouse.Route, error) {
	c.NameIn(&in.Name, in.Tenant)
	c.CheckName("name", in.Name)
	in = route.WithDefaults(in)
	known := map[string]bool{}
	for i := range in.Steps {
		for _, name := range in.Steps[i].Channels {
			_, err := w.channels.Get(c.Context(), c.Tenant(), name)
			if err != nil && posthouse.CodeOf(err) != posthouse.CodeNotFound {
				return in, err
			}
			known[name] = err == nil
		}
	}
	p := draft.Problems{}
	route.Check(&in, func(name string) bool { return known[name] }, &p)
	c.Add(p.List)
	if err := c.Wrong(); err != nil {
		return in, err
	}
	in.Tenant, in.Warnings = c.Tenant(), nil
	before, missing := w.store.Route(c.Context(), c.Tenant(), in.Name, 0)
	stored, err := w.store.PutRoute(c.Context(), time.Now(), in)
	puts(c, missing == nil, before, stored)
	c.Tag(stored.Tag())
	if err == nil {
		stored.Warnings, err = w.previews.Warnings(c.Context(), &stored, time.Now())
	}
	return stored, err
}

func (w ways) remove(c *web.Call) error {
	before, err := w.store.Route(c.Context(), c.Tenant(), c.PathValue("name"), 0)
	deletes(c, before, err)
	return w.store.DeleteRoute(c.Context(), c.Tenant(), c.PathValue("name"))
}

func (w ways) preview(c *web.Call, in posthouse.Draft) (wire.RoutePreview, error) {
	if in.Route != "" && in.Route != c.PathValue("name") {
		c.Refuse("route", "is %.80q: the address names %.80q", in.Route, c.PathValue("name"))
	}
	in.Route = c.PathValue("name")
	if err := c.Wrong(); err != nil {
		return wire.RoutePreview{}, err
	}
	return w.previews.Preview(c.Context(), &intake.Request{Tenant: c.Tenant(), Caller: c.Caller()}, in, time.Now())
}

func (w ways) listTold(c *web.Call) (wire.Page[posthouse.Notification], error) {
	f := route.Filter{
		State: posthouse.NotificationState(c.Query.Get("state")), Person: c.Query.Get("person"), Route: c.Query.Get("route"), Kind: c.Query.Get("kind"), Ref: c.Query.Get("ref"),
		Since: c.Moment("since"), Until: c.Moment("until"), Held: c.Truth("held"),
	}
	if f.State != "" && !slices.Contains(posthouse.NotificationStates(), f.State) {
		c.Refuse("query.state", "%s", channel.Want(f.State, posthouse.NotificationStates()))
	}
	if !f.Until.IsZero() && !f.Until.After(f.Since) {
		c.Refuse("query.until", "must be later than since")
	}
	return paged(c, func(cursor string, limit int) ([]posthouse.Notification, string, error) {
		return w.told.List(c.Context(), c.Viewer(), f, cursor, limit)
	})
}

func (w ways) getTold(c *web.Call) (posthouse.Notification, error) {
	return w.told.Get(c.Context(), c.Viewer(), c.PathValue("id"))
}

func (w ways) ofMessage(c *web.Call) (wire.Page[posthouse.Notification], error) {
	out, err := paged(c, func(cursor string, limit int) ([]posthouse.Notification, string, error) {
		list, _, next, err := w.told.Of(c.Context(), c.Viewer(), c.PathValue("id"), cursor, limit)
		return list, next, err
	})
	if err == nil && len(out.Items) == 0 && c.Query.Get("cursor") == "" {
		err = noRouted(c.PathValue("id"))
	}
	return out, err
}

func noRouted(message string) error {
	return posthouse.Errorf(posthouse.CodeNotFound, "there is no message %.80q that follows a route", message)
}

// each does something to each notification of a message. An error of code not_found says that there is none.
func each(c *web.Call, told Notifications, do func(n *posthouse.Notification) error) error {
	message, found := c.PathValue("id"), false
	for cursor := ""; ; {
		list, _, next, err := told.Of(c.Context(), c.Viewer(), message, cursor, web.MaxPage)
		for i := 0; i < len(list) && err == nil; i++ {
			found, err = true, do(&list[i])
		}
		if err != nil {
			return err
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	if !found {
		return noRouted(message)
	}
	return nil
}

func (w ways) ack(c *web.Call, in wire.Ack) (posthouse.Notification, error) {
	checkAck(c, in)
	if in.User != "" {
		c.Refuse("user", "stands beside a notification, which is one person's: leave it out")
	}
	if err := c.Wrong(); err != nil {
		return posthouse.Notification{}, err
	}
	c.Asked(in, 1)
	of, err := w.told.Get(c.Context(), c.Viewer(), c.PathValue("id"))
	if err != nil {
		return of, err
	}
	by, err := w.byOf(c, in, &of)
	if err != nil {
		return of, err
	}
	return w.told.Acknowledge(c.Context(), c.Viewer(), of.ID, by, posthouse.AckAPI, in.Evidence)
}

func checkAck(c *web.Call, in wire.Ack) {
	c.CheckWord("by", in.By, draft.MaxWord)
	c.CheckWord("user", in.User, draft.MaxWord)
	p := draft.Problems{}
	p.Object("evidence", in.Evidence, route.MaxEvidence)
	c.Add(p.List)
}

// byOf is who has taken note: whoever the caller says, or the caller. The name or an address of one whom the notification means or has told is
// that user: else the person's own word would stand there as another's.
func (w ways) byOf(c *web.Call, in wire.Ack, n *posthouse.Notification) (string, error) {
	if in.By == "" {
		return c.Key.Name, nil
	}
	var people []string
	for _, to := range n.To {
		people = append(people, to.User)
	}
	for i := range n.Deliveries {
		people = append(people, n.Deliveries[i].User)
	}
	slices.Sort(people)
	people = slices.DeleteFunc(slices.Compact(people), func(id string) bool { return id == "" })
	if len(people) == 0 || slices.Contains(people, in.By) {
		return in.By, nil
	}
	known, err := w.users.Profiles(c.Context(), c.Tenant(), people)
	if err != nil {
		return "", err
	}
	var called []string
	for id, u := range known {
		if u.Name == in.By || slices.Contains(slices.Collect(maps.Values(u.Addresses)), in.By) {
			called = append(called, id)
		}
	}
	if len(called) != 1 { // two of one name are told apart by their ids alone
		return in.By, nil
	}
	return called[0], nil
}

func (w ways) ackMessage(c *web.Call, in wire.Ack) (out wire.Page[posthouse.Notification], err error) {
	checkAck(c, in)
	if err := c.Wrong(); err != nil {
		return out, err
	}
	out.Items = []posthouse.Notification{}
	err = each(c, w.told, func(n *posthouse.Notification) error {
		if in.User != "" && !means(n, in.User) {
			return nil
		}
		by, err := w.byOf(c, in, n)
		if err != nil {
			return err
		}
		acked, err := w.told.Acknowledge(c.Context(), c.Viewer(), n.ID, by, posthouse.AckAPI, in.Evidence)
		if err == nil {
			out.Items = append(out.Items, acked)
			c.Asked(in, len(out.Items))
		}
		return err
	})
	if err == nil && len(out.Items) == 0 {
		err = posthouse.Errorf(posthouse.CodeNotFound, "the message means nobody called %.80q", in.User)
	}
	return out, err
}

// means reports whether a notification is somebody's. One whose route names the recipients is that of all who were told.
func means(n *posthouse.Notification, user string) bool {
	for i := 0; len(n.To) == 0 && i < len(n.Deliveries); i++ {
		if n.Deliveries[i].User == user {
			return true
		}
	}
	for _, to := range n.To {
		if to.User == user || to.Address == user {
			return true
		}
	}
	return false
}

func (w ways) end(c *web.Call) (posthouse.Notification, error) {
	c.Asked(nil, 1)
	return w.told.End(c.Context(), c.Viewer(), c.PathValue("id"))
}

func (w ways) resume(c *web.Call) (posthouse.Notification, error) {
	c.Asked(nil, 1)
	return w.told.Resume(c.Context(), c.Viewer(), c.PathValue("id"))
}

func (w ways) revokeLinks(c *web.Call) (posthouse.Notification, error) {
	c.Asked(nil, 1)
	return w.told.RevokeLinks(c.Context(), c.Viewer(), c.PathValue("id"))
}
