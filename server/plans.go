package server

import (
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/remind"
	"github.com/posthouse/posthouse/internal/work"
)

// composers make the messages of plans whose moment has come.
func (s *Server) composers() map[work.PlanType]engine.Composer {
	return map[work.PlanType]engine.Composer{
		work.PlanReminder: remind.Composer{Audience: s.flow},
		work.PlanTask:     s.flow,
	}
}
