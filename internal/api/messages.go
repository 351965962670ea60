package api

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/remind"
	"github.com/posthouse/posthouse/internal/work"
)

// maxMessages bounds the messages of one request.
const maxMessages = 1000

// sendBody is one message, or a list of them.
type sendBody struct {
	posthouse.Draft
	Messages []posthouse.Draft `json:"messages,omitempty"`
}

// manyAccepted answers a list.
type manyAccepted struct {
	Messages []posthouse.Accepted `json:"messages"`
}

var sendReader = bodyOf[sendBody](oneTo(maxMessages, "messages", "messages"))

// sendMessages takes one message or many, all or none.
func (a *api) sendMessages(c *call) (answer, error) {
	key, hash, in, err := readKeyed(c, sendReader)
	if err != nil {
		return answer{}, err
	}
	many := in.Messages != nil
	drafts, path := []posthouse.Draft{in.Draft}, func(int) string { return "" }
	if many {
		drafts, path = in.Messages, func(i int) string { return fmt.Sprintf("messages[%d].", i) }
		c.checkList(&in)
	}
	out, err := a.accept(c, engine.Request{Endpoint: "messages", Key: key, Hash: hash, Drafts: drafts, Path: path})
	if err != nil {
		return answer{}, err
	}
	status := http.StatusOK // nothing was accepted now: all stood for already
	for i := range out.Accepted {
		if out.Accepted[i].DuplicateOf == "" {
			status = http.StatusAccepted
		} else if err := a.fillDuplicate(c, &out.Accepted[i]); err != nil {
			return answer{}, err
		}
	}
	reply := answer{status: status, header: replayHeader(out.Replayed), body: manyAccepted{out.Accepted}}
	if !many {
		reply.body = out.Accepted[0]
	}
	return reply, nil
}

// checkList checks what the list form allows beside the messages: nothing.
func (c *call) checkList(in *sendBody) {
	if len(in.Messages) == 0 {
		c.refuse("messages", "has 0 messages: want 1 to %d", maxMessages)
	}
	if !reflect.ValueOf(in.Draft).IsZero() {
		c.refuse("messages", "stands beside fields of a single message: give one of both")
	}
}

// accept hands drafts to the engine. With problems found already nothing is stored, but what the
// engine finds wrong is told with them.
func (a *api) accept(c *call, req engine.Request) (engine.Answer, error) {
	req.Tenant = c.key.Tenant
	if len(c.problems) == 0 {
		return a.Engine.Accept(c.Context(), req)
	}
	const marker = "\x00"
	path, given := req.Path, len(req.Drafts)
	req.Path = func(i int) string {
		if i == given {
			return marker
		}
		return path(i)
	}
	req.Key = ""
	req.Drafts = append(req.Drafts[:given:given], posthouse.Draft{}) // one without a channel is refused, and so are all
	_, err := a.Engine.Accept(c.Context(), req)
	c.add(slices.DeleteFunc(problemsOf(err), func(p posthouse.Problem) bool { return strings.HasPrefix(p.Path, marker) }))
	return engine.Answer{}, c.wrong()
}

// concerns reports whether a problem is known already of a field, of one it is in, or of one in it.
func (c *call) concerns(path string) bool {
	within := func(inner, outer string) bool {
		rest, ok := strings.CutPrefix(inner, outer)
		return ok && (rest == "" || outer == "" || rest[0] == '.' || rest[0] == '[')
	}
	for _, p := range c.problems {
		if within(path, p.Path) || within(p.Path, path) {
			return true
		}
	}
	return false
}

// readKeyed reads a body that may come with an Idempotency-Key, and the hash of its canonical form.
func readKeyed[T any](c *call, b body[T]) (key, hash string, v T, err error) {
	if _, err := c.kindOf("application/json"); err != nil {
		return "", "", v, err
	}
	text, err := c.text()
	if err != nil {
		return "", "", v, err
	}
	v, problems, err := b.read(text)
	if err != nil {
		return "", "", v, err
	}
	c.problems = append(c.problems, problems...)
	if key = c.idempotencyKey(); key == "" {
		return "", "", v, nil
	}
	return key, hashOf(text), v, nil
}

const maxIdempotencyKey = 255

func (c *call) idempotencyKey() string {
	given := c.Header["Idempotency-Key"]
	if len(given) == 0 {
		return ""
	}
	key := given[0]
	switch {
	case len(given) > 1:
		c.refuse("header.Idempotency-Key", "stands %d times: once is allowed", len(given))
	case key == "" || len(key) > maxIdempotencyKey:
		c.refuse("header.Idempotency-Key", "has %d bytes: want 1 to %d", len(key), maxIdempotencyKey)
	case strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }):
		c.refuse("header.Idempotency-Key", "holds characters beyond printable ASCII")
	}
	return key
}

func replayHeader(replayed bool) http.Header {
	if !replayed {
		return nil
	}
	return http.Header{"Idempotent-Replay": {"true"}}
}

// fillDuplicate adds how the deliveries of the message that stands already are now.
func (a *api) fillDuplicate(c *call, acc *posthouse.Accepted) error {
	list, _, err := a.Store.DeliveriesOf(c.Context(), c.key.Tenant, acc.ID, "", maxPage)
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

// messageView is a message with how its deliveries stand.
type messageView struct {
	posthouse.Message
	Recipients int                  `json:"recipients" doc:"How many deliveries it was accepted with; replays come on top."`
	Counts     work.Counts          `json:"counts" doc:"How many deliveries there are in each state; one without any is missing."`
	Deliveries []posthouse.Delivery `json:"deliveries,omitempty" doc:"A page of its deliveries; lists leave them out."`
	Next       string               `json:"next,omitempty" doc:"The cursor of the next page of deliveries."`
}

func (a *api) message(c *call) (answer, error) {
	cursor, limit := c.query.Get("cursor"), c.number("limit", 1, maxPage)
	if err := c.wrong(); err != nil {
		return answer{}, err
	}
	id := c.PathValue("id")
	m, recipients, err := a.Store.Message(c.Context(), c.key.Tenant, id)
	if err != nil {
		return answer{}, err
	}
	id = m.ID // what was told for a duplicate leads to the message it is one of
	view := messageView{Message: hidden(m), Recipients: recipients, Counts: work.Counts{}}
	if view.Deliveries, view.Next, err = a.Store.DeliveriesOf(c.Context(), c.key.Tenant, id, cursor, limit); err != nil {
		return answer{}, err
	}
	err = a.each(c.Context(), c.key.Tenant, id, func(d *posthouse.Delivery) { view.Counts[d.State]++ })
	if err != nil {
		return answer{}, err
	}
	return ok(view)
}

// each visits all deliveries of a message.
func (a *api) each(ctx context.Context, tenant, message string, visit func(d *posthouse.Delivery)) error {
	for cursor := ""; ; {
		list, next, err := a.Store.DeliveriesOf(ctx, tenant, message, cursor, maxPage)
		if err != nil {
			return err
		}
		for i := range list {
			visit(&list[i])
		}
		if next == "" {
			return nil
		}
		cursor = next
	}
}

func (a *api) messages(c *call) (answer, error) {
	f := c.filter()
	if err := c.wrong(); err != nil {
		return answer{}, err
	}
	list, next, err := a.Store.Messages(c.Context(), f)
	if err != nil {
		return answer{}, err
	}
	views := make([]messageView, len(list))
	for i, s := range list {
		views[i] = messageView{Message: hidden(s.Message), Recipients: s.Recipients, Counts: s.Counts}
	}
	return pageOf(views, next)
}

// cancelled answers a cancel.
type cancelled struct {
	Cancelled    int                   `json:"cancelled" doc:"No attempt will start."`
	TooLate      int                   `json:"too_late" doc:"An attempt has started; no further one will."`
	AlreadyFinal int                   `json:"already_final" doc:"They were settled before."`
	Deliveries   []engine.Cancellation `json:"deliveries"`
}

func (a *api) cancelMessage(c *call) (answer, error) {
	m, _, err := a.Store.Message(c.Context(), c.key.Tenant, c.PathValue("id"))
	if err != nil {
		return answer{}, err
	}
	var ids []string
	err = a.each(c.Context(), c.key.Tenant, m.ID, func(d *posthouse.Delivery) { ids = append(ids, d.ID) })
	if err != nil {
		return answer{}, err
	}
	return a.cancel(c, ids)
}

// refBody names messages in their sender's own words.
type refBody struct {
	Kind string `json:"kind"`
	Ref  string `json:"ref"`
}

var refReader = bodyOf[refBody]()

func (a *api) cancelRef(c *call) (answer, error) {
	in, err := c.ref()
	if err != nil {
		return answer{}, err
	}
	if _, err := a.Engine.EndReminders(c.Context(), c.key.Tenant, in.Kind, in.Ref, remind.ReasonCancelled); err != nil {
		return answer{}, err // their messages are found below: no other comes now
	}
	ids, err := a.Store.ByRef(c.Context(), c.key.Tenant, in.Kind, in.Ref)
	if err != nil {
		return answer{}, err
	}
	return a.cancel(c, ids)
}

// cancel withdraws deliveries, some at a time. What an error finds done is done.
func (a *api) cancel(c *call, ids []string) (answer, error) {
	const step = 1000
	out := cancelled{Deliveries: []engine.Cancellation{}}
	for len(ids) > 0 {
		part := ids[:min(step, len(ids))]
		ids = ids[len(part):]
		list, err := a.Engine.Cancel(c.Context(), c.key.Tenant, part)
		if err != nil {
			return answer{}, err
		}
		for _, one := range list {
			switch one.Result {
			case engine.CancelDone:
				out.Cancelled++
			case engine.CancelLate:
				out.TooLate++
			default:
				out.AlreadyFinal++
			}
		}
		out.Deliveries = append(out.Deliveries, list...)
	}
	return ok(out)
}
