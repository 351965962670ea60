package api

import (
	"context"
	"encoding/json"
	"time"

	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/flow"
	"github.com/posthouse/posthouse/internal/read"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Outbox shows what callers handed in within their own transactions and could not be accepted so far.
type Outbox interface {
	Box(ctx context.Context, tenant, cursor string, limit int) (box work.Box, next string, err error)
	RetryRow(ctx context.Context, now time.Time, tenant, id string) error
	DropRow(ctx context.Context, now time.Time, tenant, id string) error
}

// outbox is the resource of rows that wait or were rejected.
type outbox struct{ store Outbox }

func (o outbox) routes() []web.Route {
	return web.Tagged("outbox",
		web.Get("/v1/outbox", reads, "How the outbox stands, and its rejected rows without what they would send.", o.get).Paged(),
		web.Do("/v1/outbox/{id}/retry", admin, "Try a rejected row at once.", o.retry),
		web.Delete("/v1/outbox/{id}", admin, "Delete a rejected row: nothing is sent.", o.drop),
	)
}

func (o outbox) get(c *web.Call) (wire.Outbox, error) {
	cursor, limit, err := c.Page()
	if err != nil {
		return wire.Outbox{}, err
	}
	var box work.Box
	weight := func(h *work.Held) int { return len(h.Draft) + len(h.Error) }
	rows, next, err := read.Gather(cursor, limit, weight, func(cursor string, limit int) (_ []work.Held, next string, err error) {
		box, next, err = o.store.Box(c.Context(), c.Tenant(), cursor, limit)
		return box.Rows, next, err
	})
	out := wire.Outbox{Waiting: box.Waiting, Rejected: box.Rejected, Page: wire.Page[wire.RejectedRow]{Items: []wire.RejectedRow{}, Next: next}}
	for i := range rows {
		out.Items = append(out.Items, rejectedRow(&rows[i]))
	}
	return out, err
}

// rejectedRow shows a row. What cannot be read of it is what its problem is about.
func rejectedRow(r *work.Held) wire.RejectedRow {
	out := wire.RejectedRow{ID: r.ID, Problem: r.Error, Failures: r.Failures, CreatedAt: r.CreatedAt, FailedAt: r.FailedAt}
	if r.DueAt.Year() < 9999 {
		out.NextTryAt = r.DueAt
	}
	out.Message, _ = draft.MessageOf(r.ID)
	var in draft.Row
	if json.Unmarshal([]byte(r.Draft), &in) != nil {
		return out
	}
	out.Channel, out.Kind, out.Ref, out.DedupKey, out.Recipients = in.Channel, in.Kind, in.Ref, in.DedupKey, len(in.To)
	if in.TaskEvent != nil {
		out.TaskEvent, out.Task, out.Message = string(in.TaskEvent.Type), in.TaskEvent.Task.Text(), ""
	}
	if job, _ := flow.ReadJob(in.Job, time.UTC); in.Job != nil {
		out.Channel, out.Kind, out.Ref, out.DedupKey, out.Recipients = flow.ChannelName(job.Channel), job.BizType.Kind(), job.BizID, job.DedupKey, len(job.Users)
		out.Message = ""
	}
	return out
}

func (o outbox) retry(c *web.Call) error {
	return o.store.RetryRow(c.Context(), time.Now(), c.Tenant(), c.PathValue("id"))
}

func (o outbox) drop(c *web.Call) error {
	return o.store.DropRow(c.Context(), time.Now(), c.Tenant(), c.PathValue("id"))
}
