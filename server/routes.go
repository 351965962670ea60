package server

import (
	"context"
	"slices"
	"sync"

	"github.com/posthouse/posthouse/internal/api"
	"github.com/posthouse/posthouse/internal/front/duty"
	"github.com/posthouse/posthouse/internal/front/lksms"
	"github.com/posthouse/posthouse/internal/front/notify"
	"github.com/posthouse/posthouse/internal/read"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// reader is what all doors show by.
func (s *Server) reader() read.Reader {
	return read.Sighted(read.Reader{Messages: s.store, Deliveries: s.store, History: s.store, Explainer: s.engine.Explainer})
}

// bookOf is where all doors write who changed what.
func bookOf(s *Server) web.Book {
	return web.Book{Store: s.store, Keep: s.o.AuditKeep, Log: s.o.Log}
}

// routes are the native API's, with those of the fronts that speak the language of other documents.
func (s *Server) routes() []web.Route {
	reader := s.reader()
	var routes []web.Route
	actions := sync.OnceValue(func() []string {
		list := append(web.Actions(routes), lksms.Actions()...)
		slices.Sort(list)
		return slices.Compact(list)
	})
	routes = slices.Concat(
		api.Routes(api.Options{
			Reader: reader, Sender: sender{s.engine.Intake, s.engine.Operator}, Judge: s.engine.Operator, Reminds: s.engine.Reminders,
			Desk: s.engine.Pull, Holder: s.engine.Pull, Filler: s.engine.Contents,
			Refs: s.store, Replays: s.store, Plans: s.store, Outbox: s.store, Templates: s.store, Rosters: s.store, Users: s.store,
			Keys: s.store, Agents: s.store, Tally: s.store, Answers: s.store, Audit: s.store, Channels: s.channels, Tasks: s.flow, Gate: s.gate, Actions: actions,
			Operation: api.Operation{
				Readiness: s.checks, Unsafe: func(ctx context.Context) ([]wire.Setting, error) { return unsafe(ctx, s.store) }, Metrics: metricsHere(s.o),
				Version: s.o.Version, Database: s.store.Database(), Zone: s.zone,
			},
		}),
		duty.Routes(duty.Options{Reader: reader, Accepter: s.engine.Intake, Channels: s.channels, Rosters: s.store}),
		notify.Routes(notify.Options{Jobs: s.jobsOf, Zone: s.zone}),
	)
	return routes
}
