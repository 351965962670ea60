package engine

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// refill fills the message of a group anew where it has a clock: with the numbers of the moment at which
// this attempt began, by the database's clock. What can not be filled is handed to the recorder: what comes back is
// then empty.
func (e *Engine) refill(r *route, group []work.Item, leaseEnd time.Time) []work.Item {
	if len(group) == 0 {
		return nil
	}
	m := group[0].Message
	if m == nil || m.Clock == nil || m.Unreadable != "" {
		return group
	}
	ctx, cancel := context.WithDeadline(e.sendCtx, leaseEnd)
	defer cancel()
	fresh, wrong, err := e.freshen(ctx, m, cmp.Or(group[0].Delivery.StartedAt, e.clock.now()))
	if err == nil && wrong == "" {
		for i := range group {
			group[i].Message = fresh
		}
		return group
	}
	end := done{route: r, verdict: verdictQuarantine, reason: state.ReasonTemplate, result: channel.Result{Error: wrong}}
	if err != nil {
		end = done{route: r, verdict: verdictRelease, reason: state.ReasonDatabase, result: channel.Result{After: rereadAfter}}
		e.log.Warn("a template can not be read: what it fills is given back", "channel", m.Channel, "message", m.ID, "template", m.Template, "error", err)
	}
	for _, item := range group {
		end.item = item
		e.recorder.add(end)
	}
	return nil
}

// rereadAfter is the wait after a template could not be read.
const rereadAfter = time.Second

// freshen is a message as it reads at a moment. Wrong says why there is no such: the version of the template
// that it was accepted with is gone, or takes something else now.
func (e *Engine) freshen(ctx context.Context, m *posthouse.Message, at time.Time) (fresh *posthouse.Message, wrong string, err error) {
	t, err := e.templates.get(ctx, e.o.Store, templateKey{m.Tenant, m.Template, m.Version})
	if posthouse.CodeOf(err) == posthouse.CodeNotFound {
		return nil, fmt.Sprintf("version %d of the template %q, which has to be filled anew, is gone", m.Version, m.Template), nil
	}
	if err != nil {
		return nil, "", err
	}
	content, payload, problems := fillAt(t, m.Payload, m.Clock, at)
	if len(problems) > 0 {
		var list []string
		for _, p := range problems {
			list = append(list, p.Path+" "+p.Message)
		}
		return nil, fmt.Sprintf("the template %q can not be filled anew: %s", m.Template, strings.Join(list, "; ")), nil
	}
	next := *m
	next.Content, next.Payload = content, payload
	return &next, "", nil
}

// templates remembers versions of templates for a while: each attempt of a message with a clock needs one.
type templates struct {
	mu    sync.Mutex
	known map[templateKey]remembered
}

type templateKey struct {
	tenant, name string
	version      int
}

type remembered struct {
	template posthouse.Template
	until    time.Time
}

// A version never changes, but it can be deleted and its number be given again: it is looked at
// once a minute.
const (
	maxRemembered = 256
	rememberFor   = time.Minute
)

func (c *templates) get(ctx context.Context, from accepts, key templateKey) (posthouse.Template, error) {
	now := time.Now()
	c.mu.Lock()
	r, ok := c.known[key]
	c.mu.Unlock()
	if ok && now.Before(r.until) {
		return r.template, nil
	}
	t, err := from.Template(ctx, key.tenant, key.name, key.version)
	if err != nil {
		return t, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxRemembered {
		c.known = map[templateKey]remembered{}
	}
	c.known[key] = remembered{t, now.Add(rememberFor)}
	return t, nil
}
