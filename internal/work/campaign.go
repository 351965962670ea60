package work

import (
	"time"

	"github.com/posthouse/posthouse"
)

// Audience is a stored list of people with how far its import is.
type Audience struct {
	posthouse.Audience
	// Format is how the file is read, as JSON: it cannot change between two parts.
	Format string
	// Columns, Skip: see audience.Position. Digest is the state of the hash over what is stored of the file.
	Columns []string
	Skip    bool
	Digest  []byte
	// Last is the number of the last member, those who stand twice counted.
	Last int64
	// Pages is how many pages the index has.
	Pages int64
}

// The parts of an audience that blocks are stored of.
const (
	PartMembers  = "members"  // packed members, by the number of the first
	PartRefused  = "refused"  // lines of JSON, compressed, by their place among what was refused
	PartIndex    = "index"    // pages, by their number
	PartRepeated = "repeated" // marks of who stands twice, compressed, by the number that their first bit stands for
	PartTold     = "told"     // such marks of whom a campaign leaves out, under the campaign's id; how many these are
)

// Block is a row of an audience.
type Block struct {
	Part  string
	First int64
	N     int
	Bytes []byte
}

// Campaign is a campaign with what only the engine needs to know.
type Campaign struct {
	posthouse.Campaign
	// AudienceID is the list it is sent to, also where that has no name.
	AudienceID string
	// Planned is the number of the last member who is in a segment.
	Planned int64
	// Last is the number of the last member of all.
	Last int64
	// Marks are what its rules have noted.
	Marks CampaignMarks
}

// CampaignMarks are what the rules of a campaign have noted.
type CampaignMarks struct {
	// CanaryDone says that the others may follow the canary.
	CanaryDone bool `json:"canary_done,omitempty"`
	// Reached says that somebody was sent to who has not failed.
	Reached bool `json:"reached,omitempty"`
	// Answered and Failed are how many members were answered for, and how many of these had failed in a way that the brake
	// counts, when a person resumed it.
	Answered int64 `json:"answered,omitempty"`
	Failed   int64 `json:"failed,omitempty"`
}

// SegmentStatus is how a segment stands, in the words of the document.
type SegmentStatus int

// The statuses.
const (
	SegmentFree    SegmentStatus = 0
	SegmentClaimed SegmentStatus = 1
	SegmentDone    SegmentStatus = 2
	SegmentPartly  SegmentStatus = 3 // ended for a known reason, with members left
	SegmentVoid    SegmentStatus = 4 // what was left of it is in a newer one
)

// Segment is a range of an audience that one worker sends to at a time.
type Segment struct {
	ID, Campaign, Tenant string
	First, Last          int64 // members, both included
	Status               SegmentStatus
	Reason               string
	Token                int64
	Owner                string
	Epoch                int64
	LeaseUntil           time.Time
	// Outcomes is where each member stands, see internal/campaign; Counts are those of it.
	Outcomes []byte
	Counts   [CountedOutcomes]int64
	// RepairedFrom is the void segment whose members it has.
	RepairedFrom string
	CreatedAt    time.Time
	FinishedAt   time.Time
	// DueAt is from when on it may be claimed, and of a partly done one from when on its members may be tried again.
	DueAt time.Time
	// Pass is how often its members were refused before.
	Pass int
	// BeganAt is when the first of them was started. DoubtedAt is set where they may have been reached before: when the first
	// of them was started then.
	BeganAt, DoubtedAt time.Time
	// Reasons say why members failed or are unknown; Noted has a byte for each member, the place of the reason among them
	// from 1, or is empty for nothing.
	Reasons []SegmentReason
	Noted   []byte
	// Accounts are those of the channel's by which members were sent to, and Via has two bytes for each member: the place among
	// them, from 1, of the last one, or 0 for none. Both are empty where the channel has one account.
	Accounts []string
	Via      []byte
	// Receipts has a byte for each member of whom the provider has told by itself, or is empty for nobody: see internal/campaign.
	// Told says why those were not delivered, and Heard counts them. Nothing but receipts writes these three.
	Receipts []byte
	Told     []SegmentReason
	Heard    HeardMembers
}

// NewsOfMembers is what receipts have told of members.
type NewsOfMembers struct {
	HeardMembers
	Missed []Undelivered
}

// Undelivered is a member that the provider did not reach, and why.
type Undelivered struct {
	Campaign string
	Seq      int64
	Account  string // by which it was sent to, of a channel with several
	Code     string
	Tenant   string
	Channel  string
}

// HeardMembers is how many members of a segment were delivered, and how many not, by what the provider has told.
type HeardMembers struct{ Delivered, Undelivered int64 }

// RefBlock has what a provider calls the messages of some members, packed: see internal/receipts.
type RefBlock struct {
	Page            int64
	Tenant, Channel string
	Run             string
	N               int
	Until           time.Time // when it is of no use any more
	Bytes           []byte
}

// RefLoad is how much of a channel's refs has no page yet.
type RefLoad struct {
	Tenant, Channel string
	Rows, Refs      int64
}

// SegmentReason says why members of a segment ended as they did, and how many.
type SegmentReason struct {
	Outcome string          `json:"outcome"`
	Class   posthouse.Class `json:"class,omitempty"`
	Code    string          `json:"code,omitempty"`
	Error   string          `json:"error,omitempty"`
	N       int64           `json:"n"`
}

// CountedOutcomes is how many outcomes are counted in columns of their own.
const CountedOutcomes = 12

// QuietSegment is a free segment that waits for the end of quiet hours, and what they are judged by.
type QuietSegment struct {
	ID, Tenant, Channel, Kind string
	DueAt, Deadline           time.Time // the deadline is the campaign's, or zero
}

// SegmentPlace is behind which segment a list goes on.
type SegmentPlace struct {
	First int64
	ID    string
}

// Progress is how many members stand where, by the numbers of their outcomes, how many segments have which status, and why
// members failed or are unknown.
type Progress struct {
	Members  [CountedOutcomes]int64 // without what Heard says
	Heard    HeardMembers           // who are among those that were sent to
	Segments [SegmentVoid + 1]int64
	Due      [SegmentVoid + 1]time.Time // when the first of them may go on; zero where one may at once
	Reasons  []SegmentReason
}

// Chunk says whether members of a segment may be sent to.
type Chunk int

// The answers to the wish to start a chunk.
const (
	ChunkLost    Chunk = iota // the segment is its owner's no more
	ChunkHalted               // its campaign does not run, or its deadline has passed
	ChunkStarted              // the start is stored
)

// SegmentClaim asks for a free segment of the running campaigns of a lane.
type SegmentClaim struct {
	Lane
	Owner string
	Lease time.Duration
	Epoch int64
}
