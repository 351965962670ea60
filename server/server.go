package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/admission"
	"github.com/posthouse/posthouse/internal/callback"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/chain"
	"github.com/posthouse/posthouse/internal/channels"
	"github.com/posthouse/posthouse/internal/digest"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/feed"
	"github.com/posthouse/posthouse/internal/flow"
	"github.com/posthouse/posthouse/internal/front/ack"
	"github.com/posthouse/posthouse/internal/front/preferences"
	"github.com/posthouse/posthouse/internal/inbound"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/media"
	"github.com/posthouse/posthouse/internal/metrics"
	"github.com/posthouse/posthouse/internal/people"
	"github.com/posthouse/posthouse/internal/preset"
	quiethours "github.com/posthouse/posthouse/internal/quiet"
	"github.com/posthouse/posthouse/internal/quota"
	"github.com/posthouse/posthouse/internal/read"
	"github.com/posthouse/posthouse/internal/receipts"
	"github.com/posthouse/posthouse/internal/remind"
	"github.com/posthouse/posthouse/internal/route"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/suppress"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Server is a running Posthouse: New, Start, Stop.
type Server struct {
	o           Options
	zone        *time.Location
	store       *store.Store
	engine      *engine.Engine
	tide        *tide
	replica     *replica // that lists are read from; nil for none
	place       *place   // nil where there are no places
	keyring     *secret.Keyring
	network     channel.Network
	limiter     *limit.Leased
	redis       *limit.Redis // nil for none
	quotas      *quota.Quotas
	quiet       *quiethours.Keeper
	choices     *suppress.Choices
	channels    *channels.Set
	presets     *preset.Gallery
	flow        *flow.Flow
	router      *route.Router
	gatherer    *digest.Composer
	collections digest.Book
	acks        *ack.Links
	choosing    *preferences.Links
	told        route.Book
	events      *feed.Log
	poster      *feed.Poster
	callback    *callback.Desk
	fronts      *inbound.Desk
	media       *media.Library
	suppressed  *suppress.List
	gate        *web.Gate
	proxies     *web.Proxies
	bodies      *web.Bodies
	people      *people.Desk
	handler     http.Handler
	doors       doors
	api         *address // nil with Options.NoListen
	sms         *address // the SMS front door at an address of its own; nil without
	mail        *address // where mail is taken; nil without
	mailTLS     bool     // STARTTLS is answered there
	scrapes     *address // the metrics at an address of their own; nil without

	name  string    // of this process in leases
	knows int64     // the newest version of the schema
	began time.Time // this process

	campaigns *campaign.Desk
	importer  *campaign.Importer // of people
	steward   *campaign.Steward
	scheduled *campaign.Scheduled // campaigns of schedules

	closing closing // what New opened
	follow  context.CancelFunc
	done    sync.WaitGroup
	failed  chan error // what ended the server, if it was not Stop
	stopped sync.Once
	stopErr error
}

// New opens the database, brings its schema up and makes all parts; nothing is served or sent
// until Start. A server that was made must be stopped.
func New(ctx context.Context, o Options) (*Server, error) {
	s, err := assemble(ctx, o)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// assemble makes the parts in the order of their needs. Where one cannot be made, those before it are closed again.
func assemble(ctx context.Context, o Options) (*Server, error) {
	o = o.withDefaults()
	s := &Server{o: o, name: nameHere(), began: time.Now(), failed: make(chan error, 1), network: channel.Network{Allow: o.AllowNetworks, AllowPrivate: o.AllowPrivate}}
	for _, step := range []func(context.Context) error{
		s.checkOptions, s.openPlace, s.prepare, s.openLimiter, s.openQuiet, s.openFeed, s.openFlow, s.openRouter, s.openMedia, s.openCampaigns,
		s.openEngine, s.openChannels, s.openDesk, s.openCallbacks, s.openDoors,
	} {
		if err := step(ctx); err != nil {
			return s, errors.Join(err, s.closing.close())
		}
	}
	return s, nil
}

// prepare makes the database ready for work. A passive place only looks at it.
func (s *Server) prepare(ctx context.Context) error {
	if s.passive() {
		return s.preparePassive(ctx)
	}
	for _, step := range []func(context.Context) error{s.openStore, s.openTide, s.takePlace, s.openReplica, s.openKeyring, s.prepareKey} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// checkOptions refuses what cannot work before anything is opened.
func (s *Server) checkOptions(context.Context) (err error) {
	if err := s.o.SMS.check(); err != nil {
		return err
	}
	if at := s.o.AfterPromotion; at != "" && at != PromotionWait && at != PromotionNewEpoch {
		return fmt.Errorf("after_promotion is %q: want wait or new-epoch", at)
	}
	if s.zone, err = time.LoadLocation(s.o.TimeZone); err != nil {
		return fmt.Errorf("the time zone %q is not an IANA time zone such as Asia/Shanghai", s.o.TimeZone)
	}
	if s.o.ReadDSN != "" && s.o.ReadMaxLag < leastLag {
		return fmt.Errorf("read_max_lag is %s: want at least %s, such as 30s; how old a replica is, is known to about a second", posthouse.Duration(s.o.ReadMaxLag), posthouse.Duration(leastLag))
	}
	if s.o.MinSenders < 0 || s.o.MinSenders > s.o.MaxSenders {
		return fmt.Errorf("min_senders is %d: want at least 0 and at most max_senders, %d", s.o.MinSenders, s.o.MaxSenders)
	}
	return nil
}

// openEngine makes the engine. Its channels are made after it, and come to it at Start.
func (s *Server) openEngine(context.Context) (err error) {
	o := s.o
	s.engine, err = engine.New(engine.Options{
		Stores: s.stores(), Owner: s.name, Rosters: s.store.Rosters, Roles: s.store.Users, Rules: o.Rules, Limiter: s.limiter, Log: o.Log, Metrics: o.Registry, Tracer: o.Tracer, Location: s.zone,
		Poll: o.Poll, RescueEvery: o.RescueEvery, LeaseMargin: o.LeaseMargin, Clock: s.store.DB.Now, Keep: o.Keep, KeepSent: o.KeepSent, KeepLogs: o.SMS.LogKeep, AcceptOnly: o.AcceptOnly, Accepters: accepters(s.store.DB),
		Outgrown: s.outgrown, Elsewhere: s.place.refusal(),
		Sealer: s.keyring, PlatformURL: o.PlatformURL, TaskEvents: s.takeEvent, Jobs: s.takeJob,
		Composers: map[work.PlanType]intake.Composer{work.PlanReminder: remind.Composer{Audience: s.flow, Campaigns: s.scheduled, Epoch: func() int64 { return s.engine.Epoch() }}, work.PlanTask: s.flow, work.PlanDecision: steps{s}, work.PlanNotification: s.router, work.PlanCollection: s.gatherer},
		Routes:    s.router,
		Overdue:   s.told.Overdue,
		Gatherer:  s.gatherer,
		Collection: func(ctx context.Context, tenant, id string) (posthouse.Collection, error) {
			return s.collections.Get(ctx, work.Viewer{Tenant: tenant, Sight: work.SeeAll()}, id)
		},
		Others:       s.store.Messages,
		Quotas:       s.quotas,
		Quiet:        s.quiet,
		Woken:        s.woken,
		Feed:         s.store.Feed,
		Choices:      s.choices,
		Shapes:       o.Shapes,
		TenantLimits: o.TenantLimits, RepairEvery: o.RepairEvery,
		Senders: admission.Senders{Min: o.MinSenders, Max: o.MaxSenders},
		Media:   s.media,
		Campaigns: engine.Campaigns{
			Segments: movingSegments{s.store.Segments, &s.tide.moved}, Steward: s.steward,
			Legs: campaign.Post{Campaigns: s.store.Campaigns, Lists: s.store.Audiences, Templates: s.store.Templates, Importer: s.importer,
				Channel: func(tenant, name string) *state.Channel { return s.engine.Routes.Channel(tenant, name) }},
			Directory: s.store.Users, Scheduled: s.scheduled,
		},
		Refresh: func(ctx context.Context) error { return s.channels.Refresh(ctx) },
		Broken:  func(tenant, name string) bool { return s.channels.IsBroken(tenant, name) },
	})
	return err
}

// accepters: a database with several writers can commit two groups at once.
func accepters(db *sqldb.DB) int {
	if db.SharedClock() {
		return 2
	}
	return 1
}

// openChannels makes the set of channels; Start opens them.
func (s *Server) openChannels(context.Context) (err error) {
	if s.presets, err = preset.NewGallery(s.store.Presets); err != nil {
		return err
	}
	opener, err := channels.NewOpener(channels.OpenerOptions{
		Types: s.o.Drivers, Keyring: s.keyring, Network: s.network, Log: s.o.Log, Output: s.o.Output,
		Tokens: &channels.Tokens{Rows: s.store.Tokens, Keyring: s.keyring}, TokenPermits: tokenPermits{s}, Files: s.media.Of,
	})
	if err != nil {
		return err
	}
	s.channels, err = channels.New(channels.Options{Opener: opener, Store: opened{s.store.Channels, s.store.Messages, s.store.Gates, s.store.Users}, Accounts: s.store.Accounts, Presets: s.presets, Engine: rooms{s.engine.Routes, s.engine.Gates}, Log: s.o.Log})
	return err
}

// openCampaigns makes what sends campaigns.
func (s *Server) openCampaigns(context.Context) (err error) {
	if s.importer, err = campaign.NewImporter(s.store.Audiences, ""); err != nil {
		return err
	}
	s.steward = &campaign.Steward{Campaigns: s.store.Campaigns, History: s.store.Campaigns, Segments: s.store.Segments, Counts: s.store.Segments, Lists: s.store.Audiences, Importer: s.importer, Paces: campaign.NewPaces(), Gauges: metrics.NewCampaigns(s.o.Registry)}
	s.scheduled = campaign.NewScheduled()
	s.closing.add(s.scheduled.Close)
	return nil
}

// mostWindows bounds the windows that the plan of a campaign shows.
const mostWindows = 64

// gauges read what bounds the sends of channels.
func (s *Server) gauges(rates read.KeptRates) read.Gauges {
	return read.Gauges{Tiers: s.engine.Routes, Fills: s.limiter, Rates: rates}
}

// openDesk makes the desk where people make campaigns and act on them.
func (s *Server) openDesk(context.Context) error {
	s.campaigns = campaign.NewDesk(campaign.Options{
		Campaigns: s.store.Campaigns, History: s.store.Campaigns, Segments: s.store.Segments, Lists: s.store.Audiences, Templates: s.store.Templates, Importer: s.importer, Channel: s.engine.Routes.Channel, Channels: s.engine.Routes.Names,
		Directory: s.store.Users, Languages: s.store.Contents, Suppressed: s.store.Suppressions, Unwilling: s.choices, Paces: s.steward.Paces, Closed: s.engine.Routes.Closed,
		Wake: s.engine.Campaigner.Nudge, Repair: s.engine.Campaigner.Repair, Sweep: s.engine.Pruner.Sweep,
		Windows: func(ctx context.Context, tenant, channel string) ([]wire.Window, error) {
			if ch := s.engine.Routes.Channel(tenant, channel); ch == nil || ch.Settings.Pulled {
				return nil, nil
			}
			list, _, err := s.gauges(s.store.Minutes).Windows(ctx, tenant, channel, nil, "", mostWindows)
			return list, err
		},
	})
	s.scheduled.Open(campaign.Fetcher{Desk: s.campaigns, Databases: databases{s.o.Databases, s.zone}})
	return nil
}

// openMedia makes the library of files that are to be sent.
func (s *Server) openMedia(context.Context) (err error) {
	// The networks that are allowed by name are those of providers: a file that is fetched is shown to whoever asked for it.
	s.media, err = media.New(media.Options{
		Store: s.store.Media, Network: channel.Network{AllowPrivate: s.o.AllowPrivate}, MaxFile: s.o.MaxMedia, MaxTenant: s.o.MaxTenantMedia, Keep: s.o.KeepMedia, Log: s.o.Log,
	})
	if err == nil {
		s.closing.add(s.media.Close)
	}
	return err
}

// openCallbacks makes the desk that providers call.
func (s *Server) openCallbacks(context.Context) (err error) {
	s.suppressed = suppress.New(s.store.Suppressions, s.engine.Routes)
	s.callback, err = callback.New(callback.Options{
		Addresses: s.store.Callbacks, Book: s.store.Receipts, Consents: s.suppressed, Members: receipts.New(s.store.Refs, s.store.Segments, s.store.Refs), Channel: s.engine.Routes.Channel, Registry: s.o.Registry, Log: s.o.Log,
		Feed: s.store.Feed, Messages: s.store.Messages, Campaigns: s.campaigns, Rate: s.o.CallbackRate, Pressed: s.acks.Pressed, Answered: s.acks.Answered,
		Again: func(ctx context.Context, tenant, channel string, deliveries []string) error {
			deliveries, err := s.onceMore(ctx, tenant, deliveries)
			if err != nil || len(deliveries) == 0 {
				return err
			}
			_, err = s.store.Submissions.AddReplay(ctx, time.Now(), tenant, deliveries, true)
			s.engine.Operator.Wake(tenant, channel)
			return err
		},
		AgainMember: func(ctx context.Context, of work.Undelivered) error {
			draft, is, err := s.campaigns.Again(ctx, of, time.Now())
			if err == nil && is {
				_, err = s.Accept(ctx, of.Tenant, draft)
			}
			return err
		},
	})
	return err
}

// onceMore are those deliveries that are not themselves a member's second one.
func (s *Server) onceMore(ctx context.Context, tenant string, deliveries []string) (list []string, err error) {
	for _, id := range deliveries {
		m, _, err := s.store.Messages.Message(ctx, tenant, posthouse.MessageID(id))
		if err != nil {
			return nil, err
		}
		if !campaign.IsAgain(m.DedupKey) {
			list = append(list, id)
		}
	}
	return list, nil
}

// Start listens and begins to send.
func (s *Server) Start(ctx context.Context) error {
	if s.passive() {
		return s.startPassive(ctx)
	}
	if findings, err := s.store.DB.Doctor(ctx); err == nil {
		for _, f := range findings {
			s.o.Log.Warn("unsafe database setting", "setting", f.Setting, "value", f.Value, "why", f.Why)
		}
	}
	if n := files(); n > 0 && s.o.MaxConnections > n-n/4 {
		s.o.Log.Warn("max_connections leaves too few files for sending: where they run out, callers wait and channels are parked", "max_connections", s.o.MaxConnections, "files", n)
	}
	if err := s.doors.listen(); err != nil {
		return err
	}
	if err := s.begin(ctx); err != nil {
		s.doors.close()
		return err
	}
	following, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.follow = cancel
	s.done.Go(func() { s.channels.Follow(following) })
	if s.replica != nil {
		s.done.Go(func() { s.replica.follow(following) })
	}
	s.done.Go(func() { s.store.DB.Watch(following) })
	if s.place != nil {
		s.done.Go(func() { s.watchPlace(following) })
		s.done.Go(func() { s.watchPeers(following) })
	}
	s.done.Go(func() { s.herald().Run(following) })
	s.done.Go(func() { s.keeper().Run(following) })
	s.done.Go(func() { s.quotas.Follow(following) })
	s.done.Go(func() { s.quiet.Follow(following) })
	s.done.Go(func() { s.choices.Follow(following) })
	s.done.Go(func() {
		courier := feed.Courier{Ledger: s.store.Subscriptions, Log: s.events, Poster: s.poster, Logger: s.o.Log}
		courier.Run(following)
	})
	s.done.Go(func() { s.callback.Run(following) })
	s.done.Go(func() { s.fronts.Run(following) })
	s.done.Go(func() { s.media.Run(following) })
	s.done.Go(func() { s.suppressed.Run(following, s.o.Log) })
	s.done.Go(func() { s.tide.run(following, s.engine.Outlive, s.fail) })
	s.done.Go(func() {
		resealer{resealed{s.store.Channels, s.store.Accounts, s.store.Contents}, s.store.People, s.store.Fronts, s.store.Subscriptions, s.keyring, s.channels.Opener, s.o.Log}.run(following)
	})
	if s.o.Chain > 0 {
		sealer := chain.Sealer{Book: s.store.Chain, After: s.o.Chain, Keep: s.o.shortestKeep(), Log: s.o.Log}
		s.done.Go(func() { sealer.Run(following) })
	}
	s.doors.serve(&s.done)
	s.o.Log.Info("posthouse serves", "url", s.URL(), "database", s.store.DB.Database(), "version", s.o.Version)
	if s.o.SMS.on() {
		s.o.Log.Info("the SMS front door is open", "channel", s.o.SMS.channel(), "also_at", s.SMSURL())
	}
	if at := s.SMTPAddr(); at != "" {
		s.o.Log.Info("mail is taken", "at", at, "starttls", s.mailTLS)
	}
	return nil
}

// begin starts the engine with its channels.
func (s *Server) begin(ctx context.Context) error {
	if err := s.engine.Start(ctx); err != nil {
		return err
	}
	if err := s.channels.Reload(ctx); err != nil {
		return fmt.Errorf("read the channels: %w", err)
	}
	if s.o.SMS.on() {
		return smsChannel{s.o.SMS, s.channels, s.book()}.prepare(ctx)
	}
	return nil
}

// Failed receives the error that ended the listener, or for which the server must end, if it was not Stop.
func (s *Server) Failed() <-chan error { return s.failed }

// fail ends the program that waits for Failed.
func (s *Server) fail(err error) {
	select {
	case s.failed <- err:
	default: // something else has failed already
	}
}

// Stop ends the server: requests finish within a third of Options.Drain, sends under way within all of it or until
// ctx ends, results are recorded. It is idempotent.
func (s *Server) Stop(ctx context.Context) error {
	s.stopped.Do(func() {
		drain := s.o.Drain
		if s.store.DB.Standing() != nil { // no result of what is under way can be stored: there is nothing to wait for
			drain = 0
		}
		ctx, cancel := context.WithTimeout(ctx, drain)
		defer cancel()
		if s.follow != nil {
			s.follow()
		}
		// From here on nothing more is sent, so that what is under way has all of the drain. The engine itself stops
		// when the doors are shut: accepts and agents' reports that are being answered are committed by it.
		s.events.Close() // streams end, which would else last for all of the drain
		s.engine.Rest()
		s.engine.Pull.Dismiss()
		errs := []error{s.doors.shut(ctx, s.o.Drain/doorShare), s.engine.Stop(ctx)}
		s.doors.close()
		s.done.Wait()
		s.tide.end(ctx)
		s.stopErr = errors.Join(append(errs, s.closing.close())...)
	})
	return s.stopErr
}
