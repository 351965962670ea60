package posthouse

import (
	"encoding/json"
	"time"
)

// DefaultTenant owns everything in an installation that never names a tenant.
const DefaultTenant = "default"

// Recipient is one person, phone, group or endpoint a message is for.
type Recipient struct {
	// User is the recipient's id in the caller's own system.
	User string `json:"user,omitempty"`
	// Address is where the channel reaches the recipient (phone number, openid,
	// URL, …). Defaults to the address the directory keeps for User on this
	// channel, and to User itself where it keeps none.
	Address string `json:"address,omitempty"`
	// Type is what rules look at, such as "head_office" or "branch".
	Type string `json:"type,omitempty"`
	// Roster stands for whoever is on duty by it, and Role for whoever has it in the directory, at the moment when the message is
	// accepted. They are of drafts alone, in place of User and Address.
	Roster string `json:"roster,omitempty"`
	Role   string `json:"role,omitempty"`
	// Manager stands for the managers of the message's recipients: 1 is a person's manager, 2 the manager's manager, up to 5. It is of a
	// route's steps alone, in place of the others.
	Manager int `json:"manager,omitempty"`
}

// Message is one thing to tell to one or many recipients over one channel. It
// never changes after it was accepted.
type Message struct {
	ID       string   `json:"id"`
	Tenant   string   `json:"tenant"`
	Channel  string   `json:"channel"`
	Kind     string   `json:"kind,omitempty"` // business type
	Ref      string   `json:"ref,omitempty"`  // business key within the kind
	Priority Priority `json:"priority"`
	Content  Content  `json:"content"`
	Template string   `json:"template,omitempty"`
	Version  int      `json:"template_version,omitempty"` // of the template it was rendered with
	// TemplateID is what the provider calls the template, if it has templates of its own.
	TemplateID string `json:"external_template_id,omitempty"`
	// Clock adds fields to the payload at the moment of sending; Content is as of the acceptance then.
	Clock *Clock `json:"clock,omitempty"`
	// Reminder is the reminder whose slot the message is.
	Reminder string `json:"reminder,omitempty"`
	// Digest gathers it with others, and Collection is the one whose text the message is.
	Digest     string `json:"digest,omitempty"`
	Collection string `json:"collection,omitempty"`
	// Route is what the message follows, in place of a channel; its deliveries are those of its notifications' steps.
	Route string `json:"route,omitempty"`
	// Notification is the one whose step the message is, and Step the number of that, from 1. FallbackOf is the delivery of the
	// step before, in place of which it is sent.
	Notification string `json:"notification,omitempty"`
	Step         int    `json:"step,omitempty"`
	FallbackOf   string `json:"fallback_of,omitempty"`
	// StepUntil is when the time of that step is over: what has not begun by then is withdrawn. Defaults to never.
	StepUntil time.Time       `json:"step_until,omitzero"`
	Payload   json.RawMessage `json:"payload,omitempty"` // what the template was filled with
	Source    string          `json:"source,omitempty"`  // which system sent it
	// Sensitive is set where the content is kept sealed and then forgotten: Content and Payload are empty
	// here, and only who sends the message sees them.
	Sensitive bool `json:"sensitive,omitempty"`
	// Critical is set where quiet hours and caps do not hold it.
	Critical bool   `json:"critical,omitempty"`
	DedupKey string `json:"dedup_key,omitempty"`
	// Account is the one account that may send it, and Pool the label of those that may. Defaults to any of the channel's.
	Account string `json:"account,omitempty"`
	Pool    string `json:"pool,omitempty"`
	// OrderingKey keeps it in line with the others of its channel that have the same. Defaults to none.
	OrderingKey string `json:"ordering_key,omitempty"`
	// OnUnknown overrides the channel's policy. Defaults to the channel's.
	OnUnknown Policy    `json:"on_unknown,omitempty"`
	NotBefore time.Time `json:"not_before,omitzero"`
	Deadline  time.Time `json:"deadline,omitzero"`
	CreatedAt time.Time `json:"created_at"`
	// Trace is the W3C trace context of the request that was accepted, if it was traced.
	Trace string `json:"-"`
	// Unreadable says why the stored message cannot be sent; its deliveries are quarantined.
	Unreadable string `json:"unreadable,omitempty"`
}

// Delivery is one message to one recipient over one channel: the unit of state.
// Times are UTC; a zero time means "not yet" or "never".
type Delivery struct {
	ID      string `json:"id"`
	Message string `json:"message"`
	Tenant  string `json:"tenant"`
	Channel string `json:"channel"`
	Recipient
	// Account is the one that sends it. Pinned is set where no other may; else an account of Pool does, or any.
	Account string `json:"account,omitempty"`
	Pinned  bool   `json:"pinned,omitempty"`
	Pool    string `json:"pool,omitempty"`
	// Line names the line of its ordering key, for as long as it waits there for those before it. Defaults to none.
	Line     string   `json:"line,omitempty"`
	Priority Priority `json:"priority"`
	// Gathered is set while it waits in its collection, or leaves with it: it does not leave by itself.
	Gathered bool `json:"gathered,omitempty"`
	// Pulled is set where an agent fetches it: no worker of ours sends it.
	Pulled bool `json:"pulled,omitempty"`

	State   State  `json:"state"`
	Reason  string `json:"reason,omitempty"`     // why it is in this state, a stable word
	Error   string `json:"last_error,omitempty"` // the latest error text, redacted
	Version int64  `json:"version"`              // rises by one with each transition
	Token   int64  `json:"token"`                // fencing token, rises by one with each claim

	Attempts    int `json:"attempts"`     // how often sending began
	Tries       int `json:"tries"`        // how many attempts counted as a failure
	ClaimLosses int `json:"claim_losses"` // how often a lease ended without a result

	IdemKey         string `json:"idempotency_key"` // the same over all attempts
	OnUnknown       Policy `json:"on_unknown"`
	ProviderRef     string `json:"provider_ref,omitempty"`
	Unconfirmed     bool   `json:"unconfirmed,omitempty"`      // counted as sent without proof
	CancelRequested bool   `json:"cancel_requested,omitempty"` // no further try will start
	ReplayOf        string `json:"replay_of,omitempty"`
	Notification    string `json:"notification,omitempty"` // whose step it is, where it is one
	Collection      string `json:"collection,omitempty"`   // that gathered it, or whose delivery it is, where there is one
	Epoch           int64  `json:"epoch"`

	CreatedAt    time.Time `json:"created_at"`
	UpdatedAt    time.Time `json:"updated_at"`
	DueAt        time.Time `json:"due_at,omitzero"`
	NotBefore    time.Time `json:"not_before,omitzero"`
	Deadline     time.Time `json:"deadline,omitzero"`
	StartedAt    time.Time `json:"started_at,omitzero"`
	FirstStartAt time.Time `json:"first_start_at,omitzero"`
	LeaseUntil   time.Time `json:"lease_until,omitzero"`
	LeaseOwner   string    `json:"lease_owner,omitempty"`
}

// Attempt is one try to send a delivery: a start and how it ended.
type Attempt struct {
	Number     int           `json:"number"`
	Delivery   string        `json:"delivery"`
	Channel    string        `json:"channel"`
	Account    string        `json:"account,omitempty"`
	Token      int64         `json:"token"`
	Owner      string        `json:"owner"` // the process that held the lease
	StartedAt  time.Time     `json:"started_at"`
	FinishedAt time.Time     `json:"finished_at,omitzero"`
	Duration   time.Duration `json:"duration_ns,omitempty"`
	Class      Class         `json:"class,omitempty"` // empty while it runs
	Code       string        `json:"code,omitempty"`  // the provider's code, or NETWORK_ERROR, API_TIMEOUT
	Error      string        `json:"error,omitempty"`
	Ref        string        `json:"provider_ref,omitempty"`
	Request    string        `json:"request,omitempty"`  // redacted, bounded
	Response   string        `json:"response,omitempty"` // redacted, bounded
	Tries      int           `json:"tries"`              // counted failures after it
	From       State         `json:"from"`
	To         State         `json:"to,omitempty"`
}
