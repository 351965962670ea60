package server

import (
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/remind"
	"github.com/posthouse/posthouse/internal/work"
)

// composers make the messages of plans whose moment has come.
func (s *Server) composers() map[work.PlanType]intake.Composer {
	return map[work.PlanType]intake.Composer{
		work.PlanReminder: remind.Composer{Audience: s.flow},
		work.PlanTask:     s.flow,
	}
}
