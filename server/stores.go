package server

import (
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/pull"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/campaigns"
	"github.com/posthouse/posthouse/internal/store/reading"
	"github.com/posthouse/posthouse/internal/store/registry"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// Names under which families of tables are embedded whose own names are those of methods.
type (
	messages = reading.Messages
	plans    = store.Plans
	outbox   = store.Outbox
	agents   = registry.Agents
	users    = registry.Users
	gates    = registry.Gates
	stored   = registry.Channels
	fleets   = registry.Accounts
	sent     = campaigns.Campaigns
)

// These ask several families of tables at once, for one role.
type (
	submissions struct {
		store.Submissions
		store.Answers
		registry.Templates
		users
	}
	contents struct {
		store.Contents
		registry.Templates
		messages
	}
	planned struct {
		plans
		messages
	}
	depths struct {
		store.Queue
		outbox
		plans
	}
	old struct {
		store.Upkeep
		store.Logs
		store.Contents
		sent
	}
	history struct {
		reading.History
		store.Logs
	}
	copiedHistory struct {
		reading.History
		reading.Logs
	}
	registered struct {
		agents
		store.Handouts
	}
	met struct {
		agents
		store.Reports
	}
	opened struct {
		stored
		messages
		gates
		users
	}
	resealed struct {
		stored
		fleets
		store.Contents
	}
	received struct {
		store.Handouts
		store.Answers
		store.Logs
		*sqldb.DB
	}
)

// counter is where agents fetch and report.
type counter struct {
	engine.Queue
	reports
	store.Handouts
	agents
}

// stores hands the parts of the database to the roles of the engine.
func (s *Server) stores() engine.Stores {
	st := s.store
	at := counter{st.Queue, st.Reports, st.Handouts, st.Agents}
	if s.o.OnEvents != nil {
		w := watched{st.Queue, st.Reports, s.o.OnEvents, s.o.Log}
		at.Queue, at.reports = w, w
	}
	at.Queue = movingQueue{at.Queue, &s.tide.moved}
	desk := movingDesk{at, &s.tide.moved}
	return engine.Stores{
		Intake: movingIntake{submissions{st.Submissions, st.Answers, st.Templates, st.Users}, s.tide, s.place}, Outbox: st.Outbox, Plans: st.Plans, Reminders: planned{st.Plans, st.Messages},
		Contents: contents{st.Contents, st.Templates, st.Messages}, HandOuts: desk, Held: at, Words: at, Queue: at.Queue,
		Receipts: st.Receipts, Gates: st.Gates, Depths: depths{st.Queue, st.Outbox, st.Plans}, Old: old{st.Upkeep, st.Logs, st.Contents, st.Campaigns}, Epochs: st.Epochs, Minutes: st.Minutes, Lines: st.Queue, Suppressed: st.Suppressions,
	}
}

var _ interface {
	pull.HandOuts
	pull.Held
	pull.Words
} = counter{}
