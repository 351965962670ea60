package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/feed"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
)

// events is the live stream.
type events struct {
	Events
	streams *streams
}

const (
	// heartbeat is how often a stream says that it lives.
	heartbeat = 15 * time.Second
	// slow is how long a reader may take for one part of a stream: it is told to come again then, which costs it nothing.
	slow = 30 * time.Second
	// wantedFor keeps the feed written for a reader that comes again.
	wantedFor = 15 * time.Minute
)

func (e events) routes() []web.Route {
	return web.Tagged("events",
		web.Get("/v1/events/stream", reads, "What happens to deliveries, whether persons were told, and what providers tell by themselves, as it happens (server-sent events). A reader that comes again with Last-Event-ID misses nothing.", e.stream).
			Query("channel", "kind", "ref", "state", "type", "since", "behind").Sighted())
}

// stream begins where the reader left off.
func (e events) stream(c *web.Call) (any, error) {
	f := feed.Filter{Tenant: c.Tenant(), Sight: c.Sight(), States: c.States()}
	for name, list := range map[string]*[]string{"channel": &f.Channels, "kind": &f.Kinds, "ref": &f.Refs} {
		if word := c.Query.Get(name); word != "" {
			*list = []string{word}
		}
	}
	if types := c.Query.Get("type"); types != "" {
		f.Types = strings.Split(types, ",")
	}
	for _, typ := range f.Types {
		if problem := feed.CheckType(typ); problem != "" {
			c.Refuse("query.type", "%s", problem)
		}
	}
	behind, since, path := c.Query.Get("behind"), c.Moment("since"), "query.behind"
	if last := c.Header.Get("Last-Event-ID"); last != "" {
		behind, since, path = last, time.Time{}, "header.Last-Event-ID"
	}
	if behind != "" {
		if _, err := posthouse.ParseFeedPosition(behind); err != nil {
			c.Refuse(path, "%s", err)
		}
		if !since.IsZero() {
			c.Refuse("query.since", "does not go with behind")
		}
	}
	if err := c.Wrong(); err != nil {
		return nil, err
	}
	held, release, err := e.streams.begin(c.Context(), c.Key)
	if err != nil {
		return nil, err
	}
	from, _, err := e.Begin(held, behind, since)
	if err != nil {
		release()
		return nil, err
	}
	c.Writer.Header().Set("X-Accel-Buffering", "no") // a proxy that gathers the answer would hold it back
	return web.Stream{Kind: "text/event-stream", Write: func(w io.Writer) error {
		defer release()
		r := &reader{events: e, filter: f, from: from, still: c.Still, out: w}
		return r.run(held)
	}}, nil
}

// reader is one that reads a stream.
type reader struct {
	events events
	filter feed.Filter
	from   posthouse.FeedPosition
	still  func() error
	out    io.Writer
	wanted time.Time // when the feed was last asked to be written on
}

// run writes until the reader leaves, is too slow, may no longer read, or the server stops. All but the first are said: the reader
// comes again behind the last id.
func (r *reader) run(ctx context.Context) error {
	r.wanted = time.Now()
	if err := r.write([]byte("retry: 2000\n: posthouse\n\n")); err != nil {
		return err
	}
	for {
		waiting, cancel := context.WithTimeout(ctx, heartbeat)
		list, next, err := r.events.Log.Next(waiting, r.from)
		cancel()
		switch {
		case errors.Is(context.Cause(ctx), errOutcrowded):
			return r.end(errOutcrowded.Error())
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the reader has left
		case errors.Is(err, feed.ErrClosed):
			return r.end("the server stops: come again")
		case errors.Is(err, context.DeadlineExceeded):
			if err := r.still(); err != nil {
				return r.end("the key is no longer valid")
			}
			if err := r.beat(ctx); err != nil {
				return err
			}
			continue
		case err != nil:
			return r.end("the events cannot be read now: come again")
		}
		r.from = next
		began := time.Now()
		if err := r.tell(list); err != nil {
			return err
		}
		if time.Since(began) > slow {
			return r.end("the reader is slow: come again behind the last id")
		}
	}
}

// tell writes those that the reader wants.
func (r *reader) tell(list []work.FeedEvent) error {
	var b bytes.Buffer
	for i := range list {
		e := &list[i].FeedEvent
		if !r.filter.Wants(e) {
			continue
		}
		text, err := json.Marshal(e)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "id: %s\nevent: %s\ndata: %s\n\n", e.ID, e.Type(), text)
	}
	if b.Len() == 0 {
		return nil
	}
	return r.write(b.Bytes())
}

// beat says that the stream lives, and how far it has come: a reader that wants little need not go over all again.
func (r *reader) beat(ctx context.Context) error {
	if time.Since(r.wanted) >= time.Minute {
		r.wanted = time.Now()
		_, _ = r.events.Demand.Want(ctx, r.wanted, wantedFor) // a minute later again: it lasts for many
	}
	return r.write(fmt.Appendf(nil, "id: %s\n: still here\n\n", r.from))
}

func (r *reader) end(reason string) error {
	return r.write(fmt.Appendf(nil, "event: end\ndata: %q\n\n", reason))
}

func (r *reader) write(b []byte) error {
	if _, err := r.out.Write(b); err != nil {
		return err
	}
	if f, ok := r.out.(interface{ Flush() error }); ok {
		return f.Flush()
	}
	return nil
}
