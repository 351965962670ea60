package posthouse

import (
	"encoding/json"
	"slices"
	"time"
)

// Campaign sends one template to each member of an audience, who may be tens of millions.
type Campaign struct {
	ID     string `json:"id"`
	Tenant string `json:"tenant"`
	Name   string `json:"name"`
	// Channel is how the members are reached.
	Channel string `json:"channel"`
	// Kind is the business type, as of a message.
	Kind string `json:"kind,omitempty"`
	// Template makes each member's content, of Payload and the member's own variables, which win. Content is sent to all as it is.
	Template string          `json:"template,omitempty"`
	Version  int             `json:"template_version,omitempty"` // which was the latest when it was started
	Content  *Content        `json:"content,omitempty"`
	Payload  json.RawMessage `json:"payload,omitempty"`
	// Audience names the stored list it is sent to. Defaults to members of its own.
	Audience string   `json:"audience,omitempty"`
	Priority Priority `json:"priority"`
	// OnUnknown is what follows where nobody knows whether a member was reached: hold or retry. Defaults to the channel's.
	OnUnknown Policy `json:"on_unknown,omitempty"`
	// StartAt is when a scheduled one begins by itself.
	StartAt time.Time `json:"start_at,omitzero"`
	// Deadline is when sending ends, whoever is left.
	Deadline time.Time `json:"deadline,omitzero"`
	// SegmentSize is how many members are claimed as one.
	SegmentSize int `json:"segment_size"`
	CampaignRules

	State      CampaignState `json:"state"`
	Reason     string        `json:"reason,omitempty"` // why it is in this state
	Edition    int64         `json:"version"`          // rises by one with each change
	CreatedAt  time.Time     `json:"created_at"`
	UpdatedAt  time.Time     `json:"updated_at"`
	StartedAt  time.Time     `json:"started_at,omitzero"`
	FinishedAt time.Time     `json:"finished_at,omitzero"`
}

// CampaignRules say how carefully a campaign is sent.
type CampaignRules struct {
	// Spread is over how long the members are spread evenly, from the start on. Defaults to as fast as the limits allow.
	Spread Duration `json:"spread,omitzero"`
	// Canary are the members who are sent to first. Defaults to nobody.
	Canary *Canary `json:"canary,omitempty"`
	// Brake pauses the campaign by itself. Defaults to never.
	Brake *Brake `json:"brake,omitempty"`
	// NotToldWithin leaves out members whom another campaign of the channel has told within so long before the start. Defaults to
	// nobody.
	NotToldWithin Duration `json:"not_told_within,omitzero"`
	// Parameters are those of the provider's template, by their names: what fills each, a text with placeholders of the members' columns.
	// Defaults to the parameters of the campaign's template.
	Parameters map[string]string `json:"parameters,omitempty"`
}

// Canary lets the first members go ahead: the others follow if not too many of these have failed, else the campaign is paused.
type Canary struct {
	Members int64 `json:"members"`
	// MaxFailures is the share of them, from 0 to 1, who may have failed.
	MaxFailures float64 `json:"max_failures"`
}

// Brake pauses a campaign when too many have failed since it was started or resumed.
type Brake struct {
	// Above is the share of failures, from 0 to 1, that is too much.
	Above float64 `json:"above"`
	// After is how many members are to be answered for at least before it counts.
	After int64 `json:"after"`
	// Classes are the classes of failures that count. Defaults to all, also what was undelivered.
	Classes []Class `json:"classes,omitempty"`
}

// CampaignState says where a campaign stands.
type CampaignState string

// The states of a campaign. A draft has no members yet; a campaign whose last member is settled is done.
const (
	CampaignDraft     CampaignState = "draft"     // made; nobody is in its audience
	CampaignImporting CampaignState = "importing" // its audience is being read
	CampaignReady     CampaignState = "ready"     // its audience is complete
	CampaignScheduled CampaignState = "scheduled" // it begins by itself when its time has come
	CampaignRunning   CampaignState = "running"   // it sends
	CampaignPaused    CampaignState = "paused"    // it was running, and begins nothing new
	CampaignDone      CampaignState = "done"      // nothing is left to send
	CampaignCancelled CampaignState = "cancelled" // a person ended it
	CampaignExpired   CampaignState = "expired"   // its deadline ended it
)

// CampaignStates lists every state, in the order a campaign goes through them.
func CampaignStates() []CampaignState {
	return []CampaignState{
		CampaignDraft, CampaignImporting, CampaignReady, CampaignScheduled, CampaignRunning, CampaignPaused, CampaignDone, CampaignCancelled, CampaignExpired,
	}
}

// Valid reports whether s is one of CampaignStates.
func (s CampaignState) Valid() bool { return slices.Contains(CampaignStates(), s) }

// Final reports whether a campaign stays in this state.
func (s CampaignState) Final() bool {
	return s == CampaignDone || s == CampaignCancelled || s == CampaignExpired
}

// Audience is a list of people that campaigns are sent to. Once it is ready it never changes.
type Audience struct {
	ID     string `json:"id"`
	Tenant string `json:"tenant"`
	// Name is empty for the members of one campaign alone.
	Name string `json:"name,omitempty"`
	// Channel is whose addresses it has. Empty for any.
	Channel string        `json:"channel,omitempty"`
	State   AudienceState `json:"state"`
	// Offset is how many bytes of the file are stored, after decompression, and SHA256 their hash: an import goes on there.
	Offset int64  `json:"offset"`
	SHA256 string `json:"sha256"`
	// Line is the line of the file that comes next.
	Line int64 `json:"line"`
	// Members are different people; Repeated is how often an address stood there again, Refused how many records could not be
	// read. Repeated is known once the audience is ready; until then those who stand twice count as members.
	Members  int64 `json:"members"`
	Repeated int64 `json:"repeated"`
	Refused  int64 `json:"refused"`
	// Fields says of each variable how many of the records that were taken have it.
	Fields    map[string]int64 `json:"fields"`
	Edition   int64            `json:"version"`
	CreatedAt time.Time        `json:"created_at"`
	UpdatedAt time.Time        `json:"updated_at"`
}

// AudienceState says how complete an audience is.
type AudienceState string

// The states of an audience.
const (
	AudienceOpen    AudienceState = "open"    // more may come
	AudienceClosing AudienceState = "closing" // all is there, and who stands twice is looked for
	AudienceReady   AudienceState = "ready"   // it can be sent to
)

// AudienceStates lists every state.
func AudienceStates() []AudienceState {
	return []AudienceState{AudienceOpen, AudienceClosing, AudienceReady}
}
