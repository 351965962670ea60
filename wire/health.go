package wire

import "github.com/posthouse/posthouse"

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
