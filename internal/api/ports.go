package api

import (
	"context"
	"encoding/json"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/work"
)

// Engine accepts, cancels, resolves and explains. *engine.Engine satisfies it.
type Engine interface {
	Accept(ctx context.Context, req engine.Request) (engine.Answer, error)
	Cancel(ctx context.Context, tenant string, ids []string) ([]engine.Cancellation, error)
	Resolve(ctx context.Context, tenant, id string, r engine.Resolution) (posthouse.Delivery, error)
	Explain(ctx context.Context, d posthouse.Delivery) engine.Explanation
	Wake(tenant, name string)
	fills
	reminds
	handsOut
	holds
}

// fills says what a message with a template would read like.
type fills interface {
	Fill(t posthouse.Template, payload json.RawMessage, clock *posthouse.Clock, at time.Time) (posthouse.Content, json.RawMessage, []posthouse.Problem)
}

// reminds opens and ends reminders.
type reminds interface {
	Remind(ctx context.Context, req engine.Request, r posthouse.Reminder) (_ posthouse.Reminder, duplicate bool, _ engine.Answer, err error)
	EndReminder(ctx context.Context, tenant, id, reason string) (posthouse.Reminder, error)
	EndReminders(ctx context.Context, tenant, kind, ref, reason string) ([]posthouse.Reminder, error)
}

// handsOut hands deliveries to agents and takes their reports.
type handsOut interface {
	HandOut(ctx context.Context, c engine.Claim) (engine.Claimed, error)
	ReportHandouts(ctx context.Context, reports []work.Report) ([]work.Report, error)
	Reassign(ctx context.Context, tenant, agent, reason string) (engine.Reassigned, error)
	// Now is the time on the clock that leases go by.
	Now() time.Time
	// Saw notes what an agent's program says of itself.
	Saw(tenant, agent, app string)
}

// holds changes what an agent holds.
type holds interface {
	StartHandouts(ctx context.Context, tenant, agent string, holds []work.Hold) ([]engine.HoldAnswer, error)
	RenewHandouts(ctx context.Context, tenant, agent string, holds []work.Hold) ([]engine.HoldAnswer, error)
	GiveBack(ctx context.Context, tenant, agent string, holds []work.Hold, reason string) ([]engine.HoldAnswer, error)
}

// Store is what the API reads, and the directory it keeps. *store.Store satisfies it.
type Store interface {
	Messages
	Deliveries
	Outbox
	Templates
	Rosters
	Users
	Keys
	Agents
	Logs
	Plans
	Answers
}

// Plans reads reminders and tasks.
type Plans interface {
	Plan(ctx context.Context, tenant string, kind work.PlanType, id string) (p work.Plan, found bool, err error)
	Plans(ctx context.Context, tenant string, kind work.PlanType, cursor string, limit int) (list []work.Plan, next string, err error)
	PlansByRef(ctx context.Context, tenant string, kind work.PlanType, about, ref string) ([]work.Plan, error)
}

// Messages reads messages.
type Messages interface {
	Message(ctx context.Context, tenant, id string) (m posthouse.Message, recipients int, err error)
	Messages(ctx context.Context, f work.Filter) (list []work.Summary, next string, err error)
	ByRef(ctx context.Context, tenant, kind, ref string) (open []string, err error)
}

// Deliveries reads deliveries and their history, and sends some again.
type Deliveries interface {
	Delivery(ctx context.Context, tenant, id string) (posthouse.Delivery, error)
	DeliveriesOf(ctx context.Context, tenant, message, cursor string, limit int) (list []posthouse.Delivery, next string, err error)
	Deliveries(ctx context.Context, f work.Filter) (list []posthouse.Delivery, next string, err error)
	MessagesOf(ctx context.Context, tenant string, deliveries []posthouse.Delivery) (map[string]posthouse.Message, error)
	history
	replays
}

type history interface {
	Events(ctx context.Context, tenant, delivery string) ([]posthouse.Event, error)
	Attempts(ctx context.Context, tenant, delivery string) ([]posthouse.Attempt, error)
}

type replays interface {
	AddReplay(ctx context.Context, now time.Time, tenant string, ids []string, forceNew bool) ([]work.Replay, error)
	ReplayAll(ctx context.Context, now time.Time, f work.Filter, forceNew bool, max int) ([]work.Replay, error)
}

// Outbox shows what callers handed in within their own transactions and could not be accepted so far.
type Outbox interface {
	Box(ctx context.Context, tenant, cursor string, limit int) (box work.Box, next string, err error)
	RetryRow(ctx context.Context, now time.Time, tenant, id string) error
	DropRow(ctx context.Context, now time.Time, tenant, id string) error
}

// Templates keeps templates.
type Templates interface {
	PutTemplate(ctx context.Context, now time.Time, t posthouse.Template) (posthouse.Template, error)
	Template(ctx context.Context, tenant, name string, version int) (posthouse.Template, error)
	Templates(ctx context.Context, tenant string) ([]posthouse.Template, error)
	DeleteTemplate(ctx context.Context, tenant, name string) error
}

// Rosters keeps duty rosters.
type Rosters interface {
	PutRoster(ctx context.Context, now time.Time, r posthouse.Roster) (posthouse.Roster, error)
	Roster(ctx context.Context, tenant, name string) (r posthouse.Roster, found bool, err error)
	Rosters(ctx context.Context, tenant string) ([]posthouse.Roster, error)
	DeleteRoster(ctx context.Context, tenant, name string) error
}

// Users keeps the directory.
type Users interface {
	PutUsers(ctx context.Context, now time.Time, tenant string, users []posthouse.User) error
	User(ctx context.Context, tenant, id string) (posthouse.User, error)
	Users(ctx context.Context, tenant, cursor string, limit int) (list []posthouse.User, next string, err error)
	DeleteUser(ctx context.Context, tenant, id string) error
}

// Keys keeps API keys. KeyHash finds one of any tenant, revoked or not.
type Keys interface {
	KeyHash(ctx context.Context, id string) (key posthouse.Key, hash string, found bool, err error)
	AddKey(ctx context.Context, now time.Time, key posthouse.Key, hash string) error
	Keys(ctx context.Context, tenant string) ([]posthouse.Key, error)
	RevokeKey(ctx context.Context, now time.Time, tenant, id string) error
}

// Agents keeps phones and other programs that fetch deliveries.
type Agents interface {
	registered
	Agent(ctx context.Context, tenant, id string) (posthouse.Agent, error)
	Agents(ctx context.Context, tenant, cursor string, limit int) (list []posthouse.Agent, next string, err error)
	HeldBy(ctx context.Context, tenant, agent string) ([]posthouse.Delivery, error)
}

type registered interface {
	AddAgent(ctx context.Context, now time.Time, a posthouse.Agent) (posthouse.Agent, error)
	PutAgent(ctx context.Context, now time.Time, a posthouse.Agent) (posthouse.Agent, error)
	SetAgentState(ctx context.Context, now time.Time, tenant, id string, state posthouse.AgentState, reason string) error
	DeleteAgent(ctx context.Context, now time.Time, tenant, id string) error
}

// Logs reads the three logs of what is pulled, and its counts.
type Logs interface {
	Log(ctx context.Context, f work.LogFilter) (list []work.Line, next string, err error)
	Tally(ctx context.Context, tenant, channel string) (work.Tally, error)
}

// Channels keeps the configured channels and runs them. What it returns has its secrets masked;
// a masked secret that is put back stays as it was.
type Channels interface {
	stored
	operated
}

type stored interface {
	List(ctx context.Context, tenant string) ([]posthouse.Channel, error)
	Get(ctx context.Context, tenant, name string) (posthouse.Channel, error)
	Put(ctx context.Context, tenant string, ch posthouse.Channel) (stored posthouse.Channel, created bool, err error)
	Delete(ctx context.Context, tenant, name string) error
}

type operated interface {
	Pause(ctx context.Context, tenant, name, reason string) error
	Resume(ctx context.Context, tenant, name string) error
	// Test checks the provider; without a recipient by the driver's own check, where it has one. Of out, what
	// the message is and whom it is for counts.
	Test(ctx context.Context, tenant, name string, out channel.Outgoing) (channel.Result, error)
	// Fit says what the provider would cut or refuse of a content, as far as its driver knows.
	Fit(ctx context.Context, tenant, name string, content posthouse.Content) ([]posthouse.Problem, error)
	// Types lists the drivers there are.
	Types() []channel.Type
}
