package layout

import (
	"encoding/json"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// messageOptions is what few messages have: the column options, as JSON. It is empty where there is
// nothing of it, so that the others pay nothing for it.
type messageOptions struct {
	Clock      *posthouse.Clock `json:"clock,omitempty"`
	TemplateID string           `json:"template_id,omitempty"`
	Reminder   string           `json:"reminder,omitempty"`
	Sensitive  bool             `json:"sensitive,omitempty"`
	Account    string           `json:"account,omitempty"`
	Pool       string           `json:"pool,omitempty"`
	Order      string           `json:"ordering_key,omitempty"`
	Critical   bool             `json:"critical,omitempty"`
	// Notified is set for the message of a step of a notification.
	Notified notified `json:"notified,omitzero"`
	// Digest is what gathers it, and Collection the one whose text it is.
	Digest     string `json:"digest,omitempty"`
	Collection string `json:"collection,omitempty"`
}

// notified is which step of which notification a message is, and the delivery before it that it stands for.
type notified struct {
	By         string `json:"by"`
	Step       int    `json:"step"`
	FallbackOf string `json:"fallback_of,omitempty"`
	// Until is when the step's time is over. In microseconds, zero for never.
	Until int64 `json:"until,omitempty"`
}

func optionsOf(m *posthouse.Message) string {
	o := messageOptions{m.Clock, m.TemplateID, m.Reminder, m.Sensitive, m.Account, m.Pool, m.OrderingKey, m.Critical, notified{m.Notification, m.Step, m.FallbackOf, sqldb.Micros(m.StepUntil)}, m.Digest, m.Collection}
	if o == (messageOptions{}) {
		return ""
	}
	text, _ := json.Marshal(o) // texts and times of this age: cannot fail
	return string(text)
}

// ReadOptions puts into a message what optionsOf wrote.
func ReadOptions(text string, m *posthouse.Message) {
	if text == "" {
		return
	}
	var o messageOptions
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		m.Unreadable = "options: " + err.Error()
	}
	m.Clock, m.TemplateID, m.Reminder, m.Sensitive = o.Clock, o.TemplateID, o.Reminder, o.Sensitive
	m.Account, m.Pool, m.OrderingKey, m.Critical = o.Account, o.Pool, o.Order, o.Critical
	m.Digest, m.Collection = o.Digest, o.Collection
	m.Notification, m.Step, m.FallbackOf, m.StepUntil = o.Notified.By, o.Notified.Step, o.Notified.FallbackOf, sqldb.TimeOf(o.Notified.Until)
}
