package api

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/read"
	"github.com/posthouse/posthouse/internal/web"
)

// Options are what the resources of the API work on. All but those that name a default are required.
type Options struct {
	// Reader reads what is shown.
	Reader read.Reader

	// Engine's parts.
	Sender     Sender
	Reminds    Reminds
	Desk       Desk
	Reassigner Reassigner
	Holder     Holder
	Filler     read.Filler

	// Recalls take back what was sent.
	Recalls Recalls

	// Store's parts.
	Refs      Refs
	Plans     Plans
	Outbox    Outbox
	Templates Templates
	Rosters   Rosters
	// Ways are the routes, WayPreviews what they would do, and Notifications what follows them.
	Ways          Ways
	WayPreviews   WayPreviews
	Notifications Notifications
	// Digests gather messages into Collections.
	Digests     Digests
	Collections Collections
	// Fronts may use templates. Defaults to none.
	Fronts Fronts
	Users  Users
	Keys   Keys
	Agents Agents
	// Texted is told of text messages that agents got, and reports whether one acknowledged a notification.
	Texted   func(ctx context.Context, agent posthouse.Agent, in channel.Inbound) (acknowledged bool, err error)
	Tally    Tally
	Answers  Answers
	Contents Contents
	Audit    Audit
	Tenants  Tenants

	// Quotas are those that requests and messages are judged by.
	Quotas Quotas

	// Subscriptions are told of what happens, by Events.
	Subscriptions Subscriptions
	Events        Events

	// Forms are the ways in which a channel, or all of a tenant's, keep an address that is looked for. Defaults to none but its own.
	Forms    func(tenant, channel, address string) []string
	Channels Channels
	Accounts Accounts
	// Callbacks are the addresses at which providers call; CallbackDesk takes the calls. It defaults to none.
	Callbacks    Callbacks
	CallbackDesk http.Handler
	// Campaigns are sent to many, and shown to a few before; Audiences are lists that several of them use.
	Campaigns     Campaigns
	CampaignTests CampaignTests
	Audiences     Audiences
	Removals      Removals // of both
	Fetches       Fetches  // for both
	// Tasks takes the events of workflows.
	Tasks Tasks
	// Overviewer reads how sending goes.
	Overviewer Overviewer
	// MaxStreams bounds the requests that stay open. Defaults to 500.
	MaxStreams int
	// Log defaults to slog.Default().
	Log *slog.Logger
	// Gate forgets keys that are revoked.
	Gate *web.Gate
	// Actions are the names of all that a key can be narrowed to. Defaults to none.
	Actions func() []string
	Operation
}

// Routes are the native addresses, each resource's together.
func Routes(o Options) []web.Route {
	o.Zone = cmp.Or(o.Zone, time.UTC)
	if o.Actions == nil {
		o.Actions = func() []string { return nil }
	}
	keys := keys{o.Keys, o.Agents, o.Gate, o.Actions}
	deliveries := deliveries{o.Reader, o.Forms}
	accounts := accounts{o.Accounts, o.Channels}
	handouts := handouts{o.Agents, o.Reader.Messages, o.Desk, o.Holder}
	audit, streams := audit{o.Audit, o.Users}, newStreams(o.MaxStreams, o.Log)
	return slices.Concat(
		overview{o.Overviewer}.routes(),
		messages{o.Reader, o.Sender, o.Reminds, o.Refs, o.Notifications, streams, o.Recalls}.routes(),
		reminders{o.Reminds, o.Plans}.routes(),
		reveals{o.Contents}.routes(),
		deliveries.routes(),
		outbox{o.Outbox}.routes(),
		channels{o.Channels, o.Tally, o.Rosters, o.Tenants}.routes(),
		accounts.routes(), accounts.fileRoutes(),
		callbacks{o.Callbacks, o.Channels, o.Accounts, o.CallbackDesk}.routes(),
		phones{o.Agents, o.Channels, o.Reassigner, keys}.routes(),
		handouts.routes(), handouts.reportRoutes(), received{o.Agents, o.Answers, o.Texted}.routes(),
		logs{o.Reader}.routes(),
		templates{o.Templates, o.Filler, o.Channels, o.Tenants, templateUses{o.Ways, o.Digests, o.Fronts, o.Plans}}.routes(),
		ways{o.Ways, o.WayPreviews, o.Channels, o.Notifications, o.Users}.routes(),
		digests{o.Digests, o.Collections, o.Templates}.routes(),
		rosters{o.Rosters, o.Users, o.Channels, o.Tenants, o.Zone}.routes(), rosters{o.Rosters, o.Users, o.Channels, o.Tenants, o.Zone}.overrideRoutes(),
		users{o.Users, o.Channels}.routes(),
		campaigns{o.Campaigns, o.Removals, o.CampaignTests, o.Channels, o.Sender, streams, o.Events.Ending()}.routes(),
		audiences{o.Audiences, o.Removals}.routes(),
		fetches{o.Fetches}.routes(),
		tasks{o.Reader, o.Tasks, o.Plans, o.Answers, o.Templates, o.Zone}.routes(),
		keys.routes(),
		tenants{o.Tenants, o.Quotas, keys, o.Rosters, o.Channels}.routes(),
		subscriptions{o.Subscriptions, o.Events}.routes(),
		events{o.Events, streams}.routes(),
		audit.routes(), audit.exports(),
		operation{o.Operation, newMemo(o.Unsafe)}.routes(),
	)
}
