package api

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// reportBody is one report, or a list of them.
type reportBody struct {
	posthouse.AgentReport
	Reports []posthouse.AgentReport `json:"reports,omitempty"`
}

// reportView answers one report.
type reportView struct {
	ReportID string                 `json:"report_id"`
	Result   posthouse.ReportResult `json:"result" doc:"done: it counts. evidence: it came late and proves a success. stale: it came late and changes nothing. missing: there is no such delivery for this agent."`
	State    posthouse.State        `json:"state,omitempty" doc:"The delivery's now."`
	Repeated bool                   `json:"repeated,omitempty" doc:"The report id was known: this is what it was answered."`
}

// reportsView has an answer for each report, in order.
type reportsView struct {
	Results []reportView `json:"results"`
}

// maxReports bounds the reports of one request.
const maxReports = 500

var reportReader = bodyOf[reportBody](oneTo(maxReports, "reports", "reports"), takesAnyError)

// takesAnyError lets U+0000 and half a surrogate pair stand in errors: an agent whose report is refused for its error
// sends the message again.
func takesAnyError(s *shape) {
	s.fields["error"].mended, s.fields["reports"].elem.fields["error"].mended = true, true
}

// report takes what an agent says. A list is answered report by report; one alone has the status of its result.
func (a *api) report(c *call) (answer, error) {
	in, err := loose(c, reportReader)
	if err != nil {
		return answer{}, err
	}
	many := in.Reports != nil
	list, path := []posthouse.AgentReport{in.AgentReport}, func(int) string { return "" }
	if many {
		list, path = in.Reports, func(i int) string { return fmt.Sprintf("reports[%d].", i) }
		if !c.checkReports(&in) {
			return answer{}, c.wrong()
		}
	}
	reports := make([]work.Report, len(list))
	for i := range list {
		c.checkReport(path(i), &list[i])
		reports[i] = work.Report{ID: posthouse.NewID(), Tenant: c.key.Tenant, Agent: c.key.Agent, AgentReport: list[i], Request: logged(list[i]), At: time.Now()}
	}
	if err := c.wrong(); err != nil {
		return answer{}, err
	}
	answered, err := a.Engine.ReportHandouts(c.Context(), reports)
	if err != nil {
		return answer{}, err
	}
	view := reportsView{make([]reportView, len(answered))}
	for i, r := range answered {
		view.Results[i] = reportView{r.ReportID, r.Answer, r.State, r.Repeated}
	}
	if !many {
		return single(view)
	}
	return ok(view)
}

// single answers one report: what came too late is a conflict.
func single(view reportsView) (answer, error) {
	switch r := view.Results[0]; r.Result {
	case posthouse.ReportStale:
		return answer{}, posthouse.Errorf(posthouse.CodeConflict, "the report came too late: the delivery is not held with this token any more; it is %s, and that stays", r.State)
	case posthouse.ReportReused:
		return answer{}, posthouse.Errorf(posthouse.CodeConflict, "the report_id stands for a report on another delivery: take a new one for each report")
	case posthouse.ReportMissing:
		return answer{}, posthouse.Errorf(posthouse.CodeNotFound, "there is no such delivery that this agent was handed")
	}
	return ok(view)
}

// checkReports checks what the list form allows beside the reports: nothing. It reports whether it is one.
func (c *call) checkReports(in *reportBody) bool {
	switch {
	case len(in.Reports) == 0:
		c.refuse("reports", "has 0 reports: want 1 to %d", maxReports)
	case !reflect.ValueOf(in.AgentReport).IsZero():
		c.refuse("reports", "stands beside fields of a single report: give one of both")
	default:
		return true
	}
	return false
}

func (c *call) checkReport(path string, r *posthouse.AgentReport) {
	if r.ReportID == "" && !c.concerns(path+"report_id") {
		c.refuse(path+"report_id", "is required: a new one for each report, 1 to %d bytes", maxMark)
	}
	checkWord(c, path+"report_id", r.ReportID, maxMark)
	checkHold(c, path, r.Delivery, r.Token)
	if !r.Outcome.Valid() && !c.concerns(path+"outcome") {
		c.refuse(path+"outcome", "is %.60q: want one of %s", r.Outcome, words(posthouse.Outcomes()))
	}
	checkWord(c, path+"code", r.Code, 64)
	checkWord(c, path+"provider_ref", r.Ref, 255)
	r.Error = strings.ReplaceAll(r.Error, "\x00", "") // no text of an error is refused
}
