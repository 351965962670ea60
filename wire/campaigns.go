package wire

import (
	"encoding/json"
	"time"

	"github.com/posthouse/posthouse"
)

// CampaignDraft is a campaign to make.
type CampaignDraft struct {
	Name        string             `json:"name" doc:"What it is called; no two campaigns of a tenant share a name." example:"coupon-a" minLength:"1" maxLength:"128"`
	Channel     string             `json:"channel" doc:"The name of a configured channel that sends." example:"desk" minLength:"1" maxLength:"128"`
	Kind        string             `json:"kind,omitempty" doc:"The business type, in your own words." example:"coupon" maxLength:"128"`
	Template    string             `json:"template,omitempty" doc:"The template that makes each member's content. Either a template or a content." example:"coupon" maxLength:"128"`
	Content     *posthouse.Content `json:"content,omitempty" doc:"The content that everybody gets as it is."`
	OwnText     *CampaignText      `json:"own_text,omitempty" doc:"A text of its own with placeholders of columns, instead of a template or a content. It is kept as a template that is called campaign: and the campaign's id. An empty one is to be written later: without a text the campaign does not start."`
	Payload     json.RawMessage    `json:"payload,omitempty" doc:"What the template is filled with, for all. A member's own variables win."`
	Audience    string             `json:"audience,omitempty" doc:"The stored list it is sent to. Defaults to members of its own, which are imported." example:"vip" maxLength:"128"`
	Select      *MemberSelection   `json:"select,omitempty" doc:"Which members of the audience are meant: a copy of these is its own list. Defaults to all."`
	Priority    posthouse.Priority `json:"priority,omitempty" doc:"Defaults to normal."`
	OnUnknown   posthouse.Policy   `json:"on_unknown,omitempty" doc:"What follows where nobody knows whether a member was reached: hold or retry. Defaults to the channel's."`
	Deadline    time.Time          `json:"deadline,omitzero" doc:"When sending ends, whoever is left. Defaults to never." example:"2030-10-01T20:00:00+08:00"`
	SegmentSize int                `json:"segment_size,omitempty" doc:"How many members are claimed as one. Defaults to 1000." minimum:"1" maximum:"10000" example:"1000"`
	posthouse.CampaignRules
}

// CampaignText is a text that one campaign alone has.
type CampaignText struct {
	Title string `json:"title,omitempty" doc:"Of channels that have one, with placeholders." maxLength:"1024"`
	Text  string `json:"text,omitempty" doc:"What each member gets, with a placeholder such as ${name} for each column that it says." example:"${name}: ${sum} off until Sunday" maxLength:"65536"`
}

// Campaign is a campaign with its audience and how far it is.
type Campaign struct {
	posthouse.Campaign
	People   posthouse.Audience `json:"people" doc:"Whom it is for, and how far their import is."`
	Progress CampaignProgress   `json:"progress" doc:"How many members stand where."`
}

// CampaignListed is a campaign among others.
type CampaignListed struct {
	posthouse.Campaign
	Counts CampaignCounts `json:"counts" doc:"How many members stand where."`
	Halted string         `json:"halted,omitempty" doc:"What stops it although it has begun: its channel may not send, or it was paused by itself, by its brake, its canary or a new epoch."`
	Until  time.Time      `json:"until,omitzero" doc:"Until when that is known to last."`
}

// CampaignCounts says how many members stand where.
type CampaignCounts struct {
	Members     int64 `json:"members" doc:"All of them: the sum of what follows."`
	Unsent      int64 `json:"unsent" doc:"Whose turn has not come."`
	Started     int64 `json:"started" doc:"Handed to the provider, and no answer is stored yet."`
	Sent        int64 `json:"sent" doc:"Accepted by the provider."`
	Delivered   int64 `json:"delivered" doc:"A receipt says that it arrived."`
	Undelivered int64 `json:"undelivered" doc:"A receipt says that it did not arrive."`
	Failed      int64 `json:"failed" doc:"Refused for good."`
	Unknown     int64 `json:"unknown" doc:"Started, and nobody knows whether it arrived."`
	Expired     int64 `json:"expired" doc:"Left when the deadline passed."`
	Suppressed  int64 `json:"suppressed" doc:"Nothing is sent to their addresses (see suppressions), they are users who do not want it (PREFERENCE, PREFERENCE_CHANNEL), or another campaign of the channel has told them recently (TOLD_RECENTLY)."`
	Cancelled   int64 `json:"cancelled" doc:"Left when the campaign was cancelled."`
	HandedOver  int64 `json:"handed_over" doc:"Ordinary deliveries, which retry and end there."`
}

// Through is how many members nothing more happens to by the campaign itself.
func (n CampaignCounts) Through() int64 { return n.Members - n.Unsent - n.Started }

// Missed is how many members were refused or not reached.
func (n CampaignCounts) Missed() int64 { return n.Failed + n.Undelivered }

// CampaignProgress says how far a campaign is.
type CampaignProgress struct {
	CampaignCounts
	Reasons   []CampaignReason   `json:"reasons" doc:"Why members failed, are unknown, undelivered or suppressed, and which were sent to by another account than the one that was refused (FAILOVER), or wait for the end of quiet hours (QUIET_HOURS); the most frequent first."`
	PerSecond float64            `json:"per_second" doc:"How many members were settled a second in the last minute; of a campaign that has ended, on average."`
	Left      posthouse.Duration `json:"left" doc:"How long the rest takes at that rate, and at least as the limits of the channel and the spread let it; 0s where nobody can tell."`
	Waits     string             `json:"waits,omitempty" doc:"Why nobody is sent to now, though the campaign runs."`
	Until     time.Time          `json:"until,omitzero" doc:"Until when that is known to last."`
}

// CampaignReason says why members ended as they did.
type CampaignReason struct {
	Outcome string          `json:"outcome" doc:"failed, unknown, undelivered or suppressed."`
	Class   posthouse.Class `json:"class,omitempty" doc:"What the last attempt's result meant."`
	Code    string          `json:"code,omitempty" doc:"The provider's code, or ours."`
	Error   string          `json:"error,omitempty" doc:"What was said to one of them."`
	Members int64           `json:"members" doc:"How many."`
}

// CampaignStart lets a campaign begin.
type CampaignStart struct {
	At    time.Time `json:"at,omitzero" doc:"When it begins by itself. Until then it is scheduled: start it with another time, or at once, or unschedule it. Defaults to now." example:"2030-10-01T08:00:00+08:00"`
	Force bool      `json:"force,omitempty" doc:"Start although some records lack a variable of the template, or the deadline comes before the end. Who lacks one fails."`
}

// CampaignChange changes what a campaign says and how it is sent, as long as it has not begun. What is not named stays as it is.
type CampaignChange struct {
	Name          string              `json:"name,omitempty" doc:"What it is called from now on, such as coupon-b: its id stays." example:"coupon-b" maxLength:"128"`
	Template      string              `json:"template,omitempty" doc:"The template that makes each member's content from now on: instead of what it was." maxLength:"128"`
	Content       *posthouse.Content  `json:"content,omitempty" doc:"The content that everybody gets as it is from now on."`
	OwnText       *CampaignText       `json:"own_text,omitempty" doc:"A text of its own with placeholders of columns, from now on."`
	Payload       json.RawMessage     `json:"payload,omitempty" doc:"What the template is filled with, for all: instead of what it was."`
	Priority      posthouse.Priority  `json:"priority,omitempty" doc:"high, normal or low."`
	OnUnknown     posthouse.Policy    `json:"on_unknown,omitempty" doc:"hold or retry."`
	Deadline      *time.Time          `json:"deadline,omitempty" doc:"When sending ends, whoever is left." example:"2030-10-01T20:00:00+08:00"`
	Spread        *posthouse.Duration `json:"spread,omitempty" doc:"Over how long its members are spread evenly." example:"2h"`
	Canary        *posthouse.Canary   `json:"canary,omitempty" doc:"The members who go first."`
	Brake         *posthouse.Brake    `json:"brake,omitempty" doc:"When it pauses by itself."`
	NotToldWithin *posthouse.Duration `json:"not_told_within,omitempty" doc:"Within what time another campaign of the channel may not have told a member." example:"7d"`
	Parameters    map[string]string   `json:"parameters,omitempty" doc:"All parameters of the provider's template, and what fills each: a text with placeholders of columns."`
	Remove        []string            `json:"remove,omitempty" doc:"What it has no more: some of deadline, spread, canary, brake, not_told_within, parameters, payload." maxItems:"7"`
}

// CampaignRepaired is a campaign after its repair.
type CampaignRepaired struct {
	Campaign
	Repaired Repaired `json:"repaired" doc:"What the repair has issued anew: of segments whose worker is gone or whose members are to be tried again."`
}

// Repaired is what was issued anew.
type Repaired struct {
	Segments int64 `json:"segments" doc:"Segments whose members are in newer ones now."`
	Members  int64 `json:"members" doc:"Members who are sent to by these."`
}

// CampaignTest sends a campaign's content to a few addresses at once.
type CampaignTest struct {
	To        []string        `json:"to" doc:"The addresses that get it, each once. They need not be in the audience." minItems:"1" maxItems:"100"`
	Variables json.RawMessage `json:"variables,omitempty" doc:"What the template is filled with beside the campaign's payload, as of a member. Defaults to the variables of the first member."`
}

// CampaignVerdict is what a person says of members of whom nobody knows whether they were reached.
type CampaignVerdict string

// The verdicts.
const (
	CampaignSent    CampaignVerdict = "sent"
	CampaignNotSent CampaignVerdict = "not_sent"
	CampaignResend  CampaignVerdict = "resend"
)

// CampaignAgain makes the next campaign of members who ended in some way.
type CampaignAgain struct {
	Name     string   `json:"name,omitempty" doc:"What the next campaign is called. Defaults to the name of this one and -again." example:"coupon-b"`
	Outcomes []string `json:"outcomes" doc:"Of whom: some of sent, delivered, undelivered, failed, unknown, expired, suppressed, cancelled."`
	MemberSelection
}

// CampaignClone makes a campaign like another one.
type CampaignClone struct {
	Name string `json:"name,omitempty" doc:"What the new campaign is called. Defaults to the name of this one and -copy." example:"coupon-b"`
	MemberSelection
}

// MemberSelection says which members of a list are meant.
type MemberSelection struct {
	Where string       `json:"where,omitempty" doc:"A condition on a member's variables, and on its address: comparisons, in, contains, startsWith, endsWith, matches, and, or, not, int(), float(), len(), lower(), upper(), trim(). A variable that a member lacks is nil." example:"city == \"Hangzhou\" && int(points) >= 100" maxLength:"4096"`
	Share *MemberShare `json:"share,omitempty" doc:"A part of them, for a comparison of two texts. Defaults to all."`
}

// MemberShare is a part of a list. Each member has its place from 0 to 1, by its address: parts that do not overlap have no member in common.
type MemberShare struct {
	From float64 `json:"from" doc:"Where the part begins." minimum:"0" maximum:"1" example:"0"`
	To   float64 `json:"to" doc:"Where it ends: 0 to 0.1 is a tenth." minimum:"0" maximum:"1" example:"0.1"`
	Seed string  `json:"seed,omitempty" doc:"Another word gives the members other places. Defaults to the name of the list or campaign that they are taken from." maxLength:"128"`
}

// CampaignResolve decides on members who are unknown.
type CampaignResolve struct {
	Outcome CampaignVerdict `json:"outcome" doc:"sent: they were reached. not_sent: they were not, and count as failed. resend: send to all of them again, of a campaign that has not ended; who was reached may get it twice." example:"sent"`
	Address string          `json:"address,omitempty" doc:"The only member that is meant. Defaults to all who are unknown." example:"o2"`
}

// CampaignResolved is what was decided.
type CampaignResolved struct {
	Resolved int64 `json:"resolved" doc:"How many members were decided on. Those of a segment that is being sent are not among them: decide again when that is done."`
}

// CampaignPlan is what would happen, before anything is sent.
type CampaignPlan struct {
	Members      int64              `json:"members" doc:"How many different people."`
	Repeated     int64              `json:"repeated" doc:"Records whose address stood there before: nobody is told twice."`
	Refused      int64              `json:"refused" doc:"Records that could not be read."`
	Suppressed   int64              `json:"suppressed" doc:"Members to whom nothing is sent now: their address is suppressed, or is that of a user who has switched off the kind or the channel."`
	ToldRecently int64              `json:"told_recently" doc:"Members whom another campaign of the channel has told within not_told_within, or is about to: they are left out as suppressed, with the reason TOLD_RECENTLY."`
	Segments     int64              `json:"segments" doc:"How many ranges it is cut into."`
	Missing      map[string]int64   `json:"missing" doc:"Variables of the template that some records do not have, and how many of them."`
	Samples      []CampaignSample   `json:"samples" doc:"What the first members would get."`
	Duration     posthouse.Duration `json:"duration" doc:"How long it takes at least under the limits of the channel and its accounts; 0s where none bounds it."`
	Step         posthouse.Duration `json:"step" doc:"How long each step of forecast is; 0s without one."`
	Forecast     []CampaignForecast `json:"forecast" doc:"How many leave when, at most, if it begins now or when it is scheduled; the first step may have begun before. Empty where nothing bounds it."`
	Windows      []Window           `json:"windows" doc:"Windows of an hour or more that bound its channel or its accounts, and how much of them is used now: of a daily quota, today's."`
	posthouse.CampaignRules
	// ProviderTemplate is how the provider calls the template by which it goes.
	ProviderTemplate string              `json:"provider_template,omitempty" doc:"The template of the provider's that it goes by; left out for none."`
	Mapping          []CampaignParameter `json:"mapping" doc:"The parameters of the provider's template as the provider lists them, or else as they are written down here, and what fills each."`
	Problems         []Flaw              `json:"problems" doc:"What stands in the way; empty for nothing."`
}

// CampaignForecast is a step of time and how many members are sent to in it.
type CampaignForecast struct {
	At      time.Time `json:"at" doc:"When the step begins."`
	Members int64     `json:"members" doc:"How many are sent to in it, at most."`
}

// CampaignSamples are what the first members would get.
type CampaignSamples struct {
	Members          int64               `json:"members" doc:"How many of the first members were looked at."`
	Bad              int64               `json:"bad" doc:"How many of them cannot be sent to."`
	Missing          map[string]int64    `json:"missing" doc:"Variables of the text that some records do not have, and how many of all of them."`
	Samples          []CampaignSample    `json:"samples" doc:"What the first five get."`
	ProviderTemplate string              `json:"provider_template,omitempty" doc:"The template of the provider's that it goes by; left out for none."`
	Title            string              `json:"title,omitempty" doc:"How the provider calls that."`
	Mapping          []CampaignParameter `json:"mapping" doc:"The parameters of that template, and what fills each."`
}

// CampaignParameter is a parameter of a template that the provider keeps.
type CampaignParameter struct {
	Name string `json:"name" doc:"As the provider calls it." example:"thing1"`
	Text string `json:"text,omitempty" doc:"What fills it, with placeholders of columns; left out where nothing does." example:"${name}"`
	// Takes is for people.
	Takes string `json:"takes,omitempty" doc:"What the provider takes as it; left out where that is not known." example:"at most 20 characters"`
}

// Flaw is one thing that stands in a campaign's way.
type Flaw struct {
	Path    string `json:"path" doc:"What it is about."`
	Message string `json:"message" doc:"What is wrong with it."`
}

// CampaignSample is one member's content.
type CampaignSample struct {
	Seq      int64             `json:"seq" doc:"The number in the audience."`
	Address  string            `json:"address" doc:"Where the member is reached."`
	Content  posthouse.Content `json:"content" doc:"What the template makes of the variables. A placeholder that nothing fills stands in it."`
	Payload  json.RawMessage   `json:"payload,omitempty" doc:"What leaves of the variables for a provider that has templates of its own: the template's parameters, or the columns that it names."`
	Problems []Flaw            `json:"problems" doc:"Why it could not be sent like this; empty for nothing."`
}

// PeoplePreview is how a file of people would be read, with its first records.
type PeoplePreview struct {
	Format    string     `json:"format" doc:"csv, also of a workbook, or ndjson."`
	Encoding  string     `json:"encoding" doc:"How its characters are written: utf-8, gbk, or utf-16le or utf-16be, which a request need not name."`
	Delimiter string     `json:"delimiter" doc:"What stands between the fields of a CSV."`
	Header    bool       `json:"header" doc:"Whether the first record names the columns."`
	Address   string     `json:"address" doc:"The column or field of the address. Empty where none can be told: name it."`
	Sheet     string     `json:"sheet" doc:"The sheet of a workbook that is read: the one that was named, else the first with a column of addresses, else the first."`
	Sheets    []string   `json:"sheets,omitempty" doc:"All sheets of a workbook that are shown and have something in them."`
	Columns   []string   `json:"columns" doc:"The columns, or the fields of the first objects."`
	Rows      [][]string `json:"rows" doc:"What the first five records have in them."`

	Read    int             `json:"read" doc:"How many of the first fifty records can be read with an address of the channel."`
	Refused int             `json:"refused" doc:"How many of them cannot."`
	First   []RefusedRecord `json:"first_refused" doc:"The first five of these."`
	Faulty  int             `json:"faulty,omitempty" doc:"How many cells of the first fifty records hold an error of a spreadsheet, such as #N/A: each counts as empty."`
	CutOff  int             `json:"cut_off,omitempty" doc:"How many cells of the first fifty records hold a number of which a spreadsheet has cut off digits, such as 1.38E+10: a record with such an address is refused, unless addresses are free texts."`
}

// CampaignMember is one member and where it stands.
type CampaignMember struct {
	Seq       int64           `json:"seq" doc:"The number in the audience, in the order of the file."`
	Address   string          `json:"address" doc:"Where the member is reached."`
	Variables json.RawMessage `json:"variables,omitempty" doc:"What the file says of the member."`
	Reason    *CampaignReason `json:"reason,omitempty" doc:"Why it failed, is unknown or undelivered, or with the code FAILOVER which account was refused before another one sent it; members counts all of the segment with the same reason."`
	Outcome   string          `json:"outcome" doc:"unsent, started, sent, delivered, undelivered, failed, unknown, expired, suppressed, cancelled or handed_over."`
	Segment   string          `json:"segment,omitempty" doc:"The segment it is in; empty before the start."`
	Account   string          `json:"account,omitempty" doc:"Of a channel with several accounts: by which it was sent to last."`
}

// PeopleQuery says what people are read from another program's database.
type PeopleQuery struct {
	Database string `json:"database" doc:"Its name, as the server's setting databases has it." example:"crm"`
	Query    string `json:"query" doc:"A query in its SQL. One column is the address, all others are variables; it is made in a transaction that may only read. Give it an ORDER BY, so that an import that was interrupted goes on when it is made once more."`
	Address  string `json:"address,omitempty" doc:"The column of the address. Defaults to one named address, openid, phone, mobile, email or user." example:"openid"`
}

// PeopleFollowing says whose followers are read.
type PeopleFollowing struct {
	Account string `json:"account,omitempty" doc:"The account of the channel, where it has several." example:"main"`
}

// AudienceDraft is a stored list to make.
type AudienceDraft struct {
	Name    string `json:"name" doc:"What it is called." example:"vip" minLength:"1" maxLength:"128"`
	Channel string `json:"channel,omitempty" doc:"Whose addresses it has: they are checked as that channel keeps them. Defaults to any." example:"desk" maxLength:"128"`
}
