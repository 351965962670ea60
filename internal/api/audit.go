package api

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/posthouse/posthouse/internal/read"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Audit reads who changed what.
type Audit interface {
	AuditLog(ctx context.Context, f work.AuditFilter) (list []wire.AuditEntry, next string, err error)
}

// audit is the resource of the audit log. Package web writes it.
type audit struct {
	store Audit
	users Users
}

func (a audit) routes() []web.Route {
	return web.Tagged("audit",
		web.Get("/v1/audit", admin, "Who changed what, newest first: configuration, keys, and decisions about deliveries.", a.list).
			Query("key", "action", "target", "since", "until").Paged().Aside(),
	)
}

func (a audit) list(c *web.Call) (wire.Page[wire.AuditEntry], error) {
	f := auditFilter(c)
	cursor, limit, err := c.Page()
	if err != nil {
		return wire.Page[wire.AuditEntry]{}, err
	}
	weight := func(e *wire.AuditEntry) int { return 512 + len(e.Detail) }
	return pageOf(read.Gather(cursor, limit, weight, func(cursor string, limit int) ([]wire.AuditEntry, string, error) {
		f.Cursor, f.Limit = cursor, limit
		list, next, err := a.store.AuditLog(c.Context(), f)
		if err == nil {
			err = a.call(c, list)
		}
		return list, next, err
	}))
}

// call fills in how the users of the directory are called that lines are about.
func (a audit) call(c *web.Call, list []wire.AuditEntry) error {
	ids := map[string]bool{}
	for i := range list {
		if about(&list[i]) {
			ids[list[i].Target] = true
		}
	}
	if len(ids) == 0 {
		return nil
	}
	known, err := a.users.Profiles(c.Context(), c.Tenant(), slices.Sorted(maps.Keys(ids)))
	for i := range list {
		if about(&list[i]) {
			list[i].TargetName = known[list[i].Target].Name
		}
	}
	return err
}

// about reports whether a line is about a user of the directory.
func about(e *wire.AuditEntry) bool { return e.Target != "" && strings.HasPrefix(e.Action, "users.") }

// auditFilter reads what the log is narrowed down by.
func auditFilter(c *web.Call) work.AuditFilter {
	return work.AuditFilter{
		Tenant: c.Tenant(), Key: c.Query.Get("key"), Action: c.Query.Get("action"), Target: c.Query.Get("target"),
		Since: c.Moment("since"), Until: c.Moment("until"),
	}
}

// puts tells the audit log what a call has stored, and how it was before where it was there.
func puts(c *web.Call, there bool, before, stored any) {
	if !there {
		before = nil
	}
	c.Changed(before, stored)
}

// deletes tells the audit log how that was which a call deletes, where it was found.
func deletes(c *web.Call, before any, err error) {
	if err == nil {
		c.Changed(before, nil)
	}
}
