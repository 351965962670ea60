package store

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// chargesTable has the messages that count against a key's quota: one row each, of keys that have a quota.
var chargesTable = sqldb.NewTable("posthouse_charges", "key_id", "message")

// chargesOf are the rows of a submission's messages that were stored now.
func chargesOf(sub *work.Submission, accepted []posthouse.Accepted) [][]any {
	if sub.Payer == "" {
		return nil
	}
	var rows [][]any
	for i := range sub.Entries {
		if accepted[i].DuplicateOf == "" {
			rows = append(rows, []any{sub.Payer, accepted[i].ID})
		}
	}
	return rows
}

// TenantQuotas are the quotas of the tenants that have one.
func (s Tenants) TenantQuotas(ctx context.Context) (map[string]posthouse.Quota, error) {
	list, err := sqldb.All(s.db.Reads(ctx), readTenant, "SELECT "+tenantColumns+" FROM posthouse_tenants WHERE quota <> ''")
	quotas := make(map[string]posthouse.Quota, len(list))
	for _, t := range list {
		if t.Quota.Any() {
			quotas[t.Name] = t.Quota
		}
	}
	return quotas, s.db.Coded(err, "read the quotas of tenants")
}

// Attentive are the tenants that have quiet hours, caps or mandatory kinds.
func (s Tenants) Attentive(ctx context.Context) (map[string]posthouse.Tenant, error) {
	list, err := sqldb.All(s.db.Reads(ctx), readTenant, "SELECT "+tenantColumns+" FROM posthouse_tenants WHERE quota <> ''")
	found := map[string]posthouse.Tenant{}
	for _, t := range list {
		if len(t.QuietHours)+len(t.Caps)+len(t.MandatoryKinds) > 0 {
			found[t.Name] = t
		}
	}
	return found, s.db.Coded(err, "read the quiet hours of tenants")
}

// OpenOfTenant counts a tenant's deliveries that are not settled.
func (s Tenants) OpenOfTenant(ctx context.Context, tenant string) (int, error) {
	text, args := s.openText(tenant)
	n, _, err := sqldb.First(s.db.Reads(ctx), sqldb.Number, text, args...)
	return int(n), s.db.Coded(err, "count a tenant's open deliveries")
}

// OpenOfKey counts the open deliveries of the messages that count against a key, and forgets the messages that are
// settled.
func (s Tenants) OpenOfKey(ctx context.Context, now time.Time, tenant, key string) (int, error) {
	messages, err := sqldb.All(s.db.Reads(ctx), sqldb.Word, "SELECT message FROM posthouse_charges WHERE key_id = ?", sqldb.Plain(key))
	if err != nil {
		return 0, s.db.Coded(err, "read what counts against a key")
	}
	open, err := s.messages.OpenOf(ctx, tenant, messages)
	if err != nil {
		return 0, err
	}
	going := map[string]bool{}
	for _, id := range open {
		going[posthouse.MessageID(id)] = true
	}
	var settled []string
	for _, id := range messages {
		if !going[id] {
			settled = append(settled, id)
		}
	}
	return len(open), s.settleCharges(ctx, now, key, settled)
}

// settleCharges forgets messages that no longer count.
func (s Tenants) settleCharges(ctx context.Context, now time.Time, key string, messages []string) error {
	for part := range sqldb.Parts(messages, sqldb.BulkStep) {
		err := s.db.Change(ctx, now, "settle what counts against a key", func(t *sqldb.Tx) error {
			clause, args := t.In("message", part)
			_, err := t.Exec("DELETE FROM posthouse_charges WHERE key_id = ? AND "+clause, append([]any{sqldb.Plain(key)}, args...)...)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
