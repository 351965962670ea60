package layout

import (
	"encoding/json"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// Messages has messages, each with the columns of its own.
var Messages = sqldb.NewTable("posthouse_messages", messageColumns()...)

// messageColumns are those of a message alone.
func messageColumns() []string {
	return []string{
		"id", "tenant", "channel", "kind?", "ref?", "priority#", "content", "template?", "template_version#?",
		"payload?", "source?", "dedup_key?", "on_unknown?", "not_before#?", "deadline#?", "recipients#?", "trace?", "created_at#", "options?",
	}
}

// MessageValues are the columns of Messages, with room for those of SoleValues behind them.
func MessageValues(e *work.Entry) []any {
	m := &e.Message
	content, _ := json.Marshal(m.Content) // two strings: cannot fail
	return append(make([]any, 0, len(Clean.Columns)),
		m.ID, m.Tenant, m.Channel, m.Kind, m.Ref, sqldb.PriorityNumber(m.Priority), string(content), m.Template, int64(m.Version),
		string(m.Payload), m.Source, m.DedupKey, string(m.OnUnknown), sqldb.Micros(m.NotBefore), sqldb.Micros(m.Deadline),
		int64(len(e.Deliveries)), m.Trace, sqldb.Micros(m.CreatedAt), optionsOf(m),
	)
}

// ScanMessage reads the columns of Messages, and how many recipients there were.
func ScanMessage(scan func(...any) error) (*posthouse.Message, int, error) {
	var m posthouse.Message
	var priority, notBefore, deadline, created int64
	var recipients int
	var content, payload, options string
	err := scan(&m.ID, &m.Tenant, &m.Channel, &m.Kind, &m.Ref, &priority, &content, &m.Template, &m.Version,
		&payload, &m.Source, &m.DedupKey, &m.OnUnknown, &notBefore, &deadline, &recipients, &m.Trace, &created, &options)
	if err != nil {
		return nil, 0, err
	}
	m.Priority = sqldb.PriorityOf(priority)
	m.NotBefore, m.Deadline, m.CreatedAt = sqldb.TimeOf(notBefore), sqldb.TimeOf(deadline), sqldb.TimeOf(created)
	if payload != "" {
		m.Payload = json.RawMessage(payload)
	}
	if err := json.Unmarshal([]byte(content), &m.Content); err != nil {
		m.Unreadable = "content: " + err.Error()
	}
	ReadOptions(options, &m)
	return &m, recipients, nil
}

// ReadSummary reads a message without counts of its deliveries.
func ReadSummary(scan sqldb.Scanner) (work.Summary, error) {
	m, recipients, err := ScanMessage(scan)
	if err != nil {
		return work.Summary{}, err
	}
	return work.Summary{Message: *m, Recipients: recipients, Counts: work.Counts{}}, nil
}
