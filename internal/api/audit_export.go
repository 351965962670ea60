package api

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/posthouse/posthouse/internal/cell"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

func (a audit) exports() []web.Route {
	return web.Tagged("audit",
		web.Get("/v1/audit/export", admin, "All lines that a filter selects, newest first, as lines of JSON or as CSV without formulas, as they are read.", a.export).
			Query("format", "key", "action", "target", "since", "until"),
	)
}

// export writes all lines that a filter selects, newest first, as they are read.
func (a audit) export(c *web.Call) (any, error) {
	f := auditFilter(c)
	format := formatOf(c)
	if err := c.Wrong(); err != nil {
		return nil, err
	}
	ctx := c.Context()
	if format == formatCSV {
		return web.Stream{Kind: "text/csv; charset=utf-8", Write: func(w io.Writer) error { return a.writeCSV(ctx, w, f) }}, nil
	}
	return web.Stream{Kind: "application/x-ndjson", Write: func(w io.Writer) error { return a.writeNDJSON(ctx, w, f) }}, nil
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

func (a audit) writeNDJSON(ctx context.Context, w io.Writer, f work.AuditFilter) error {
	lines := json.NewEncoder(w)
	return a.each(ctx, f, func(e *wire.AuditEntry) error { return lines.Encode(e) })
}

// writeCSV writes a table in which no cell is a formula: names, notes and details are what others wrote.
func (a audit) writeCSV(ctx context.Context, w io.Writer, f work.AuditFilter) error {
	out := csv.NewWriter(w)
	err := out.Write([]string{"id", "tenant", "at", "key", "key_name", "source", "action", "target", "note", "affected", "detail"})
	if err == nil {
		err = a.each(ctx, f, func(e *wire.AuditEntry) error {
			row := []string{e.ID, e.Tenant, e.At.Format(time.RFC3339Nano), e.Key, e.KeyName, e.Source, e.Action, e.Target, e.Note, strconv.Itoa(e.Affected), string(e.Detail)}
			for i := range row {
				row[i] = cell.Guard(row[i])
			}
			return out.Write(row)
		})
	}
	out.Flush()
	if err == nil {
		err = out.Error()
	}
	if err != nil {
		return fmt.Errorf("export the audit log: %w", err)
	}
	return nil
}
