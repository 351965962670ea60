package lksms

import (
	"context"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// status is a task's status in numbers.
func status(s posthouse.State) int {
	switch s {
	case posthouse.Pending:
		return 0
	case posthouse.Sending, posthouse.Unknown:
		return 1
	case posthouse.Sent, posthouse.Delivered:
		return 2
	}
	return 3
}

// taskView is a task as its sender sees it.
type taskView struct {
	TaskID    string  `json:"task_id"`
	Phone     string  `json:"phone_number"`
	Content   string  `json:"content"`
	Status    int     `json:"status"`
	CreatedAt string  `json:"created_at"`
	SentAt    *string `json:"sent_at"`
}

func (d records) task(c *call) (answer, error) {
	t, m, err := d.find(c.Context(), c.who.viewer(), c.PathValue("task_id"))
	if err != nil {
		return answer{}, err
	}
	return answer{data: d.view(c.PathValue("task_id"), t, m), header: sizeHeader(m.Content.Text)}, nil
}

// view shows a task under the number by which it was asked for.
func (d *door) view(id string, t posthouse.Delivery, m posthouse.Message) taskView {
	v := taskView{TaskID: id, Phone: local(t.Address), Content: textOf(m), Status: status(t.State), CreatedAt: d.at(t.CreatedAt)}
	if v.Status == 2 {
		sent := d.at(t.UpdatedAt)
		v.SentAt = &sent
	}
	return v
}

func textOf(m posthouse.Message) string {
	if m.Sensitive {
		return hidden
	}
	return m.Content.Text
}

// at is a time as the document writes it: local, without fractions and zone.
func (d *door) at(t time.Time) string { return t.In(d.TimeZone).Format("2006-01-02T15:04:05") }

var errNoTask = &refusal{http.StatusNotFound, "there is no task of this task_id"}

// find reads a task by its number, or by the one it had on the server that it was brought over from.
func (d *door) find(ctx context.Context, v work.Viewer, id string) (t posthouse.Delivery, m posthouse.Message, err error) {
	ours := posthouse.ValidID(id)
	if ours {
		t, err = d.Reader.Deliveries.Delivery(ctx, v, id)
	}
	if !ours || posthouse.CodeOf(err) == posthouse.CodeNotFound { // a former number may look like one of ours
		t, err = d.brought(ctx, v, id)
	}
	if err != nil {
		return t, m, err
	}
	if t.Channel != d.Channel {
		return t, m, errNoTask
	}
	m, _, err = d.Reader.Messages.Message(ctx, v, t.Message)
	return t, m, err
}

// brought finds a task by its former number.
func (d *door) brought(ctx context.Context, v work.Viewer, id string) (posthouse.Delivery, error) {
	if id == "" || len(id) > 50 || clipped(id, 50) != id {
		return posthouse.Delivery{}, errNoTask
	}
	list, _, err := d.Reader.Deliveries.Deliveries(ctx, work.Filter{Tenant: v.Tenant, Sight: v.Sight, Channel: d.Channel, Kind: kind, Ref: id, Limit: 1})
	if err == nil && len(list) == 0 {
		err = errNoTask
	}
	if err != nil {
		return posthouse.Delivery{}, err
	}
	return list[0], nil
}
