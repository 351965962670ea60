package intake

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/content"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/metrics"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/rule"
)

// Store is where drafts are committed, and what is looked up for them.
type Store interface {
	// AcceptAndStart commits submissions. What gets a seat begins by that: starts are this process's to send. Seats may be nil.
	AcceptAndStart(ctx context.Context, now time.Time, subs []*work.Submission, seats work.Seats) ([]work.Outcome, []work.Start, error)
	// Answer is what was kept for an Idempotency-Key.
	Answer(ctx context.Context, tenant, endpoint, key, hash string) (answer []byte, found bool, err error)
	Template(ctx context.Context, tenant, name string, version int) (posthouse.Template, error)
	Addresses(ctx context.Context, tenant, channel string, users []string) (map[string]string, error)
}

// Channels are those that can be sent through.
type Channels interface {
	// Channel is an open channel, nil where there is none of this name.
	Channel(tenant, name string) *state.Channel
	// Names lists a tenant's channels.
	Names(tenant string) []string
	// Rouse says that something was committed for a channel.
	Rouse(k state.Key, p posthouse.Priority, pin work.Pin)
}

// Seats let what is accepted begin in this process at once, where it has room.
type Seats interface {
	// Open begins to ask for one commit.
	Open() Seating
}

// Seating is what one commit asks for.
type Seating interface {
	work.Seats
	// End says what became of the commit, once: what has begun by it is sent. Whatever asked for a seat and got none is looked after.
	End(starts []work.Start, err error)
}

// Quotas bound how many deliveries may be open.
type Quotas interface {
	// Reserve makes room for n deliveries of a tenant and the key that pays, or is an error of code quota. done is to be told how many of them
	// were stored; it may be nil.
	Reserve(ctx context.Context, tenant string, payer work.Payer, n int) (done func(stored int), err error)
	// MentionAll makes room for n messages that call everybody, or is an error of code quota. back gives back those that
	// were not stored; it may be nil.
	MentionAll(ctx context.Context, tenant string, payer work.Payer, n int) (back func(n int), err error)
}

// Roles know who has a role: by role, sorted; one that nobody has is missing.
type Roles interface {
	UsersOf(ctx context.Context, tenant string, roles []string) (map[string][]string, error)
}

// Options makes an Intake. Those without a default are required.
type Options struct {
	Store    Store
	Contents *content.Contents
	Channels Channels
	Life     *life.Life
	Log      *slog.Logger
	Metrics  *metrics.Metrics
	// Tracer defaults to none.
	Tracer trace.Tracer
	// KeyTTL is how long an Idempotency-Key is kept. Defaults to 7 days.
	KeyTTL time.Duration
	// MaxRecipients bounds the recipients of one message. Defaults to 1000.
	MaxRecipients int
	// Refresh looks for channels that another process has made a moment ago; it is called when a
	// draft names one that is not known. Defaults to nothing.
	Refresh func(ctx context.Context) error
	// Quotas defaults to none.
	Quotas Quotas
	// Seats defaults to none: all that is accepted waits to be claimed.
	Seats Seats
	// Media has the files that contents name by upload. Defaults to none: each is refused.
	Media Media
	// Counted is told how many deliveries were accepted for a channel. Defaults to nothing.
	Counted func(tenant, channel string, n int)
	// Rosters say who is on duty and Roles who has a role, for drafts that name one. Default to none: each is refused.
	Rosters rule.Rosters
	Roles   Roles
	// Location is that of rosters that name none. Defaults to rule.DefaultTimeZone.
	Location *time.Location
	// Routes begin the notifications of drafts that name a route. Defaults to none: each is refused.
	Routes Routing
	// Gatherer gathers drafts that name a digest. Defaults to none: each is refused.
	Gatherer Gatherer
	// Broken reports whether there is a channel of this name that cannot be opened: what is handed
	// in for it is refused for now, not for good. Defaults to none.
	Broken func(tenant, channel string) bool
}

// Routing knows routes.
type Routing interface {
	// Begin makes the plans of the notifications of a draft that names a route, for the recipients that it means, or says what is wrong.
	Begin(ctx context.Context, req *Request, id string, d *posthouse.Draft, now time.Time, p *draft.Problems) (routed work.Routed, mentionAll bool, err error)
	// End ends the notifications of a message, and withdraws what has not started of them.
	End(ctx context.Context, tenant, message string) error
}

// Gatherer knows digests.
type Gatherer interface {
	// Gather is by what each delivery of a message is gathered by the digest of a name. An error of code not_found says that there is none, and
	// one of code invalid what is wrong.
	Gather(ctx context.Context, name string, m *posthouse.Message, list []posthouse.Delivery) ([]work.Gathered, error)
}

// Intake accepts drafts.
type Intake struct {
	o        Options
	accepter *accepter
	planning chan struct{} // capacity 1: a plan is due
}

// New makes an intake. Its accepters are run by Run.
func New(o Options) *Intake {
	o.KeyTTL = cmp.Or(o.KeyTTL, 7*24*time.Hour)
	o.MaxRecipients = cmp.Or(o.MaxRecipients, draft.MaxRecipients)
	if o.Counted == nil {
		o.Counted = func(string, string, int) {}
	}
	return &Intake{o: o, accepter: newAccepter(&o), planning: make(chan struct{}, 1)}
}

// Run commits what is accepted until the life ends. Several may run at once.
func (in *Intake) Run(ctx context.Context) { in.accepter.run(ctx) }

// Busy reports whether callers come.
func (in *Intake) Busy() bool { return in.accepter.busy() }
