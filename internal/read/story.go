package read

import (
	"context"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Story tells a delivery's whole life in one answer.
func (r Reader) Story(ctx context.Context, v work.Viewer, id string) (s wire.Story, err error) {
	if s.Delivery, err = r.Deliveries.Delivery(ctx, v, id); err != nil {
		return s, err
	}
	if s.Message, _, err = r.Messages.Message(ctx, v, s.Delivery.Message); err != nil {
		return s, err
	}
	s.Message = Hidden(s.Message)
	var behind, rest string // where more follows
	if s.Events, behind, err = r.Events(ctx, v, id); err != nil {
		return s, err
	}
	if s.Attempts, rest, err = r.Attempts(ctx, v, id); err != nil {
		return s, err
	}
	for _, part := range []struct {
		log  wire.Log
		into *[]wire.Line
	}{{wire.ReceiveLog, &s.Received}, {wire.SendLog, &s.HandedOut}, {wire.ReportLog, &s.Reported}} {
		behind += rest
		if *part.into, rest, err = r.about(ctx, v, part.log, &s); err != nil {
			return s, err
		}
	}
	s.More = behind+rest != ""
	s.Events, s.Attempts = notNil(s.Events), notNil(s.Attempts)
	return s, nil
}

// Events reads what happened to a delivery, as much as a story has room for.
func (r Reader) Events(ctx context.Context, v work.Viewer, id string) (list []posthouse.Event, next string, err error) {
	weight := func(e *posthouse.Event) int { return 512 + len(e.Request) + len(e.Response) + len(e.Error) }
	return Gather("", most, weight, func(cursor string, limit int) ([]posthouse.Event, string, error) {
		return r.History.EventPage(ctx, v, id, cursor, limit)
	})
}

// Attempts reads the tries to send a delivery, as many as a story has room for.
func (r Reader) Attempts(ctx context.Context, v work.Viewer, id string) (list []posthouse.Attempt, next string, err error) {
	weight := func(a *posthouse.Attempt) int { return 512 + len(a.Request) + len(a.Response) + len(a.Error) }
	return Gather("", most, weight, func(cursor string, limit int) ([]posthouse.Attempt, string, error) {
		return r.History.AttemptPage(ctx, v, id, cursor, limit)
	})
}

// about reads the lines of a log about a delivery, oldest first. Of a sensitive message they have no texts.
func (r Reader) about(ctx context.Context, v work.Viewer, log wire.Log, s *wire.Story) ([]wire.Line, string, error) {
	lines, next, err := r.log(ctx, work.LogFilter{Tenant: v.Tenant, Sight: v.Sight, Log: log, Delivery: s.Delivery.ID, Limit: most})
	if err != nil {
		return nil, "", err
	}
	slices.Reverse(lines)
	for i := range lines {
		if s.Message.Sensitive {
			lines[i].Content, lines[i].Request, lines[i].Response = "", nil, nil
		}
	}
	return notNil(lines), next, nil
}

// Lines reads a part of a log, newest first.
func (r Reader) Lines(ctx context.Context, f work.LogFilter) (list []wire.Line, next string, err error) {
	list, next, err = r.log(ctx, f)
	return notNil(list), next, err
}

// log reads a part of a log that is bounded by what the lines hold.
func (r Reader) log(ctx context.Context, f work.LogFilter) ([]wire.Line, string, error) {
	weight := func(l *wire.Line) int { return 512 + len(l.Content) + len(l.Request) + len(l.Response) + len(l.Error) }
	return Gather(f.Cursor, f.Limit, weight, func(cursor string, limit int) ([]wire.Line, string, error) {
		f.Cursor, f.Limit = cursor, limit
		list, next, err := r.History.Log(ctx, f)
		if err == nil {
			err = r.complete(ctx, work.Viewer{Tenant: f.Tenant, Sight: f.Sight}, list)
		}
		return list, next, err
	})
}

// complete puts into lines of the log of hand-outs what was handed out, but for sensitive texts. Out of lines of the log of
// reports it takes what agents sent along about sensitive messages, and about those that are deleted before the log is:
// nobody can say any more what they were. None of the former is kept any more, but what was kept before lies there until it
// is pruned.
func (r Reader) complete(ctx context.Context, v work.Viewer, lines []wire.Line) error {
	var of []posthouse.Delivery
	for _, l := range lines {
		if l.Log == wire.SendLog || l.Log == wire.ReportLog && len(l.Request) > 0 {
			of = append(of, posthouse.Delivery{Message: posthouse.MessageID(l.Delivery)})
		}
	}
	if len(of) == 0 {
		return nil
	}
	messages, err := r.Messages.MessagesOf(ctx, v, of)
	if err != nil {
		return err
	}
	for i := range lines {
		l := &lines[i]
		m := messages[posthouse.MessageID(l.Delivery)]
		switch {
		case l.Log == wire.SendLog:
			l.Content = Hidden(m).Content.Text
		case l.Log == wire.ReportLog && (m.ID == "" || m.Sensitive):
			l.Request = nil
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
