package api

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// maxReports bounds the reports of one request.
const maxReports = 500

// reportBody lets any text stand in errors: an agent whose report is refused for its error sends the message again.
var reportBody = web.BodyOf[wire.Report](web.OneTo(maxReports, "reports", "reports"), web.Mended("error"), web.Mended("reports", "error")).Loose()

func (h handouts) reportRoutes() []web.Route {
	return web.Tagged("agents",
		web.Post("/v1/agents/{id}/report", agents, "Say what became of a hand-out, or of up to 500. A repeat is answered as before; of one alone that comes too late the answer is 409.", reportBody, h.report),
	)
}

// report takes what an agent says. A list is answered report by report; one alone has the status of its result.
func (h handouts) report(c *web.Call, in wire.Report) (wire.ReportAnswers, error) {
	many := in.Reports != nil
	list, path := []posthouse.AgentReport{in.AgentReport}, func(int) string { return "" }
	if many {
		list, path = in.Reports, func(i int) string { return fmt.Sprintf("reports[%d].", i) }
		if !checkReports(c, &in) {
			return wire.ReportAnswers{}, c.Wrong()
		}
	}
	reports := make([]work.Report, len(list))
	for i := range list {
		checkReport(c, path(i), &list[i])
		reports[i] = work.Report{ID: posthouse.NewID(), Tenant: c.Tenant(), Agent: c.Key.Agent, AgentReport: list[i], Request: logged(list[i]), At: time.Now()}
	}
	if err := c.Wrong(); err != nil {
		return wire.ReportAnswers{}, err
	}
	answered, err := h.desk.ReportHandouts(c.Context(), reports)
	if err != nil {
		return wire.ReportAnswers{}, err
	}
	view := wire.ReportAnswers{Results: make([]wire.ReportAnswer, len(answered))}
	for i, r := range answered {
		view.Results[i] = wire.ReportAnswer{ReportID: r.ReportID, Result: r.Answer, State: r.State, Repeated: r.Repeated}
	}
	if !many {
		return view, single(view.Results[0])
	}
	return view, nil
}

// single is the error of one report: what came too late is a conflict.
func single(r wire.ReportAnswer) error {
	switch r.Result {
	case posthouse.ReportStale:
		return posthouse.Errorf(posthouse.CodeConflict, "the report came too late: the delivery is not held with this token any more; it is %s, and that stays", r.State)
	case posthouse.ReportReused:
		return posthouse.Errorf(posthouse.CodeConflict, "the report_id stands for a report on another delivery: take a new one for each report")
	case posthouse.ReportMissing:
		return posthouse.Errorf(posthouse.CodeNotFound, "there is no such delivery that this agent was handed")
	}
	return nil
}

// checkReports checks what the list form allows beside the reports: nothing. It reports whether it is one.
func checkReports(c *web.Call, in *wire.Report) bool {
	switch {
	case len(in.Reports) == 0:
		c.Refuse("reports", "has 0 reports: want 1 to %d", maxReports)
	case !reflect.ValueOf(in.AgentReport).IsZero():
		c.Refuse("reports", "stands beside fields of a single report: give one of both")
	default:
		return true
	}
	return false
}

func checkReport(c *web.Call, path string, r *posthouse.AgentReport) {
	if r.ReportID == "" {
		c.RefuseNew(path+"report_id", "is required: a new one for each report, 1 to %d bytes", maxMark)
	}
	c.CheckWord(path+"report_id", r.ReportID, maxMark)
	checkHold(c, path, r.Delivery, r.Token)
	if !r.Outcome.Valid() {
		c.RefuseNew(path+"outcome", "%s", channel.Want(r.Outcome, posthouse.Outcomes()))
	}
	c.CheckWord(path+"code", r.Code, 64)
	c.CheckWord(path+"provider_ref", r.Ref, 255)
	r.Error = strings.ReplaceAll(r.Error, "\x00", "") // no text of an error is refused
}
