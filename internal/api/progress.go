package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// progressEvery is how often a campaign is looked at for those who watch it.
const progressEvery = time.Second

// watch streams how far a campaign is, each time that changes, until it has ended.
func (s campaigns) watch(c *web.Call) (any, error) {
	name := c.PathValue("name")
	first, err := s.Get(c.Context(), c.Tenant(), name)
	if err != nil {
		return nil, err
	}
	held, release, err := s.streams.begin(c.Context(), c.Key)
	if err != nil {
		return nil, err
	}
	c.Writer.Header().Set("X-Accel-Buffering", "no") // a proxy that gathers the answer would hold it back
	return web.Stream{Kind: "text/event-stream", Write: func(w io.Writer) error {
		defer release()
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		out, checked := &reader{out: w}, time.Now()
		p := progress{reader: out}
		for now := first; ; {
			if done, err := p.saw(&now); done || err != nil {
				return err
			}
			select {
			case <-tick.C:
			case <-s.ending:
				return out.end("the server stops: come again")
			case <-held.Done():
				if errors.Is(context.Cause(held), errOutcrowded) {
					return out.end(errOutcrowded.Error())
				}
				return nil
			}
			if time.Since(checked) >= heartbeat {
				if checked = time.Now(); c.Still() != nil {
					return out.end("the key is no longer valid")
				}
			}
			if now, err = s.Get(c.Context(), c.Tenant(), name); err != nil && c.Context().Err() == nil {
				return out.end("the campaign cannot be read now: come again")
			}
		}
	}}, nil
}

// progress is what one watcher was told last.
type progress struct {
	*reader
	said string
	at   time.Time
}

// saw tells what is new, and reports whether that was all.
func (p *progress) saw(now *wire.Campaign) (done bool, err error) {
	text, err := json.Marshal(now)
	if err != nil {
		return true, err
	}
	done = now.State.Final() && !now.FinishedAt.IsZero()
	switch {
	case string(text) != p.said:
		p.said, p.at = string(text), time.Now()
		err = p.write(fmt.Appendf(nil, "event: progress\ndata: %s\n\n", text))
	case p.quiet():
		p.at = time.Now()
		err = p.write([]byte(": still here\n\n"))
	}
	if done && err == nil {
		err = p.end("the campaign has ended")
	}
	return done, err
}

// quiet reports whether the watcher has heard nothing for a while.
func (p *progress) quiet() bool { return time.Since(p.at) >= heartbeat }
