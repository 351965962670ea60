package registry

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"time"

	"github.com/posthouse/posthouse/internal/store/page"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Audit keeps who changed what.
type Audit struct{ db *sqldb.DB }

const auditColumns = "id, tenant, at, key_id, key_name, source, action, target, note, affected, detail"

func readAudit(scan sqldb.Scanner) (wire.AuditEntry, error) {
	var e wire.AuditEntry
	var at int64
	var detail string
	err := scan(&e.ID, &e.Tenant, &at, &e.Key, &e.KeyName, &e.Source, &e.Action, &e.Target, &e.Note, &e.Affected, &detail)
	e.At = sqldb.TimeOf(at)
	if detail != "" {
		e.Detail = json.RawMessage(detail)
	}
	return e, err
}

// AddAudit adds a line to the audit log. None is changed afterwards; it is pruned when keep is over; 0 keeps it for good.
func (s Audit) AddAudit(ctx context.Context, now time.Time, e wire.AuditEntry, keep time.Duration) error {
	return s.db.Change(ctx, now, "write the audit log", func(t *sqldb.Tx) error {
		at, err := t.Now()
		if err != nil {
			return err
		}
		until := int64(math.MaxInt64)
		if keep > 0 {
			until = at + keep.Microseconds()
		}
		_, err = t.Exec("INSERT INTO posthouse_audit ("+auditColumns+", keep_until) VALUES ("+sqldb.Marks(12)+")",
			e.ID, e.Tenant, at, e.Key, e.KeyName, e.Source, e.Action, e.Target, e.Note, e.Affected, string(e.Detail), until)
		return err
	})
}

// AuditLog lists lines of the audit log, newest first.
func (s Audit) AuditLog(ctx context.Context, f work.AuditFilter) ([]wire.AuditEntry, string, error) {
	before, err := page.ID("audit", f.Cursor)
	if err != nil {
		return nil, "", err
	}
	where := sqldb.Where("tenant = ?", f.Tenant)
	for column, value := range map[string]string{"key_id": f.Key, "target": f.Target} {
		if value != "" {
			where.And(column+" = ?", value)
		}
	}
	if f.Action != "" {
		text, args := ofActions(strings.SplitN(f.Action, ",", mostActions))
		where.And(text, args...)
	}
	if !f.Since.IsZero() {
		where.And("at >= ?", sqldb.Micros(f.Since))
	}
	if !f.Until.IsZero() {
		where.And("at < ?", sqldb.Micros(f.Until))
	}
	if before != "" {
		where.And("id < ?", before)
	}
	size := page.Size(f.Limit)
	list, err := sqldb.All(s.db.Reads(ctx), readAudit, "SELECT "+auditColumns+" FROM posthouse_audit WHERE "+where.Text+" ORDER BY id DESC LIMIT ?", append(where.Args, size+1)...)
	if err != nil {
		return nil, "", s.db.Coded(err, "read the audit log")
	}
	list, next := page.Cut(list, size, "audit", func(e wire.AuditEntry) string { return e.ID })
	return list, next, nil
}

// mostActions bounds the actions that the log is asked for at once: an address has room for more than a condition.
const mostActions = 20

// ofActions is the condition that an action is one of some. One that ends with a star is all of a thing, such as accounts.*.
func ofActions(list []string) (text string, args []any) {
	var each []string
	for _, a := range list {
		if of, all := strings.CutSuffix(a, "*"); all {
			each, args = append(each, "action LIKE ?"), append(args, of+"%")
		} else {
			each, args = append(each, "action = ?"), append(args, a)
		}
	}
	return "(" + strings.Join(each, " OR ") + ")", args
}
