package lksms

import (
	"context"
	"time"

	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

var (
	importedTexts    = sqldb.NewTable("posthouse_sms_texts", "tenant", "id#", "name", "body", "active#", "created_at#", "updated_at#")
	importedDefaults = sqldb.NewTable("posthouse_default_sms", "tenant", "phone", "body", "templated#", "generation#", "sent#", "created_at#", "updated_at#")
)

// ImportTemplates stores templates of another system under the numbers they have, but those whose numbers are taken. It
// returns how many are new.
func (s Texts) ImportTemplates(ctx context.Context, now time.Time, tenant string, list []work.SMSTemplate) (stored int, err error) {
	err = s.db.Change(ctx, now, "import SMS templates", func(t *sqldb.Tx) error {
		taken, err := sqldb.All(t.Query, sqldb.Number, "SELECT id FROM posthouse_sms_texts WHERE tenant = ?", tenant)
		if err != nil {
			return err
		}
		fresh := sqldb.Without(list, taken, func(x work.SMSTemplate) int64 { return x.ID })
		rows := make([][]any, len(fresh))
		for i, x := range fresh {
			rows[i] = []any{tenant, x.ID, x.Name, x.Text, sqldb.Flag(x.Active), sqldb.Micros(x.CreatedAt), sqldb.Micros(x.UpdatedAt)}
		}
		stored = len(rows)
		return t.Insert(importedTexts, rows)
	})
	return stored, err
}

// ImportDefaults stores default contents of another system as their first generation, but those of phones that have one.
// All are of one tenant. It returns how many are new.
func (s Texts) ImportDefaults(ctx context.Context, now time.Time, tenant string, list []work.DefaultSMS) (stored int, err error) {
	err = s.db.Change(ctx, now, "import default contents", func(t *sqldb.Tx) error {
		phoneOf := func(d work.DefaultSMS) string { return d.Phone }
		var taken []string
		for part := range sqldb.Parts(list, sqldb.BulkStep) {
			phones := make([]string, len(part))
			for i := range part {
				phones[i] = part[i].Phone
			}
			clause, args := t.In("phone", phones)
			found, err := sqldb.All(t.Query, sqldb.Word, "SELECT phone FROM posthouse_default_sms WHERE tenant = ? AND "+clause, append([]any{tenant}, args...)...)
			if err != nil {
				return err
			}
			taken = append(taken, found...)
		}
		fresh := sqldb.Without(list, taken, phoneOf)
		rows := make([][]any, len(fresh))
		for i, d := range fresh {
			rows[i] = []any{tenant, d.Phone, d.Text, sqldb.Flag(d.Templated), int64(1), sqldb.Flag(d.Sent), sqldb.Micros(d.CreatedAt), sqldb.Micros(d.UpdatedAt)}
		}
		stored = len(rows)
		return t.Insert(importedDefaults, rows)
	})
	return stored, err
}
