package wire

import (
	"time"

	"github.com/posthouse/posthouse"
)

// Send is one message, or a list of them.
type Send struct {
	posthouse.Draft
	Messages []posthouse.Draft `json:"messages,omitempty"`
}

// Sent answers one message by its fields, and a list by one entry for each.
type Sent struct {
	*posthouse.Accepted
	Messages []posthouse.Accepted `json:"messages,omitempty" doc:"Of a list: what became of each message, in their order."`
	DryRun   bool                 `json:"dry_run,omitempty" doc:"Nothing was accepted: it was only looked at."`
}

// Message is a message with how its deliveries stand.
type Message struct {
	posthouse.Message
	Recipients int                  `json:"recipients" doc:"How many deliveries it was accepted with; replays come on top."`
	Counts     Counts               `json:"counts" doc:"How many deliveries there are in each state; one without any is missing."`
	Deliveries []posthouse.Delivery `json:"deliveries,omitempty" doc:"A page of its deliveries; lists leave them out."`
	Next       string               `json:"next,omitempty" doc:"The cursor of the next page of deliveries."`
	// Notifications are those of a message that follows a route: who was told by which steps.
	Notifications []posthouse.Notification `json:"notifications,omitempty" doc:"Of a message that follows a route, a page of them; its deliveries are theirs."`
}

// Cancellation answers one delivery's cancel: cancelled, too_late or already_final.
type Cancellation struct {
	Delivery string          `json:"delivery"`
	User     string          `json:"user,omitempty"`
	Result   string          `json:"result" doc:"cancelled, too_late or already_final."`
	State    posthouse.State `json:"state"`
}

// Cancelled answers a cancel with how many deliveries had each result.
type Cancelled struct {
	Cancelled    int            `json:"cancelled" doc:"No attempt will start."`
	TooLate      int            `json:"too_late" doc:"An attempt has started; no further one will."`
	AlreadyFinal int            `json:"already_final" doc:"They were settled before."`
	Deliveries   []Cancellation `json:"deliveries"`
	Reminders    []string       `json:"reminders,omitempty" doc:"The reminders of the kind and ref, which are ended."`
}

// Recall answers what became of one delivery that was to be recalled.
type Recall struct {
	Delivery string          `json:"delivery" doc:"Its id."`
	User     string          `json:"user,omitempty" doc:"Its recipient."`
	Channel  string          `json:"channel" doc:"The channel that sent it."`
	Outcome  string          `json:"outcome" doc:"recalled, not_supported, too_late, failed, unknown or not_sent."`
	Code     string          `json:"code,omitempty" doc:"The provider's."`
	Error    string          `json:"error,omitempty" doc:"Why not."`
	State    posthouse.State `json:"state" doc:"The delivery's, which a recall does not change."`
}

// Recalled answers a recall with how many deliveries had each outcome. What had not started is cancelled first, and not sent.
type Recalled struct {
	Recalled     int      `json:"recalled" doc:"The provider has taken them back, now or before."`
	NotSupported int      `json:"not_supported" doc:"Their provider takes nothing back."`
	TooLate      int      `json:"too_late" doc:"Their provider takes nothing back that is so old."`
	Failed       int      `json:"failed" doc:"The provider refused; error says why. The same request tries again."`
	Unknown      int      `json:"unknown" doc:"They may have been sent, or taken back, and nobody knows. The same request tries again."`
	NotSent      int      `json:"not_sent" doc:"They were never sent, such as those that this request has cancelled."`
	Remaining    int      `json:"remaining" doc:"The same request goes on with them: it makes at most 100 calls to providers."`
	Deliveries   []Recall `json:"deliveries" doc:"What became of each, at most 1000."`
}

// Remind asks for a reminder.
type Remind struct {
	Draft     posthouse.Draft              `json:"draft,omitzero" doc:"What each slot sends. Its dedup_key is the reminder's id. Beside a campaign it has a kind and a ref alone."`
	Campaign  *posthouse.ScheduledCampaign `json:"campaign,omitempty" doc:"What each slot starts in place of a message."`
	Countdown *posthouse.Countdown         `json:"countdown,omitempty"`
	Repeat    *posthouse.Repeat            `json:"repeat,omitempty"`
	Missed    posthouse.Missed             `json:"missed,omitempty" doc:"expire or collapse. Defaults to collapse."`
}

// Reminder is a reminder with what is to come.
type Reminder struct {
	posthouse.Reminder
	DuplicateOf string      `json:"duplicate_of,omitempty" doc:"The open reminder that has the dedup_key already; nothing was created."`
	Slots       []time.Time `json:"next_slots" doc:"The next slots, at most 10."`
}

// Outbox is how the outbox stands.
type Outbox struct {
	Waiting  int `json:"waiting,omitempty" doc:"Rows that wait for their first try."`
	Rejected int `json:"rejected,omitempty" doc:"Rows that could not be accepted so far."`
	// Items are the rejected rows, by id.
	Page[RejectedRow]
}

// RejectedRow is a row of the outbox that could not be accepted so far, without what it would send and to whom.
type RejectedRow struct {
	ID        string    `json:"id"`
	Problem   string    `json:"problem"`
	Failures  int       `json:"failures" doc:"How often it was tried."`
	CreatedAt time.Time `json:"created_at,omitzero"`
	FailedAt  time.Time `json:"failed_at"`
	NextTryAt time.Time `json:"next_try_at,omitzero" doc:"Missing where it waits for a person."`

	Message    string `json:"message,omitempty" doc:"The id that its message will have, where its writer chose one."`
	Channel    string `json:"channel,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Ref        string `json:"ref,omitempty"`
	DedupKey   string `json:"dedup_key,omitempty"`
	Recipients int    `json:"recipients,omitempty"`
	TaskEvent  string `json:"task_event,omitempty" doc:"Of an event of a task: which."`
	Task       string `json:"task_id,omitempty"`
}
