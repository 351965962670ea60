package store

import (
	"context"
	"encoding/json"
	"math"
	"time"

	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

const auditColumns = "id, tenant, at, key_id, key_name, source, action, target, note, affected, detail"

func readAudit(scan scanner) (wire.AuditEntry, error) {
	var e wire.AuditEntry
	var at int64
	var detail string
	err := scan(&e.ID, &e.Tenant, &at, &e.Key, &e.KeyName, &e.Source, &e.Action, &e.Target, &e.Note, &e.Affected, &detail)
	e.At = timeOf(at)
	if detail != "" {
		e.Detail = json.RawMessage(detail)
	}
	return e, err
}

// AddAudit adds a line to the audit log. None is changed afterwards; it is pruned when keep is over; 0 keeps it for good.
func (s Audit) AddAudit(ctx context.Context, now time.Time, e wire.AuditEntry, keep time.Duration) error {
	return s.db.change(ctx, now, "write the audit log", func(t *Tx) error {
		at, err := t.now()
		if err != nil {
			return err
		}
		until := int64(math.MaxInt64)
		if keep > 0 {
			until = at + keep.Microseconds()
		}
		_, err = t.exec("INSERT INTO posthouse_audit ("+auditColumns+", keep_until) VALUES ("+marks(12)+")",
			e.ID, e.Tenant, at, e.Key, e.KeyName, e.Source, e.Action, e.Target, e.Note, e.Affected, string(e.Detail), until)
		return err
	})
}

// AuditLog lists lines of the audit log, newest first.
func (s Audit) AuditLog(ctx context.Context, f work.AuditFilter) ([]wire.AuditEntry, string, error) {
	before, err := idAfter("audit", f.Cursor)
	if err != nil {
		return nil, "", err
	}
	where := condition{"tenant = ?", []any{f.Tenant}}
	for column, value := range map[string]string{"key_id": f.Key, "action": f.Action, "target": f.Target} {
		if value != "" {
			where.and(column+" = ?", value)
		}
	}
	if !f.Since.IsZero() {
		where.and("at >= ?", micros(f.Since))
	}
	if !f.Until.IsZero() {
		where.and("at < ?", micros(f.Until))
	}
	if before != "" {
		where.and("id < ?", before)
	}
	size := pageSize(f.Limit)
	list, err := all(s.db.reads(ctx), readAudit, "SELECT "+auditColumns+" FROM posthouse_audit WHERE "+where.text+" ORDER BY id DESC LIMIT ?", append(where.args, size+1)...)
	if err != nil {
		return nil, "", s.db.toError(err, "read the audit log")
	}
	list, next := page(list, size, "audit", func(e wire.AuditEntry) string { return e.ID })
	return list, next, nil
}
