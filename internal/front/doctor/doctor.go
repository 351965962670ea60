// Package doctor is what a process says of itself to who looks after the server: the settings in force, and what is unsafe or broken. It
// looks at nothing itself: the program does, as posthouse doctor.
package doctor

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// Options are what the resources are made of.
type Options struct {
	// Settings are those that the process was told, and their defaults. Defaults to none.
	Settings []wire.ServerSetting
	// Examine looks for what is unsafe or broken, and changes nothing. Defaults to none: then nobody can have it look.
	Examine func(ctx context.Context) []wire.Finding
}

// examination bounds how long a look may take.
const examination = time.Minute

// desk keeps what was found last. A process starts without.
type desk struct {
	Options
	looking sync.Mutex // one look at a time: it costs the database more than a page
	mu      sync.Mutex
	last    wire.Examination
}

// Routes are the addresses of both resources.
func Routes(o Options) []web.Route {
	d := &desk{Options: o}
	const admin = posthouse.ScopeAdmin
	return slices.Concat(
		web.Tagged("settings",
			web.Get("/v1/settings", admin, "The settings in force of the process that answers, each with where it was given; secrets are masked. It needs a key of the tenant default.", d.settings).Whole(),
		),
		web.Tagged("doctor",
			web.Get("/v1/doctor", admin, "What the process that answers found unsafe or broken when it looked last. It needs a key of the tenant default.", d.found).Whole(),
			web.Act("/v1/doctor/run", admin, "Look for what is unsafe or broken, as posthouse doctor does, and wait for the end. Nothing is changed. It needs a key of the tenant default.", d.run).Whole(),
		),
	)
}

// rules is an error for callers of other tenants: settings and findings are of the whole server.
func rules(c *web.Call) error {
	if c.Tenant() == posthouse.DefaultTenant {
		return nil
	}
	return posthouse.Errorf(posthouse.CodeForbidden, "the server is looked after with keys of the tenant %s: this one's is %.80s", posthouse.DefaultTenant, c.Tenant())
}

func (d *desk) settings(c *web.Call) (wire.Page[wire.ServerSetting], error) {
	if err := rules(c); err != nil {
		return wire.Page[wire.ServerSetting]{}, err
	}
	return wire.Page[wire.ServerSetting]{Items: append([]wire.ServerSetting{}, d.Settings...)}, nil
}

func (d *desk) found(c *web.Call) (wire.Examination, error) {
	if err := rules(c); err != nil {
		return wire.Examination{}, err
	}
	return d.kept(), nil
}

// kept is what was found last.
func (d *desk) kept() wire.Examination {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := d.last
	out.Known, out.Findings = d.Examine != nil, append([]wire.Finding{}, d.last.Findings...)
	return out
}

// run examines the program to the end, even if the caller leaves. Callers that ask meanwhile share the next examination.
func (d *desk) run(c *web.Call) (wire.Examination, error) {
	if err := rules(c); err != nil {
		return wire.Examination{}, err
	}
	if d.Examine == nil {
		return wire.Examination{}, posthouse.Errorf(posthouse.CodeConflict, "this program cannot look at itself: run posthouse doctor beside it")
	}
	asked := time.Now()
	d.looking.Lock()
	defer d.looking.Unlock()
	if kept := d.kept(); kept.At.After(asked) { // another caller's look began after this one asked
		return kept, nil
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), examination)
	defer cancel()
	found := d.Examine(ctx)
	d.mu.Lock()
	d.last = wire.Examination{At: began.UTC(), Findings: found, Healthy: !slices.ContainsFunc(found, func(f wire.Finding) bool { return !f.OK })}
	d.mu.Unlock()
	return d.kept(), nil
}
