package api

import (
	"context"
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
	// Test checks the provider; without a recipient by the driver's own check, where it has one.
	Test(ctx context.Context, tenant, name string, to posthouse.Recipient, content posthouse.Content) (channel.Result, error)
	// Types lists the drivers there are.
	Types() []channel.Type
}
