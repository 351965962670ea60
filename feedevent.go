package posthouse

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// FeedEvent is what others are told, by webhooks, by the live stream and by hooks: one transition of a delivery, with Callback what a
// provider told by itself, with Notification whether a person was told, or with Budget how far a budget is spent. Events come at least once, those of one delivery in the order of
// Version, and those of one notification in the order of its own.
type FeedEvent struct {
	// ID is the same however often the event comes, and says where it stands in the feed.
	ID       string    `json:"id" doc:"The same however often the event comes. It says where the event stands: a stream or a replay goes on behind it."`
	At       time.Time `json:"at" doc:"When it happened, by the database's clock; of a callback, when it came."`
	Tenant   string    `json:"tenant"`
	Message  string    `json:"message,omitempty"`
	Delivery string    `json:"delivery,omitempty" doc:"Of a callback, where it is known which one it is about."`
	Version  int64     `json:"version,omitempty" doc:"Numbers the events of a delivery from 1, without a gap. Callbacks, notifications and budgets have none."`
	Channel  string    `json:"channel" doc:"Of a notification, the channel by which it was told; empty where by none."`
	Account  string    `json:"account,omitempty"`
	Kind     string    `json:"kind,omitempty" doc:"The message's."`
	Ref      string    `json:"ref,omitempty" doc:"The message's."`
	User     string    `json:"user,omitempty" doc:"The recipient, in the caller's own system."`
	Event    EventType `json:"event,omitempty" doc:"What happened, as in docs/states.md. Callbacks, notifications and budgets have none."`
	From     State     `json:"from,omitempty"`
	To       State     `json:"to,omitempty" doc:"The state now. Callbacks, notifications and budgets have none."`
	Attempt  int       `json:"attempt,omitempty"`
	Due      time.Time `json:"due_at,omitzero" doc:"When it is tried next."`
	Reason   string    `json:"reason,omitempty"`
	Class    Class     `json:"class,omitempty"`
	Code     string    `json:"code,omitempty" doc:"The provider's code."`
	Error    string    `json:"error,omitempty"`
	// ProviderRef is the provider's id of what was sent.
	ProviderRef string `json:"provider_ref,omitempty" doc:"The provider's id of what was sent."`
	// Callback is what a provider told by itself.
	Callback *CallbackEvent `json:"callback,omitempty" doc:"What the provider told by itself."`
	// Notification is whether a person was told.
	Notification *NotificationEvent `json:"notification,omitempty" doc:"Whether a person was told, and why."`
	// Budget is how far a budget of Channel, or of its Account, is spent.
	Budget *BudgetEvent `json:"budget,omitempty" doc:"How far a budget is spent: of the account, or without one of the channel."`
}

// The sorts of events in the feed: the first word of a type.
const (
	OfDelivery     = "delivery"
	OfCallback     = "callback"
	OfNotification = "notification"
	OfBudget       = "budget"
)

// Type names the event for those who receive it: delivery.sent, delivery.failed and so on, and notification.told, notification.not_told and
// so on, by the state, budget.warned and budget.spent, or callback.template_card_event and so on, by the provider's word.
func (e *FeedEvent) Type() string {
	switch {
	case e.Callback != nil:
		return OfCallback + "." + e.Callback.Event
	case e.Notification != nil:
		return OfNotification + "." + string(e.Notification.State)
	case e.Budget != nil:
		return OfBudget + "." + string(e.Budget.Mark)
	}
	return OfDelivery + "." + string(e.To)
}

// NotificationEvent is the state that a notification has come to: told, acknowledged or not told, or waiting again where a receipt has taken
// the proof back.
type NotificationEvent struct {
	ID string `json:"id" doc:"The notification's id."`
	// Version is the notification's own: of two events of it, the later one has the higher.
	Version int64             `json:"version" doc:"The notification's version. Of two events of one notification, the later one has the higher."`
	From    NotificationState `json:"from" doc:"The state before."`
	State   NotificationState `json:"state" doc:"The state now. waiting: a receipt has taken the proof back."`
	Reason  string            `json:"reason,omitempty" doc:"Why nobody was told, in a stable word."`
	// Route and RouteVersion are what it follows, and Channels those that its steps use.
	Route        string   `json:"route" doc:"The route that it follows."`
	RouteVersion int      `json:"route_version"`
	Channels     []string `json:"channels" doc:"The channels that the route's steps use."`
	// To are those who are meant, at most 100 of them, and Recipients how many there are.
	To         []Recipient `json:"to" doc:"Who is meant, at most 100 of them."`
	Recipients int         `json:"recipients" doc:"How many are meant."`
	Step       int         `json:"step" doc:"The step that began last, from 1."`
	Round      int         `json:"round" doc:"How often the steps have begun, from 1."`
	// ToldBy is the delivery that proved it.
	ToldBy   string    `json:"told_by,omitempty" doc:"The delivery that has proven it."`
	ToldUser string    `json:"told_user,omitempty" doc:"The user or address that this delivery told: somebody else where the reason is escalated."`
	ToldAt   time.Time `json:"told_at,omitzero" doc:"When that was proven."`
	// Ack is without its evidence.
	Ack *Acknowledgement `json:"acknowledgement,omitempty" doc:"Who has taken note, when and how, without the evidence."`
	// CreatedAt is when the message was accepted.
	CreatedAt time.Time `json:"created_at" doc:"When the message was accepted."`
}

// BudgetEvent says that so much of a budget is used that its warning has come, or its end. Of a period each comes once.
type BudgetEvent struct {
	Mark BudgetMark `json:"mark" doc:"warned: its warn_at is used. spent: what priorities other than high may use is used."`
	// Used is how much was used when a process saw it.
	Used int `json:"used" doc:"How much was used when it was seen."`
	// Max is the budget, and Per its period.
	Max int          `json:"max" doc:"How much the budget allows in a period."`
	Per BudgetPeriod `json:"per"`
	// Until is when the next period begins.
	Until time.Time `json:"until" doc:"When the next period begins."`
}

// BudgetMark is what a budget has come to.
type BudgetMark string

// The marks.
const (
	BudgetWarned BudgetMark = "warned"
	BudgetSpent  BudgetMark = "spent"
)

// BudgetMarks are all marks, in their order.
func BudgetMarks() []BudgetMark { return []BudgetMark{BudgetWarned, BudgetSpent} }

// CallbackEvent is what a provider told by itself that is no receipt: somebody has pressed a button of a card, or entered an
// application.
type CallbackEvent struct {
	// Event is the provider's word for it, such as template_card_event: letters, digits, "_", "-" and ".".
	Event string `json:"event" doc:"The provider's word, such as template_card_event."`
	// Address is who did it, as the provider names them.
	Address string `json:"address,omitempty" doc:"Who did it, as the provider names them."`
	// At is when, by the provider's clock.
	At  time.Time `json:"at,omitzero" doc:"When, by the provider's clock."`
	Key string    `json:"key,omitempty" doc:"Of the button that was pressed."`
	// TaskID, CardType and ResponseCode are the card's; the last lets its sender change the card, once.
	TaskID       string      `json:"task_id,omitempty" doc:"The card's."`
	CardType     string      `json:"card_type,omitempty"`
	ResponseCode string      `json:"response_code,omitempty" doc:"Lets the sender change the card, once."`
	Selected     []Selection `json:"selected,omitempty" doc:"What was chosen on the card."`
	// Fields is what else the provider says, each by the path of its name: AgentID, ScanCodeInfo.ScanResult.
	Fields map[string]string `json:"fields,omitempty" doc:"What else the provider says, by its own names."`
}

// Selection is what was chosen of one list of a card.
type Selection struct {
	Question string   `json:"question" doc:"The list's key."`
	Options  []string `json:"options" doc:"The ids of what was chosen."`
}

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
