package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/decide"
	"github.com/posthouse/posthouse/internal/inquire"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/read"
	"github.com/posthouse/posthouse/internal/remind"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Sender accepts messages and withdraws deliveries. The engine's roles satisfy it.
type Sender interface {
	Accept(ctx context.Context, req intake.Request) (intake.Answer, error)
	Cancel(ctx context.Context, tenant string, ids []string) ([]decide.Cancellation, error)
}

// Refs finds what is open by its sender's own words.
type Refs interface {
	// ByRef lists the open deliveries of a filter's kind and ref.
	ByRef(ctx context.Context, f work.Filter) (open []string, err error)
}

// messages is the resource of what is to be told.
type messages struct {
	read    read.Reader
	sender  Sender
	reminds Reminds
	refs    Refs
	told    Notifications
	streams *streams
	recalls Recalls
}

// Recalls asks providers to take back what was sent.
type Recalls interface {
	Recall(ctx context.Context, tenant string, list []posthouse.Delivery) (done []inquire.Withdrawn, left int, err error)
}

// maxMessages bounds the messages of one request.
const maxMessages = 1000

var (
	sendBody = web.BodyOf[wire.Send](web.OneTo(maxMessages, "messages", "messages")).Keyed()
)

func (m messages) routes() []web.Route {
	return web.Tagged("messages",
		web.Post("/v1/messages", sends, "Accept one message, or a list of up to 1000: all of them or none. 202 means committed and synced.", sendBody, m.send).Query("dry_run").
			Answers(http.StatusAccepted, http.StatusOK).Of(wire.Sent{}).Sighted(),
		web.Get("/v1/messages", reads, "List messages, newest first.", m.list).Query(filterable...).Sighted().Aside(),
		web.Get("/v1/messages/{id}", reads, "A message with its deliveries; with wait once none of them waits or is being sent.", m.get).Paged().Query("wait").Sighted(),
		web.Act("/v1/messages/{id}/cancel", sends, "Cancel what has not started.", m.cancelOne).Audited().Sighted(),
		web.Act("/v1/messages/{id}/recall", sends, "Cancel what has not started, and ask the providers to take back what was sent. Repeated, it goes on.", m.recall).Audited().Sighted(),
		web.Post("/v1/messages/cancel", sends, "Cancel everything open of a kind and ref, and end its reminders.", refBody, m.cancelRef).Audited().Sighted(),
	)
}

// send takes one message or many, all or none.
func (m messages) send(c *web.Call, in wire.Send) (any, error) {
	many := in.Messages != nil
	drafts, path := []posthouse.Draft{in.Draft}, func(int) string { return "" }
	if many {
		drafts, path = in.Messages, func(i int) string { return fmt.Sprintf("messages[%d].", i) }
		checkList(c, &in)
	}
	rehearse := c.Truth("dry_run")
	out, err := m.accept(c, intake.Request{Endpoint: "messages", Key: c.Once.Key, Hash: c.Once.Hash, Drafts: drafts, Path: path, DryRun: rehearse})
	if err != nil {
		return nil, err
	}
	if rehearse {
		c.Status = http.StatusOK
		return wire.Sent{DryRun: true}, nil
	}
	c.Replayed(out.Replayed)
	c.Status = http.StatusOK // nothing was accepted now: all stood for already
	for i := range out.Accepted {
		if out.Accepted[i].DuplicateOf == "" {
			c.Status = http.StatusAccepted
		} else if err := m.fillDuplicate(c, &out.Accepted[i]); err != nil {
			return nil, err
		}
	}
	if !many {
		return wire.Sent{Accepted: &out.Accepted[0]}, nil
	}
	return wire.Sent{Messages: out.Accepted}, nil
}

// checkList checks what the list form allows beside the messages: nothing.
func checkList(c *web.Call, in *wire.Send) {
	if len(in.Messages) == 0 {
		c.Refuse("messages", "has 0 messages: want 1 to %d", maxMessages)
	}
	if !reflect.ValueOf(in.Draft).IsZero() {
		c.Refuse("messages", "stands beside fields of a single message: give one of both")
	}
}

// accept hands drafts to the engine. With problems found already nothing is stored, but what the
// engine finds wrong is told with them.
func (m messages) accept(c *web.Call, req intake.Request) (intake.Answer, error) {
	req.Tenant, req.Caller, req.DryRun = c.Tenant(), c.Caller(), req.DryRun || c.Wrong() != nil
	out, err := m.sender.Accept(c.Context(), req)
	if c.Wrong() != nil {
		c.Add(web.ProblemsOf(err))
		return intake.Answer{}, c.Wrong()
	}
	return out, err
}

// fillDuplicate adds how the deliveries of the message that stands already are now.
func (m messages) fillDuplicate(c *web.Call, acc *posthouse.Accepted) error {
	list, _, err := m.read.Deliveries.DeliveriesOf(c.Context(), c.Viewer(), acc.ID, "", web.MaxPage)
	if err != nil {
		return err
	}
	acc.Deliveries = make([]posthouse.AcceptedDelivery, len(list))
	if len(list) > 0 {
		acc.CreatedAt = list[0].CreatedAt
	}
	for i := range list {
		d := &list[i]
		acc.Deliveries[i] = posthouse.AcceptedDelivery{ID: d.ID, User: d.User, State: d.State, Reason: d.Reason}
	}
	return nil
}

func (m messages) get(c *web.Call) (wire.Message, error) {
	wait := c.Span("wait", maxWait)
	cursor, limit, err := c.Page()
	if err != nil {
		return wire.Message{}, err
	}
	read := func(ctx context.Context) (wire.Message, error) {
		found, err := m.read.Message(ctx, c.Viewer(), c.PathValue("id"), cursor, limit)
		if posthouse.CodeOf(err) == posthouse.CodeNotFound {
			return m.routed(ctx, c.Viewer(), c.PathValue("id"), cursor, limit, err)
		}
		return found, err
	}
	found, err := read(c.Context())
	if err != nil || wait == 0 || settled(found) {
		return found, err
	}
	held, release, err := m.streams.begin(c.Context(), c.Key)
	if err != nil {
		return wire.Message{}, err
	}
	defer release()
	mayWait(c, wait)
	return awaited(held, found, wait, read)
}

// routed is a message that follows a route: its deliveries are those of its notifications' steps. missing is the answer where there is none.
func (m messages) routed(ctx context.Context, v work.Viewer, id, cursor string, limit int, missing error) (wire.Message, error) {
	list, says, next, err := m.told.Of(ctx, v, id, cursor, limit)
	if err != nil || len(list) == 0 {
		return wire.Message{}, cmp.Or(err, missing)
	}
	out := wire.Message{
		Message: posthouse.Message{
			ID: id, Tenant: v.Tenant, Route: list[0].Route, Kind: says.Kind, Ref: says.Ref, Priority: says.Priority, Template: says.Template, Payload: says.Payload,
			Source: says.Source, OnUnknown: says.OnUnknown, NotBefore: says.NotBefore, Deadline: says.Deadline, CreatedAt: list[0].CreatedAt,
			Sensitive: says.Sensitive,
		},
		Recipients: len(list), Counts: wire.Counts{}, Notifications: list, Next: next,
	}
	if says.Content != nil {
		out.Content = *says.Content
	}
	out.Message = read.Hidden(out.Message)
	for i := range list {
		for _, d := range list[i].Deliveries {
			out.Counts[d.State]++
		}
	}
	return out, nil
}

// settled reports whether no delivery of a message waits or is being sent, and no notification waits: the others have ended, or need a person.
func settled(m wire.Message) bool {
	for i := range m.Notifications {
		if m.Notifications[i].State == posthouse.NotificationWaiting {
			return false
		}
	}
	return m.Counts[posthouse.Pending]+m.Counts[posthouse.Sending] == 0
}

// How often a message is looked at for somebody who waits: soon at first, as most are sent at once.
const (
	firstLook = 20 * time.Millisecond
	lastLook  = 500 * time.Millisecond
)

// awaited looks at a message until it is settled, the time is over, or others need the place; what was found last is the answer.
func awaited(ctx context.Context, found wire.Message, wait time.Duration, read func(context.Context) (wire.Message, error)) (wire.Message, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		select {
		case <-ctx.Done():
			return found, nil
		case <-time.After(pause):
		}
		now, err := read(ctx)
		switch {
		case ctx.Err() != nil:
			return found, nil
		case err != nil || settled(now):
			return now, err
		}
		found = now
	}
}

func (m messages) list(c *web.Call) (wire.Page[wire.Message], error) {
	f, err := filterOf(c)
	if err != nil {
		return wire.Page[wire.Message]{}, err
	}
	f.Look = mostLooked
	return m.read.List(c.Context(), f)
}

func (m messages) cancelOne(c *web.Call) (wire.Cancelled, error) {
	found, _, err := m.read.Messages.Message(c.Context(), c.Viewer(), c.PathValue("id"))
	if posthouse.CodeOf(err) == posthouse.CodeNotFound {
		return m.cancelRouted(c, err)
	}
	if err != nil {
		return wire.Cancelled{}, err
	}
	var ids []string
	err = m.read.Each(c.Context(), c.Viewer(), found.ID, func(d *posthouse.Delivery) { ids = append(ids, d.ID) })
	if err != nil {
		return wire.Cancelled{}, err
	}
	return m.cancel(c, ids)
}

// cancelRouted ends the notifications of a message that follows a route, which withdraws what has not started of their steps.
func (m messages) cancelRouted(c *web.Call, missing error) (wire.Cancelled, error) {
	out := wire.Cancelled{Deliveries: []wire.Cancellation{}}
	err := each(c, m.told, func(before *posthouse.Notification) error { return m.end(c, before, &out) })
	if posthouse.CodeOf(err) == posthouse.CodeNotFound {
		err = missing
	}
	return out, err
}

// end ends a notification, and adds what has become of its deliveries to an answer.
func (m messages) end(c *web.Call, before *posthouse.Notification, out *wire.Cancelled) error {
	n, err := m.told.End(c.Context(), c.Viewer(), before.ID)
	if err != nil {
		return err
	}
	for j, d := range n.Deliveries {
		one := wire.Cancellation{Delivery: d.ID, User: d.User, State: d.State, Result: decide.CancelLate}
		switch {
		case j < len(before.Deliveries) && !before.Deliveries[j].State.Open():
			one.Result = decide.CancelFinal
			out.AlreadyFinal++
		case d.State == posthouse.Cancelled:
			one.Result = decide.CancelDone
			out.Cancelled++
		default:
			out.TooLate++
		}
		out.Deliveries = append(out.Deliveries, one)
	}
	c.Affected(len(out.Deliveries))
	return nil
}

func (m messages) cancelRef(c *web.Call, in wire.Ref) (wire.Cancelled, error) {
	if err := checkRef(c, in); err != nil {
		return wire.Cancelled{}, err
	}
	ended, err := m.reminds.EndReminders(c.Context(), c.Viewer(), in.Kind, in.Ref, remind.ReasonCancelled)
	if err != nil {
		return wire.Cancelled{}, err // their messages are found below: no other comes now
	}
	c.Asked(in, 0)
	told, err := m.told.Waiting(c.Context(), c.Viewer(), in.Kind, in.Ref)
	if err != nil {
		return wire.Cancelled{}, err
	}
	withdrawn, seen := wire.Cancelled{Deliveries: []wire.Cancellation{}}, map[string]bool{}
	for i := range told { // first of all: what is withdrawn of a step would lead to the next one
		if err := m.end(c, &told[i], &withdrawn); err != nil {
			return withdrawn, err
		}
	}
	for i := range withdrawn.Deliveries {
		seen[withdrawn.Deliveries[i].Delivery] = true
	}
	ids, err := m.refs.ByRef(c.Context(), work.Filter{Tenant: c.Tenant(), Kind: in.Kind, Ref: in.Ref, Sight: c.Sight()})
	if err != nil {
		return withdrawn, err
	}
	out, err := m.cancel(c, slices.DeleteFunc(ids, func(id string) bool { return seen[id] }))
	out.Cancelled, out.TooLate, out.AlreadyFinal = out.Cancelled+withdrawn.Cancelled, out.TooLate+withdrawn.TooLate, out.AlreadyFinal+withdrawn.AlreadyFinal
	out.Deliveries = append(withdrawn.Deliveries, out.Deliveries...)
	for _, r := range ended {
		out.Reminders = append(out.Reminders, r.ID)
	}
	return out, err
}

// cancel withdraws deliveries, some at a time. What an error finds done is done.
func (m messages) cancel(c *web.Call, ids []string) (wire.Cancelled, error) {
	const step = 1000
	out := wire.Cancelled{Deliveries: []wire.Cancellation{}}
	for len(ids) > 0 {
		part := ids[:min(step, len(ids))]
		ids = ids[len(part):]
		list, err := m.sender.Cancel(c.Context(), c.Tenant(), part)
		if err != nil {
			return out, err
		}
		for _, one := range list {
			switch one.Result {
			case decide.CancelDone:
				out.Cancelled++
			case decide.CancelLate:
				out.TooLate++
			default:
				out.AlreadyFinal++
			}
			out.Deliveries = append(out.Deliveries, wire.Cancellation(one))
		}
		c.Affected(out.Cancelled + out.TooLate)
	}
	return out, nil
}
