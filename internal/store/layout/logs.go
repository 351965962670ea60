package layout

import (
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// SendLog has hand-outs to agents.
var SendLog = sqldb.NewTable("posthouse_send_log", "delivery", "token#", "tenant", "at#", "agent", "claim_id?", "request?")

// ReportLog begins with the key of a report, as a look-up by keys wants it.
var ReportLog = sqldb.NewTable("posthouse_report_log", "tenant", "agent", "report_id", "id", "at#", "delivery", "token#?",
	"outcome", "code?", "error?", "retry#?", "ref?", "request?", "answer", "state?")

// The values of the column retry: the agent's advice.
const (
	RetryUnsaid int64 = iota
	retryYes
	retryNo
)

// ReportValues are the columns of ReportLog.
func ReportValues(r *work.Report) []any {
	retry := RetryUnsaid
	if r.Retry != nil {
		if retry = retryNo; *r.Retry {
			retry = retryYes
		}
	}
	return []any{
		r.Tenant, r.Agent, r.ReportID, r.ID, sqldb.Micros(r.At), IDOnly(r.Delivery), r.Token,
		string(r.Outcome), r.Code, r.Error, retry, r.Ref, r.Request, string(r.Answer), string(r.State),
	}
}

// ReadReport reads the columns of ReportLog.
func ReadReport(scan sqldb.Scanner) (*work.Report, error) {
	var r work.Report
	var at, retry int64
	err := scan(&r.Tenant, &r.Agent, &r.ReportID, &r.ID, &at, &r.Delivery, &r.Token,
		&r.Outcome, &r.Code, &r.Error, &retry, &r.Ref, &r.Request, &r.Answer, &r.State)
	r.At = sqldb.TimeOf(at)
	if retry != RetryUnsaid {
		yes := retry == retryYes
		r.Retry = &yes
	}
	return &r, err
}

// ReceiveLog has requests of the SMS front.
var ReceiveLog = sqldb.NewTable("posthouse_receive_log", "id", "tenant", "at#", "delivery?", "request_id?", "phone?", "content?",
	"templated#?", "source_ip?", "user_agent?", "request?", "response?", "status#?")

// ReceiveValues are the columns of ReceiveLog.
func ReceiveValues(l *work.Line) []any {
	return []any{
		l.ID, l.Tenant, sqldb.Micros(l.At), IDOnly(l.Delivery), l.RequestID, l.Phone, l.Content,
		sqldb.Flag(l.Templated), l.SourceIP, l.UserAgent, string(l.Request), string(l.Response), int64(l.Status),
	}
}
