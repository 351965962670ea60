package server

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/remind"
	"github.com/posthouse/posthouse/internal/work"
)

// composers make the messages of plans whose moment has come.
func (s *Server) composers() map[work.PlanType]engine.Composer {
	return map[work.PlanType]engine.Composer{work.PlanReminder: remind.Composer{Audience: assignees{s}}}
}

// assignees are who has to act on a task's node at the moment.
type assignees struct{ *Server }

func (a assignees) Recipients(ctx context.Context, r posthouse.Reminder) ([]posthouse.Recipient, bool, error) {
	return a.flow.Recipients(ctx, r)
}
