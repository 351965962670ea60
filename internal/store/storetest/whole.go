// Package storetest gives tests a store as one value. The program itself never has one: each of its roles is handed the
// families of tables that it asks for.
package storetest

import (
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/campaigns"
	"github.com/posthouse/posthouse/internal/store/reading"
	"github.com/posthouse/posthouse/internal/store/registry"
)

// Names under which families are embedded whose own names are those of methods.
type (
	messages     = reading.Messages
	plans        = store.Plans
	outbox       = store.Outbox
	channels     = registry.Channels
	gates        = registry.Gates
	agents       = registry.Agents
	users        = registry.Users
	rosters      = registry.Rosters
	minutes      = registry.Minutes
	suppressions = registry.Suppressions
	sent         = campaigns.Campaigns
)

// Whole has what the roles of the engine ask of the database, so that a test can put something between them and one part
// of it.
type Whole struct {
	store.Submissions
	store.Answers
	store.Queue
	store.Handouts
	store.Reports
	store.Receipts
	reading.History
	store.Contents
	store.Logs
	store.Epochs
	store.Upkeep
	registry.Templates
	registry.Limits
	suppressions
	messages
	plans
	outbox
	channels
	gates
	agents
	users
	rosters
	minutes
	sent
}

// All is a store in one value.
func All(st *store.Store) Whole {
	return Whole{
		st.Submissions, st.Answers, st.Queue, st.Handouts, st.Reports, st.Receipts, st.History, st.Contents, st.Logs, st.Epochs, st.Upkeep,
		st.Templates, st.Limits, st.Suppressions, st.Messages, st.Plans, st.Outbox, st.Channels, st.Gates, st.Agents, st.Users, st.Rosters, st.Minutes, st.Campaigns,
	}
}
