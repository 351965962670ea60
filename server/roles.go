package server

import (
	"github.com/posthouse/posthouse/internal/decide"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/pull"
	"github.com/posthouse/posthouse/internal/rescue"
)

// What a door or a room needs of the engine is often more than one role.
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
