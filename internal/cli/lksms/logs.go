package lksms

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

func (r *run) received(ctx context.Context, t *Table) error {
	return r.lines(ctx, t, work.ReceiveLog, r.From.Received, func(l *work.LksmsLine) {
		l.Delivery = answeredTask(l.Response)
		if l.Phone != "" {
			l.Phone = r.phone(t, l.Phone)
		}
	})
}

func (r *run) handed(ctx context.Context, t *Table) error {
	return r.lines(ctx, t, work.SendLog, r.From.Handed, func(l *work.LksmsLine) {
		l.Token = -l.Row // ours are positive, so that none of them meets it
		r.paged = r.paged || isPage(l.Response)
	})
}

func (r *run) reported(ctx context.Context, t *Table) error {
	return r.lines(ctx, t, work.ReportLog, r.From.Reported, func(l *work.LksmsLine) {
		l.Outcome, l.Answer = string(posthouse.OutcomeNotSent), string(posthouse.ReportDone)
		if l.Status == success {
			l.Outcome = string(posthouse.OutcomeSent)
		}
		l.Status, l.ReportID = 0, l.ID
	})
}

// lines copies a log. A line of a task that is not there is left out, but of the log of requests: of those that
// were refused there is no task.
func (r *run) lines(ctx context.Context, t *Table, log work.Log,
	read func(ctx context.Context, after int64, limit int) ([]work.LksmsLine, error), tell func(*work.LksmsLine)) error {
	return copyRows(ctx, r, t, read, func(l work.LksmsLine) int64 { return l.Row },
		func(ctx context.Context, rows []work.LksmsLine) ([]work.Line, error) {
			for i := range rows {
				l := &rows[i]
				l.Tenant = r.Tenant
				l.ID = idOf(l.At, l.At, r.Tenant, r.Channel, t.Name, strconv.FormatInt(l.Row, 10))
				l.At, _ = r.times(l.At, l.At)
				l.Request, l.Response = document(l.Request), document(l.Response)
				tell(l)
			}
			return r.ofTasks(ctx, t, log, rows)
		},
		func(ctx context.Context, list []work.Line) (int, error) {
			return r.To.Imports.ImportLines(ctx, r.now, r.Tenant, log, list)
		})
}

// document is a column of JSON as every database reads it, however long.
func document(kept json.RawMessage) json.RawMessage {
	return json.RawMessage(state.Document(string(kept), len(kept)))
}

// ofTasks puts into lines the deliveries that their tasks have become.
func (r *run) ofTasks(ctx context.Context, t *Table, log work.Log, rows []work.LksmsLine) ([]work.Line, error) {
	var former []string
	for _, l := range rows {
		if l.Delivery != "" {
			former = append(former, l.Delivery)
		}
	}
	slices.Sort(former)
	found, err := r.To.Imports.FormerTasks(ctx, r.now, r.Tenant, Kind, slices.Compact(former))
	if err != nil {
		return nil, err
	}
	list := make([]work.Line, 0, len(rows))
	for _, l := range rows {
		delivery, known := found[l.Delivery]
		if !known && !r.DryRun && log != work.ReceiveLog {
			t.Left["whose task is not there"]++
			continue
		}
		l.Delivery = delivery
		list = append(list, l.Line)
	}
	return list, nil
}

// isPage reports whether an app was answered {total_count, app_id, tasks}, by itself or as the data of an envelope.
func isPage(response []byte) bool {
	type page struct {
		Tasks json.RawMessage `json:"tasks"`
		Total json.RawMessage `json:"total_count"`
	}
	var answer struct {
		page
		Data page `json:"data"`
	}
	_ = json.Unmarshal(response, &answer) // what does not fit is none
	return answer.Tasks != nil || answer.Total != nil || answer.Data.Tasks != nil || answer.Data.Total != nil
}

// answeredTask is the task that a request was answered with, empty for none.
func answeredTask(response []byte) string {
	var answer struct {
		Content struct {
			TaskID string `json:"task_id"`
		} `json:"data"`
	}
	if json.Unmarshal(response, &answer) != nil {
		return ""
	}
	return answer.Content.TaskID
}
