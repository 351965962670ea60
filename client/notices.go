package client

import (
	"context"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
)

// Notices are those of the duty document: texts to a user by 天元 or 招呼, if a rule lets them.
type Notices struct{ api *caller }

// NoticeDraft is a duty-gated notice as its sender hands it in.
type NoticeDraft struct {
	UserID string `json:"userId"`
	// UserType is head_office (总行) or branch (分行).
	UserType string `json:"userType"`
	// Platform is tianyuan (天元) or zhaohu (招呼).
	Platform string `json:"platform"`
	Content  string `json:"messageContent"`
}

// NoticeSent answers a notice: its status is pending, or suppressed with a reason.
type NoticeSent struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}

// Notice is a notice under the names of its document.
type Notice struct {
	ID         string    `json:"id"`
	UserID     string    `json:"user_id"`
	Platform   string    `json:"platform"`
	Content    string    `json:"content"`
	Status     string    `json:"status"`
	RetryCount int       `json:"retry_count"`
	CreateTime time.Time `json:"create_time"`
	UpdateTime time.Time `json:"update_time"`
	LastError  string    `json:"last_error"`
}

// NoticeFilter selects notices. Empty fields select all.
type NoticeFilter struct {
	Status, Platform, UserID string
	Cursor                   string
	Limit                    int
}

// Send hands in a notice, with an Idempotency-Key of its own.
func (c Notices) Send(ctx context.Context, n NoticeDraft) (NoticeSent, error) {
	r, err := withBody(http.MethodPost, path("notices"), n)
	if err != nil {
		return NoticeSent{}, err
	}
	r.key = posthouse.NewID()
	return call[NoticeSent](ctx, c.api, r)
}

// Get reads one notice.
func (c Notices) Get(ctx context.Context, id string) (Notice, error) {
	return get[Notice](ctx, c.api, path("notices", id), nil)
}

// List lists notices, newest first.
func (c Notices) List(ctx context.Context, f NoticeFilter) (Page[Notice], error) {
	q := Filter{Cursor: f.Cursor, Limit: f.Limit}.query()
	for name, value := range map[string]string{"status": f.Status, "platform": f.Platform, "userId": f.UserID} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return get[Page[Notice]](ctx, c.api, path("notices"), q)
}
