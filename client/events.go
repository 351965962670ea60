package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// Events is the live stream of what happens to deliveries.
type Events struct{ api *caller }

// EventFilter says which events are wanted, and from where.
type EventFilter struct {
	Channel, Kind, Ref string
	States             []posthouse.State
	// Types are types of events, or the first words of them: delivery.sent, notification, callback.
	Types []string
	// Since begins with what happened at a time, Behind behind the event with an id. Defaults to now.
	Since  time.Time
	Behind string
}

func (f EventFilter) query() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"channel": f.Channel, "kind": f.Kind, "ref": f.Ref, "behind": f.Behind} {
		if value != "" {
			q.Set(name, value)
		}
	}
	var states []string
	for _, s := range f.States {
		states = append(states, string(s))
	}
	if len(states) > 0 {
		q.Set("state", strings.Join(states, ","))
	}
	if len(f.Types) > 0 {
		q.Set("type", strings.Join(f.Types, ","))
	}
	if !f.Since.IsZero() {
		q.Set("since", f.Since.Format(time.RFC3339Nano))
	}
	return q
}

// Follow calls each with every event as it happens, in order, until each fails or ctx ends. Where the connection breaks or the
// server restarts, it connects again behind the last event that each took: none is missed, and one may come twice.
func (c Events) Follow(ctx context.Context, f EventFilter, each func(posthouse.FeedEvent) error) error {
	last := f.Behind
	for try := 1; ; try++ {
		before := last
		err := c.follow(ctx, f, &last, each)
		var ended *stopped
		switch {
		case errors.As(err, &ended):
			return ended.cause
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !passing(err):
			return err
		case last != before:
			try = 1
		}
		f.Behind, f.Since = last, sinceOf(f, last)
		if err := wait(ctx, c.api.backoff(try)); err != nil {
			return err
		}
	}
}

func sinceOf(f EventFilter, last string) time.Time {
	if last != "" {
		return time.Time{}
	}
	return f.Since
}

// stopped is what the caller's own function has ended a stream with.
type stopped struct{ cause error }

func (s *stopped) Error() string { return s.cause.Error() }

// follow reads one connection to its end.
func (c Events) follow(ctx context.Context, f EventFilter, last *string, each func(posthouse.FeedEvent) error) error {
	read, write := io.Pipe()
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer cancel() // the connection ends with its reader, and not with the next event
		done <- eachEvent(read, last, each)
	}()
	err := c.api.stream(ctx, request{method: http.MethodGet, path: path("events", "stream"), query: f.query()}, write)
	_ = write.Close() // never fails
	if readErr := <-done; readErr != nil {
		return readErr
	}
	return err
}

// eachEvent reads server-sent events: their id, and one line of data. After an error nothing more is read, which ends the
// connection.
func eachEvent(r *io.PipeReader, last *string, each func(posthouse.FeedEvent) error) error {
	defer func() { _ = r.Close() }() // never fails
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	id, kind, data := "", "", ""
	for lines.Scan() {
		line := lines.Text()
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "id":
			id = value
		case "event":
			kind = value
		case "data":
			data = value
		}
		if line != "" {
			continue
		}
		if data != "" && kind != "end" {
			var e posthouse.FeedEvent
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				return fmt.Errorf("an event of the stream is not what the API promises: %w", err)
			}
			if err := each(e); err != nil {
				return &stopped{err}
			}
		}
		if id != "" {
			*last = id
		}
		kind, data = "", ""
	}
	return nil // what the connection ended with is the caller's to judge
}
