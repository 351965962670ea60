package read

import (
	"context"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Story tells a delivery's whole life in one answer.
func (r Reader) Story(ctx context.Context, tenant, id string) (s wire.Story, err error) {
	if s.Delivery, err = r.Deliveries.Delivery(ctx, tenant, id); err != nil {
		return s, err
	}
	if s.Message, _, err = r.Messages.Message(ctx, tenant, s.Delivery.Message); err != nil {
		return s, err
	}
	s.Message = Hidden(s.Message)
	if s.Events, err = r.History.Events(ctx, tenant, id); err != nil {
		return s, err
	}
	if s.Attempts, err = r.History.Attempts(ctx, tenant, id); err != nil {
		return s, err
	}
	for log, into := range map[wire.Log]*[]wire.Line{wire.ReceiveLog: &s.Received, wire.SendLog: &s.HandedOut, wire.ReportLog: &s.Reported} {
		if *into, err = r.about(ctx, log, &s); err != nil {
			return s, err
		}
	}
	s.Events, s.Attempts = notNil(s.Events), notNil(s.Attempts)
	return s, nil
}

// about reads the lines of a log about a delivery, oldest first. Of a sensitive message they have no texts.
func (r Reader) about(ctx context.Context, log wire.Log, s *wire.Story) ([]wire.Line, error) {
	lines, _, err := r.log(ctx, work.LogFilter{Tenant: s.Delivery.Tenant, Log: log, Delivery: s.Delivery.ID, Limit: most})
	if err != nil {
		return nil, err
	}
	slices.Reverse(lines)
	for i := range lines {
		if s.Message.Sensitive {
			lines[i].Content, lines[i].Request, lines[i].Response = "", "", ""
		}
	}
	return notNil(lines), nil
}

// Lines reads a part of a log, newest first.
func (r Reader) Lines(ctx context.Context, f work.LogFilter) (list []wire.Line, next string, err error) {
	if list, next, err = r.log(ctx, f); err == nil {
		err = r.veil(ctx, f.Tenant, list)
	}
	return notNil(list), next, err
}

// log reads a part of a log that is bounded by what the lines hold.
func (r Reader) log(ctx context.Context, f work.LogFilter) ([]wire.Line, string, error) {
	weight := func(l *wire.Line) int { return 512 + len(l.Content) + len(l.Request) + len(l.Response) + len(l.Error) }
	return Gather(f.Cursor, f.Limit, weight, func(cursor string, limit int) ([]wire.Line, string, error) {
		f.Cursor, f.Limit = cursor, limit
		return r.History.Log(ctx, f)
	})
}

// veil takes out of lines of the log of reports what agents sent along about sensitive messages, and about those that are
// deleted before the log is: nobody can say any more what they were. None of the former is kept any more, but what was
// kept before lies there until it is pruned.
func (r Reader) veil(ctx context.Context, tenant string, lines []wire.Line) error {
	var said []posthouse.Delivery
	for _, l := range lines {
		if l.Log == wire.ReportLog && l.Request != "" {
			said = append(said, posthouse.Delivery{Message: posthouse.MessageID(l.Delivery)})
		}
	}
	if len(said) == 0 {
		return nil
	}
	messages, err := r.Messages.MessagesOf(ctx, tenant, said)
	if err != nil {
		return err
	}
	for i := range lines {
		l := &lines[i]
		if m := messages[posthouse.MessageID(l.Delivery)]; l.Log == wire.ReportLog && (m.ID == "" || m.Sensitive) {
			l.Request = ""
		}
	}
	return nil
}

func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
