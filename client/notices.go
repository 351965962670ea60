package client

import (
	"context"
	"net/http"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// Notices are those of the duty document: texts to a user by 天元 or 招呼, if a rule lets them.
type Notices struct{ api *caller }

// NoticeFilter selects notices. Empty fields select all.
type NoticeFilter struct {
	Status, Platform, UserID string
	Cursor                   string
	Limit                    int
}

// Send hands in a notice, with an Idempotency-Key of its own.
func (c Notices) Send(ctx context.Context, n wire.NewNotice) (wire.NoticeSent, error) {
	r, err := withBody(http.MethodPost, path("notices"), n)
	if err != nil {
		return wire.NoticeSent{}, err
	}
	r.key = posthouse.NewID()
	return call[wire.NoticeSent](ctx, c.api, r)
}

// Get reads one notice.
func (c Notices) Get(ctx context.Context, id string) (wire.Notice, error) {
	return get[wire.Notice](ctx, c.api, path("notices", id), nil)
}

// List lists notices, newest first.
func (c Notices) List(ctx context.Context, f NoticeFilter) (wire.Page[wire.Notice], error) {
	q := Filter{Cursor: f.Cursor, Limit: f.Limit}.query()
	for name, value := range map[string]string{"status": f.Status, "platform": f.Platform, "userId": f.UserID} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return get[wire.Page[wire.Notice]](ctx, c.api, path("notices"), q)
}
