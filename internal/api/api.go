package api

import (
	"cmp"
	"context"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/read"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
	"github.com/posthouse/posthouse/workflow"
)

// What a key needs for a route.
const (
	reads  = posthouse.ScopeRead
	sends  = posthouse.ScopeSend
	admin  = posthouse.ScopeAdmin
	agents = posthouse.ScopeAgent
)

// Options are what the resources of the API work on. All but those that name a default are required.
type Options struct {
	// Reader reads what is shown.
	Reader read.Reader

	// Engine's parts.
	Sender  Sender
	Judge   Judge
	Reminds Reminds
	Desk    Desk
	Holder  Holder
	Filler  read.Filler

	// Store's parts.
	Refs      Refs
	Replays   Replays
	Plans     Plans
	Outbox    Outbox
	Templates Templates
	Rosters   Rosters
	Users     Users
	Keys      Keys
	Agents    Agents
	Tally     Tally
	Answers   Answers
	Audit     Audit

	Channels Channels
	// Tasks takes the events of workflows.
	Tasks Tasks
	// Gate forgets keys that are revoked.
	Gate *web.Gate
	// Actions are the names of all that a key can be narrowed to. Defaults to none.
	Actions func() []string
	Operation
}

// Operation is what the server says of itself.
type Operation struct {
	// Readiness says what /readyz answers. Defaults to no checks.
	Readiness func(ctx context.Context) []wire.Check
	// Unsafe names the database's unsafe settings for /healthz. Defaults to none.
	Unsafe func(ctx context.Context) ([]wire.Setting, error)
	// Metrics serves /metrics. Defaults to an empty page.
	Metrics http.Handler
	// Version and Database are shown by /healthz.
	Version, Database string
	// Zone is that of rosters that name none. Defaults to UTC.
	Zone *time.Location
}

// Routes are the native addresses, each resource's together.
func Routes(o Options) []web.Route {
	o.Zone = cmp.Or(o.Zone, time.UTC)
	if o.Actions == nil {
		o.Actions = func() []string { return nil }
	}
	keys := keys{o.Keys, o.Agents, o.Gate, o.Actions}
	return slices.Concat(
		messages{o.Reader, o.Sender, o.Reminds, o.Refs}.routes(),
		reminders{o.Reminds, o.Plans}.routes(),
		deliveries{o.Reader, o.Judge, o.Replays, o.Channels}.routes(),
		outbox{o.Outbox}.routes(),
		channels{o.Channels, o.Tally}.routes(),
		phones{o.Agents, o.Channels, o.Desk, keys}.routes(),
		handouts{o.Agents, o.Reader.Messages, o.Desk, o.Holder}.routes(),
		logs{o.Reader}.routes(),
		templates{o.Templates, o.Filler, o.Channels}.routes(),
		rosters{o.Rosters, o.Zone}.routes(),
		users{o.Users}.routes(),
		tasks{o.Reader, o.Tasks, o.Plans, o.Answers, o.Templates, o.Zone}.routes(),
		keys.routes(),
		audit{o.Audit}.routes(),
		operation{o.Operation, newMemo(o.Unsafe)}.routes(),
	)
}

// Terms are what the OpenAPI document says of the types of the API beyond what Go says of them.
func Terms() web.Terms {
	return web.Terms{
		Words: map[reflect.Type][]any{
			reflect.TypeFor[posthouse.State]():         web.Any(posthouse.States()...),
			reflect.TypeFor[posthouse.Policy]():        web.Any(posthouse.Policies()...),
			reflect.TypeFor[posthouse.Priority]():      web.Any(posthouse.Priorities()...),
			reflect.TypeFor[posthouse.ContentType]():   web.Any(posthouse.ContentTypes()...),
			reflect.TypeFor[posthouse.Class]():         web.Any(posthouse.Classes()...),
			reflect.TypeFor[posthouse.Scope]():         web.Any(posthouse.ScopeRead, posthouse.ScopeSend, posthouse.ScopeAdmin, posthouse.ScopeAgent),
			reflect.TypeFor[posthouse.AgentState]():    web.Any(posthouse.AgentActive, posthouse.AgentPaused, posthouse.AgentDraining),
			reflect.TypeFor[posthouse.ChannelState]():  web.Any(posthouse.ChannelStates()...),
			reflect.TypeFor[posthouse.Outcome]():       web.Any(posthouse.Outcomes()...),
			reflect.TypeFor[posthouse.ReportResult]():  web.Any(posthouse.ReportDone, posthouse.ReportEvidence, posthouse.ReportStale, posthouse.ReportMissing, posthouse.ReportReused),
			reflect.TypeFor[posthouse.TaskEventType](): web.Any(workflow.Events()...),
			reflect.TypeFor[wire.WarningCode]():        web.Any(workflow.WarningCodes()...),
			reflect.TypeFor[wire.Log]():                web.Any(wire.Logs()...),
			reflect.TypeFor[wire.Outcome]():            web.Any(wire.Outcomes()...),
			reflect.TypeFor[wire.FieldKind]():          fieldKinds(),
		},
		Kept: map[reflect.Type][]string{
			reflect.TypeFor[posthouse.Channel]():  {"tenant", "name", "version", "paused", "pause_reason", "state", "state_reason", "created_at", "updated_at"},
			reflect.TypeFor[posthouse.Template](): {"tenant", "name", "version", "variables", "created_at"},
			reflect.TypeFor[posthouse.Roster]():   {"tenant", "name", "updated_at"},
			reflect.TypeFor[posthouse.Agent]():    {"tenant", "state", "reason", "key", "app", "last_seen_at", "created_at", "updated_at"},
			reflect.TypeFor[posthouse.User]():     {"tenant", "updated_at"},
		},
		Names: map[reflect.Type]string{ // of two things that go by one name, the wire's keeps it
			reflect.TypeFor[posthouse.Message]():  "StoredMessage",
			reflect.TypeFor[posthouse.Reminder](): "StoredReminder",
			reflect.TypeFor[posthouse.Agent]():    "RegisteredAgent",
			reflect.TypeFor[posthouse.Key]():      "StoredKey",
		},
	}
}
