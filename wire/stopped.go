package wire

// Stopped are deliveries of one state, by channel and reason: of the newest, so that the count costs the same beside millions.
type Stopped struct {
	Groups []StoppedGroup `json:"groups" doc:"Each channel with each reason, the most frequent first."`
	Looked int            `json:"looked" doc:"How many deliveries were looked through, the newest first."`
	More   bool           `json:"more" doc:"There are more than were looked through."`
}

// StoppedGroup counts the deliveries of a channel that stopped for one reason.
type StoppedGroup struct {
	Channel string `json:"channel" doc:"The channel."`
	Reason  string `json:"reason" doc:"Why they stopped, such as tries_used_up; empty where nothing was said."`
	N       int    `json:"n" doc:"How many."`
}
