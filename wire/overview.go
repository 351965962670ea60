package wire

import (
	"time"

	"github.com/posthouse/posthouse"
)

// Overview says how a tenant's sending goes: from counts that are kept, never from the deliveries.
type Overview struct {
	At        time.Time          `json:"at" doc:"When it was read."`
	Step      posthouse.Duration `json:"step" doc:"How long each of minutes is: 1m0s up to four hours back, beyond that 1h0m0s."`
	Minutes   []OverviewMinute   `json:"minutes" doc:"What was accepted and how attempts ended, by the minute or hour, oldest first. Those without any are missing."`
	CountedAt time.Time          `json:"counted_at,omitzero" doc:"When this process last counted what is open; missing where it has not yet."`
	Lanes     []OverviewLane     `json:"lanes" doc:"What is open, by channel and priority."`
	Parked    []OverviewParked   `json:"parked" doc:"Accounts that providers refuse now, by channel, of channels that send by several."`
	Trouble   []OverviewTrouble  `json:"trouble" doc:"What attempts ended badly by, the most frequent first, at most ten."`
	Channels  []OverviewChannel  `json:"channels,omitempty" doc:"How each channel goes, by name, where by=channel asks for it. Those without any count and without a window are missing."`
}

// OverviewChannel says how the sending of one channel went, and how full the window is that will stop it first.
type OverviewChannel struct {
	Channel  string           `json:"channel" doc:"The channel."`
	Minutes  []OverviewMinute `json:"minutes" doc:"What was accepted and how attempts ended, by five minutes, oldest first. Those without any are missing."`
	Tightest *Window          `json:"tightest,omitempty" doc:"The fullest of the windows that bound all that it sends; missing where it has none, or is not open here."`
}

// OverviewMinute counts deliveries that were accepted and attempts that ended in a minute, or in an hour.
type OverviewMinute struct {
	At       time.Time `json:"at" doc:"Its beginning."`
	Accepted int       `json:"accepted" doc:"Deliveries taken from callers. What campaigns send is not handed in and not counted here."`
	Sent     int       `json:"sent" doc:"Taken by providers."`
	Failed   int       `json:"failed" doc:"Refused for good: the recipient, the content or the request, or by the last try."`
	Again    int       `json:"again" doc:"Refused for now, or not possible for now: they are tried again."`
	Unknown  int       `json:"unknown" doc:"Nobody knows whether they arrived."`
}

// OverviewLane says what is open of a channel in one priority.
type OverviewLane struct {
	Channel     string             `json:"channel" doc:"The channel."`
	Priority    posthouse.Priority `json:"priority" doc:"The priority."`
	Pending     int                `json:"pending" doc:"They wait."`
	Sending     int                `json:"sending" doc:"They are under way."`
	Unknown     int                `json:"unknown" doc:"Nobody knows whether they arrived."`
	Quarantined int                `json:"quarantined" doc:"They are quarantined, for a person to decide."`
	Oldest      time.Time          `json:"oldest,omitzero" doc:"When the one that waits for longest was due; missing where none is due."`
	Promise     posthouse.Duration `json:"promise" doc:"How long what is due waits at most when all is well: the channel's setting promise."`
	Late        bool               `json:"late,omitempty" doc:"The oldest has waited for longer than that."`
}

// OverviewParked counts the accounts of a channel that its provider refuses now.
type OverviewParked struct {
	Channel  string    `json:"channel" doc:"The channel."`
	Accounts int       `json:"accounts" doc:"How many."`
	Until    time.Time `json:"until" doc:"When the last of them is tried again."`
}

// OverviewTrouble counts attempts of a channel that ended badly in one way.
type OverviewTrouble struct {
	Channel string          `json:"channel" doc:"The channel."`
	Class   posthouse.Class `json:"class" doc:"What the results mean."`
	N       int             `json:"n" doc:"How many."`
}
