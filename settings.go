package posthouse

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Duration is a time.Duration that JSON and YAML write as "90s" or "1h30m".
type Duration time.Duration

// MarshalText writes the duration as time.Duration does, without empty units.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what time.ParseDuration reads, and days as "7d".
func (d *Duration) UnmarshalText(b []byte) error {
	s := string(b)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		var n int
		if _, err := fmt.Sscanf(days, "%d", &n); err == nil && fmt.Sprint(n) == days {
			*d = Duration(time.Duration(n) * 24 * time.Hour)
			return nil
		}
	}
	v, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 500ms, 90s, 5m, 1h30m or 7d", s)
	}
	*d = Duration(v)
	return nil
}

// String is the shortest form: "1m" rather than "1m0s".
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Std is the duration as the standard library knows it.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// Channel is a configured instance of a driver: where messages go, how fast,
// how often, and what follows an ambiguous attempt. An empty setting takes the
// profile's value, then the driver's, then the one named at its field.
type Channel struct {
	Tenant string `json:"tenant"`
	Name   string `json:"name"`
	Driver string `json:"driver"`
	// Config holds the driver's own fields, as its Type describes them. Secrets
	// are write-only: reading shows them masked, and writing the mask keeps them.
	Config map[string]any `json:"config,omitempty"`

	ChannelSettings

	Paused      bool   `json:"paused,omitempty"`
	PauseReason string `json:"pause_reason,omitempty"`
	// PausedUntil is when it goes on by itself. Zero is when a person resumes it.
	PausedUntil time.Time `json:"paused_until,omitzero"`
	// State is whether it sends now, StateReason why not, and StateUntil until when. All three are only shown.
	State       ChannelState `json:"state,omitempty"`
	StateReason string       `json:"state_reason,omitempty"`
	StateUntil  time.Time    `json:"state_until,omitzero"`
	// Warnings say what is stored and will not work as this server runs, such as an address that it may not call. They are only shown.
	Warnings []string `json:"warnings,omitempty"`

	Version   int64     `json:"version"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// PausedAt reports whether a person holds it up at a time.
func (c *Channel) PausedAt(now time.Time) bool {
	return c.Paused && (c.PausedUntil.IsZero() || now.Before(c.PausedUntil))
}

// ChannelState is whether a channel sends.
type ChannelState string

// The states of a channel.
const (
	ChannelOpen   ChannelState = "open"
	ChannelPaused ChannelState = "paused" // by a person
	ChannelParked ChannelState = "parked" // its provider refuses the account for a while
	ChannelBroken ChannelState = "broken" // it cannot be opened
)

// ChannelStates lists them all.
func ChannelStates() []ChannelState {
	return []ChannelState{ChannelOpen, ChannelPaused, ChannelParked, ChannelBroken}
}

// ChannelSettings is what an operator decides about a channel, whatever its driver.
type ChannelSettings struct {
	// Title is what people call the channel, shown beside its name; at most 255 characters. Defaults to none.
	Title string `json:"title,omitempty"`
	// Profile names a set of defaults: "duty" for the bank's notices, "flow" for
	// the notices of workflows, which repeats what may have arrived, "wecom",
	// "default". Defaults to "default".
	Profile string `json:"profile,omitempty"`
	// Every makes the channel send in runs, one each period. Defaults to 0:
	// continuous, a message leaves at once.
	Every *Duration `json:"every,omitempty"`
	// Job is the name of the runs in logs and metrics.
	// Defaults to the channel's name in camel case and "MessageSenderJob".
	Job string `json:"job,omitempty"`
	// Tries is how many failures end a delivery. Defaults to 8.
	Tries int `json:"tries,omitempty"`
	// Backoff is the wait after the first, second, … failure; the last one
	// repeats. Defaults to 1m, 3m, 5m, 10m, 30m, 1h, 3h.
	Backoff []Duration `json:"backoff,omitempty"`
	// Jitter spreads each wait by up to this share of it, 0 to 1. Defaults to 0.2.
	Jitter *float64 `json:"jitter,omitempty"`
	// OnUnknown is the policy for an attempt that may have arrived. Defaults to
	// retry where the driver has an idempotency key, else hold.
	OnUnknown Policy `json:"on_unknown,omitempty"`
	// HoldTimeout ends a held unknown as failed. Defaults to 0: it waits for a person.
	HoldTimeout Duration `json:"hold_timeout,omitempty"`
	// Limits are the windows that hold together: all of them must have room; an empty list is no limit.
	// Defaults to the driver's.
	Limits []Limit `json:"limits,omitzero"`
	// LimitBy says what the limits count, of the channel and of its accounts: recipients, or calls of the provider, of which
	// each is for up to a batch of recipients. Defaults to recipients.
	LimitBy LimitBy `json:"limit_by,omitempty"`
	// AccountLimits are the windows of each of its accounts that names none of its own; an empty list is no limit. Defaults to the
	// driver's, where the channel has several accounts.
	AccountLimits []Limit `json:"account_limits,omitzero"`
	// TypeLimits are windows by content type, of each account. Defaults to none.
	TypeLimits map[ContentType][]Limit `json:"type_limits,omitempty"`
	// RecipientLimits are the windows of each recipient of the channel: what is beyond them waits, also where
	// the provider would drop it and say nothing; an empty list is no limit. Defaults to the driver's.
	RecipientLimits []Limit `json:"recipient_limits,omitzero"`
	// TemplateLimits are windows by the name of a template, of what the channel sends by it; "*" is each
	// that is not named. Defaults to none.
	TemplateLimits map[string][]Limit `json:"template_limits,omitempty"`
	// Budget is how much the channel may send in a day or a month of the calendar, by all its accounts. Defaults to none.
	Budget *Budget `json:"budget,omitempty"`
	// AccountBudget is the budget of each of its accounts that names none of its own. Defaults to none.
	AccountBudget *Budget `json:"account_budget,omitempty"`
	// Rate has each account go as fast as its provider bears, within the limits. Defaults to none: as fast as
	// the limits allow.
	Rate *RateSettings `json:"rate,omitempty"`
	// MaxInflight is how many attempts may be under way in one process, by each account
	// of several: also the bound on what a crash can leave unknown. Defaults to 32 where the provider has no idempotency key, else 256, and to a
	// batch where that is more. Low priority leaves an eighth of them free.
	MaxInflight int `json:"max_inflight,omitempty"`
	// ChannelMaxInflight is how many may be under way in one process by all accounts of the channel together.
	// Defaults to 4,096. How many calls at once the provider bears is learned besides, from what it refuses.
	ChannelMaxInflight int `json:"channel_max_inflight,omitempty"`
	// Batch is how many recipients of one message go in one provider call, at
	// most the driver's own maximum. Defaults to that maximum.
	Batch int `json:"batch,omitempty"`
	// Timeout bounds one provider call. Defaults to the driver's, 10s.
	Timeout Duration `json:"timeout,omitempty"`
	// ExpireEndOfDay gives a message without a deadline the end of its day.
	ExpireEndOfDay bool `json:"expire_end_of_day,omitempty"`
	// TimeZone is the IANA zone of days and rosters. Defaults to the server's
	// setting, Asia/Shanghai.
	TimeZone string `json:"time_zone,omitempty"`
	// DedupWindow is how long a dedup_key holds. Defaults to 7d.
	DedupWindow Duration `json:"dedup_window,omitempty"`
	// Rules decide whether and when each recipient is told. Defaults to none.
	Rules []RuleSettings `json:"rules,omitempty"`
	// Codes overrides the class of provider codes.
	Codes map[string]Class `json:"codes,omitempty"`
	// ProbeAfter is the wait before the first probe of an account that refused us;
	// it doubles up to ProbeMax. Defaults to 5m and 1h.
	ProbeAfter Duration `json:"probe_after,omitempty"`
	ProbeMax   Duration `json:"probe_max,omitempty"`
	// Promise is how long what is due waits at most when all is well, by priority; what has waited for longer is shown as late, and
	// nothing else follows. Defaults to 1m, 5m and 1h for high, normal and low, each with a period more where the channel sends in runs.
	Promise map[Priority]Duration `json:"promise,omitempty"`
	// Pull hands the channel's deliveries to agents that ask for them: the driver sends nothing. The driver
	// pull always does so. Timeout is then how long an agent holds what it was handed, on_unknown
	// defaults to hold, and limits, batch, every and max_inflight mean nothing.
	Pull bool `json:"pull,omitempty"`
	// Needs are the capabilities an agent must have to be handed anything, such as operator: cmcc.
	Needs map[string]string `json:"needs,omitempty"`
	// FairAfter is how long a retry of a pulled channel waits beyond its due time before it goes ahead of
	// what is new. Defaults to 10m.
	FairAfter Duration `json:"fair_after,omitempty"`
	// Accounts makes the channel send by accounts that are set up one by one, each with its own gate, limits and
	// credentials. The channel's config is what they share then, and max_inflight holds for each of them. Such a
	// channel sends continuously, and nothing is sent while it has no account.
	Accounts bool `json:"accounts,omitempty"`
	// Sticky keeps what belongs together on one account: "conversation" is all of one kind and ref, or else of one
	// recipient. Defaults to none: each delivery goes by the account that can send soonest.
	Sticky Sticky `json:"sticky,omitempty"`
	// Egress is what the driver may call beside the URLs of the config. Defaults to nothing.
	Egress *Egress `json:"egress,omitempty"`
	// KeepAnswers keeps the beginning of each answer's body with the attempt, for everybody who may read deliveries; its
	// code, message and id are always kept. Defaults to false, and to true with the profile duty.
	KeepAnswers *bool `json:"keep_answers,omitempty"`
	// ExemptKinds are kinds of messages that are sent to suppressed addresses too, such as one-time passwords that people
	// have just asked for. Defaults to none.
	ExemptKinds []string `json:"exempt_kinds,omitempty"`
	// QuietHours are windows of local time in which nothing starts, besides the tenant's. Defaults to none.
	QuietHours []QuietHours `json:"quiet_hours,omitempty"`
	// Caps are how many messages one person may get by the channel, besides the tenant's. Defaults to none.
	Caps []Cap `json:"caps,omitempty"`
	// TestTo are addresses to which whoever may test the channel sends a test although he may not send messages, such as those of
	// the people who look after it. Defaults to none.
	TestTo []string `json:"test_to,omitempty"`
	// Failover moves what is pinned to an account to another one while the account is paused or refused for longer
	// than a moment, or was removed; but never what may have been sent. Defaults to none: it waits.
	Failover bool `json:"failover,omitempty"`
	// Preset names what is known of the channel's provider, where the config was made of that, and PresetVersion is its version then. A new
	// version changes no channel by itself. Defaults to none.
	Preset        string `json:"preset,omitempty"`
	PresetVersion int    `json:"preset_version,omitempty"`
}

// Sticky says what a channel keeps on one of its accounts.
type Sticky string

// StickyConversation keeps all of one kind and ref, or else of one recipient, on one account.
const StickyConversation Sticky = "conversation"

// RuleSettings configures one rule of a channel.
type RuleSettings struct {
	// Type names the rule, such as "duty".
	Type string `json:"type"`
	// Roster is the roster that the duty rule asks. Defaults to "duty".
	Roster string `json:"roster,omitempty"`
	// Recipients are the recipient types the rule applies to. Defaults to
	// head_office for the duty rule.
	Recipients []string `json:"recipients,omitempty"`
	// Options are the settings of a rule that does not ship. Defaults to none.
	Options map[string]string `json:"options,omitempty"`
}

// LimitBy is what limits count.
type LimitBy string

// The units that limits count.
const (
	LimitByRecipients LimitBy = "recipients"
	LimitByCalls      LimitBy = "calls"
)

// Valid reports whether it is one of those there are, or left out.
func (l LimitBy) Valid() bool { return l == "" || l == LimitByRecipients || l == LimitByCalls }

// Limit allows Max starts in any sliding window of length Per.
type Limit struct {
	Max int      `json:"max"`
	Per Duration `json:"per"`
	// Burst is how many may start at once: what the window lets through leaves evenly, at most so many in the time that these have at
	// the window's rate. Defaults to Max.
	Burst int `json:"burst,omitempty"`
	// Jitter is by how much the times differ that calls take to their provider: the window is counted over so much longer, so that the
	// provider sees no more than Max in a window of its own. Defaults to 80ms for what a channel sends in windows of a second or more,
	// else to none.
	Jitter *Duration `json:"jitter,omitempty"`
}

// String is the limit as text: 20/1s, with /burst=5 and /jitter=80ms where these are set.
func (l Limit) String() string {
	text := strconv.Itoa(l.Max) + "/" + l.Per.String()
	if l.Burst > 0 {
		text += "/burst=" + strconv.Itoa(l.Burst)
	}
	if l.Jitter != nil {
		text += "/jitter=" + l.Jitter.String()
	}
	return text
}

// Template is one version of a text with placeholders, for a channel or for
// all of them (Channel empty).
type Template struct {
	Tenant  string `json:"tenant"`
	Name    string `json:"name"`
	Version int    `json:"version"`
	Title   string `json:"title,omitempty"`
	Text    string `json:"text"`
	// Type is that of the content that the template makes, one without files. Defaults to the channel's own, which is text with most.
	Type ContentType `json:"type,omitempty"`
	// Extra is a JSON object of what only the provider knows, such as a card with its buttons. Its strings have placeholders as Text has.
	Extra   json.RawMessage `json:"extra,omitempty"`
	Lenient bool            `json:"lenient,omitempty"` // a missing variable stays visible instead of being refused
	// ExternalID is what the provider calls the template, if it has templates of its own.
	ExternalID string `json:"external_id,omitempty"`
	// Parameters are those of the provider's template, each a text with placeholders. They are all that leaves of a payload then;
	// without them it is the members that title and text name.
	Parameters map[string]string `json:"parameters,omitempty"`
	// Language is that of Title and Text, a BCP 47 tag such as zh. Defaults to none.
	Language string `json:"language,omitempty"`
	// Texts are title and text in other languages, by tag. A recipient gets the language of the directory, or else the tenant's, or else
	// Title and Text.
	Texts map[string]TemplateText `json:"texts,omitempty"`
	// Disabled refuses new messages with it.
	Disabled  bool      `json:"disabled,omitempty"`
	Variables []string  `json:"variables"`
	CreatedAt time.Time `json:"created_at"`
}

// TemplateText is what a template says in one language.
type TemplateText struct {
	Title string `json:"title,omitempty"`
	Text  string `json:"text"`
	// Extra is the template's Extra in the language. Defaults to that of the template.
	Extra json.RawMessage `json:"extra,omitempty"`
}

// Roster says who is on duty: by day of the week, with overrides by date.
type Roster struct {
	Tenant string `json:"tenant"`
	Name   string `json:"name"`
	// Days maps the day of the week, "1" (Monday) to "7", to users.
	Days map[string][]string `json:"days"`
	// Overrides maps a date, 2026-10-01, to the users of that day instead.
	Overrides map[string][]string `json:"overrides,omitempty"`
	// HandOver is the local time at which a duty day begins, "08:30". Defaults to 00:00.
	HandOver string `json:"hand_over,omitempty"`
	// TimeZone defaults to the server's setting, Asia/Shanghai.
	TimeZone  string    `json:"time_zone,omitempty"`
	UpdatedAt time.Time `json:"updated_at"`
}

// User is one entry of the directory: someone's addresses by channel.
type User struct {
	Tenant    string            `json:"tenant"`
	ID        string            `json:"id"`
	Name      string            `json:"name,omitempty"`
	Type      string            `json:"type,omitempty"`
	Addresses map[string]string `json:"addresses,omitempty"`
	// Roles are the roles the user has, by which workflows name who handles a node.
	Roles []string `json:"roles,omitempty"`
	// TimeZone is the IANA zone in which the user lives, such as Asia/Shanghai. Empty for what the tenant or the server has.
	TimeZone string `json:"time_zone,omitempty"`
	// Language is the BCP 47 tag of the language the user reads, such as zh or en. Empty for the tenant's.
	Language string `json:"language,omitempty"`
	// Manager is the id of another user of the tenant, to whom a route may turn. The directory may not know it yet.
	Manager   string    `json:"manager,omitempty"`
	UpdatedAt time.Time `json:"updated_at"`
	// Warnings say what is stored and may not be meant, such as a manager whom the directory does not know. They are only shown.
	Warnings []string `json:"warnings,omitempty"`
}

// Scope is what a key may do.
type Scope string

// The scopes, each containing the ones before it.
const (
	ScopeRead  Scope = "read"  // look
	ScopeSend  Scope = "send"  // and send, cancel
	ScopeAdmin Scope = "admin" // and change channels, templates, rosters, users, keys, agents; replay and resolve
)

// ScopeAgent is apart from the others: fetch the deliveries of one agent's channels and report on them,
// and nothing else. No other scope contains it, because an agent is known by its key.
const ScopeAgent Scope = "agent"

// Allows reports whether a key of scope s may do what needs scope need.
func (s Scope) Allows(need Scope) bool {
	if s == ScopeAgent || need == ScopeAgent {
		return s == need
	}
	rank := map[Scope]int{ScopeRead: 1, ScopeSend: 2, ScopeAdmin: 3}
	return rank[s] != 0 && rank[s] >= rank[need]
}

// Key is an API key as it is listed; the secret is shown once, when it is made.
type Key struct {
	ID        string    `json:"id"`
	Tenant    string    `json:"tenant"`
	Name      string    `json:"name"`
	Scope     Scope     `json:"scope"`
	Agent     string    `json:"agent,omitempty"` // whose key it is, of scope agent
	CreatedAt time.Time `json:"created_at"`
	RevokedAt time.Time `json:"revoked_at,omitzero"`
	// Note is for people.
	Note string `json:"note,omitempty"`
	// ExpiresAt ends the key by itself; zero is never.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	// LastUsedAt is when it was shown last, to about a minute.
	LastUsedAt time.Time `json:"last_used_at,omitzero"`
	KeyLimits
	// Grants are what it may do beyond its scope.
	Grants []Grant `json:"grants,omitempty"`
	// Quota bounds how much it may ask for.
	Quota Quota `json:"quota,omitzero"`
}

// Grant is something that a key's scope does not reach by itself.
type Grant string

// GrantMentionAll is calling everybody in a group by a content's mention_all. Keys of scope admin have it, but for those that are
// narrowed to actions.
const GrantMentionAll Grant = "mention_all"

// GrantCritical is sending what quiet hours and caps do not hold. Keys of scope admin have it, as they have mention_all.
const GrantCritical Grant = "critical"

// Grants lists what can be granted.
func Grants() []Grant { return []Grant{GrantMentionAll, GrantCritical} }

// May reports whether the key has a grant.
func (k Key) May(g Grant) bool {
	return slices.Contains(k.Grants, g) || k.Scope == ScopeAdmin && len(k.Actions) == 0
}

// KeyLimits narrow what a key may do within its scope. An empty list is no limit.
type KeyLimits struct {
	// Channels are those whose messages and deliveries it sees and touches.
	Channels []string `json:"channels,omitempty"`
	// Kinds are those of the messages that it sees and touches.
	Kinds []string `json:"kinds,omitempty"`
	// Actions are what it may do, such as messages.create, deliveries.* or *.read.
	Actions []string `json:"actions,omitempty"`
}

// Any reports whether anything is limited.
func (l KeyLimits) Any() bool { return len(l.Channels)+len(l.Kinds)+len(l.Actions) > 0 }
