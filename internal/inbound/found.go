package inbound

import (
	"cmp"
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// Messages reads what was handed in.
type Messages interface {
	Message(ctx context.Context, v work.Viewer, id string) (m posthouse.Message, recipients int, err error)
	Messages(ctx context.Context, f work.Filter) (list []work.Summary, next string, err error)
}

// Deliveries reads how far it is.
type Deliveries interface {
	DeliveriesOf(ctx context.Context, v work.Viewer, message, cursor string, limit int) (list []posthouse.Delivery, next string, err error)
}

// Told reads how far messages are that follow routes.
type Told interface {
	Of(ctx context.Context, v work.Viewer, message, cursor string, limit int) (list []posthouse.Notification, says posthouse.Draft, next string, err error)
	About(ctx context.Context, v work.Viewer, kind, ref, source string) (message string, err error)
}

// Found is a message that came at a front before, and how far it is.
type Found struct {
	Message    posthouse.Message
	Deliveries []posthouse.Delivery
	// Notifications are those of a message that follows a route, in place of deliveries.
	Notifications []posthouse.Notification
}

// Missing is why there is nothing where a caller looks: the error of Read for such a call.
type Missing string

func (m Missing) Error() string { return string(m) }

// errNotFound is a message that there is not, whoever handed it in.
const errNotFound = Missing("message not found")

// errNotRead is a message that cannot be read now.
var errNotRead = errors.New("the message cannot be read now")

// mostFound bounds the deliveries that are told of a message.
const mostFound = 1000

// Find finds a message that came at the same front before, by its sender's id or ours, and fills in Found. Such a call is no news: it does not
// stand among the last ones.
func (r *Request) Find(id string) (err error) {
	if r.find == nil {
		return errNotFound
	}
	r.Found, err = r.find(id)
	return err
}

// findFor is Request.Find for the calls of a request's front.
func (d *Desk) findFor(in *Request) func(id string) (*Found, error) {
	if d.o.Messages == nil {
		return nil
	}
	return func(id string) (*Found, error) {
		out, err := d.lookUp(in, id)
		if err != nil && !errors.Is(err, errNotFound) {
			d.o.Log.Warn("a message that a front is asked for cannot be read", "front", in.Front.Name, "error", err)
			err = errNotRead
		}
		return out, err
	}
}

func (d *Desk) lookUp(in *Request, id string) (*Found, error) {
	v := work.Viewer{Tenant: in.Front.Tenant, Sight: work.SeeAll()}
	m, err := d.named(in, v, id)
	if (errors.Is(err, errNotFound) || err == nil && m.Notification != "") && d.o.Told != nil { // or it is the message of a step
		return d.routed(in, v, id)
	}
	if err != nil {
		return nil, err
	}
	list, _, err := d.o.Deliveries.DeliveriesOf(in.Context(), v, m.ID, "", mostFound)
	return &Found{Message: m, Deliveries: list}, err
}

// routed is a message of a front that follows a route, by an id as named has it.
func (d *Desk) routed(in *Request, v work.Viewer, id string) (*Found, error) {
	if id == "" || Cut(Clean(id), maxRef) != id {
		return nil, errNotFound
	}
	message, err := d.o.Told.About(in.Context(), v, kindOf(&in.Front), id, sourceOf(&in.Front))
	if err != nil {
		return nil, err
	}
	if message = cmp.Or(message, id); !posthouse.ValidID(message) {
		return nil, errNotFound
	}
	list, says, _, err := d.o.Told.Of(in.Context(), v, message, "", mostFound)
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0 || says.Source != sourceOf(&in.Front):
		return nil, errNotFound
	}
	first := &list[0]
	return &Found{
		Message:       posthouse.Message{ID: message, Tenant: v.Tenant, Route: first.Route, Kind: says.Kind, Ref: says.Ref, Source: says.Source, CreatedAt: first.CreatedAt},
		Notifications: list,
	}, nil
}

// named is the message of a front by an id: the last one that its sender called so, or ours.
func (d *Desk) named(in *Request, v work.Viewer, id string) (posthouse.Message, error) {
	if id == "" || Cut(Clean(id), maxRef) != id {
		return posthouse.Message{}, errNotFound
	}
	list, _, err := d.o.Messages.Messages(in.Context(), work.Filter{Tenant: v.Tenant, Sight: v.Sight, Kind: kindOf(&in.Front), Ref: id, Limit: 10})
	if err != nil {
		return posthouse.Message{}, err
	}
	for i := range list {
		if m := list[i].Message; m.Source == sourceOf(&in.Front) {
			return m, nil
		}
	}
	if !posthouse.ValidID(id) {
		return posthouse.Message{}, errNotFound
	}
	m, _, err := d.o.Messages.Message(in.Context(), v, id)
	if err == nil && m.Source != sourceOf(&in.Front) || posthouse.CodeOf(err) == posthouse.CodeNotFound {
		err = errNotFound
	}
	return m, err
}
