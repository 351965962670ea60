package web

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
	"github.com/posthouse/posthouse/workflow"
)

// The bodies that the tests read, as resources make them.
var (
	sendReader   = BodyOf[wire.Send](OneTo(1000, "messages", "messages"))
	reportReader = BodyOf[wire.Report](OneTo(500, "reports", "reports"), Mended("error"), Mended("reports", "error"))
	eventReader  = BodyOf[struct {
		workflow.Event
		Events []workflow.Event `json:"events,omitempty"`
	}](OneTo(1000, "events", "events"))
	holdsReader     = BodyOf[wire.Holds](OneTo(500, "handouts", "hand-outs"))
	usersReader     = BodyOf[wire.Users](OneTo(10_000, "users", "users"))
	rosterReader    = BodyOf[posthouse.Roster]()
	jobStatusReader = BodyOf[wire.JobStatus]()
)
