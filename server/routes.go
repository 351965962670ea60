package server

import (
	"context"
	"slices"
	"sync"

	"github.com/posthouse/posthouse/internal/api"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/front/decisions"
	"github.com/posthouse/posthouse/internal/front/doctor"
	"github.com/posthouse/posthouse/internal/front/duty"
	"github.com/posthouse/posthouse/internal/front/gauges"
	"github.com/posthouse/posthouse/internal/front/lksms"
	"github.com/posthouse/posthouse/internal/front/media"
	"github.com/posthouse/posthouse/internal/front/notify"
	"github.com/posthouse/posthouse/internal/front/people"
	"github.com/posthouse/posthouse/internal/front/preferences"
	"github.com/posthouse/posthouse/internal/front/presets"
	"github.com/posthouse/posthouse/internal/front/processes"
	"github.com/posthouse/posthouse/internal/front/proofs"
	"github.com/posthouse/posthouse/internal/front/suppressions"
	"github.com/posthouse/posthouse/internal/proof"
	"github.com/posthouse/posthouse/internal/read"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// shown is what only shows something reads.
type shown struct {
	read    read.Reader
	minutes store.Minutes
	audit   store.Audit
}

// shown reads the database itself.
func (s *Server) shown() shown { return shown{s.reader(), s.store.Minutes, s.store.Audit} }

// copied reads a replica.
func (s *Server) copied(r *store.Replica) shown {
	return shown{read.New(r.Messages, r.Messages, copiedHistory{r.History, r.Logs}, s.engine.Explainer), r.Minutes, r.Audit}
}

// reader is what all doors show by.
func (s *Server) reader() read.Reader {
	return read.New(s.store.Messages, s.store.Messages, history{s.store.History, s.store.Logs}, s.engine.Explainer)
}

// book is where all doors write who changed what.
func (s *Server) book() web.Book {
	if s.passive() {
		return web.Book{Log: s.o.Log} // nothing changes at a passive place
	}
	return web.Book{Store: s.store.Audit, Keep: s.o.AuditKeep, Log: s.o.Log}
}

// routes are the native API's, with those of the fronts that speak the language of other documents. Those that decide nothing have a
// second handler where there is a replica, made of what may be read there.
func (s *Server) routes() []web.Route {
	routes := s.routesBy(s.shown())
	if s.replica != nil {
		routes = web.Copied(routes, s.routesBy(s.copied(s.replica.store)))
	}
	return routes
}

func (s *Server) routesBy(from shown) []web.Route {
	reader := from.read
	var routes []web.Route
	actions := sync.OnceValue(func() []string {
		list := append(web.Actions(routes), lksms.Actions()...)
		slices.Sort(list)
		return slices.Compact(list)
	})
	routes = slices.Concat(
		api.Routes(api.Options{
			Reader: reader, Sender: sender{s.engine.Intake, s.engine.Operator}, Reminds: s.engine.Reminders,
			Recalls: s.engine.Recaller(s.store.History.EventPage),
			Desk:    s.engine.Pull, Reassigner: s.engine.Pull, Holder: s.engine.Pull, Filler: s.engine.Contents, Contents: s.engine.Contents,
			Refs: s.store.Messages, Plans: s.store.Plans, Outbox: s.store.Outbox, Templates: s.store.Templates, Rosters: s.store.Rosters, Users: s.store.Users,
			Ways: s.store.Routes, WayPreviews: s.router, Notifications: s.told,
			Digests: s.store.Digests, Collections: s.collections, Fronts: s.store.Fronts,
			Keys: s.store.Keys, Agents: registered{s.store.Agents, s.store.Handouts}, Texted: s.acks.Texted, Tally: s.store.Handouts, Answers: s.store.Answers, Audit: from.audit, Tenants: s.store.Tenants, Quotas: said{s.quotas, s.quiet, s.choices}, Forms: s.suppressed.Forms, Channels: s.channels, Accounts: s.channels.Accounts(), Callbacks: s.store.Callbacks, CallbackDesk: s.callback,
			Campaigns: s.campaigns, CampaignTests: s.campaigns, Audiences: s.campaigns, Removals: campaign.Remover{Desk: s.campaigns}, Fetches: campaign.Fetcher{Desk: s.campaigns, Databases: databases{s.o.Databases, s.zone}}, Tasks: s.flow, MaxStreams: s.o.maxStreams(), Log: s.o.Log, Gate: s.gate, Actions: actions,
			Overviewer:    read.Overviewer{Tallies: from.minutes, Depths: s.engine, Lines: s.engine.Routes, Gates: s.store.Gates, Fill: s.gauges(from.minutes)},
			Subscriptions: s.store.Subscriptions, Events: api.Events{Follower: s.follower(), Poster: s.poster},
			Operation: api.Operation{
				Readiness: s.checks, Place: s.place.said, Unsafe: func(ctx context.Context) ([]wire.Setting, error) { return unsafe(ctx, s.store.DB) }, Metrics: metricsHere(s.o),
				Version: s.o.Version, Database: s.store.DB.Database(), Zone: s.zone,
			},
		}),
		duty.Routes(duty.Options{Reader: reader, Accepter: s.engine.Intake, Channels: s.channels, Rosters: s.store.Rosters}),
		notify.Routes(notify.Options{Jobs: s.jobsOf, Zone: s.zone}),
		media.Routes(s.media),
		people.Routes(s.store.People, links{s.people}),
		presets.Routes(s.presets, s.channels),
		proofs.Routes(proof.New(proof.Options{
			Reader: reader, Notifications: s.told, Chain: s.store.Chain, Contents: s.engine.Contents, Signer: s.keyring, Keys: s.store.Keys,
			Version: s.o.Version, Sealing: s.o.Chain > 0, Keep: s.o.shortestKeep(),
		}), s.zone),
		doctor.Routes(doctor.Options{Settings: s.o.Settings, Examine: s.o.Examine}),
		processes.Routes(read.Processes{Present: s.store.Processes, Epochs: s.store.Epochs}),
		suppressions.Routes(s.suppressed),
		preferences.Routes(s.choosing.Desk, s.choosing),
		decisions.Routes(decisions.Options{
			Read: reader, Judge: s.engine.Operator, Replays: s.store.Submissions, Channels: s.channels, Quotas: s.quotas, Plans: s.store.Plans, Decider: steps{s},
		}),
		s.frontRoutes(),
		gauges.Routes(s.gauges(from.minutes), s.engine.Routes, s.channels, s.channels.Accounts()),
	)
	return routes
}
