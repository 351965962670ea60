package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// Routes say by which channels somebody is told, one step after the other.
type Routes struct{ api *caller }

// List lists the latest version of each route.
func (c Routes) List(ctx context.Context) ([]posthouse.Route, error) {
	return whole[posthouse.Route](ctx, c.api, path("routes"))
}

// Get reads a version of a route, the latest for 0.
func (c Routes) Get(ctx context.Context, name string, version int) (posthouse.Route, error) {
	q := url.Values{}
	if version > 0 {
		q.Set("version", strconv.Itoa(version))
	}
	return get[posthouse.Route](ctx, c.api, path("routes", name), q)
}

// Put stores a new version of a route.
func (c Routes) Put(ctx context.Context, r posthouse.Route) (posthouse.Route, error) {
	return send[posthouse.Route](ctx, c.api, http.MethodPut, path("routes", r.Name), r)
}

// Delete deletes all versions of a route. Notifications that follow it go on.
func (c Routes) Delete(ctx context.Context, name string) error {
	_, err := c.api.do(ctx, request{method: http.MethodDelete, path: path("routes", name)})
	return err
}

// Preview says who would get what when, if a draft followed a route now.
func (c Routes) Preview(ctx context.Context, name string, d posthouse.Draft) (wire.RoutePreview, error) {
	return send[wire.RoutePreview](ctx, c.api, http.MethodPost, path("routes", name, "preview"), d)
}

// Notifications are messages of routes, each for one person or for any of several.
type Notifications struct{ api *caller }

// Get reads one notification.
func (c Notifications) Get(ctx context.Context, id string) (posthouse.Notification, error) {
	return get[posthouse.Notification](ctx, c.api, path("notifications", id), nil)
}

// List lists notifications that are in a state, or in any where it is empty, the newest first. Of the filter, Person, Held, Route,
// Kind, Ref, Since, Until, Cursor and Limit are used.
func (c Notifications) List(ctx context.Context, state posthouse.NotificationState, f Filter) (wire.Page[posthouse.Notification], error) {
	q := Filter{Person: f.Person, Held: f.Held, Route: f.Route, Kind: f.Kind, Ref: f.Ref, Since: f.Since, Until: f.Until, Cursor: f.Cursor, Limit: f.Limit}.query()
	if state != "" {
		q.Set("state", string(state))
	}
	return get[wire.Page[posthouse.Notification]](ctx, c.api, path("notifications"), q)
}

// Of lists the notifications of a message.
func (c Notifications) Of(ctx context.Context, message string) ([]posthouse.Notification, error) {
	page, err := get[wire.Page[posthouse.Notification]](ctx, c.api, path("messages", message, "notifications"), nil)
	return page.Items, err
}

// Acknowledge says that somebody has taken note of a notification: no further step begins. The first word stands.
func (c Notifications) Acknowledge(ctx context.Context, id string, ack wire.Ack) (posthouse.Notification, error) {
	return send[posthouse.Notification](ctx, c.api, http.MethodPost, path("notifications", id, "ack"), ack)
}

// AcknowledgeMessage is Acknowledge for all notifications of a message, or for those of ack's User.
func (c Notifications) AcknowledgeMessage(ctx context.Context, message string, ack wire.Ack) ([]posthouse.Notification, error) {
	page, err := send[wire.Page[posthouse.Notification]](ctx, c.api, http.MethodPost, path("messages", message, "ack"), ack)
	return page.Items, err
}

// RevokeLinks makes the links and the buttons of cards void that were sent for a notification.
func (c Notifications) RevokeLinks(ctx context.Context, id string) (posthouse.Notification, error) {
	return send[posthouse.Notification](ctx, c.api, http.MethodPost, path("notifications", id, "revoke-links"), nil)
}

// End stops a notification that waits, without an acknowledgement.
func (c Notifications) End(ctx context.Context, id string) (posthouse.Notification, error) {
	return send[posthouse.Notification](ctx, c.api, http.MethodPost, path("notifications", id, "end"), nil)
}

// Resume lets a notification go on that a new epoch holds, from now. One that nothing holds stays as it is.
func (c Notifications) Resume(ctx context.Context, id string) (posthouse.Notification, error) {
	return send[posthouse.Notification](ctx, c.api, http.MethodPost, path("notifications", id, "resume"), nil)
}
