package wire

import (
	"time"

	"github.com/posthouse/posthouse"
)

// Health says that the process lives.
type Health struct {
	Status   string    `json:"status"`
	Version  string    `json:"version"`
	Database string    `json:"database"`
	TimeZone string    `json:"time_zone" doc:"The IANA zone of its days and rosters, such as Asia/Shanghai."`
	Unsafe   []Setting `json:"unsafe" doc:"Settings of the database that can lose accepted messages."`
}

// Setting is a setting of the database that is unsafe.
type Setting struct {
	Setting string `json:"setting"`
	Value   string `json:"value"`
	Why     string `json:"why"`
}

// Readiness says whether a server can do its work, part by part.
type Readiness struct {
	Ready  bool    `json:"ready"`
	Checks []Check `json:"checks"`
	// Place is nil where the server has no place.
	Place *PlaceStance `json:"place,omitempty" doc:"The place that the server stands at; missing where it has none."`
}

// PlaceStance says what a server does at its place, of several that an installation runs at.
type PlaceStance struct {
	Name string `json:"name"`
	// Active says that the place sends. A passive one accepts nothing.
	Active bool `json:"active" doc:"Whether the place sends. A passive one accepts nothing."`
	// Epoch is the one that Holder holds the database in, and Since when it began.
	Epoch int64     `json:"epoch,omitempty" doc:"The epoch of the database that the holder has."`
	Since time.Time `json:"since,omitzero" doc:"When the holder began."`
	// Holder is the place that sends, as this server's copy of the database says it.
	Holder *posthouse.Place `json:"holder,omitempty" doc:"The place that sends, as this server's copy of the database says it."`
}

// Check is one part of readiness.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"`
	// Optional parts are named when they fail, but the server stays ready: the others go on.
	Optional bool `json:"optional,omitempty"`
	// State is a channel's, and empty for other parts: one that a person has paused is no fault.
	State posthouse.ChannelState `json:"state,omitempty" doc:"Of a channel: its state. One that a person has paused is no fault."`
}
