package api

import (
	"context"
	"strconv"
	"time"

	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

func (a audit) exports() []web.Route {
	return web.Tagged("audit",
		web.Get("/v1/audit/export", admin, "All lines that a filter selects, newest first, as lines of JSON or as CSV without formulas, as they are read.", a.export).
			Query("format", "key", "action", "target", "since", "until").Aside(),
	)
}

// export writes all lines that a filter selects, newest first, as they are read.
func (a audit) export(c *web.Call) (any, error) {
	f := auditFilter(c)
	format := formatOf(c)
	if err := c.Wrong(); err != nil {
		return nil, err
	}
	each := func(visit func(*wire.AuditEntry) error) error { return a.each(c.Context(), f, visit) }
	return web.Listed(format == formatCSV, auditHead, each, auditRow), nil
}

var auditHead = []string{"id", "tenant", "at", "key", "key_name", "source", "action", "target", "note", "affected", "detail"}

func auditRow(e *wire.AuditEntry) []string {
	return []string{e.ID, e.Tenant, e.At.Format(time.RFC3339Nano), e.Key, e.KeyName, e.Source, e.Action, e.Target, e.Note, strconv.Itoa(e.Affected), string(e.Detail)}
}

// each reads the lines part by part. Those that are added meanwhile are newer and not among them.
func (a audit) each(ctx context.Context, f work.AuditFilter, visit func(e *wire.AuditEntry) error) error {
	f.Limit = exportPart
	for {
		list, next, err := a.store.AuditLog(ctx, f)
		if err != nil {
			return err
		}
		for i := range list {
			if err := visit(&list[i]); err != nil {
				return err
			}
		}
		if next == "" {
			return nil
		}
		f.Cursor = next
	}
}
