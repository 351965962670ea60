package posthouse

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// StatusEvent is what others are told of one transition of a delivery: by webhooks, by the live stream and by hooks. Events
// come at least once, and those of one delivery in the order of Version.
type StatusEvent struct {
	// ID is the same however often the event comes, and says where it stands in the feed.
	ID       string    `json:"id" doc:"The same however often the event comes. It says where the event stands: a stream or a replay goes on behind it."`
	At       time.Time `json:"at" doc:"When it happened, by the database's clock."`
	Tenant   string    `json:"tenant"`
	Message  string    `json:"message"`
	Delivery string    `json:"delivery"`
	Version  int64     `json:"version" doc:"Numbers the events of a delivery from 1, without a gap."`
	Channel  string    `json:"channel"`
	Account  string    `json:"account,omitempty"`
	Kind     string    `json:"kind,omitempty" doc:"The message's."`
	Ref      string    `json:"ref,omitempty" doc:"The message's."`
	User     string    `json:"user,omitempty" doc:"The recipient, in the caller's own system."`
	Event    EventType `json:"event" doc:"What happened, as in docs/states.md."`
	From     State     `json:"from,omitempty"`
	To       State     `json:"to" doc:"The state now."`
	Attempt  int       `json:"attempt,omitempty"`
	Due      time.Time `json:"due_at,omitzero" doc:"When it is tried next."`
	Reason   string    `json:"reason,omitempty"`
	Class    Class     `json:"class,omitempty"`
	Code     string    `json:"code,omitempty" doc:"The provider's code."`
	Error    string    `json:"error,omitempty"`
	// ProviderRef is the provider's id of what was sent.
	ProviderRef string `json:"provider_ref,omitempty" doc:"The provider's id of what was sent."`
}

// Type names the event for those who receive it: delivery.sent, delivery.failed and so on, by the state.
func (e *StatusEvent) Type() string { return "delivery." + string(e.To) }

// FeedPosition is where an event stands: a row of the feed and a place in it. The zero value is before all.
type FeedPosition struct {
	Row   int64
	Index int
}

const positionPrefix = "evt_"

// String is the position as the id of its event.
func (p FeedPosition) String() string {
	return positionPrefix + strconv.FormatInt(p.Row, 36) + "_" + strconv.Itoa(p.Index)
}

// ParseFeedPosition reads what String wrote.
func ParseFeedPosition(id string) (FeedPosition, error) {
	rest, ok := strings.CutPrefix(id, positionPrefix)
	row, index, two := strings.Cut(rest, "_")
	n, err := strconv.ParseInt(row, 36, 64)
	i, err2 := strconv.Atoi(index)
	if !ok || !two || err != nil || err2 != nil || n < 0 || i < 0 || id != (FeedPosition{n, i}).String() {
		return FeedPosition{}, fmt.Errorf("%.60q is no id of an event: want one such as %s", id, FeedPosition{1 << 40, 3})
	}
	return FeedPosition{n, i}, nil
}

// Before reports whether a position is before another.
func (p FeedPosition) Before(other FeedPosition) bool {
	return p.Row < other.Row || p.Row == other.Row && p.Index < other.Index
}
