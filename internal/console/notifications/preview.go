package notifications

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/console/host"
	"github.com/posthouse/posthouse/internal/fronttext"
	"github.com/posthouse/posthouse/wire"
)

// preview is what the page of a route's preview shows: the message as it was typed, and who would get what of it when.
type preview struct {
	posthouse.Route
	To, By, Kind, Priority, Start, Deadline, Text, Payload string
	Priorities                                             []posthouse.Priority
	Asked                                                  bool
	Rows                                                   []previewRow
	Problems                                               []posthouse.Problem
}

// Undecided says that nothing is sent of what is shown.
func (p preview) Undecided() bool { return true }

// previewRow is a message of a step, or what is said of the step as a whole.
type previewRow struct {
	Whom, Channel, Template, Language string
	Step, Round                       int
	Until                             posthouse.Proof
	At                                time.Time
	After                             posthouse.Duration
	// Word is what becomes of it, Reason why, Detail more of that.
	Word, Reason, Detail string
	Bad                  bool
}

func showPreview(v *host.Visit) error {
	return drawPreview(v, http.StatusOK, preview{To: v.Query("to"), By: "user", Text: v.Say("preview_sample")})
}

func drawPreview(v *host.Visit, status int, p preview) (err error) {
	if p.Route, err = v.API.Routes.Get(v.Ctx(), v.R.PathValue("name"), 0); err != nil {
		return err
	}
	p.Priorities = posthouse.Priorities()
	return v.Draw(status, "route-preview", "route", p)
}

// look shows who would get what of a message that follows a route.
func look(v *host.Visit) error {
	p := preview{
		To: v.Form("to"), By: v.Form("by"), Kind: v.Form("kind"), Priority: v.Form("priority"), Start: v.Form("not_before"), Deadline: v.Form("deadline"),
		Text: v.Form("text"), Payload: v.Form("payload"),
	}
	d := p.draft(v.Zone)
	if len(p.Problems) == 0 {
		now := time.Now()
		out, err := v.API.Routes.Preview(v.Ctx(), v.R.PathValue("name"), d)
		if err == nil {
			p.Asked, p.Rows = true, rowsOf(v, out, later(now, d.NotBefore))
			return drawPreview(v, http.StatusOK, p)
		}
		var coded *posthouse.Error
		if !errors.As(err, &coded) || coded.Code != posthouse.CodeInvalid {
			return err
		}
		p.Problems = coded.Problems
	}
	return drawPreview(v, http.StatusUnprocessableEntity, p)
}

// draft is the message that a form describes. What cannot be read of it is a problem.
func (p *preview) draft(zone *time.Location) posthouse.Draft {
	d := posthouse.Draft{Kind: p.Kind, Priority: posthouse.Priority(p.Priority)}
	for line := range strings.Lines(p.To) {
		switch line = strings.TrimSpace(line); {
		case line == "":
		case p.By == "address":
			d.To = append(d.To, posthouse.Recipient{Address: line})
		default:
			d.To = append(d.To, fronttext.Recipients([]string{line})...)
		}
	}
	if p.Text != "" {
		d.Content = &posthouse.Content{Text: p.Text}
	}
	if p.Payload != "" {
		if d.Payload = json.RawMessage(p.Payload); !json.Valid(d.Payload) {
			p.Problems = append(p.Problems, posthouse.Problem{Path: "payload", Message: `must be a JSON object, such as {"level": 3}`})
		}
	}
	for _, one := range []struct {
		name, text string
		at         *time.Time
	}{{"not_before", p.Start, &d.NotBefore}, {"deadline", p.Deadline, &d.Deadline}} {
		var err error
		if one.text == "" {
			continue
		}
		if *one.at, err = time.ParseInLocation("2006-01-02T15:04", one.text, zone); err != nil {
			p.Problems = append(p.Problems, posthouse.Problem{Path: one.name, Message: "must be a time such as 2026-10-01T08:30"})
		}
	}
	return d
}

// rowsOf are a line for each message that would be sent, or not, and one for each step that would be passed over, wait or be the last.
func rowsOf(v *host.Visit, out wire.RoutePreview, start time.Time) (rows []previewRow) {
	for _, n := range out.Notifications {
		whom := namesOf(v, posthouse.Notification{To: n.To})
		for _, s := range n.Steps {
			step := previewRow{Whom: whom, Step: s.Step, Round: s.Round, After: s.After, At: start.Add(s.After.Std()), Detail: s.Detail}
			if s.WaitsUntil != nil {
				one := step
				one.Word, one.Reason, one.Detail = "preview_waits", s.Reason, ""
				rows = append(rows, one)
			}
			if s.Skipped != "" || s.Detail != "" {
				one := step
				if one.Reason = s.Skipped; s.Skipped != "" {
					one.Word, one.Bad = "told_skipped", true
				}
				rows = append(rows, one)
			}
			for i := range s.Messages {
				rows = append(rows, messageRow(step, s.Until, &s.Messages[i]))
			}
			if s.Ends != "" {
				one := step
				one.Word, one.Reason, one.Detail, one.Bad = "preview_ends", s.Ends, "", true
				rows = append(rows, one)
			}
		}
	}
	return rows
}

// messageRow is the line of a message of a step.
func messageRow(row previewRow, until posthouse.Proof, m *wire.PreviewedMessage) previewRow {
	row.Whom, row.Channel, row.Template, row.Language, row.Until = cmp.Or(m.To.User, m.To.Address), m.Channel, m.Template, m.Language, until
	row.Word, row.Reason, row.Detail = "preview_sends", m.Reason, m.Detail
	switch {
	case m.Problem != "":
		row.Word, row.Reason, row.Detail, row.Bad = "preview_refused", "", m.Problem, true
	case m.Skipped != "":
		row.Word, row.Reason, row.Bad = "preview_not_sent", m.Skipped, true
	case m.WaitsUntil != nil:
		row.Word, row.At = "preview_waits", *m.WaitsUntil
	}
	return row
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
