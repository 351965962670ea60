package lksms

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/sms"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
)

// records shows tasks and what was logged of them.
type records struct{ *door }

// received begins the line of a request: whoever is let in is logged, whatever comes of it.
func received(c *call) *work.Line {
	id := c.Header.Get("X-Request-Id")
	if id == "" || len(id) > 50 || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) {
		id = posthouse.NewID()
	}
	c.writer.Header().Set("X-Request-Id", id)
	return &work.Line{
		ID: posthouse.NewID(), Log: work.ReceiveLog, Tenant: c.who.tenant, At: time.Now().UTC(), RequestID: id,
		SourceIP: web.AddressOf(c.Request), UserAgent: clipped(c.UserAgent(), 500),
	}
}

// describe puts into a line what was asked for, as far as it could be read. Of a sensitive text, and of a
// body that is no object and so does not say whether it has one, nothing is kept.
func (d sends) describe(line *work.Line, in *sendBody, body []byte) {
	line.Phone, line.Templated = clipped(string(in.phone), 20), bool(in.useTemplate)
	if !d.Sensitive && !bool(in.sensitive) {
		line.Content, line.Request = clipped(string(in.content), 200), document(body)
		if _, err := objectOf(body); err != nil {
			line.Request = document(fmt.Appendf(nil, "%d bytes that are no JSON object", len(body)))
		}
		return
	}
	shown, _ := json.Marshal(map[string]any{ // texts and flags: cannot fail
		"phone_number": line.Phone, "content": hidden, "use_template": line.Templated, "source": clipped(string(in.source), 50), "sensitive": true,
	})
	line.Request = shown
}

// pageOfLines is a part of a log.
type pageOfLines struct {
	Items []work.Line `json:"items"`
	Next  string      `json:"next,omitempty"` // cursor of the part after this one
}

func (d records) logs(c *call) (answer, error) {
	log := work.Log(c.PathValue("log"))
	if !slices.Contains([]work.Log{work.ReceiveLog, work.SendLog, work.ReportLog}, log) {
		return answer{}, refuse(http.StatusNotFound, "there is no log %.60q: want receive, send or report", log)
	}
	f, err := filter(c, log)
	if err != nil {
		return answer{}, err
	}
	if f.Delivery, err = d.numbered(c, f.Delivery); err != nil {
		return answer{}, err
	}
	list, next, err := d.Reader.Lines(c.Context(), f)
	if err == nil {
		err = d.inTheDocumentsWords(c, list)
	}
	return answer{data: pageOfLines{append([]work.Line{}, list...), next}}, err
}

// numbered is the delivery of a task that a log is narrowed down by. A number that no task has stays as it is: there are no
// lines of it.
func (d *door) numbered(c *call, task string) (string, error) {
	if task == "" {
		return "", nil
	}
	t, _, err := d.find(c.Context(), c.who.viewer(), task)
	if errors.Is(err, errNoTask) || posthouse.CodeOf(err) == posthouse.CodeNotFound {
		return task, nil
	}
	return t.ID, err
}

// inTheDocumentsWords gives lines the numbers of their tasks, and those of the log of hand-outs what the app was answered.
func (d *door) inTheDocumentsWords(c *call, lines []work.Line) error {
	of := make([]posthouse.Delivery, len(lines))
	for i := range lines {
		of[i].Message = posthouse.MessageID(lines[i].Delivery)
	}
	messages, err := d.Reader.Messages.MessagesOf(c.Context(), c.who.viewer(), of)
	if err != nil {
		return err
	}
	for i := range lines {
		l := &lines[i]
		m := messages[of[i].Message]
		if m.Ref != "" && m.DedupKey == work.FormerKey(m.Ref) {
			l.Delivery = m.Ref
		}
		if l.Log != work.SendLog || m.ID == "" {
			continue
		}
		l.Phone, l.Content = local(l.Phone), textOf(m)
		l.Response, _ = json.Marshal(handed{l.Delivery, l.Phone, l.Content}) // texts: cannot fail
	}
	return nil
}

// filter reads what a log is narrowed down by.
func filter(c *call, log work.Log) (f work.LogFilter, err error) {
	query, err := url.ParseQuery(c.URL.RawQuery)
	if err != nil {
		return f, malformed("the query cannot be read: a %% or ; in it is not escaped")
	}
	if app := query.Get("app_id"); clipped(app, len(app)) != app {
		return f, malformed("app_id is %.60q, which is no text: it is not valid UTF-8, or holds the character U+0000", app)
	}
	f = work.LogFilter{Tenant: c.who.tenant, Sight: c.who.viewer().Sight, Log: log, Delivery: query.Get("task_id"), Agent: query.Get("app_id"), Cursor: query.Get("cursor"), Limit: 50}
	if query.Has("limit") {
		if f.Limit, err = strconv.Atoi(query.Get("limit")); err != nil || f.Limit < 1 || f.Limit > 1000 {
			return f, malformed("limit is %.60q: want a whole number from 1 to 1000", query.Get("limit"))
		}
	}
	if f.Since, err = moment(query, "since"); err == nil {
		f.Until, err = moment(query, "until")
	}
	return f, err
}

func moment(query url.Values, name string) (time.Time, error) {
	given := query.Get(name)
	if given == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, given)
	if err != nil || !posthouse.ValidTime(t) {
		return t, malformed("%s is %.60q: want a time such as 2026-10-01T08:30:00+08:00 (with + escaped as %%2B), of the years 1970 to 2999", name, given)
	}
	return t, nil
}

// wholeTask is everything that is known of a task.
type wholeTask struct {
	Task     row         `json:"task"`
	Received []work.Line `json:"receive_logs"`
	Handed   []work.Line `json:"send_logs"`
	Reported []work.Line `json:"report_logs"`
}

// row is a task with all that the table of tasks of the document has.
type row struct {
	taskView
	Source     string  `json:"source"`
	RetryCount int     `json:"retry_count"`
	App        string  `json:"processing_app_id"`
	Result     string  `json:"result"`
	UpdatedAt  string  `json:"updated_at"`
	ReportedAt *string `json:"reported_at"`
	Delivery   string  `json:"delivery_id"`
	Size       any     `json:"sms"`
}

// story tells everything about a task in one answer.
func (d records) story(c *call) (answer, error) {
	t, m, err := d.find(c.Context(), c.who.viewer(), c.PathValue("task_id"))
	if err != nil {
		return answer{}, err
	}
	events, _, err := d.Reader.Events(c.Context(), c.who.viewer(), t.ID)
	if err != nil {
		return answer{}, err
	}
	out := wholeTask{Task: d.row(c.PathValue("task_id"), t, m, events)}
	for _, part := range []struct {
		log  work.Log
		into *[]work.Line
	}{{work.ReceiveLog, &out.Received}, {work.SendLog, &out.Handed}, {work.ReportLog, &out.Reported}} {
		lines, _, err := d.Reader.Lines(c.Context(), work.LogFilter{Tenant: c.who.tenant, Sight: c.who.viewer().Sight, Log: part.log, Delivery: t.ID, Limit: 1000})
		if err != nil {
			return answer{}, err
		}
		if err := d.inTheDocumentsWords(c, lines); err != nil {
			return answer{}, err
		}
		slices.SortFunc(lines, func(a, b work.Line) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID)) })
		*part.into = append([]work.Line{}, lines...)
	}
	return ok(out)
}

func (d records) row(id string, t posthouse.Delivery, m posthouse.Message, events []posthouse.Event) row {
	r := row{
		taskView: d.view(id, t, m), Source: m.Source, RetryCount: retries(t, events), Result: result(t, events),
		App: work.AgentOf(cmp.Or(t.LeaseOwner, lastOwner(t, events))), UpdatedAt: d.at(t.UpdatedAt), Delivery: t.ID,
	}
	if !m.Sensitive {
		r.Size = sms.Parts(m.Content.Text)
	}
	if !t.State.Open() {
		at := d.at(t.UpdatedAt)
		r.ReportedAt = &at
	}
	return r
}

// lastOwner is the app that settled a task: it was sent, or the app says that a retry is useless.
func lastOwner(t posthouse.Delivery, events []posthouse.Event) string {
	owner := ""
	for _, e := range events {
		if (status(t.State) == 2 || t.State == posthouse.Failed && t.Reason == state.ReasonNoRetry) && work.AgentOf(e.Owner) != "" {
			owner = e.Owner
		}
	}
	return owner
}

// retries is how often a task was put back. The failure that ended it did not, and counts no more once the
// text turns out to have left.
func retries(t posthouse.Delivery, events []posthouse.Event) int {
	ended := t.State == posthouse.Failed || t.State == posthouse.Unknown
	if n := len(events); n > 0 && events[n-1].Type == posthouse.EventEvidence {
		ended = events[n-1].From == posthouse.Failed
	}
	if ended {
		return max(0, t.Tries-1)
	}
	return t.Tries
}

// unsent are the results of tasks that ended without a try, of which the document has none.
func unsent(s posthouse.State) string {
	switch s {
	case posthouse.Expired:
		return "超过截止时间，未发送"
	case posthouse.Cancelled:
		return "已取消，未发送"
	case posthouse.Suppressed:
		return "规则限制，未发送"
	}
	return ""
}

// result is what became of the last hand-out, in the document's words.
func result(t posthouse.Delivery, events []posthouse.Event) string {
	lost := false // the last try that ended did so by time-out
	for _, e := range events {
		switch e.Type {
		case posthouse.EventLeaseLost:
			lost = true
		case posthouse.EventRetry, posthouse.EventFail, posthouse.EventSent, posthouse.EventEvidence:
			lost = false
		}
	}
	usedUp := t.State == posthouse.Failed && t.Reason == state.ReasonTriesUsedUp
	switch {
	case status(t.State) == 2:
		return "发送成功"
	case lost && t.State == posthouse.Failed:
		return "处理超时，超过最大重试次数"
	case lost:
		return "处理超时，自动重试"
	case usedUp:
		return "超过最大重试次数: " + t.Error
	case t.Error != "":
		return t.Error
	}
	return unsent(t.State)
}
