package client

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
)

// Logs are the lists of requests, hand-outs and reports.
type Logs struct{ api *caller }

// Story is all that is known of a delivery, each part oldest first.
type Story struct {
	Delivery posthouse.Delivery  `json:"delivery"`
	Message  posthouse.Message   `json:"message"`
	Events   []posthouse.Event   `json:"events"`
	Attempts []posthouse.Attempt `json:"attempts"`
	// Received is the request it came with, where that was one to the SMS front door.
	Received []Line `json:"receive_log"`
	// HandedOut has each hand-out to an agent, Reported each report of one.
	HandedOut []Line `json:"send_log"`
	Reported  []Line `json:"report_log"`
}

// Line is a line of one of the three logs: receive, send or report. Which fields are set depends on it.
type Line struct {
	ID        string    `json:"id"`
	Log       string    `json:"log"`
	Tenant    string    `json:"tenant"`
	At        time.Time `json:"created_at"`
	Delivery  string    `json:"task_id,omitempty"`
	Agent     string    `json:"app_id,omitempty"`
	Token     int64     `json:"token,omitempty"`
	ClaimID   string    `json:"claim_id,omitempty"`
	ReportID  string    `json:"report_id,omitempty"`
	Outcome   string    `json:"outcome,omitempty"`
	Answer    string    `json:"answer,omitempty"`
	Error     string    `json:"error_message,omitempty"`
	RequestID string    `json:"request_id,omitempty"`
	Phone     string    `json:"phone_number,omitempty"`
	Content   string    `json:"content,omitempty"`
	Templated bool      `json:"use_template,omitempty"`
	SourceIP  string    `json:"source_ip,omitempty"`
	UserAgent string    `json:"user_agent,omitempty"`
	Request   string    `json:"request_data,omitempty"`
	Response  string    `json:"response_data,omitempty"`
	Status    int       `json:"status_code,omitempty"`
}

// LogFilter narrows down the lines of a log. Each field defaults to no restriction.
type LogFilter struct {
	Delivery, Agent string
	Since, Until    time.Time
	Cursor          string
	Limit           int // 1 to 1000, defaults to 50
}

// Story reads a delivery's whole life.
func (c Deliveries) Story(ctx context.Context, delivery string) (Story, error) {
	return get[Story](ctx, c.api, path("deliveries", delivery, "story"), nil)
}

// List lists the lines of a log, newest first: "receive" has the requests to the SMS front door, "send" the
// hand-outs, "report" the reports.
func (c Logs) List(ctx context.Context, log string, f LogFilter) (Page[Line], error) {
	q := Filter{Since: f.Since, Until: f.Until, Cursor: f.Cursor, Limit: f.Limit}.query()
	for name, value := range map[string]string{"log": log, "delivery": f.Delivery, "agent": f.Agent} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return get[Page[Line]](ctx, c.api, path("logs"), q)
}
