package server

import (
	"github.com/posthouse/posthouse/internal/decide"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/pull"
	"github.com/posthouse/posthouse/internal/rescue"
)

// A door or a room often needs more than one role of the engine.
type (
	// sender accepts messages and withdraws them.
	sender struct {
		*intake.Intake
		decide.Operator
	}
	// desk serves sender apps and those who send through them.
	desk struct {
		*intake.Intake
		pull.Pull
		*rescue.Rescuer
	}
	// rooms open channels and their gates.
	rooms struct {
		*engine.Routes
		*engine.Gatekeeper
	}
)
