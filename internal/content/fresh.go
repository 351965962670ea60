package content

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
)

// Fresh is a message as it reads at a moment in a language of its template. Wrong says why there is no such: the version of the template
// that it was accepted with is gone, or takes something else now.
func (c *Contents) Fresh(ctx context.Context, m *posthouse.Message, tag string, at time.Time) (fresh *posthouse.Message, wrong string, err error) {
	t, err := c.known.get(ctx, c.Store, templateKey{m.Tenant, m.Template, m.Version})
	if posthouse.CodeOf(err) == posthouse.CodeNotFound {
		return nil, fmt.Sprintf("version %d of the template %q, which has to be filled anew, is gone", m.Version, m.Template), nil
	}
	if err != nil {
		return nil, "", err
	}
	content, payload, problems := fillAt(In(t, tag), m.Payload, m.Clock, at)
	if len(problems) > 0 {
		var list []string
		for _, p := range problems {
			list = append(list, p.Path+" "+p.Message)
		}
		return nil, fmt.Sprintf("the template %q cannot be filled anew: %s", m.Template, strings.Join(list, "; ")), nil
	}
	next := *m
	next.Content, next.Payload = content, payload
	return &next, "", nil
}

// Leaving is a message as it leaves for its provider: of its payload, what its template names in a language, and what also names besides. Nothing
// leaves where the version of the template is gone. A message without a template leaves as it is: its payload was written for it.
func (c *Contents) Leaving(ctx context.Context, m *posthouse.Message, tag string, also []string) (*posthouse.Message, error) {
	if m.Template == "" || len(m.Payload) == 0 {
		return m, nil
	}
	t, err := c.known.get(ctx, c.Store, templateKey{m.Tenant, m.Template, m.Version})
	if err != nil && posthouse.CodeOf(err) != posthouse.CodeNotFound {
		return nil, err
	}
	next := *m
	next.Payload, _ = Prepare(In(t, tag)).Leaves(m.Payload, also)
	return &next, nil
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

func (c *templates) get(ctx context.Context, from Store, key templateKey) (posthouse.Template, error) {
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
